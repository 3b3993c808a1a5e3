"""A run that ends where M or the constraints become singular says so without JAX, in well under a second."""

import subprocess
import sys

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")

PROGRAM = """
import sys
import sympy as sp
import dalembert as da
x, y = da.coordinates("x y")
coupled = sp.Matrix([[1, sp.sin(y)], [sp.sin(y), 1]])
cusp = da.Constraint(y**2 - x**3, name="cusp")
for system, start in (
    (da.System((x, y), coupled, (0, -1)), ((1, 0), (-1, 2))),
    (da.System((x, y), coupled, (-1, 0.2)), ((1, 0), (-1, 2))),
    (da.System((x, y), sp.eye(2), (-1, 0), cusp), ((1, 1), (-0.5, -0.75))),
):
    try:
        da.simulate(system, *start, [0, 5])
    except da.SimulationError as error:
        print(error)
print("jax" in sys.modules)
"""


def test_no_failure_imports_jax() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    *said, imported = done.stdout.splitlines()
    assert len(said) == 3
    assert all("just ahead `mass_matrix` must be positive definite; it is singular" in line for line in said[:2])
    assert "the constraints lose rank there" in said[2] and "At a cusp the motion ends" in said[2]
    assert imported == "False"


@pytest.mark.parametrize(("force", "place"), [((0, -1), -np.pi / 2), ((-1, 0.2), np.pi / 2)])
def test_the_run_ends_where_m_is_singular(force: tuple, place: float) -> None:
    """M has the eigenvalues 1 ± sin y: it touches zero at y = ±π/2 and does not change its sign."""
    coupled = sp.Matrix([[1, sp.sin(y)], [sp.sin(y), 1]])
    with pytest.raises(da.SimulationError, match=r"vᵀMv = .* pass `formulation=da.SingularMass\(\)`") as caught:
        da.simulate(da.System((x, y), coupled, force), (1, 0), (-1, 2), [0, 5])
    assert caught.value.trajectory.q[-1, 1] == pytest.approx(place, abs=3e-5)


@pytest.mark.parametrize(("least", "singular"), [(1e-13, True), (2e-11, False)])
def test_m_that_only_comes_close_to_singular_is_no_cause(least: float, singular: bool) -> None:
    """The smallest eigenvalue is ε + y²/2 and passes its least value within 1e-5 s."""
    from dalembert.integration.hand_over import trouble_ahead

    c = 1 - sp.Float(least) - y**2 / 2
    dynamics = da.build(da.System((x, y), sp.Matrix([[1, c], [c, 1]]), (-c * y, -y)))
    found = trouble_ahead(dynamics, np.array([0, 1e-5, 0, -1.0]), 0.0, 100.0, ())
    assert ("just ahead `mass_matrix` must be positive definite; it is singular" in found) == singular


@pytest.mark.parametrize("forces", [(0, 1, 0, 1), (0, 0, 0, 1)])
def test_a_parallelogram_that_starts_flat_and_at_rest(forces: tuple[int, ...]) -> None:
    """Two motions branch off there. Slow ones leave the redundant constraint by their fourth power of time only."""
    points = x1, y1, x2, y2 = da.coordinates("x1 y1 x2 y2")
    cranks = da.Constraint(x1**2 + y1**2 - 1, name="left"), da.Constraint((x2 - 2) ** 2 + y2**2 - 1, name="right")
    rod = da.Constraint((x1 - x2) ** 2 + (y1 - y2) ** 2 - 4, name="rod")
    linkage = da.System(points, sp.diag(1, 1, 2, 2), forces, (*cranks, rod))
    with pytest.raises(da.SimulationError, match="`left` and `right` and `rod` must leave a motion possible; at t = 0"):
        da.simulate(linkage, (1, 0, 3, 0), (0, 0, 0, 0), [0, 1])
