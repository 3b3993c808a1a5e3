"""Ensembles whose members are simulated one after another by ``da.simulate``: the same numbers, labels and reasons."""

from types import MappingProxyType
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
import xarray as xr

import dalembert as da
from dalembert.ensembles import separate_members
from dalembert.native.runge_kutta import RUNGE_KUTTA

diffrax = pytest.importorskip("diffrax", reason="diffrax is an optional dependency")
x, y = da.coordinates("x y")
g, length, mu = da.parameters("g l mu")
TIMES = np.linspace(0, 1, 5)
PENDULUM = da.System((x, y), sp.eye(2), (0, -g), da.Constraint(x**2 + y**2 - length**2, name="rod"))
PARAMETERS = MappingProxyType({"g": np.array([9.0, 10.0, 11.0]), "l": 1.0})
OUTPUTS = ("q", "qd", "acceleration", "ideal_force", "nonideal_force", "multipliers", "reactions", "violation")


def single(system, parameters, k, start=((1, 0), (0, 0)), **arguments):
    own = {name: float(np.ravel(value)[k % np.size(value)]) for name, value in parameters.items()}
    return da.simulate(system, *start, TIMES, parameters=own, **arguments)


METHODS: dict[str, dict[str, Any]] = {
    "implicit": {"solver": da.Implicit()},
    "a tableau": {"solver": RUNGE_KUTTA, "step": 0.01},
    "diffrax": {"solver": diffrax.Tsit5()},
    "a formulation": {"formulation": da.PseudoInverse(), "rtol": 1e-7},
    "without a cure": {"solver": da.Implicit(), "drift": None},
}


@pytest.mark.parametrize("name", METHODS)
def test_members_by_other_methods_are_single_runs(name):
    many = da.simulate_ensemble(
        PENDULUM, (1, 0), (0, 0), TIMES, parameters=PARAMETERS, outputs=(*OUTPUTS, x**2 + y**2), **METHODS[name]
    )
    for k in range(3):
        alone = single(PENDULUM, PARAMETERS, k, **METHODS[name])
        for output in OUTPUTS:
            np.testing.assert_array_equal(many[output][k], getattr(alone, output))
        np.testing.assert_array_equal(many["x**2 + y**2"][k], alone.evaluate(x**2 + y**2))
    argument = "`formulation`" if "formulation" in METHODS[name] else "`solver`"
    assert f"simulated one after another, as by `da.simulate`, for {argument}." in many.attrs["notes"]
    assert many.attrs["handed_over"] == 3


def plant(gain=1.0):
    go = da.Servo("go", x, by=da.Actuator("motor", x, limit=30), settle=3)
    return da.System((x, y), gain * sp.eye(2), (0, -g), da.Constraint(y, name="table"), da.Viscous(mu), servos=go)


CONTROLLERS = {
    "sampled": lambda: da.controller(plant(), parameters={"g": 9.81, "mu": 0.1}, period=0.1),
    "adaptive": lambda: da.controller(plant(), parameters={"g": 9.81, "mu": 0.1}, adaptive=da.AdaptiveBound(1, 1, 0.1)),
}


@pytest.mark.parametrize("name", CONTROLLERS)
@pytest.mark.parametrize("as_design", [False, True])
def test_members_under_controllers_with_a_memory(name, as_design):
    control, given = CONTROLLERS[name](), {"g": np.array([9.0, 10.0]), "mu": 0.2}
    design = da.grid(given) if as_design else given
    many = da.simulate_ensemble(plant(1.2), (0.5, 0), (0, 0), TIMES, parameters=design, control=control)
    for k in range(2):
        alone = single(plant(1.2), given, k, ((0.5, 0), (0, 0)), control=control)
        np.testing.assert_array_equal(many["q"][k], alone.q)
        np.testing.assert_array_equal(many["input(motor)"][k], alone.inputs["motor"])
        np.testing.assert_array_equal(many["error(go)"][k], alone.servo_error["go"])
    assert many["g"].dims == (("g",) if as_design else ("member",))
    assert "for a sampled or adaptive `control`." in many.attrs["notes"]


def chain(count=110):
    xs, ys, (u, v, w, z) = da.coordinates("x", count), da.coordinates("y", count), da.coordinates("u v w z")
    between = {u: xs[:-1], v: ys[:-1], w: xs[1:], z: ys[1:]}
    rods = da.Constraint.over((u - w) ** 2 + (v - z) ** 2 - length**2, between, name="rod")
    masses = da.parameters("m", count)
    first = da.Constraint(xs[0] ** 2 + ys[0] ** 2 - length**2, name="first")
    return da.System((xs, ys), [masses, masses], {ys: -g}, (first, rods))


