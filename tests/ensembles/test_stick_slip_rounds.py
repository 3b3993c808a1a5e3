"""Members that stick and slip, round by round in machine code, against single runs: motions and phases."""

from itertools import pairwise

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.ensembles.stick_slip_rounds import StickSlipRounds
from dalembert.ensembles.stick_slip_transitions import Transitions
from dalembert.model.friction_contacts import contacts
from dalembert.native import guarded_batch
from dalembert.settings import method_of

x, y, z, w = da.coordinates("x y z w")
k, mu, mu_s, speed, coupling = da.parameters("k mu mu_s V c")
NUMBERS = {"mu": 0.2, "mu_s": 0.4, "V": 0.5}


def friction(q: sp.Expr, of: str) -> da.Coulomb:
    return da.Coulomb(mu, velocity=q.diff(da.t) - speed, normal_force=da.multiplier(of), mu_static=mu_s)


def belt() -> da.System:
    """A block on a belt, held back by a spring: its motion tends to a limit cycle of sticking and slipping."""
    return da.System((x, y), sp.eye(2), (-k * x, -10), da.Constraint(y, name="belt", nonideal=friction(x, "belt")))


def two_blocks() -> da.System:
    """Two blocks on the belt, coupled by another spring."""
    pull = coupling * (z - x)
    rows = [da.Constraint(q, name=name, nonideal=friction(p, name)) for p, q, name in ((x, y, "one"), (z, w, "two"))]
    return da.System((x, y, z, w), sp.eye(4), (-k * x + pull, -10, -k * z - pull, -10), rows)


def driven() -> da.System:
    """A block under an oscillating force that is below its static limit, above it, and above it for moments only."""
    force = da.parameters("F") * sp.sin(40 * da.t)
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(mu, mu_static=mu_s))
    return da.System((x, y), sp.eye(2), (force, -10), floor)


CASES = {
    "belt": (belt, (0.1, 0), (0.5, 0), {"k": np.linspace(1, 9, 13)}),
    "two blocks": (two_blocks, (0.1, 0, -0.1, 0), (0, 0, 0, 0), {"k": np.linspace(1, 9, 7), "c": 1.3}),
    "driven": (driven, (0, 0), (0, 0), {"F": np.array([3.9, 4.0, 4.0001, 6.0, 9.0, 4.1])}),
}


def run_of(case: str, i: int, times: np.ndarray) -> da.Trajectory:
    make, q0, qd0, numbers = CASES[case]
    system, values = make(), NUMBERS | numbers
    own = {name: float(np.ravel(values[name])[i if np.ndim(values[name]) else 0]) for name in system.parameter_names}
    return da.simulate(system, q0, qd0, times, parameters=own)


def ensemble_of(case: str, times: np.ndarray, **settings: object) -> object:
    make, q0, qd0, numbers = CASES[case]
    system, values = make(), NUMBERS | numbers
    own = {name: values[name] for name in system.parameter_names}
    return da.simulate_ensemble(system, q0, qd0, times, parameters=own, **settings)


@pytest.mark.parametrize("case", CASES)
def test_members_are_those_of_single_runs(case: str) -> None:
    times = np.linspace(0, 5, 31)
    many = ensemble_of(case, times)
    assert many.attrs["handed_over"] == 0
    for i in range(0, len(many["member"]), 2):
        run = run_of(case, i, times)
        np.testing.assert_allclose(many["q"].values[i], run.q, atol=1e-11)
        np.testing.assert_allclose(many["qd"].values[i], run.qd, atol=1e-11)


