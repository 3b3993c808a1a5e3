"""One rule for a singular mass matrix: condition number 1e12 in the coordinates' own units, whoever asks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.equation.formulation import Formulation, Geometry, Part
from dalembert.numerics.mass import mass_kind

VERBS = ("constrained_motion", "motion", "simulate", "check")


def system_of(M: sp.Matrix) -> da.System:
    q = da.coordinates([f"q{i}" for i in range(M.rows)])
    return da.System(q, M, [0] * M.rows)


SYMBOLIC = system_of(sp.Matrix(3, 3, lambda i, j: da.parameters(f"m{min(i, j)}{max(i, j)}")))


def accepts(verb: str, M: np.ndarray) -> bool:
    """Return whether a verb takes a mass matrix for positive definite."""
    system, zero = system_of(sp.Matrix(M.tolist())), [0.0] * len(M)
    try:
        if verb == "constrained_motion":
            da.constrained_motion(M, zero, np.zeros((0, len(M))), [])
        elif verb == "motion":
            da.motion(system, zero, zero)
        elif verb == "simulate":
            # one system for all, since one with a mass matrix nearly singular is compiled for the general integrator
            entries = {f"m{i}{j}": M[i, j] for i in range(len(M)) for j in range(i, len(M))}
            da.simulate(SYMBOLIC, zero, zero, (0, 1), parameters=entries)
        else:
            return any("positive definite" in str(finding) for finding in da.check(system).findings)
    except da.MassMatrixError:
        return False
    return True


def coupled(gap: float, *units: float) -> np.ndarray:
    """Two masses with correlation 1 − gap, and a third alone: eigenvalues gap, 1 and 2 − gap in their own units."""
    M = np.array([[1.0, 1 - gap, 0], [1 - gap, 1, 0], [0, 0, 1]])
    return M * np.outer(units, units)


@pytest.mark.parametrize("units", [(1, 1, 1), (1e-9, 1e9, 1), (1e6, 1e-3, 1e9)])
@pytest.mark.parametrize("verb", VERBS)
def test_all_verbs_draw_the_border_at_the_same_place(verb: str, units: tuple[float, ...]) -> None:
    """The border is at a gap of 2e-12; on both sides of it within rounding of the matrix, and far from it."""
    for gap, positive in ((1e-3, True), (1e-9, True), (3e-12, True), (1e-12, False), (1e-14, False), (0.0, False)):
        assert accepts(verb, coupled(gap, *units)) == positive, gap


@pytest.mark.parametrize("verb", VERBS)
def test_units_alone_make_nothing_singular(verb: str) -> None:
    """A ratio of masses of 1e18 is a choice of units."""
    assert accepts(verb, np.diag([1e9, 1.0, 1e-9]))
    assert not accepts(verb, np.diag([1e9, 1.0, 0.0]))
    assert not accepts(verb, np.diag([1e9, 1.0, -1e-9]))


def test_kinds_do_not_depend_on_units() -> None:
    rng = np.random.default_rng(0)
    basis, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    for values, kind in (
        ((1, 2, 3, 4), "positive definite"),
        ((1, 2, 3, -4), "indefinite"),
        ((-1, -2, -3, -4), "negative definite"),
        ((0, 1, 2, 3), "singular"),
    ):
        M = (basis * np.array(values, float)) @ basis.T
        for _ in range(5):
            units = 10.0 ** rng.uniform(-9, 9, 4)
            scaled = (M + M.T) / 2 * np.outer(units, units)
            found = mass_kind(scaled)
            assert found.kind == kind
            if kind == "singular":
                v = found.direction * units  # in the first units, and the null vector there
                assert abs(abs(v @ basis[:, 0]) / np.linalg.norm(v) - 1) < 1e-9


def test_a_formulation_that_misses_its_equations_says_so() -> None:
    """Rows 1e-8 apart are too near for the saddle matrix: its answer is no answer, and that is said either way."""
    problem = (np.eye(2), [3, 5], [[1, 0], [1, 1e-8]], [1, 1 + 1e-8])
    with pytest.raises(da.MassMatrixError, match=r"saddle matrix .* must be regular"):
        da.constrained_motion(*problem, formulation=da.Multipliers())
    assert da.constrained_motion(*problem, formulation=da.Multipliers(), throw=False).residual > 1e-8
    good = da.constrained_motion(*problem)
    np.testing.assert_allclose(good.acceleration, [1, 1], rtol=1e-6)
    assert good.residual < 1e-15


@dataclass(frozen=True)
class Careless(Formulation):
    """Meets the constraints to eight digits only, and does not refine."""

    refinements = 0

    def factor(self, M: Any, A: Any, geometry: Geometry) -> Any:
        return da.Factored().factor(M, A, geometry)

    def ideal(self, factored: Any, Q: Any, b: Any) -> Part:
        return da.Factored().ideal(factored, Q, b * (1 + 1e-8))

    def nonideal(self, factored: Any, C: Any) -> Part:
        return da.Factored().nonideal(factored, C)


def test_a_residual_above_the_limit_is_refused() -> None:
    problem = (np.eye(2), [3, 5], [[1, 2]], [4])
    with pytest.raises(da.ConstraintError, match=r"`Careless` must solve its equations to a relative 1e-10; it missed"):
        da.constrained_motion(*problem, formulation=Careless())
    assert 1e-9 < da.constrained_motion(*problem, formulation=Careless(), throw=False).residual < 1e-8
    x, y = da.coordinates("x y")
    slope = da.System((x, y), sp.eye(2), (3, 5), da.Constraint(x + 2 * y - 2 * da.t**2, name="slope"))
    with pytest.raises(da.ConstraintError, match=r"`Careless` must solve its equations"):
        da.motion(slope, (0, 0), (0, 0), formulation=Careless())
    with pytest.raises(da.ConstraintError, match=r"`Careless` must solve its equations"):
        da.simulate(slope, (0, 0), (0, 0), (0, 1), formulation=Careless())


@pytest.mark.parametrize(
    "formulation", [da.Factored(), da.SingularMass(), da.Multipliers()], ids=lambda f: type(f).__name__
)
def test_every_formulation_solves_up_to_the_common_limit(formulation: Formulation) -> None:
    """Along (1, −1) the mass is ε, and the force 1/2 per coordinate: the acceleration is 1/(2ε)."""
    for small in (1e-8, 1e-10, 4e-12):
        M = np.array([[1, 1 - small], [1 - small, 1]])
        found = da.constrained_motion(M, [1, 0], [[1, 1]], [0], formulation=formulation).acceleration
        np.testing.assert_allclose(found * (1 - M[0, 1]) * 2, [1, -1], rtol=1e-3)
    with pytest.raises(da.MassMatrixError):
        da.constrained_motion([[1, 1 - 1e-13], [1 - 1e-13, 1]], [1, 0], [[1, 1]], [0], formulation=formulation)


def test_contradictions_show_in_the_inconsistency_and_not_in_the_residual() -> None:
    torn = da.constrained_motion(np.eye(2), [1, 1], [[1, 0], [1, 0]], [0, 1], throw=False)
    assert torn.residual < 1e-14 and torn.inconsistency == pytest.approx(0.5**0.5)
    undetermined = da.constrained_motion(
        np.zeros((2, 2)), [1, 1], [[1, 0]], [0], throw=False, formulation=da.SingularMass()
    )
    assert undetermined.residual > 0.1