def test_members_of_a_large_system():
    """With an array of parameters for all members, one that varies, and starts that do."""
    count = 110
    masses = np.linspace(1, 2, count)
    hanging = np.concatenate([0.1 * np.arange(1, count + 1), -np.sqrt(0.99) * np.arange(1, count + 1)])
    starts = np.stack([hanging, hanging])
    given = {"m": masses, "g": np.array([9.0, 10.0]), "l": 1.0}
    many = da.simulate_ensemble(
        chain(), starts, np.zeros(2 * count), TIMES[:2], parameters=given, outputs=("q", "reactions")
    )
    for k in range(2):
        own = given | {"g": float(given["g"][k])}
        alone = da.simulate(chain(), hanging, np.zeros(2 * count), TIMES[:2], parameters=own)
        np.testing.assert_array_equal(many["q"][k], alone.q)
        np.testing.assert_array_equal(many["reactions"][k], alone.reactions)
    design = da.simulate_ensemble(chain(), hanging, np.zeros(2 * count), TIMES[:2], parameters=da.grid(given))
    np.testing.assert_array_equal(design["q"], many["q"])
    assert design["q"].dims == ("g", "time", "coordinate")
    assert many["reactions"].dims == ("member", "time", "constraint") and many.sizes["constraint"] == count
    assert "for a system of 220 coordinates stated by arrays." in many.attrs["notes"]


def test_starts_of_a_large_system_in_a_design_are_moved_onto_the_constraints():
    count = 110
    hanging = np.concatenate([np.zeros(count), -np.arange(1.0, count + 1)])
    design = da.grid({"x[109]": [0.0, 0.01]}, g=9.81, l=1.0, m=1.0)
    many = da.simulate_ensemble(chain(), hanging, np.zeros(2 * count), TIMES[:2], parameters=design)
    moved = hanging.copy()
    moved[109] = 0.01
    nearest = da.consistent_state(
        chain(), moved, np.zeros(2 * count), parameters={"m": np.ones(count), "g": 9.81, "l": 1.0}
    )
    np.testing.assert_allclose(many["q"].isel(time=0).sel({"x[109]": 0.01}), nearest[0], atol=1e-14)
    assert many["q"].dims == ("x[109]", "time", "coordinate")


def ball(impact="newton"):
    floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=0.5, nonideal=da.Coulomb(mu), impact=impact)
    return da.System((x, y), sp.eye(2), (0, -10), floor)


def test_members_by_time_stepping():
    method, given = da.MoreauJean(1e-2), {"mu": np.array([0.1, 0.3])}
    many = da.simulate_ensemble(ball("moreau"), (0, 1), (1, 0), TIMES, parameters=given, solver=method)
    for k in range(2):
        np.testing.assert_array_equal(many["q"][k], single(ball("moreau"), given, k, ((0, 1), (1, 0)), solver=method).q)


def test_events_of_members_by_other_methods():
    """Those that stop members end them, and are listed."""
    far, given = da.Event(x - 0.4, stop=True, name="far"), {"mu": np.array([0.1, 0.3])}
    start = (0, 1), (1, 0)
    arguments = {"events": [far], "solver": da.Implicit()}
    many = da.simulate_ensemble(ball(), *start, TIMES, parameters=given, **arguments)
    last = da.simulate_ensemble(ball(), *start, TIMES, parameters=given, keep="end", **arguments)
    for k in range(2):
        alone = single(ball(), given, k, start, **arguments)
        assert many["event_count"][k] == len(alone.events) and many["end_time"][k] == alone.t[-1]
        np.testing.assert_array_equal(many["event_time"][k], [event.t for event in alone.events])
        np.testing.assert_array_equal(last["q"][k, 0], alone.q[-1])
        np.testing.assert_array_equal(many["q"][k, 2:], np.nan)
    with pytest.raises(da.InputError, match="needs motions that last until the end; `far` stops them"):
        da.simulate_ensemble(ball(), *start, TIMES, parameters=given, keep="summary", **arguments)


def test_starts_off_the_constraints_are_kept_if_allowed():
    design = da.grid(y=[0.0, 0.1], x=1.0, g=9.81, l=1.0)
    given = {"parameters": design, "outputs": ("q", "violation")}
    moved = da.simulate_ensemble(PENDULUM, (1, 0), (0, 0), TIMES, **given)
    kept = da.simulate_ensemble(PENDULUM, (1, 0), (0, 0), TIMES, allow_violation=True, drift=None, **given)
    assert abs(moved["violation"]).max() < 1e-12
    np.testing.assert_allclose(kept["violation"].sel(y=0.1).values.ravel(), 0.01, rtol=0.1)


