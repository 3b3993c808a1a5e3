# SPDX-License-Identifier: BSD-3-Clause
"""Moreau's and Jean's scheme: order of its error, its impulses beside exact ones, and what it refuses."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.sparse import csr_array

import dalembert as da
from dalembert.impacts.impulses import ImpulseContact, impact_impulses
from dalembert.native.contact_sweeps import ContactRows, solve_contacts

x, y, z, a = da.coordinates("x y z a")
u, v, w = da.coordinates("u v w")
X, Y, W = da.coordinates("X Y W")


def ball(restitution: Any = 0.5, **given: Any) -> da.System:
    floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=restitution, **given)
    return da.System((x, y), sp.eye(2), (0, -10), floor)


def slope(steps: list[float], errors: list[float]) -> float:
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


def test_error_of_impacts_is_of_first_order_in_the_step() -> None:
    times = np.linspace(0, 3.5, 8)
    exact = da.simulate(ball(), (0, 5), (1, 0), times)
    steps = [1 / 17, 1 / 43, 1 / 101, 1 / 239]
    runs = [da.simulate(ball(), (0, 5), (1, 0), times, solver=da.MoreauJean(step=h)) for h in steps]
    errors = [float(np.abs(run.q - exact.q).mean()) for run in runs]
    deepest = [-float(run.violation.min()) for run in runs]
    assert 0.8 < slope(steps, errors) < 1.2
    assert errors[-1] < 1e-2
    assert all(0 < depth < 11 * h for depth, h in zip(deepest, steps, strict=True))  # at most the motion of a step


def test_energy_lost_by_accumulating_impacts() -> None:
    run = da.simulate(ball(), (0, 5), (1, 0), [0, 4], solver=da.MoreauJean(step=1e-2))
    ledger = run.ledger()
    np.testing.assert_allclose(ledger["floor"][-1], -50, rtol=1e-3)
    assert np.abs(ledger.audit).max() < 1e-11
    np.testing.assert_allclose(run["floor"][-1], 10, rtol=1e-9)  # at rest the force is the weight


def test_bodies_that_stick_under_forces_of_their_velocities() -> None:
    """The velocity of a body at rest is a difference of larger ones, and its rounding is no change of the forces."""
    floors = [
        da.Constraint(
            sp.Ge(height, 0),
            name=name,
            restitution=0,
            impact="moreau",
            nonideal=da.Coulomb(0.3, velocity=q.diff(da.t), normal_force=da.multiplier(name)),
        )
        for height, name, q in ((y, "one", x), (w, "two", z))
    ]
    pull = 1.3 * (z - x)
    forces = [-3 * q - 0.1 * q.diff(da.t) + f for q, f in ((x, pull + sp.sin(3 * da.t)), (z, -pull + sp.cos(2 * da.t)))]
    blocks = da.System((x, y, z, w), sp.eye(4), (forces[0], -10, forces[1], -10), floors)
    start, times = ((0.1, 0, -0.2, 0), (0.3, 0, 0.1, 0)), [0, 1, 2, 3]
    run = da.simulate(blocks, *start, times, solver=da.MoreauJean(step=5e-3))
    np.testing.assert_allclose(run.q, da.simulate(blocks, *start, times).q, atol=2e-3)


def test_equations_are_of_second_order() -> None:
    rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    pendulum = da.System((x, y), sp.eye(2), (0, -10), rod)
    exact = da.simulate(pendulum, (1, 0), (0, 0), [0, 1, 2], rtol=1e-12)
    steps = [0.02, 0.01]
    runs = [da.simulate(pendulum, (1, 0), (0, 0), [0, 1, 2], solver=da.MoreauJean(step=h)) for h in steps]
    assert 1.9 < slope(steps, [float(np.abs(run.q - exact.q).max()) for run in runs]) < 2.1
    assert 2.8 < slope(steps, [float(np.abs(run.violation).max()) for run in runs]) < 3.2
    np.testing.assert_allclose(runs[-1]["rod"][1:], exact["rod"][1:], rtol=0.1)  # means over a step


def test_velocity_constraint_and_theta() -> None:
    skate = da.Constraint(x.diff(da.t) * sp.sin(a) - y.diff(da.t) * sp.cos(a), name="blade")
    system = da.System((x, y, a), sp.eye(3), (0, 0, 0), skate)
    exact = da.simulate(system, (0, 0, 0), (1, 0, 1), [0, 3], rtol=1e-12).q[-1]
    for theta, order in ((0.5, 2.0), (1.0, 1.0)):
        steps = [0.06, 0.03]
        runs = [
            da.simulate(system, (0, 0, 0), (1, 0, 1), [0, 3], solver=da.MoreauJean(step=h, theta=theta)) for h in steps
        ]
        assert abs(slope(steps, [float(np.abs(run.q[-1] - exact).max()) for run in runs]) - order) < 0.15


def test_damping_is_implicit() -> None:
    system = da.System((x,), [[1]], (-2 * x.diff(da.t),), nonideal=da.Viscous(1))
    run = da.simulate(system, (0,), (1,), [0, 1], solver=da.MoreauJean(step=0.01))
    np.testing.assert_allclose(run.qd[-1, 0], ((1 - 0.015) / (1 + 0.015)) ** 100, rtol=1e-10)
    assert abs(run.ledger().audit).max() < 1e-12


def test_drag_while_impulses_converge_slowly() -> None:
    """Each end of a light bar that lands flat nearly undoes what the other one did; drag changes with the velocity."""
    rows = [da.Constraint(sp.Ge(y + side * sp.sin(a), 0), name=f"end {side}", restitution=0.5) for side in (-1, 1)]
    bar = da.System((x, y, a), sp.diag(1, 1, sp.Rational(1, 50)), (0, -10 - y.diff(da.t) / 5, 0), rows)
    run = da.simulate(bar, (0, 1, 0), (1, 0, 0.01), np.linspace(0, 0.7, 8), solver=da.MoreauJean(step=1e-3))
    assert run.t[-1] == 0.7 and -1e-5 < run.violation.min() < 0 and abs(run.ledger().audit).max() < 1e-12


def test_sliding_ball_starts_to_roll_at_five_sevenths() -> None:
    slip = x.diff(da.t) + a.diff(da.t)
    friction = da.Coulomb(0.2, velocity=slip, normal_force=da.multiplier("floor"))
    floor = da.Constraint(sp.Ge(y, 1), name="floor", restitution=0.5, nonideal=friction, impact="moreau")
    system = da.System((x, y, a), sp.diag(1, 1, sp.Rational(2, 5)), (0, -10, 0), floor)
    exact = da.simulate(system, (0, 1.2, 0), (7, 0, 0), [0, 1, 2])
    run = da.simulate(system, (0, 1.2, 0), (7, 0, 0), [0, 1, 2], solver=da.MoreauJean(step=5e-3))
    np.testing.assert_allclose(run.qd[-1], (5, 0, -5), atol=1e-9)
    np.testing.assert_allclose(run.q, exact.q, atol=1e-3)


def test_friction_in_a_plane_opposes_the_slip() -> None:
    floor = da.Constraint(sp.Ge(z, 0), name="floor", restitution=0, nonideal=da.Coulomb(0.5), impact="moreau")
    system = da.System((x, y, z), sp.eye(3), (0, 0, -10), floor)
    run = da.simulate(system, (0, 0, 0), (3, 4, 0), [0, 0.5, 1.5], solver=da.MoreauJean(step=1e-2))
    np.testing.assert_allclose(run.qd[1], (1.5, 2, 0), atol=1e-9)  # the deceleration is 0.5 · 10
    np.testing.assert_allclose(run.qd[2], 0, atol=1e-12)
    np.testing.assert_allclose(run.q[2], (1.5, 2, 0), rtol=2e-2, atol=1e-12)


def test_friction_of_an_equation() -> None:
    wire = da.Constraint(y, name="wire", nonideal=da.Coulomb(0.25))
    system = da.System((x, y), sp.eye(2), (0, -10), wire)
    run = da.simulate(system, (0, 0), (2, 0), [0, 0.4, 2], solver=da.MoreauJean(step=1e-2))
    np.testing.assert_allclose(run.qd[:, 0], (2, 1, 0), atol=1e-9)
    np.testing.assert_allclose(run["wire"], 10, rtol=1e-9)


def test_balls_in_a_row_as_one_impact() -> None:
    places = da.coordinates("p q r")
    gaps = pairwise(places)
    touching = [da.Constraint(sp.Ge(b - a, 1), name=f"c{i}", restitution=1) for i, (a, b) in enumerate(gaps)]
    row = da.System(places, sp.eye(3), (0, 0, 0), touching)
    run = da.simulate(row, (0, 1.5, 2.5), (1, 0, 0), [0, 1], solver=da.MoreauJean(step=1e-3))
    np.testing.assert_allclose(run.qd[-1], (-1 / 3, 2 / 3, 2 / 3), atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_impulses_are_those_of_enumeration(seed: int) -> None:
    draw = np.random.default_rng(seed)
    k, n = 3, 7
    rows, inverse = draw.normal(size=(2 * k, n)), np.diag(draw.uniform(0.5, 2, n))
    before, e, mu = draw.normal(size=n), draw.uniform(0, 1, k), draw.uniform(0, 0.3, k)
    speeds = rows @ before
    contacts = [ImpulseContact(f"c{i}", speeds[i], e[i], speeds[k + i], mu[i], law="moreau") for i in range(k)]
    exact = impact_impulses(contacts, rows @ inverse @ rows.T)
    order = np.array([[i, k + i] for i in range(k)]).ravel()
    offset = np.zeros(2 * k)
    offset[::2] = e * speeds[:k]
    problem = ContactRows(
        np.arange(0, 2 * k + 1, 2),
        csr_array(rows[order]),
        csr_array(rows[order] @ inverse),
        offset,
        mu,
        np.zeros(k, bool),
    )
    after, found = before.copy(), np.zeros(2 * k)
    sweeps, residual = solve_contacts(problem, after, found, 1e-13, 100_000)
    assert sweeps < 100_000
    assert residual <= 1e-13
    np.testing.assert_allclose(found[::2], exact.normal, atol=1e-9)
    np.testing.assert_allclose(found[1::2], exact.tangential, atol=1e-9)
    np.testing.assert_allclose(after, before + inverse @ rows[order].T @ found, atol=1e-11)


def discs(count: int, *, singly: bool) -> da.System:
    """Discs of radius 0.5 above rough ground, stated by arrays or one by one."""
    places = tuple(da.coordinates(name, count) for name in "xya")
    first, second = np.triu_indices(count, 1)
    distance = sp.sqrt((u - X) ** 2 + (v - Y) ** 2)
    sliding = ((u - X) * (v - Y).diff(da.t) - (v - Y) * (u - X).diff(da.t)) / distance
    slip = sliding - (w.diff(da.t) + W.diff(da.t)) / 2
    rolling = u.diff(da.t) + w.diff(da.t) / 2

    def contact(gap: Any, over: Any, name: str, velocity: Any) -> Any:
        friction = da.Coulomb(sp.Symbol("mu"), velocity=velocity, normal_force=da.multiplier(name))
        law: Any = {"restitution": sp.Symbol("e"), "nonideal": friction, "impact": "moreau"}
        return da.Constraint.over(gap, over, name=name, **law)

    one = dict(zip((u, v, w), places, strict=True))
    two = {key: array[first] for key, array in one.items()}
    two |= {key: array[second] for key, array in zip((X, Y, W), places, strict=True)}
    groups = contact(sp.Ge(v, 0.5), one, "floor", rolling), contact(sp.Ge(distance, 1), two, "pair", slip)
    if not singly:
        return da.System(places, (1.0, 1.0, 0.125), {places[1]: -10.0}, groups)
    single = [q for array in places for q in array]
    mass, force = sp.diag(*[1.0] * (2 * count), *[0.125] * count), [0.0] * (3 * count)
    force[count : 2 * count] = [-10.0] * count
    return da.System(single, mass, force, [c for group in groups for c in group])


def test_contacts_by_arrays_are_those_stated_singly() -> None:
    q0 = (0, 1, 0.4, 0.5, 0.6, 1.6, 0, 0, 0)
    settings: Any = {"parameters": {"mu": 0.3, "e": 0.2}, "solver": da.MoreauJean(step=2e-3)}
    runs = [
        da.simulate(discs(3, singly=singly), q0, (0,) * 9, np.linspace(0, 0.6, 7), **settings)
        for singly in (False, True)
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-10)
    assert runs[0].constraints == runs[1].constraints
    assert "pair[2]" in runs[0].constraints
    ledger = runs[0].ledger()
    assert np.abs(ledger.audit).max() < 1e-11
    assert ledger["pair"][-1] < 0
    assert ledger["pair[0]: Coulomb"].shape == (7,)


def test_pile_of_forty_discs_comes_to_rest() -> None:
    count = 40
    q0 = np.concatenate([1.01 * (np.arange(count) % 8), 0.5 + 1.01 * (np.arange(count) // 8), np.zeros(count)])
    system = discs(count, singly=False)
    method = da.MoreauJean(step=4e-3, max_sweeps=1000)
    given: Any = {"parameters": {"mu": 0.5, "e": 0.1}, "solver": method}
    run = da.simulate(system, q0, np.zeros(3 * count), [0, 0.2, 0.4], **given)
    assert len(run.constraints) == count + count * (count - 1) // 2
    energy = (run.qd**2 @ np.repeat([0.5, 0.5, 0.0625], count)) + 10 * run.q[:, count : 2 * count].sum(axis=1)
    assert (np.diff(energy) <= 1e-9 * energy[0]).all()
    assert run.statistics["largest_penetration"] < 0.02
    assert any("deepest penetration" in note for note in run.notes)


def test_run_at_other_times() -> None:
    run = da.simulate(ball(), (0, 5), (1, 0), [0, 2], solver=da.MoreauJean(step=1e-2))
    part = run.at([0.5, 1.234])
    np.testing.assert_allclose(part.q[0], (0.5, 5 - 10 * 0.25 / 2), rtol=1e-12)
    np.testing.assert_allclose(run.evaluate(x, t=1.234), 1.234, rtol=1e-12)
    assert len(run.source.steps(run)) == 201  # pyright: ignore[reportOptionalMemberAccess]


def test_impulses_that_are_not_found_are_reported() -> None:
    row = da.coordinates("h0 h1 h2 h3 h4 h5 h6 h7")
    contacts = [da.Constraint(sp.Ge(row[0], 0), name="c0", restitution=0)]
    contacts += [
        da.Constraint(sp.Ge(q - p, 0), name=f"c{i + 1}", restitution=0) for i, (p, q) in enumerate(pairwise(row))
    ]
    stack = da.System(row, sp.eye(8), [-10] * 8, contacts)
    given = (0,) * 8, (0,) * 8, [0, 0.1]
    run = da.simulate(stack, *given, solver=da.MoreauJean(step=0.01, max_sweeps=3))
    assert any("miss the laws of contact" in note for note in run.notes)
    solved = da.simulate(stack, *given, solver=da.MoreauJean(step=0.01))
    assert not any("miss the laws of contact" in note for note in solved.notes)
    np.testing.assert_allclose(solved.reactions[-1], 10 * np.arange(8, 0, -1), rtol=1e-6)


FLOOR: Any = {"name": "floor", "restitution": 0.5}


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (da.Constraint(sp.Ge(y, 0), impact="poisson", **FLOOR), "must follow Moreau's law"),
        (da.Constraint(sp.Ge(y, 0), nonideal=da.Coulomb(0.1), **FLOOR), 'Pass `impact="moreau"`'),
        (da.Constraint(sp.Ge(y, 0), nonideal=da.Viscous(1), **FLOOR), "`floor` has another law"),
        (da.Constraint(sp.Ge(y, 0), nonideal=da.Coulomb(0.1, smoothing=0.1), **FLOOR), "`floor` has another law"),
        (
            da.Constraint(sp.Ge(y, 0), nonideal=da.Stribeck(0.1, 0.2, 1), impact="moreau", **FLOOR),
            "must have one coefficient",
        ),
        (
            da.Constraint(
                sp.Ge(y, 0), nonideal=da.Coulomb(0.1, velocity=x.diff(da.t), normal_force=3), impact="moreau", **FLOOR
            ),
            "must be proportional to the reaction of its own",
        ),
        (
            da.Constraint(sp.Ge(y, 0), nonideal=(da.Coulomb(0.1), da.Coulomb(0.2)), impact="moreau", **FLOOR),
            "must have one friction law",
        ),
        (da.Constraint(y, name="hook", releases=True), "`hook` is released or switched"),
        (da.Constraint(y.diff(da.t, 2), name="jerk"), "`jerk` has accelerations"),
        (da.Constraint(y, name="wire", nonideal=da.Coulomb(0.1, smoothing=0.1)), "depends on reactions in another way"),
    ],
)
def test_what_the_steps_do_not_support(constraint: da.Constraint, message: str) -> None:
    system = da.System((x, y), sp.eye(2), (0, -10), constraint)
    with pytest.raises(da.InputError, match=message):
        da.simulate(system, (0, 0), (0, 0), [0, 1], solver=da.MoreauJean(step=0.1))


def test_friction_without_constraint_is_refused() -> None:
    friction = da.Coulomb(0.1, velocity=x.diff(da.t), normal_force=10)
    system = da.System((x, y), sp.eye(2), (0, -10), da.Constraint(sp.Ge(y, 0), **FLOOR), nonideal=friction)
    with pytest.raises(da.InputError, match="must belong to a constraint"):
        da.simulate(system, (0, 0), (0, 0), [0, 1], solver=da.MoreauJean(step=0.1))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"step": 0}, "`step` must be a positive number"),
        ({"step": 0.1, "theta": 0.4}, "`theta` must be from 0.5 to 1"),
        ({"step": 0.1, "tolerance": -1}, "`tolerance` must be a positive number"),
        ({"step": 0.1, "max_sweeps": 0}, "`max_sweeps` must be a whole number"),
    ],
)
def test_arguments_out_of_range(given: Any, message: str) -> None:
    with pytest.raises(da.InputError, match=message):
        da.MoreauJean(**given)


@pytest.mark.parametrize(
    ("given", "name"),
    [({"events": [da.Event(x)]}, "events"), ({"step": 0.1}, "step"), ({"drift": None}, "drift")],
)
def test_other_methods_are_refused(given: Any, name: str) -> None:
    with pytest.raises(da.InputError, match=f"`{name}` must be left out with `da.MoreauJean`"):
        da.simulate(ball(), (0, 1), (0, 0), [0, 1], solver=da.MoreauJean(step=0.1), **given)


def test_bad_starts_and_coefficients() -> None:
    method = da.MoreauJean(step=0.1)
    with pytest.raises(da.StateError, match=r"`floor`, whose gap is -0\.1"):
        da.simulate(ball(), (0, -0.1), (0, 0), [0, 1], solver=method)
    rod = da.System((x, y), sp.eye(2), (0, 0), da.Constraint(x**2 + y**2 - 1, name="rod"))
    with pytest.raises(da.StateError, match="`rod` is violated by"):
        da.simulate(rod, (2, 0), (0, 0), [0, 1], solver=method)
    with pytest.raises(da.InputError, match="constraint `floor`: `restitution` must be from 0"):
        da.simulate(ball(sp.Symbol("e")), (0, 1), (0, 0), [0, 1], solver=method, parameters={"e": 2})
    servo = da.Servo("s", x, by=da.Actuator("push", x), settle=1)
    with pytest.raises(da.InputError, match="without servos"):
        da.simulate(da.System((x,), [[1]], (0,), servos=servo), (0,), (0,), [0, 1], solver=method)
    with pytest.raises(da.InputError, match="functions of time with jumps"):
        da.simulate(da.System((x,), [[1]], (sp.Heaviside(da.t - 1),)), (0,), (0,), [0, 1], solver=method)


def test_steps_that_cannot_be_taken_end_the_run() -> None:
    stiff = da.System((x,), [[1]], (-1000 * x.diff(da.t),))
    with pytest.raises(da.SimulationError, match="forces change too fast with the velocities") as stopped:
        da.simulate(stiff, (0,), (1,), [0, 1], solver=da.MoreauJean(step=0.1))
    assert stopped.value.time == 0
    with pytest.raises(da.SimulationError, match="not finite there"):
        da.simulate(da.System((x,), [[1]], (1 / (x - 1),)), (0.95,), (1,), [0, 1], solver=da.MoreauJean(step=0.1))


def test_other_functions_refuse_contacts_by_arrays() -> None:
    system, q = discs(3, singly=False), np.array([0, 1, 2, 0.5, 0.5, 0.5, 0, 0, 0.0])
    given: Any = {"parameters": {"mu": 0.3, "e": 0.2}}
    for call in (
        lambda: da.simulate(system, q, 0 * q, [0, 1], **given),
        lambda: da.motion(system, q, 0 * q, **given),
        lambda: da.check(system, q, 0 * q, **given),
        lambda: system.constraints,
    ):
        with pytest.raises(da.InputError, match=r"solver=da\.MoreauJean\(step\)"):
            call()


def test_page_of_a_run_is_refused() -> None:
    run = da.simulate(ball(), (0, 5), (1, 0), [0, 1], solver=da.MoreauJean(step=1e-2))
    with pytest.raises(da.InputError, match="a live page must be of a system whose constraints hold all the time"):
        run.page("ball.html")


def test_a_saved_run_is_reproduced_with_its_own_steps(tmp_path: Path) -> None:
    system = ball()
    run = da.simulate(system, (0, 1), (1, 0), [0, 0.5, 1], solver=da.MoreauJean(step=0.01, theta=0.7))
    run.save(tmp_path / "run.nc")
    loaded = da.Trajectory.load(tmp_path / "run.nc")
    found = da.reproduce(system, loaded)
    assert (found.q == run.q).all() and np.allclose(found.ledger().work, run.ledger().work, rtol=0)
    with pytest.raises(da.InputError, match=r"`theta` must be that of the run, 0\.7; got 0\.5"):
        da.reproduce(system, loaded, solver=da.MoreauJean(step=0.01))
    with pytest.raises(da.InputError, match="`solver` must be that of the run, MoreauJean; got "):
        da.reproduce(system, loaded, solver=None)


def falling_rope(n=9, factor=2.0):
    """A rope of rods, two of which are stated twice, that falls on a rough floor."""
    x, y = da.coordinates("x", n), da.coordinates("y", n)
    u, v, w, z = da.coordinates("u v w z")
    ends = {u: x[:-1], v: y[:-1], w: x[1:], z: y[1:]}
    distance = (u - w) ** 2 + (v - z) ** 2 - 1
    rods = da.Constraint.over(distance, ends, name="rod")
    again = da.Constraint.over(factor * distance, {key: places[:2] for key, places in ends.items()}, name="again")
    friction = da.Coulomb(0.3, velocity=u.diff(da.t), normal_force=da.multiplier("floor"))
    floor = da.Constraint.over(
        sp.Ge(v + 0 * u, 0), {u: x, v: y}, name="floor", restitution=0.2, impact="moreau", nonideal=friction
    )
    angles = 0.5 * np.sin(0.7 * np.arange(n))
    q = np.concatenate([np.cumsum(np.cos(angles)), np.cumsum(np.sin(angles))])
    q[n:] -= q[n:].min() - 0.05
    return da.System((x, y), 1, {y: -9.81}, (rods, again, floor)), q


@pytest.mark.parametrize("factor", [2.0, 1e6])
def test_equations_of_many_coordinates_are_eliminated_sparsely(monkeypatch, factor):
    """The same motion as by arrays of n × n numbers; impulses of redundant rods are only determined together."""
    system, q = falling_rope(factor=factor)
    times, method = np.linspace(0, 0.6, 4), da.MoreauJean(5e-3, max_sweeps=100_000)
    wanted = da.simulate(system, q, 0 * q, times, solver=method)
    monkeypatch.setattr("dalembert.hybrid.mobility.LARGEST_DENSE", 0)
    found = da.simulate(system, q, 0 * q, times, solver=method)
    assert wanted.statistics["sweeps"] > 100
    for name in ("q", "qd", "ideal_force"):
        ours, theirs = getattr(found, name), getattr(wanted, name)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max(), err_msg=name)
    np.testing.assert_allclose(found["floor"], wanted["floor"], rtol=0, atol=1e-6 * np.abs(wanted["floor"]).max())


def test_friction_of_a_group_of_contacts_must_be_complete():
    x = da.coordinates("x", 201)
    u = da.coordinates("u")
    floor = da.Constraint.over(
        sp.Ge(u, 0), {u: x}, name="floor", restitution=0, impact="moreau", nonideal=da.Coulomb(0.3)
    )
    q = np.ones(201)
    with pytest.raises(da.InputError, match="that of `floor` lacks `velocity`, `normal_force`"):
        da.simulate(da.System(x, 1, 0, floor), q, q, [0, 1], solver=da.MoreauJean(0.1))
