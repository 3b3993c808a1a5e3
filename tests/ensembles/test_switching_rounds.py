"""Members with events, and with contacts that open and close, against single runs: motions, events and forces."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.impacts.impulses import ImpulseContact, impact_impulses
from dalembert.impacts.impulses_of_many import ImpulsesOfMany

x, y, z, a = da.coordinates("x y z a")
g, e, mu, mu_s, k, b, D, V = da.parameters("g e mu mu_s k b D V")
t = da.t


def free_fall(*events: da.Event) -> Any:
    ball = da.System((x, y), sp.eye(2), (0, -g))
    return ball, (0, 5), (1, 0), np.linspace(0, 4, 11), {"g": [5.0, 10.0]}, events


def stopping() -> Any:
    return free_fall(da.Event(y - b, direction=-1, stop=True, name="lands"), da.Event(x - 0.35, name="passes"))


def changing() -> Any:
    rises = da.Change({y.diff(t): -e * y.diff(t), "g": sp.Rational(9, 8) * g})
    return free_fall(da.Event(y, direction=-1, name="strikes", then=rises), da.Event(y.diff(t), name="turns"))


def at_one_time() -> Any:
    """Three events at one time, two of them by rounding only, and one at the last time."""
    v = y.diff(t)
    half = da.Event(y - 5 + g / 8, direction=-1, name="half", then=da.Change({v: v + 1}))
    middle = da.Event(t - sp.Rational(1, 2), name="middle", then=da.Change({v: 2 * v}))
    right = da.Event(x - sp.Rational(1, 2), name="right", then=da.Change({x.diff(t): 2}))
    return free_fall(middle, half, right, da.Event(t - 4, name="last"))


def switching() -> Any:
    """A falling mass on a spring; a brake stops its motion aside, with an impulse, and lets go when its force is b."""
    brake = da.Constraint(x.diff(t) - y.diff(t) / 4, name="brake", active=False)
    system = da.System((x, y), sp.eye(2), (-k * x, -g), brake)
    on = da.Event(y + 0.4, direction=-1, name="on", then=da.Change(on="brake"))
    off = da.Event(da.reaction("brake") - b, name="off", then=da.Change(off="brake"))
    numbers = {"g": [5.0, 10.0], "k": 9.0, "b": [-2.0, -3.0]}
    return system, (0.3, 0), (0.2, 0), np.linspace(0, 1.3, 11), numbers, (on, off)


def coinciding() -> Any:
    """Two events at one instant, each of which changes the motion."""
    back = da.Change({y.diff(t): -y.diff(t)})
    faster = da.Change({x.diff(t): 2 * x.diff(t)})
    lands = da.Event(y, direction=-1, name="lands", then=back)
    *rest, numbers, events = free_fall(lands, da.Event(x - sp.sqrt(10 / g), name="passes", then=faster))
    return *rest, numbers | {"g": [7.7, 11.4]}, events


def bouncing() -> Any:
    floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=e)
    ball = da.System((x, y), sp.eye(2), (0, -g), floor)
    return ball, (0, 5), (1, 0), np.linspace(0, 4, 21), {"g": [5.1, 9.7], "e": [0.0, 0.5]}, ()


def cradle() -> Any:
    """Three balls on springs of their own; the outer ones hang a little apart."""
    pairs = (("first", y - x), ("second", z - y))
    rows = [da.Constraint(sp.Ge(gap, 1), name=name, restitution=e) for name, gap in pairs]
    system = da.System((x, y, z), sp.diag(1, b, 1), (-k * (x + 1.1), -k * y, -k * (z - 1.2)), rows)
    return system, (-1.7, 0, 1.2), (0, 0, 0), np.linspace(0, 6, 21), {"e": [0.9, 1.0], "b": [0.7, 2.0], "k": 2.0}, ()


def rocking() -> Any:
    rows = []
    for name, side in (("left", -0.25), ("right", 0.25)):
        corner = (x + sp.cos(a) * side + sp.sin(a), y + sp.sin(a) * side - sp.cos(a))
        friction = da.Coulomb(mu, velocity=corner[0].diff(t), normal_force=da.multiplier(name))
        rows.append(da.Constraint(sp.Ge(corner[1], 0), name=name, restitution=0, nonideal=friction))
    block = da.System((x, y, a), sp.diag(1, 1, sp.Rational(17, 48)), (0, -g, 0), rows)
    tilt = 0.1
    q0 = (-0.25 + np.cos(tilt) * 0.25 - np.sin(tilt), np.sin(tilt) * 0.25 + np.cos(tilt), tilt)
    return block, q0, (0, 0, 0), np.linspace(0, 2, 11), {"g": [8.0, 9.81], "mu": [0.9, 2.0]}, ()


def ladder() -> Any:
    wall = da.Constraint(sp.Ge(x - sp.sin(a), 0), name="wall", restitution=0)
    slip = x.diff(t) + a.diff(t) * sp.cos(a)
    friction = da.Coulomb(mu, velocity=slip, normal_force=da.multiplier("floor"))
    floor = da.Constraint(sp.Ge(y - sp.cos(a), 0), name="floor", restitution=0, nonideal=friction)
    system = da.System((x, y, a), sp.diag(1, 1, sp.Rational(1, 3)), (0, -g, 0), (wall, floor))
    start = (np.sin(0.6), np.cos(0.6), 0.6)
    return system, start, (0, 0, 0), np.linspace(0, 1.6, 11), {"g": [1.0, 1.2], "mu": [0.02, 0.05]}, ()


def rope() -> Any:
    own = da.Constraint(sp.Le(x**2 + y**2, 1), name="rope", restitution=e)
    system = da.System((x, y), sp.eye(2), (0, -g), own)
    return system, (0, -1), (np.sqrt(3.5), 0), np.linspace(0, 4, 11), {"g": [1.0, 1.1], "e": [0.0, 0.3]}, ()


def hoop() -> Any:
    """A bead that leaves a sphere, which holds it from both sides until its force changes sign."""
    sphere = da.Constraint(x**2 + y**2 - b**2, name="sphere", releases=True)
    system = da.System((x, y), sp.eye(2), (0, -g), sphere)
    start = (np.sin(0.5), np.cos(0.5))
    return system, start, (0, 0), np.linspace(0, 2, 11), {"g": [1.0, 1.2], "b": 1.0}, ()


def belt() -> Any:
    friction = da.Coulomb(mu, velocity=x.diff(t) - V, normal_force=da.multiplier("belt"), mu_static=mu_s)
    rows = [
        da.Constraint(y, name="belt", nonideal=friction),
        da.Constraint(sp.Ge(D - x, 0), name="stop", restitution=e),
        da.Constraint(sp.Ge(x + D, 0), name="back", restitution=e),
    ]
    system = da.System((x, y), sp.eye(2), (-k * x, -10), rows)
    numbers = {"k": [2.0, 5.0], "D": [0.33, 0.6], "mu": 0.2, "mu_s": 0.4, "V": 0.47, "e": 0.6}
    return system, (0.1, 0), (0.5, 0), np.linspace(0, 5, 21), numbers, ()


def triangle() -> da.System:
    """A body with three rough corners above the ground."""
    rows = []
    for name, (along, across) in {"A": (-0.5, -0.3), "B": (0.5, -0.3), "C": (0.1, 0.4)}.items():
        corner = (x + sp.cos(a) * along - sp.sin(a) * across, y + sp.sin(a) * along + sp.cos(a) * across)
        friction = da.Coulomb(mu, velocity=corner[0].diff(t), normal_force=da.multiplier(name))
        rows.append(da.Constraint(sp.Ge(corner[1], 0), name=name, restitution=e, nonideal=friction, impact="poisson"))
    kinetic = (x.diff(t) ** 2 + y.diff(t) ** 2 + a.diff(t) ** 2 / 8) / 2
    return da.System.from_lagrangian(kinetic - 10 * y, (x, y, a), constraints=rows)


def thrown() -> Any:
    start = (0, 1.3, 0.4), (0.5, 0, 0.3)
    return triangle(), *start, np.linspace(0, 2, 11), {"mu": [0.2, 0.3], "e": [0.2, 0.4]}, ()


def shaken() -> Any:
    """A box whose two corners leave a table together."""
    rows = []
    for name, side in (("left", -1), ("right", 1)):
        corner = (x + sp.cos(a) * side / 2 + sp.sin(a) / 4, y + sp.sin(a) * side / 2 - sp.cos(a) / 4)
        friction = da.Coulomb(mu, velocity=corner[0].diff(t), normal_force=da.multiplier(name))
        gap = sp.Ge(corner[1] - sp.sin(20 * t) / 10, 0)
        rows.append(da.Constraint(gap, name=name, restitution=0, nonideal=friction))
    box = da.System((x, y, a), sp.diag(1, 1, sp.Rational(1, 10)), (0, -g, 0), rows)
    return box, (0, 0.25, 0), (3, 2, 0), np.linspace(0, 0.2, 5), {"g": [9.0, 10.0], "mu": [0.1, 0.4]}, ()


CASES: dict[str, Callable[[], Any]] = {
    "events that stop": stopping,
    "events that change": changing,
    "events at one time": at_one_time,
    "constraints that are switched": switching,
    "events at one instant": coinciding,
    "contacts that open together": shaken,
    "bouncing ball": bouncing,
    "cradle": cradle,
    "rocking block": rocking,
    "ladder": ladder,
    "rope": rope,
    "release": hoop,
    "belt with stops": belt,
    "three contacts": thrown,
}


@pytest.mark.parametrize("case", CASES)
def test_members_are_those_of_single_runs(case: str) -> None:
    """States to 1e-11, the same events in the same order, their times to 1e-11 and those of rest to 1e-8."""
    system, q0, qd0, times, numbers, events = CASES[case]()
    numbers = {"e": 0.9, "b": [0.5, 1.0]} | numbers
    used = {*system.parameter_names, *(name for event in events for name in event.parameters)}
    design = da.grid(**{name: value for name, value in numbers.items() if name in used})
    forces = ("q", "qd", "acceleration") + (("reactions", "violation") if system.constraints else ())
    many = da.simulate_ensemble(system, q0, qd0, times, parameters=design, events=list(events), outputs=forces)
    assert many.attrs["handed_over"] == 0 and (many["reason"] == "").all()
    swept = [name for name in design.sizes if design.sizes[name] > 1]
    for place in (0, -1):
        chosen = dict.fromkeys(swept, place)
        member, own = many.isel(chosen), design.isel(chosen)
        p = {name: float(own[name]) for name in design.variables}
        run = da.simulate(system, q0, qd0, times, parameters=p, events=list(events))
        reached = np.isin(run.t, times)
        for name in forces:
            found = member[name].values[: reached.sum()]
            atol = 1e-11 if name in ("q", "qd") else 1e-7
            np.testing.assert_allclose(
                found, getattr(run, name)[reached], rtol=0 if name in ("q", "qd") else 1e-7, atol=atol
            )
            assert np.isnan(member[name].values[reached.sum() :]).all()  # after an event that stops the motion
        count = int(member["event_count"])
        listed = zip(*(member[f"event_{name}"].values[:count].tolist() for name in ("name", "kind")), strict=True)
        assert [*listed] == [(event.name, event.kind) for event in run.events]
        for event, found in zip(run.events, member["event_time"].values, strict=False):
            assert found == pytest.approx(event.t, abs=1e-8 if event.kind == "rests" else 1e-11)
        assert count > 0 and (member["event_name"].values[count:] == "").all()
        assert float(member["end_time"]) == pytest.approx(run.t[-1], abs=1e-11)


@pytest.mark.parametrize("law", ["newton", "poisson", "moreau"])
@pytest.mark.parametrize("rough", [(True,), (True, False), (True, True), (False, False, False)])
@pytest.mark.parametrize("two_sided", [False, True])
def test_impulses_of_many_are_those_of_one(law: str, rough: tuple[bool, ...], two_sided: bool) -> None:
    """The same impulses as by the laws of single impacts, and none where these have none; redundant contacts too."""
    draw, count, size = np.random.default_rng(len(rough)), len(rough), 12
    rows = draw.normal(size=(size, 2 * count, 3))
    rows[:, count:][:, ~np.array(rough)] = 0.0
    rows[::3, count - 1] = rows[::3, 0]
    W = rows @ np.swapaxes(rows, 1, 2)
    pulls = (two_sided, *(False for _ in rough[1:]))
    approach, slip = draw.normal(size=(2, size, count))
    restitution = np.where(pulls, 0.0, draw.uniform(size=(size, count)))
    friction = draw.uniform(0, 0.6, size=(size, count))
    many = ImpulsesOfMany(approach, restitution, slip, friction, rough, pulls, (law,) * count)
    found, solved = many.impulses(W)
    for i in range(size):
        contacts = [
            ImpulseContact(
                str(j),
                approach[i, j],
                restitution[i, j],
                slip[i, j] if rough[j] else None,
                friction[i, j],
                pulls[j],
                law,
            )
            for j in range(count)
        ]
        try:
            expected = np.concatenate(impact_impulses(contacts, W[i]))
        except da.ConstraintError:
            assert not solved[i]
            continue
        assert solved[i]
        np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-11 * (1 + np.abs(expected).max()))


def test_contacts_of_one_motion_share_their_load() -> None:
    """A triangle that rests on two rough corners, which hold the same motion: both stick, and no member is odd."""
    q0, qd0 = np.array([[0, 0.3, 0]] * 3), np.array([[1.0, 0, 0], [2.0, 0, 0], [3.0, 0, 0]])
    many = da.simulate_ensemble(triangle(), q0, qd0, [0, 0.5, 2], parameters={"mu": 0.3, "e": 0.2})
    assert many.attrs["handed_over"] == 0
    np.testing.assert_allclose(many["q"].sel(coordinate="x", time=2), qd0[:, 0] ** 2 / 6, rtol=1e-12)
    assert [*many["event_kind"].values[0]] == ["sticks", "sticks"]
    np.testing.assert_allclose(many["event_time"].values[:, 0], qd0[:, 0] / 3, rtol=1e-12)


def test_kept_ends_are_those_of_the_motion() -> None:
    """With ``keep="end"`` the state of a member that an event stops is the one there."""
    lands = da.Event(y, direction=-1, stop=True, name="lands")
    ball = da.System((y,), [[1]], (-g,))
    many = da.simulate_ensemble(ball, (5,), (0,), [0, 3], parameters={"g": [1.0, 10.0]}, events=[lands], keep="end")
    np.testing.assert_allclose(many["q"].values[:, 0, 0], [0.5, 0], atol=1e-14)
    np.testing.assert_allclose(many["end_time"], [3, 1], rtol=1e-14)
    np.testing.assert_allclose(many["qd"].values[:, 0, 0], [-3, -10], rtol=1e-13)


def test_expressions_follow_parameters_that_events_change() -> None:
    doubled = da.Event(x - 1, name="doubled", then=da.Change({"k": 2 * k}))
    system = da.System((x,), [[1]], (k,))
    many = da.simulate_ensemble(
        system, (0,), (2,), [0, 0.1, 2], parameters={"k": [0.1, 0.2]}, events=[doubled], outputs={"force": k}
    )
    np.testing.assert_allclose(many["force"], [[0.1, 0.1, 0.2], [0.2, 0.2, 0.4]], rtol=1e-15)


def test_members_that_fail_have_their_reasons() -> None:
    """A penetrating start, a coefficient above one, and a start that is not a number; the first member goes on."""
    floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=e)
    ball = da.System((y,), [[1]], (-10,), floor)
    many = da.simulate_ensemble(
        ball, [[1.0], [-1.0], [1.0], [np.nan]], (0,), [0, 0.3, 1], parameters={"e": [0.5, 0.5, 1.5, 0.5]}
    )
    reasons = many["reason"].values
    assert reasons[0] == "" and np.isfinite(many["q"].values[0]).all()
    assert "must not penetrate" in reasons[1] and "must be from 0" in reasons[2] and "not finite" in reasons[3]
    assert np.isnan(many["q"].values[1:]).all() and (many["event_count"].values[1:] == 0).all()
    np.testing.assert_array_equal(np.isnan(many["end_time"]), [False, True, True, True])


def test_a_plane_of_friction_is_handed_over() -> None:
    """Friction in a plane is decided by single runs, whose events are listed as well."""
    floor = da.Constraint(sp.Ge(z, 0), name="floor", restitution=0.5, nonideal=da.Coulomb(mu))
    particle = da.System((x, y, z), sp.eye(3), (0, 0, -10), floor)
    many = da.simulate_ensemble(particle, (0, 0, 0.2), (3, 4, 0), [0, 0.25], parameters={"mu": [0.2, 0.1]})
    assert many.attrs["handed_over"] == 2
    np.testing.assert_allclose(many["qd"].values[0, 1], [3 - 0.6 * 0.6, 4 - 0.6 * 0.8, 1 - 0.5], atol=1e-12)
    assert [*many["event_kind"].values[:, 0]] == ["impact", "impact"]


@pytest.mark.parametrize("keep", ["times", "end"])
def test_results_do_not_depend_on_blocks(keep: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks with different numbers of events, in memory and in a store."""
    pytest.importorskip("zarr", reason="zarr is an optional dependency")
    ball, q0, qd0, times, numbers, _ = bouncing()
    given = {"parameters": da.grid(**numbers), "keep": keep}
    whole = da.simulate_ensemble(ball, q0, qd0, times, **given)
    monkeypatch.setattr("dalembert.ensembles.switching_runner.CHUNK", 1)
    stored = da.simulate_ensemble(ball, q0, qd0, times, store=tmp_path / "study.zarr", **given)
    for found in (da.simulate_ensemble(ball, q0, qd0, times, **given), stored):
        for name in whole.data_vars:
            np.testing.assert_array_equal(found[name], whole[name])


