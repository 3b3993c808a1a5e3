"""The equation at one state by NumPy is the equation traced by JAX."""

import subprocess
import sys
from dataclasses import fields

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.equation.compiled_batch import solve_batch
from dalembert.integration.failure import answer_at
from dalembert.lowering.build import build
from helpers import ALL_FORMULATIONS, SHAPES, label, quick_first, random_problems

x, y, z = da.coordinates("x y z")


def assert_equal(one: da.ConstrainedMotion, other: da.ConstrainedMotion, tolerance: float) -> None:
    for field in fields(da.ConstrainedMotion):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name in ("residual", "laws", "rank_gap") or a is None:
            continue  # rounding itself, or names
        for left, right in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
            np.testing.assert_allclose(left, right, atol=tolerance, rtol=tolerance, err_msg=field.name)


@pytest.mark.parametrize("shape", quick_first(SHAPES[:2], SHAPES[1:2]), ids=str)
@pytest.mark.parametrize("formulation", ALL_FORMULATIONS, ids=label)
def test_the_same_answers(formulation: da.Factored, shape: tuple[int, int]) -> None:
    problem, rank = random_problems(shape, 40)
    if formulation.independent_rows:
        problem = {key: array[rank == shape[1]] for key, array in problem.items()}
    if len(problem["C"]):
        plain = da.constrained_motion(**problem, formulation=formulation)
        assert isinstance(plain.acceleration, np.ndarray)
        traced = solve_batch(formulation, True, 1, *map(jnp.asarray, problem.values()))
        assert_equal(plain, traced, 1e-11)


def friction_by_actual_reactions() -> da.System:
    """Two contacts, a wall and a floor, so that more than one normal force is unknown."""
    rows = tuple(
        da.Constraint(w, name=name, nonideal=da.Coulomb(mu, normal="actual"))
        for w, name, mu in ((y, "floor", 0.3), (z, "wall", 0.2))
    )
    return da.System((x, y, z), sp.eye(3), (1, -2, -10), rows)


def scaled_law() -> da.System:
    M = sp.Matrix([[2, 1, 0], [1, 2, 0], [0, 0, 1]])
    law = da.Prescribed((-x.diff(da.t), 0, 0), scaled=True)
    return da.System((x, y, z), M, (0, 0, -10), da.Constraint(z - x * y, name="s"), law)


SYSTEMS = {
    "bead": lambda: da.gallery.case("bead").system,
    "particle": lambda: da.gallery.case("particle").system,
    "actual": friction_by_actual_reactions,
    "scaled": scaled_law,
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_same_laws(name: str) -> None:
    dynamics = build(SYSTEMS[name]())
    assert dynamics.native.answers
    rng = np.random.default_rng(2)
    q, qd = rng.uniform(0.5, 1.5, (2, len(dynamics.coordinates)))
    p = tuple(rng.uniform(0.5, 1.0, len(dynamics.parameters)))
    plain = answer_at(dynamics, q, qd, 0.3, p, da.Factored())
    traced = jax.jit(lambda q, qd: dynamics.answer(q, qd, 0.3, p, da.Factored()))(q, qd)
    assert plain.laws == traced.laws
    assert_equal(plain, traced, 1e-12)


FRESH = """
import sys, dalembert as da
x, y = da.coordinates("x y")
rod = da.Constraint(x**2 + y**2 - 1, name="rod", nonideal=da.Viscous(0.2))
pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -10), rod)
assert abs(da.motion(pendulum, (0, -1), (2, 0)).ideal_force[1] - 14) < 1e-12
da.constrained_motion([[1, 0], [0, 1]], [0, -10], [[1, 1]], [0])
try:
    da.simulate(da.System((x, y), [[x, 0], [0, 1]], (0, 0)), (1, 0), (-1, 0), (0, 2), max_steps=5)
except da.SimulationError as error:
    assert "limit of 5 steps" in str(error)
print("jax" in sys.modules)
"""


def test_a_state_and_an_explanation_need_no_jax() -> None:
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=False)
    assert done.stdout == "False\n", done.stderr


def test_labels_of_tables_must_agree():
    """Rows and columns of tables are the coordinates and the constraints, in one order."""
    missing = "pandas or xarray is not installed"
    pandas, xarray = (pytest.importorskip(name, reason=missing) for name in ("pandas", "xarray"))
    names = ["x", "y"]
    M = pandas.DataFrame([[2.0, 0.0], [0.0, 5.0]], index=names, columns=names)
    Q, A, b = pandas.Series([1.0, 2.0], index=names), pandas.DataFrame([[1.0, 1.0]], columns=names), [0.0]
    plain = da.constrained_motion(M.to_numpy(), Q.to_numpy(), A.to_numpy(), b).acceleration
    np.testing.assert_array_equal(da.constrained_motion(M, Q, A, b).acceleration, plain)
    other = xarray.DataArray([1.0, 2.0], dims="name", coords={"name": names[::-1]})
    for given in ((M, Q[::-1], A, b), (M[names[::-1]], Q, A, b), (M, Q, A[names[::-1]], b), (M, Q, A, b, other)):
        with pytest.raises(da.InputError, match="must have the same labels in the same order"):
            da.constrained_motion(*given)
    rows = pandas.DataFrame(np.eye(2), index=["rod", "rail"])
    with pytest.raises(da.InputError, match=r"`constraint_rhs` and `constraint_matrix` .*\['rail', 'rod'\]"):
        da.constrained_motion(M, Q, rows, pandas.Series([0.0, 1.0], index=["rail", "rod"]))
