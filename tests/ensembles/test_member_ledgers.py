"""Ledgers of ensemble members: those of single runs, and works in closed form."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.ensembles import compiled_ledgers, member_ledgers

x, y, a, b = da.coordinates("x y a b")
m, g, c, e, w = da.parameters("m g c e w")
TIMES = np.linspace(0, 1, 6)
ROUNDING = 1e-12
PHASES = 1e-11
MOTION = 1e-9


def pendulum(rods=1):
    links = [da.Constraint((k + 1) * (x**2 + y**2 - 1), name=f"rod{k}") for k in range(rods)]
    L = m * (x.diff(da.t) ** 2 + y.diff(da.t) ** 2) / 2 - m * g * y
    return da.System.from_lagrangian(L, (x, y), constraints=links, nonideal=da.Viscous(c))


def pulled():
    forces = {"weight": (0, -g), "drag": (-c * x.diff(da.t), -c * y.diff(da.t))}
    return da.System((x, y), sp.eye(2), forces, da.Constraint(x**2 + y**2 - 1, name="rod"))


def driven():
    """A particle on a circle that turns at a given rate; its drive does work."""
    turned = da.Constraint(x * sp.sin(w * da.t) - y * sp.cos(w * da.t), name="drive")
    return da.System((x, y), sp.eye(2), (0, -g), [da.Constraint(x**2 + y**2 - 1, name="circle"), turned])


def kicked():
    """A force that jumps at a time, at which the compiled ledger leaves members to single runs."""
    return da.System((x,), [[1]], (g * sp.Heaviside(da.t - sp.Rational(1, 3)) - x,))


def steered():
    follow = da.Servo("follow", x - sp.sin(w * da.t), by=da.Actuator("motor", x), settle=1)
    return da.System((x,), [[1]], (-x,), servos=follow)


def belted():
    slip = x.diff(da.t) - sp.Rational(1, 2)
    friction = da.Coulomb(c, velocity=slip, normal_force=da.multiplier("belt"), mu_static=2 * c)
    return da.System((x, y), sp.eye(2), (-20 * x, -10), da.Constraint(y, name="belt"), nonideal=friction)


def two_blocks():
    """Two blocks on a belt, coupled by a spring; one slides under Stribeck's law."""
    slips = [(x, y, "one"), (a, b, "two")]
    rows = [da.Constraint(high, name=name) for _, high, name in slips]
    speeds = [along.diff(da.t) - sp.Rational(1, 2) for along, *_ in slips]
    dry = da.Coulomb(c, velocity=speeds[0], normal_force=da.multiplier("one"), mu_static=2 * c)
    falling = da.Stribeck(c, 2 * c, 1, velocity=speeds[1], normal_force=da.multiplier("two"))
    pull = sp.Rational(13, 10) * (a - x)
    forces = (-5 * x + pull, -10, -5 * a - pull, -10)
    return da.System((x, y, a, b), sp.eye(4), forces, rows, nonideal=[dry, falling])


def shaken():
    """A block under a force that is below its static limit at times, with its weight and its drive by name."""
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(c, mu_static=2 * c))
    forces = {"drive": (w * sp.sin(20 * da.t), 0), "weight": (0, -10)}
    return da.System((x, y), sp.eye(2), forces, floor)


def rough_pin():
    rod = da.PlanarBody("rod", mass=1, inertia=0.1, position=(0.5, 0))
    pin = da.Revolute("pin", da.ground.at(0, 0), rod.at(-0.5, 0), radius=0.5, nonideal=da.Coulomb(c))
    return da.Mechanism(rod, pin, da.Gravity((0, -9.81))).system


def hopping():
    return da.System((x, y), [[m, 0], [0, m]], (0, -10 * m), da.Constraint(sp.Ge(y, 0), name="ground", restitution=e))


def assert_ledgers(many, singles, tolerance):
    """Compare all variables of the ledgers of members with those of single runs."""
    for k, ledger in enumerate(singles):
        alone = ledger.to_xarray()
        assert [*many["entry"].values] == [*ledger.names] and [*many["kind"].values] == [*alone["kind"].values]
        scale = max(1.0, ledger.turnover)
        for name in ("power", "work", "split_power", "split_work", "kinetic", "potential", "audit"):
            assert (name in many) == (name in alone)
            if name in alone:
                np.testing.assert_allclose(many[name][k], alone[name], rtol=0, atol=tolerance * scale, err_msg=name)


def compared(system, q0, qd0, numbers, times=TIMES, tolerance=ROUNDING, **options):
    many = da.simulate_ensemble(system, q0, qd0, times, parameters=numbers, outputs=("ledger",), **options)
    count = many.sizes["member"]
    members = [{name: np.broadcast_to(own, count)[k] for name, own in numbers.items()} for k in range(count)]
    singles = [da.simulate(system, q0, qd0, times, parameters=own, **options).ledger() for own in members]
    assert_ledgers(many, singles, tolerance)
    return many