def test_refusals() -> None:
    ball = da.System((y,), [[1]], (-10,))
    lands = da.Event(y, stop=True, name="lands")
    given = (ball, [[5.0]], (0,), [0, 2])
    with pytest.raises(da.InputError, match='`keep="summary"` needs motions that last until the end; `lands` stops'):
        da.simulate_ensemble(*given, events=[lands], keep="summary")
    with pytest.raises(da.InputError, match='must run on a CPU; got `device="gpu"`'):
        da.simulate_ensemble(*given, events=[lands], device="gpu")
    with pytest.raises(da.ModelError, match=r"`events` must hold `da\.Event` objects"):
        da.simulate_ensemble(*given, events=[3])


def test_random_throws_neither_hang_nor_penetrate_nor_create_energy() -> None:
    """Throws of a triangle with rough corners, all in one ensemble; ``benchmarks.random_contacts`` has more of them."""
    draw, count = np.random.default_rng(3), 40
    q0 = np.stack([np.zeros(count), draw.uniform(1, 2, count), draw.uniform(-3, 3, count)], axis=1)
    many = da.simulate_ensemble(
        triangle(),
        q0,
        2 * draw.normal(size=(count, 3)),
        np.linspace(0, 3, 61),
        parameters={"mu": 0.3, "e": 0.4},
        outputs=("q", "violation", "energy"),
    )
    assert (many["reason"] == "").all() and many.attrs["handed_over"] <= 4
    assert float(many["violation"].min()) > -1e-9
    assert float(many["energy"].diff("time").max()) < 1e-8