def test_a_member_that_fails_does_not_stop_the_others():
    given = {"g": np.array([9.0, np.nan]), "l": np.array([1.0, 1.0])}
    many = da.simulate_ensemble(PENDULUM, (1, 0), (0, 0), TIMES, parameters=given, solver=da.Implicit())
    assert many["reason"].values[0] == "" and "finite" in many["reason"].values[1]
    assert np.isfinite(many["q"][0]).all() and np.isnan(many["q"][1]).all()
    short = da.simulate_ensemble(
        PENDULUM, (1, 0), (0, 0), TIMES, parameters=PARAMETERS, solver=da.Implicit(), max_steps=2
    )
    assert all("the limit of 2 steps was reached" in str(reason) for reason in short["reason"].values)
    assert np.isfinite(short["q"][:, 0]).all() and np.isnan(short["q"][:, -1]).all()


def swing(c):
    rates = x.diff(da.t), y.diff(da.t)
    rod = da.Constraint(x**2 + y**2 - length**2, name="rod")
    energy = (rates[0] ** 2 + rates[1] ** 2) / 2 - g * y
    return da.System.from_lagrangian(energy, (x, y), constraints=rod, nonideal=da.Viscous(c))


@pytest.mark.parametrize("keep", ["times", "end", "summary"])
def test_energies_and_ledgers(keep):
    given = {"parameters": PARAMETERS, "outputs": ("energy", "ledger"), "solver": da.Implicit(), "keep": keep}
    many = da.simulate_ensemble(swing(0.3), (1, 0), (0, 0), TIMES, **given)
    runs = [single(swing(0.3), PARAMETERS, k, solver=da.Implicit()) for k in range(3)]
    for name in ("work", "audit", "kinetic", "potential"):
        alone = np.array([getattr(run.ledger(), name) for run in runs])
        if keep == "summary":
            np.testing.assert_allclose(many[f"mean_{name}"], alone.mean(axis=0), rtol=1e-12, atol=1e-13)
        else:
            np.testing.assert_array_equal(many[name], alone[:, -1:] if keep == "end" else alone)
    assert many["entry"].values.tolist() == [entry.name for entry in runs[0].ledger().entries]
    if keep == "times":
        np.testing.assert_array_equal(many["energy"], [run.energy for run in runs])


def test_a_ledger_under_a_sampled_controller():
    control, given = CONTROLLERS["sampled"](), {"g": np.array([9.0, 10.0]), "mu": 0.2}
    many = da.simulate_ensemble(plant(), (0.5, 0), (0, 0), TIMES, parameters=given, control=control, outputs="ledger")
    ledger = single(plant(), given, 1, ((0.5, 0), (0, 0)), control=control).ledger()
    assert many["entry"].values.tolist() == [entry.name for entry in ledger.entries]
    np.testing.assert_array_equal(many["work"][1], ledger.work)


def test_a_store_of_separate_members_continues(tmp_path, monkeypatch):
    pytest.importorskip("zarr", reason="zarr is an optional dependency")
    monkeypatch.setattr(separate_members.SeparateRunner, "block_size", 1)
    given = {"parameters": PARAMETERS, "solver": da.Implicit()}
    expected = da.simulate_ensemble(PENDULUM, (1, 0), (0, 0), TIMES, **given)
    original, count = separate_members.simulate, []

    def interrupted(*arguments, **options):
        count.append(1)
        if len(count) == 3:
            raise KeyboardInterrupt
        return original(*arguments, **options)

    monkeypatch.setattr(separate_members, "simulate", interrupted)
    path = tmp_path / "study.zarr"
    with pytest.raises(KeyboardInterrupt):
        da.simulate_ensemble(PENDULUM, (1, 0), (0, 0), TIMES, store=path, **given)
    found = da.simulate_ensemble(PENDULUM, (1, 0), (0, 0), TIMES, store=path, **given)
    assert len(count) == 4
    xr.testing.assert_equal(found.load(), expected)
    with pytest.raises(da.InputError, match="holds another one"):
        da.simulate_ensemble(PENDULUM, (1, 0), (0, 0), TIMES, store=path, parameters=PARAMETERS, solver=diffrax.Tsit5())