@pytest.fixture
def compiled_only(monkeypatch):
    """Members whose ledgers are left to single runs raise an error."""
    monkeypatch.setattr(member_ledgers, "single_member", None)


SMOOTH = {
    "pendulum": (pendulum(), (1, 0), (0, 0), {"m": 2.0, "g": [9.0, 10.0, 11.0], "c": 0.3}),
    "redundant": (pendulum(2), (1, 0), (0, 0), {"m": 2.0, "g": [9.0, 10.0], "c": [0.3, 0.0]}),
    "named forces": (pulled(), (1, 0), (0, 0), {"g": [9.0, 10.0], "c": 0.2}),
    "drive": (driven(), (1, 0), (0, 2), {"g": [9.0, 10.0], "w": 2.0}),
    "servo": (steered(), (0.1,), (0,), {"w": [2.0, 3.0]}),
}


@pytest.mark.parametrize("case", SMOOTH)
def test_smooth_motions_have_the_ledgers_of_single_runs(case, compiled_only):
    """Computed for all members at once, to rounding."""
    compared(*SMOOTH[case])


DRY = {
    "belt": (belted(), (0, 0), (0.5, 0), {"c": [0.1, 0.2]}),
    "two blocks": (two_blocks(), (0.1, 0, -0.1, 0), (0, 0, 0, 0), {"c": [0.1, 0.2, 0.3]}),
    "shaken": (shaken(), (0, 0), (0, 0), {"w": [1.9, 4.1, 8.0], "c": 0.2}),
    "pin": (rough_pin(), (0.5, 0, 0), (0, 0, 0), {"c": [0.8, 0.9]}),
}


@pytest.mark.parametrize("case", DRY)
def test_members_that_stick_and_slip_have_the_ledgers_of_single_runs(case, compiled_only):
    """Phase by phase, for all members at once, to the accuracy of the steps."""
    compared(*DRY[case], times=np.linspace(0, 4, 15), tolerance=PHASES)


def test_long_motions_have_finer_intervals(compiled_only):
    """A step from the begin of an interval of the first division would not reach its nodes accurately."""
    compared(belted(), (0, 0), (0.5, 0), {"c": [0.1]}, times=[0, 20, 40], tolerance=MOTION)


@pytest.mark.parametrize(
    ("case", "options"),
    [
        ((kicked(), (1,), (0,), {"g": [1.0, 2.0]}), {}),
        ((pendulum(), (1, 0), (0, 0), {"m": 1.0, "g": [9.0, 10.0], "c": 0.1}), {"step": 0.01}),
        ((belted(), (0, 0), (0.5, 0), {"c": [0.1, 0.2]}), {"step": 0.01}),
        ((hopping(), (0, 1), (1, 0), {"m": 2.0, "e": [0.5, 0.8]}), {}),
    ],
    ids=["jump", "fixed steps", "fixed steps with friction", "impacts"],
)
def test_other_motions_have_the_ledgers_of_single_runs(case, options):
    compared(*case, **options)


def test_drift_cures():
    """The work of Baumgarte's terms is that of the constraints, and a note says so."""
    numbers = {"m": 1.0, "g": [9.0, 10.0], "c": 0.0}
    cured = compared(pendulum(), (1, 0), (0, 0), numbers, drift=da.Baumgarte(5, 5), rtol=1e-6)
    assert "The work of the stabilising terms is counted as work of the constraints." in cured.attrs["notes"]
    compared(pendulum(), (1, 0), (0, 0), numbers, drift=None)


def test_first_integrals_and_controllers(compiled_only):
    numbers = {"m": 1.0, "g": [9.0, 10.0], "c": 0.0}
    compared(pendulum(), (1, 0), (0, 0), numbers, drift=da.Projection(conserve="energy"))
    motor = da.Actuator("motor", x)
    plant = da.System((x,), [[m]], (-x,), servos=da.Servo("reach", x - 1, by=motor))
    control = da.controller(plant, parameters={"m": 2.0})
    compared(plant, (0.1,), (0,), {"m": [2.0, 2.2]}, control=control)


def test_friction_in_closed_form(compiled_only):
    """A block that slides until it rests has lost its kinetic energy to friction."""
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(c))
    block = da.System((x, y), [[m, 0], [0, m]], (0, -10 * m), floor)
    numbers = {"m": 2.0, "c": [0.1, 0.2, 0.4]}
    many = da.simulate_ensemble(block, (0, 0), (2, 0), [0, 0.5, 1], parameters=numbers, outputs=("ledger", "q"))
    work = many["work"].sel(entry="floor: Coulomb")
    speed = np.maximum(2 - 10 * np.array([0.1, 0.2, 0.4])[:, None] * [0, 0.5, 1], 0)
    np.testing.assert_allclose(work, speed**2 - 4, atol=1e-9)


