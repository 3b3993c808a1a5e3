"""Every case of the gallery does what is known of it."""

from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.gallery import rigid_body
from dalembert.gallery.definition import Case
from dalembert.model.active_system import active_system
from helpers import null_space, quick_first

LARGE = {
    "bricard",
    "cart-pole",
    "flyball",
    "four-bars",
    "slider-clearance",
    "woodpecker",
    "rocking-block",
}  # several seconds each to lower and compile


@pytest.mark.parametrize("name", quick_first(da.gallery.names(), set(da.gallery.names()) - LARGE))
def test_every_check_of_the_case_passes(name: str) -> None:
    case = da.gallery.case(name)
    assert case.checks
    run = case.simulate()
    failed = {o.check.what: (o.off, o.check.tolerance) for o in case.verify(run) if not o.passed}
    assert not failed
    assert run.ledger().closure < 10
    if case.system.laws:
        _assert_prescribed_work(case, run)


def _closed(system: da.System, run: da.Trajectory, k: int) -> da.System:
    """The system of the phase of an output: its closed contacts, as equations."""
    closed = {name for name, force in zip(run.constraints, run.reactions[k], strict=True) if force != 0}
    return active_system(system, frozenset(c.name for c in system.constraints if c.is_permanent or c.name in closed))


def _assert_prescribed_work(case: Case, run: da.Trajectory) -> None:
    """The generalised principle of d'Alembert along the motion: vᵀQᶜ = vᵀC for every virtual displacement v."""
    for k in np.linspace(0, len(run) - 1, 5).astype(int):
        closed = _closed(case.system, run, int(k))
        own = {name: case.parameters[name] for name in closed.parameter_names}
        point = da.motion(closed, run.q[k], run.qd[k], run.t[k], parameters=own)
        for v in null_space(np.asarray(point.constraint_matrix)).T:
            np.testing.assert_allclose(point.virtual_work(v), v @ point.nonideal, atol=1e-11)
            for constraint in {name for name, _ in point.laws if name}:
                own = [C for C, (name, _) in zip(point.law_nonideal, point.laws, strict=True) if name == constraint]
                np.testing.assert_allclose(point.virtual_work(v, of=constraint), v @ np.sum(own, axis=0), atol=1e-11)


def test_a_failed_check_says_so() -> None:
    """A check can fail: with friction twice as strong the bead is not where it should be."""
    case = da.gallery.case("bead")
    outcomes = case.verify(case.simulate(parameters={"mu": 0.4}))
    assert [o.passed for o in outcomes] == [False, False, False]


def test_without_stabilisation_the_swarm_keeps_its_error() -> None:
    """The review's figure 8 cannot come from its equation 64 alone; only the stabilising term differs here."""
    printed, stabilised = da.gallery.case("swarm-as-printed"), da.gallery.case("swarm")
    assert printed.system == stabilised.system
    assert printed.drift is None
    assert printed.checks[0].expected == stabilised.checks[0].expected == 46.289831739115


def test_paper_mass_matrix_of_the_rigid_body_is_not_symmetric() -> None:
    """Erratum: both off-diagonal blocks with a minus, as printed, is no mass matrix."""
    c = rigid_body.MASS * rigid_body._cross(rigid_body.CENTRE)
    ours = rigid_body._spatial_mass()
    printed = ours.copy()
    printed[3:, :3] = -c
    np.testing.assert_array_equal(ours, ours.T)
    assert np.linalg.eigvalsh(ours).min() > 0
    assert np.abs(printed - printed.T).max() > 0.5


def test_printed_polar_mass_matrix_gives_another_motion_under_one_constraint() -> None:
    """Erratum: dividing an equation by r changes the metric, and with it the motion unless the constraints fix it."""
    r, theta = da.coordinates("r theta")
    g = da.parameters("g")
    spiral = da.Constraint(r - sp.exp(theta / 10), name="spiral")
    lagrangian = (r.diff(da.t) ** 2 + r**2 * theta.diff(da.t) ** 2) / 2 - g * r * sp.sin(theta)
    right = da.System.from_lagrangian(lagrangian, (r, theta), constraints=spiral)
    free = right.mass_matrix.inv() * right.applied_force
    printed = da.System((r, theta), sp.eye(2), list(free), spiral)
    r5 = np.exp(0.5)
    state = {"q": (r5, 5), "qd": (0.1 * r5, 1), "parameters": {"g": 9.81}}
    one, other = da.motion(right, **state), da.motion(printed, **state)
    np.testing.assert_allclose(one.free_acceleration, other.free_acceleration, atol=1e-13)
    assert np.abs(one.acceleration - other.acceleration).max() > 1


def test_documentation_lists_every_case() -> None:
    table = (Path(__file__).parents[2] / "docs" / "gallery.md").read_text(encoding="utf-8")
    for name, title in da.gallery.titles().items():
        assert f"| `{name}` | {title} |" in table