REFUSED = [
    ({"solver": 3}, "`solver` must be"),
    ({"formulation": 3}, "formulation"),
    (
        {"solver": da.Implicit(), "device": "gpu"},
        'members with `solver` must run on a CPU in double precision; got `device="gpu"`',
    ),
    (
        {"allow_violation": True, "precision": "single"},
        'members with `allow_violation` must run .* `precision="single"`',
    ),
    ({"solver": da.MoreauJean(0.01), "step": 0.1}, "`step` must be left out with `da.MoreauJean`"),
    ({"solver": da.MoreauJean(0.01), "outputs": "ledger"}, '"ledger" in `outputs` is not available .* `da.MoreauJean`'),
    ({"solver": da.Implicit(), "step": 0.1, "max_step": 0.1}, "`max_step` must not be given along with a fixed `step`"),
    ({"solver": da.Implicit(), "parameters": {"g": [9.0]}}, "missing: `l`"),
    ({"solver": da.Implicit(), "parameters": da.grid(g=[9.0], l=1.0, k=1.0)}, "`k` is unknown"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_refusals(arguments, message):
    with pytest.raises(da.InputError, match=message):
        da.simulate_ensemble(PENDULUM, (1, 0), (0, 0), TIMES, **{"parameters": PARAMETERS} | arguments)


def functions():
    return da.FunctionSystem(
        mass_matrix=lambda q, qd, t, p: jnp.eye(2),
        applied_force=lambda q, qd, t, p: jnp.array([0.0, -p["g"]]) - p["c"] * qd,
        constraints=(da.FunctionConstraint(lambda q, t, p: q @ q - p["l"] ** 2, "position", name="rod"),),
        coordinates=("x", "y"),
    )


@pytest.mark.parametrize("as_design", [False, True])
def test_members_of_a_system_of_functions(as_design):
    given = {"g": np.array([9.0, 10.0]), "l": 1.0, "c": 0.1}
    parameters = da.grid(given | {"x": 1.1}) if as_design else given
    arguments = {"outputs": ("q", "multipliers", 2 * x)}
    many = da.simulate_ensemble(functions(), (1, 0), (0, 0), TIMES, parameters=parameters, **arguments)
    for k in range(2):
        alone = single(functions(), given, k)
        np.testing.assert_allclose(many["q"][k], alone.q, atol=1e-14)
        np.testing.assert_allclose(many["multipliers"][k], alone.multipliers, rtol=1e-12)
        np.testing.assert_allclose(many["2*x"][k], 2 * alone.q[:, 0], atol=1e-14)
    assert many["constraint"].values.tolist() == ["rod"]
    assert "for a `da.FunctionSystem`." in many.attrs["notes"]


@pytest.mark.slow
def test_the_ledger_of_a_system_of_functions():
    given = {"g": np.array([9.0, 10.0]), "l": 1.0, "c": 0.1}
    many = da.simulate_ensemble(functions(), (1, 0), (0, 0), TIMES, parameters=given, outputs="ledger")
    ledger = single(functions(), given, 1).ledger()
    assert many["entry"].values.tolist() == [entry.name for entry in ledger.entries]
    np.testing.assert_allclose(many["work"][1], ledger.work, atol=1e-12)


def test_a_system_of_functions_without_names():
    system = da.FunctionSystem(
        mass_matrix=lambda q, qd, t, p: jnp.eye(1), applied_force=lambda q, qd, t, p: -p["k"] * q
    )
    many = da.simulate_ensemble(system, [[1.0], [2.0]], (0,), TIMES, parameters={"k": 4.0})
    assert many["coordinate"].values.tolist() == ["q1"]
    np.testing.assert_allclose(many["q"][1, :, 0], 2 * np.cos(2 * TIMES), atol=1e-8)
    with pytest.raises(da.InputError, match="`multipliers` in `outputs` needs a system with constraints"):
        da.simulate_ensemble(system, [[1.0]], (0,), TIMES, parameters={"k": 4.0}, outputs="multipliers")
    with pytest.raises(da.InputError, match="`k` has more than one axis"):
        da.simulate_ensemble(system, [[1.0]], (0,), TIMES, parameters={"k": np.ones((2, 2))})
    with pytest.raises(da.InputError, match=r"`events` need a `da.System`"):
        da.simulate_ensemble(system, [[1.0]], (0,), TIMES, parameters={"k": 4.0}, events=[da.Event(x, name="zero")])


def test_a_large_system_has_no_ledgers_of_members():
    start = np.zeros((2, 220))
    given = {"parameters": {"m": 1.0, "g": 9.81, "l": 1.0}, "outputs": "ledger"}
    with pytest.raises(da.InputError, match='"ledger" in `outputs` is not available for ensembles with a large system'):
        da.simulate_ensemble(chain(), start, start[0], TIMES, **given)


@pytest.mark.slow
def test_separate_members_on_a_cluster():
    pytest.importorskip("distributed", reason="distributed is an optional dependency")
    from local_cluster import client_of, two_workers

    given = {"parameters": da.grid(g=np.linspace(9, 10, 40), l=1.0), "solver": da.Implicit()}
    expected = da.simulate_ensemble(PENDULUM, (1, 0), (0, 0), TIMES, **given)
    with two_workers() as cluster, client_of(cluster) as client:
        found = da.simulate_ensemble(PENDULUM, (1, 0), (0, 0), TIMES, client=client, **given)
    xr.testing.assert_identical(found.drop_attrs(), expected.drop_attrs())