def test_losses_at_impacts_in_closed_form():
    """A ball falls from 1 m onto the ground at t = 0.447 s and loses the fraction 1 − e² of its energy."""
    given = {"m": 2.0, "e": [0.0, 0.5, 1.0]}
    many = da.simulate_ensemble(hopping(), (0, 1), (0, 0), [0, 0.4, 0.5], parameters=given, outputs="ledger")
    loss = many["work"].sel(entry="ground")
    np.testing.assert_allclose(loss[:, 1], 0, atol=1e-12)
    np.testing.assert_allclose(loss[:, 2], -20 * (1 - np.array([0.0, 0.5, 1.0]) ** 2), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(many["audit"], 0, atol=1e-8)


def test_events_have_entries():
    """An event that reverses the velocity with a loss; of a member in which it does not occur the entry is zero."""
    bounce = da.Event(x - 1, then=da.Change({x.diff(da.t): -x.diff(da.t) / 2}), name="bounce")
    free = da.System((x,), [[1]], (0,))
    many = da.simulate_ensemble(free, (0,), [[2], [0.1]], [0, 1], outputs="ledger", events=bounce)
    assert [*many["entry"].values] == ["applied forces", "bounce"]
    np.testing.assert_allclose(many["work"].sel(entry="bounce")[:, 1], [-1.5, 0], atol=1e-12)


def test_a_member_that_is_stopped_has_a_ledger_up_to_its_end():
    stop = da.Event(x - 1, stop=True, name="far")
    falling = da.System((x,), [[1]], (g,))
    given = {"parameters": {"g": [1.0, 4.0]}, "outputs": "ledger", "events": stop}
    many = da.simulate_ensemble(falling, (0,), (0,), [0, 0.5, 1], **given)
    np.testing.assert_allclose(many["work"].sel(entry="applied forces"), [[0, 0.125, 0.5], [0, 2.0, np.nan]], atol=1e-9)
    last = da.simulate_ensemble(falling, (0,), (0,), [0, 0.5, 1], keep="end", **given)
    np.testing.assert_allclose(last["work"].values.ravel(), [0.5, 4.0], atol=1e-9)


def test_members_that_fail_have_none():
    given = {"parameters": {"m": 1.0, "g": [9.0, np.nan], "c": 0.0}, "outputs": ("q", "ledger")}
    many = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, **given)
    assert np.isfinite(many["work"][0]).all() and np.isnan(many["work"][1]).all() and np.isnan(many["audit"][1]).all()


@pytest.mark.parametrize("keep", ["times", "end", "summary"])
def test_stores_summaries_and_ends(keep, tmp_path, monkeypatch):
    """In several blocks, on two axes, and from a store."""
    monkeypatch.setattr("dalembert.ensembles.runner.CHUNK", 2)
    monkeypatch.setattr(compiled_ledgers, "INTERVALS_AT_ONCE", 256)
    design = da.grid(g=[9.0, 10.0], c=[0.0, 0.1, 0.2], m=1.0)
    given = {"parameters": design, "outputs": ("q", "ledger")}
    whole = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, **given)
    assert whole["work"].dims == ("g", "c", "time", "entry")
    found = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, keep=keep, store=tmp_path / "a.zarr", **given)
    again = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, keep=keep, store=tmp_path / "a.zarr", **given)
    assert [*found["entry"].values] == ["applied forces", "rod0", "Viscous"]
    for name in ("work", "audit", "split_power", "potential"):
        if keep == "summary":
            np.testing.assert_allclose(found[f"mean_{name}"], whole[name].mean(("g", "c")), atol=1e-13)
        else:
            np.testing.assert_array_equal(found[name], whole[name] if keep == "times" else whole[name][:, :, -1:])
    assert found.identical(again)


def test_many_intervals_are_left_to_single_runs():
    """A force whose power varies much faster than the motion is integrated in intervals that are divided."""
    fast = da.System((x,), [[1]], (w * sp.sin(3000 * da.t) - x,))
    many = compared(fast, (1,), (0,), {"w": [0.0, 5.0]}, times=[0, 0.5, 1.0], tolerance=MOTION, max_step=0.001)
    assert np.abs(many["audit"]).max() < 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "gpu"}, '"ledger" in `outputs` needs members that run on a CPU'),
        ({"outputs": {"ledger": "ledger", "work": x}}, "no other quantity can be called `work`"),
        ({"outputs": {"books": "ledger"}}, "`ledger` in `outputs` must keep its name; got `books`"),
    ],
)
def test_what_ledgers_do_not_go_together_with(options, message):
    given = {"times": TIMES, "outputs": ("ledger",), "parameters": {"m": 1.0, "g": [9.0, 10.0], "c": 0.0}, **options}
    with pytest.raises(da.InputError, match=message):
        da.simulate_ensemble(pendulum(), (1, 0), (0, 0), **given)


def test_a_parameter_with_the_name_of_a_variable_is_refused():
    power = da.parameters("power")
    system = da.System((x,), [[1]], (power,))
    with pytest.raises(da.InputError, match="no other quantity can be called `power`"):
        da.simulate_ensemble(system, (0,), (0,), [0, 1], parameters={"power": [1.0, 2.0]}, outputs="ledger")
