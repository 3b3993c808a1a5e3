"""Outputs of ensembles: the same numbers as those of single runs, evaluated for all members at once."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.ensembles import ensemble_outputs, runner
from dalembert.ensembles.study import StudyRunner

x, y = da.coordinates("x y")
m, g, length = da.parameters("m g l")
TIMES = np.linspace(0, 1, 4)
NAMES = ("acceleration", "ideal_force", "nonideal_force", "multipliers", "reactions", "violation", "energy")


def pendulum(rods=1, nonideal=()):
    constraints = [da.Constraint((k + 1) * (x**2 + y**2 - length**2), name=f"rod{k}") for k in range(rods)]
    L = m * (x.diff(da.t) ** 2 + y.diff(da.t) ** 2) / 2 - m * g * y
    return da.System.from_lagrangian(L, (x, y), constraints=constraints, nonideal=nonideal)


@pytest.mark.parametrize("rods", [1, 2])
def test_outputs_are_those_of_single_runs(rods, monkeypatch):
    """With one rod, and with two that are redundant; in several parts."""
    monkeypatch.setattr(ensemble_outputs, "STATES_AT_ONCE", 10)
    monkeypatch.setattr(runner, "CHUNK", 4)
    system, numbers = pendulum(rods, da.Viscous(0.3)), {"m": 2.0, "l": 1.0}
    height = {
        "pull": da.reaction("rod0") * x,
        "height": y + length,
        "power": da.ideal_force(x) * x.diff(da.t) + y.diff(da.t, 2),
    }
    choice = {**{name: name for name in ("qd", *NAMES)}, **height}
    values = np.linspace(5, 15, 6)
    many = da.simulate_ensemble(system, (1, 0), (0, 0), TIMES, parameters={**numbers, "g": values}, outputs=choice)
    assert "q" not in many
    for k, value in enumerate(values):
        alone = da.simulate(system, (1, 0), (0, 0), TIMES, parameters={**numbers, "g": value})
        for name in NAMES:
            np.testing.assert_allclose(many[name][k], getattr(alone, name), rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(many["height"][k], alone.evaluate(y + length), rtol=1e-12)
        np.testing.assert_allclose(many["pull"][k], alone.reactions[:, 0] * alone["x"], rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(many["power"][k], alone.evaluate(height["power"]), rtol=1e-9, atol=1e-10)
    assert many["multipliers"].dims == ("member", "time", "constraint")
    assert many["energy"].dims == many["height"].dims == ("member", "time")


def test_outputs_at_the_end_and_in_a_summary():
    given = {"parameters": {"m": 1.0, "l": 1.0, "g": np.linspace(5, 15, 8)}, "outputs": ("energy", y)}
    every = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, **given)
    end = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, keep="end", **given)
    np.testing.assert_array_equal(end["energy"][:, 0], every["energy"][:, -1])
    short = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, keep="summary", **given)
    np.testing.assert_allclose(short["mean_y"], every["y"].mean("member"), atol=1e-14)
    assert set(short.data_vars) == {
        f"{kind}_{name}" for kind in ("mean", "variance", "quantile") for name in ("energy", "y")
    }


def test_outputs_of_a_member_that_failed_are_missing():
    given = {"parameters": {"m": 1.0, "l": [1.0, 2.0], "g": 9.81}, "outputs": ("ideal_force", "q", x * y)}
    many = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, **given)
    assert np.isfinite(many["ideal_force"][0]).all() and np.isnan(many["ideal_force"][1]).all()
    assert np.isnan(many["x*y"][1]).all()


def test_outputs_where_machine_code_is_not_accurate():
    """At the start the window mechanism is in a singular position; the general evaluation takes over there."""
    a, b, c, d = coordinates = da.coordinates("a b c d")
    bars = (a**2 + b**2 - 1, (c - 1) ** 2 + d**2 - 1, (c - a) ** 2 + (d - b) ** 2 - 1)
    window = da.System(coordinates, sp.eye(4), (0, -9.81, 0, -9.81), [da.Constraint(e) for e in bars])
    rates = np.array([[0.9, 0, 0.9, 0]])
    many = da.simulate_ensemble(window, (0, 1, 1, 1), rates, [0, 0.3, 3], outputs=("multipliers",))
    alone = da.simulate(window, (0, 1, 1, 1), rates[0], [0, 0.3, 3])
    np.testing.assert_allclose(many["multipliers"][0], alone.multipliers, atol=1e-6)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (("qq",), "`outputs` must be expressions, or among `q`, `qd`.*got `qq`"),
        ((), "at least one output"),
        ((3j,), "`outputs` must hold names or expressions"),
        ({"q": x}, "must have a name of its own; got `q`"),
        ({"speed": "qd"}, "`qd` in `outputs` must keep its name; got `speed` for it"),
        ((x + da.parameters("k"),), "unknown: `k`"),
    ],
)
def test_bad_outputs_are_refused(outputs, message):
    numbers = {"m": 1.0, "l": 1.0, "g": [9.0, 10.0]}
    with pytest.raises(da.InputError, match=message):
        da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, parameters=numbers, outputs=outputs)


def test_outputs_that_a_system_does_not_have():
    free = da.System((x,), [[1]], (g,))
    for name, message in (("energy", "needs a system with a Lagrangian"), ("multipliers", "with constraints")):
        with pytest.raises(da.InputError, match=message):
            da.simulate_ensemble(free, (0,), (0,), TIMES, parameters={"g": [1.0]}, outputs=name)
    block = da.System((x, y), sp.eye(2), (0, -9.81), da.Constraint(y, name="floor", nonideal=da.Coulomb(0.3)))
    with pytest.raises(da.InputError, match="whose contacts can stick must be"):
        da.simulate_ensemble(block, (0, 0), [(1, 0)], TIMES, outputs=("q", "ideal_force"), step=0.01)


@pytest.mark.parametrize("keep", ["times", "summary"])
@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (sp.Symbol("w"), r"`w` in `outputs` must consist of coordinates of the run .*unknown: `w`"),
        (da.multiplier("rope"), r"in `outputs` must consist of .*unknown: `multiplier\(rope\)`"),
        (sp.Integer(3), r"`3` in `outputs` must depend on the motion"),
    ],
)
def test_expressions_that_cannot_be_evaluated_are_refused_before_any_motion(expression, message, keep, monkeypatch):
    monkeypatch.setattr(StudyRunner, "__call__", None)
    with pytest.raises(da.InputError, match=message):
        da.simulate_ensemble(
            pendulum(),
            (1, 0),
            (0, 0),
            [0, 1],
            parameters={"m": 1.0, "g": [9.0, 10.0], "l": 1.0},
            outputs=[expression],
            keep=keep,
        )