@pytest.mark.parametrize("case", CASES)
def test_phases_are_those_of_single_runs(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same contacts stick and slip at the same times, to the last digits."""
    found: list[tuple[float, tuple[bool, ...]]] = []
    kept = Transitions._choose

    def choose(self, members, *rest):
        kept(self, members, *rest)
        found.append((float(members.t[0]), tuple(members.sticking[0])))

    monkeypatch.setattr(Transitions, "_choose", choose)
    make, q0, qd0, numbers = CASES[case]
    system, i = make(), len(next(iter(numbers.values()))) - 1
    values = NUMBERS | numbers
    own = [[float(np.ravel(values[name])[-1])] for name in system.parameter_names]
    method = method_of(None, da.Projection(), None, 1e-9, None, None, 10**6, None)
    times = np.linspace(0, 5, 31)
    rounds = StickSlipRounds(system, contacts(system), method, every=True, threads=1)
    _, done, *_ = rounds(np.array([[*q0, *qd0]], float).T, np.array(own), times, np.inf)
    assert done.all()
    changes = [
        (t, contact.name, "sticks" if now else "slips")
        for (_, before), (t, after) in pairwise([(0.0, found[0][1]), *found])
        for contact, was, now in zip(contacts(system), before, after, strict=True)
        if was != now
    ]
    events = run_of(case, i, times).events
    assert [(name, kind) for _, name, kind in changes] == [(event.name, event.kind) for event in events]
    assert len(events) > 3
    np.testing.assert_allclose([t for t, *_ in changes], [event.t for event in events], atol=1e-12)


def test_the_limit_cycle_has_its_closed_form() -> None:
    """Slipping begins at k x = μₛ m g; sliding is a harmonic motion about μ m g/k that ends at the belt's speed."""
    many = ensemble_of("belt", np.linspace(0, 20, 4001))
    for member, stiffness in zip(many["q"].sel(coordinate="x").values, CASES["belt"][3]["k"], strict=True):
        far = member[2000:].max()
        # the energy of the oscillation is that at the beginning of slipping
        start, rate = (0.4 - 0.2) * 10 / stiffness, np.sqrt(stiffness)
        np.testing.assert_allclose(far, 0.2 * 10 / stiffness + np.hypot(start, 0.5 / rate), atol=1e-4)


@pytest.mark.parametrize("keep", ["end", "times"])
def test_results_do_not_depend_on_lanes_threads_and_outputs(keep: str, monkeypatch: pytest.MonkeyPatch) -> None:
    times = np.linspace(0, 5, 31)
    whole = ensemble_of("belt", times)["q"].values
    monkeypatch.setattr(guarded_batch, "processor_width", lambda: 1)
    alone = ensemble_of("belt", times, keep=keep)["q"].values
    np.testing.assert_allclose(alone, whole if keep == "times" else whole[:, -1:], atol=1e-13)


def test_an_output_at_a_transition_belongs_to_the_phase_before() -> None:
    """A block with v₀ = 3 stops at t = 1 under μ g = 3, where its output must be at rest; the next ones stay there."""
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(mu))
    system = da.System((x, y), sp.eye(2), (0, -10), floor)
    many = da.simulate_ensemble(system, (0, 0), np.array([[3.0, 0], [-3.0, 0]]), [0, 1, 2], parameters={"mu": 0.3})
    np.testing.assert_allclose(many["q"].values[:, 1:, 0], [[1.5, 1.5], [-1.5, -1.5]], atol=1e-13)
    np.testing.assert_allclose(many["qd"].values[:, 1:, 0], 0, atol=1e-13)


def test_a_member_that_stops_at_the_end_is_completed() -> None:
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(mu))
    system = da.System((x, y), sp.eye(2), (0, -10), floor)
    many = da.simulate_ensemble(system, (0, 0), (2, 0), [0, 1], parameters={"mu": [0.1, 0.2, 0.4]})
    np.testing.assert_allclose(many["q"].values[:, -1, 0], [1.5, 1, 0.5], atol=1e-13)
    assert many.attrs["handed_over"] == 0


def test_contacts_that_hold_the_same_motion_share_their_load() -> None:
    """Two laws of friction on one block: it slides, and is held up to the sum of both limits."""
    laws = [da.Coulomb(mu), da.Coulomb(mu, velocity=x.diff(da.t))]
    system = da.System((x, y), sp.eye(2), (2.5, -10), da.Constraint(y, name="floor", nonideal=laws))
    start = np.array([[3.0, 0], [0.2, 0], [0.2, 0]])
    numbers = {"mu": np.array([0.2, 0.2, 0.1])}
    many = da.simulate_ensemble(system, (0, 0), start, [0, 0.5, 1], parameters=numbers)
    assert many.attrs["handed_over"] == 0
    for i in range(3):
        run = da.simulate(system, (0, 0), start[i], [0, 0.5, 1], parameters={"mu": numbers["mu"][i]})
        np.testing.assert_allclose(many["q"].values[i], run.q, atol=1e-12)


def test_undecidable_members_are_handed_over_and_counted() -> None:
    """A constraint keeps a contact at rest: whether friction carries a part of the load is left to a single run."""
    rows = [da.Constraint(y, name="floor", nonideal=da.Coulomb(mu)), da.Constraint(x - z, name="link")]
    system = da.System((x, y, z), sp.eye(3), (0, -10, 0), (*rows, da.Constraint(z, name="wall")))
    many = da.simulate_ensemble(system, (0, 0, 0), np.zeros((2, 3)), [0, 0.5], parameters={"mu": 0.1})
    assert many.attrs["handed_over"] == 2
    np.testing.assert_array_equal(many["q"], 0)


def test_failures_have_the_reason_of_a_single_run() -> None:
    many = da.simulate_ensemble(
        belt(), (0, 0), (0, 0), [0, 1], parameters={"k": 1, "V": 0.5, "mu": [0.2, 0.5], "mu_s": 0.4}
    )
    assert many["reason"].values[0] == ""
    assert "must not be less than the kinetic one" in str(many["reason"].values[1])
    many = ensemble_of("belt", np.linspace(0, 5, 3), max_steps=4)
    assert all("limit of 4 steps" in str(reason) for reason in many["reason"].values[1:])


FORCES = ("acceleration", "ideal_force", "nonideal_force", "multipliers", "reactions", "violation")


@pytest.mark.parametrize("case", CASES)
def test_forces_are_those_of_single_runs(case: str) -> None:
    """While a contact sticks, the force that holds it is a nonideal one."""
    times = np.linspace(0, 5, 21)
    many, last = ensemble_of(case, times, outputs=FORCES), ensemble_of(case, times, outputs=FORCES, keep="end")
    for i in (0, len(many["member"]) - 1):
        run = run_of(case, i, times)
        for name in FORCES:
            np.testing.assert_allclose(many[name].values[i], getattr(run, name), atol=1e-11)
            np.testing.assert_allclose(last[name].values[i], getattr(run, name)[-1:], atol=1e-11)


def test_forces_in_a_rough_pin() -> None:
    """Reactions that friction changes; the second system is simulated member by member where it sticks."""
    rod = da.PlanarBody("rod", mass=1, inertia=0.1, position=(0.5, 0))
    pin = da.Revolute("pin", da.ground.at(0, 0), rod.at(-0.5, 0), radius=0.5, nonideal=da.Coulomb(mu))
    pendulum = da.Mechanism(rod, pin, da.Gravity((0, -9.81))).system
    laws = [da.Coulomb(mu), da.Coulomb(mu, velocity=x.diff(da.t))]
    block = da.System((x, y), sp.eye(2), (0, -10), da.Constraint(y, name="floor", nonideal=laws))
    times = np.linspace(0, 3, 13)
    for system, q, qd, handed in ((pendulum, (0.5, 0, 0), (0, 0, 0), 0), (block, (0, 0), (2, 0), 0)):
        many = da.simulate_ensemble(system, q, qd, times, parameters={"mu": [0.8, 0.9]}, outputs=("qd", *FORCES))
        assert many.attrs["handed_over"] == handed
        for i, value in enumerate((0.8, 0.9)):
            run = da.simulate(system, q, qd, times, parameters={"mu": value})
            assert any(event.kind == "sticks" for event in run.events)
            for name in ("qd", *FORCES):
                np.testing.assert_allclose(many[name].values[i], getattr(run, name), atol=1e-10)
