"""Parameters from noisy measurements: the truth is found, as well as it is claimed to be, and so is the right law."""

from functools import cache

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.fitting.problem import Problem
from helpers import quick_first

x, y, z = da.coordinates("x y z")
xd, yd, zd = (q.diff(da.t) for q in (x, y, z))
a0, mu, g = da.parameters("a0 mu g")
NOISE = 1e-3


def particle(law: object) -> da.System:
    """The particle on a skate of the papers, with a law of one's choice."""
    return da.System((x, y, z), sp.eye(3), (0, 0, -g), da.Constraint(yd - z**2 * xd, name="skate"), law)


def bead() -> da.System:
    """On a parabolic wire, with friction by its normal force."""
    return da.System((x, z), sp.eye(2), (0, -g), da.Constraint(z - x**2, name="wire", nonideal=da.Coulomb(mu)))


def block(**friction: object) -> da.System:
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(mu, **friction))
    return da.System((x, y), sp.eye(2), (0, -g), floor)


CASES = {
    "particle": (particle(da.Quadratic(a0)), {"a0": 0.15}, (0, 0, 1), (1, 1, 0), ("x", "y", "z"), 1.5),
    "bead": (bead(), {"mu": 0.2}, (-1, 1), (0, 0), ("x",), 1.0),
    "block": (block(mu_static=sp.Rational(1, 2)), {"mu": 0.3}, (0, 0), (2, 0), ("x",), 1.0),
}


@cache
def true_motion(name: str, points: int) -> da.Trajectory:
    system, truth, q0, qd0, _, end = CASES[name]
    return da.simulate(system, q0, qd0, np.linspace(0, end, points), parameters={**truth, "g": 9.81})


def experiment(name: str, rng: np.random.Generator, points: int = 30, **settings: object) -> da.Observation:
    _, _, q0, qd0, seen, end = CASES[name]
    times, run = np.linspace(0, end, points), true_motion(name, points)
    return da.Observation(times, {c: run[c] + NOISE * rng.normal(size=points) for c in seen}, q0, qd0, **settings)


@pytest.mark.parametrize("name", CASES)
def test_the_truth_is_found_within_its_error(name: str) -> None:
    system, truth, *_ = CASES[name]
    seen = experiment(name, np.random.default_rng(1))
    found = da.fit(
        system, seen, list(truth), guess={key: 0.5 * value for key, value in truth.items()}, known={"g": 9.81}
    )
    for key, value in truth.items():
        assert abs(found[key] - value) < 4 * found.standard_errors[key]
        assert found.standard_errors[key] < 0.05 * value
    assert found.noise == pytest.approx(NOISE, rel=0.5)
    assert found.notes == ()


@pytest.mark.parametrize(
    ("name", "count"),
    [("particle", 100), *(pytest.param(n, 200, marks=pytest.mark.slow) for n in ("particle", "bead", "block"))],
)
def test_intervals_cover_the_truth_as_often_as_they_say(name: str, count: int) -> None:
    """95 % intervals of so many experiments; between 90 and 99 % of them must hold the truth."""
    system, truth, *_ = CASES[name]
    ((key, value),) = truth.items()
    covered = 0
    for seed in range(count):
        seen = experiment(name, np.random.default_rng(1000 + seed), points=15)
        found = da.fit(system, seen, [key], guess={key: value}, known={"g": 9.81})
        low, high = found.interval(key)
        covered += low <= value <= high
    assert 0.90 <= covered / count <= 0.99


@pytest.mark.parametrize("count", quick_first([7, 20], [7]))
def test_the_right_law_is_chosen(count: int) -> None:
    """Viscous, quadratic or dry: of as many experiments with each, at least 95 % tell which it was."""
    laws = {
        "viscous": da.Viscous(a0, velocity=xd),
        "quadratic": da.Quadratic(a0, velocity=xd),
        "dry": da.Coulomb(a0, velocity=xd, normal_force=da.multiplier("floor")),
    }
    truth = {"viscous": 0.6, "quadratic": 0.4, "dry": 0.1}
    systems = {
        name: da.System((x, y), sp.eye(2), (0, -g), da.Constraint(y, name="floor", nonideal=law))
        for name, law in laws.items()
    }
    times, right = np.linspace(0, 1.2, 15), 0
    for name, system in systems.items():
        run = da.simulate(system, (0, 0), (2, 0), times, parameters={"a0": truth[name], "g": 9.81})
        for seed in range(count):
            noisy = run["x"] + NOISE * np.random.default_rng(seed).normal(size=len(times))
            seen = da.Observation(times, {"x": noisy}, (0, 0), (2, 0))
            fits = {
                other: da.fit(model, seen, ["a0"], guess={"a0": truth[other]}, known={"g": 9.81})
                for other, model in systems.items()
            }
            right += da.compare(fits).best == name
    assert right >= 0.95 * 3 * count


def test_an_unknown_start_is_found_as_well() -> None:
    """On the constraints: one position and one velocity of a pendulum, from a rough guess off them."""
    rod = da.System((x, y), sp.eye(2), (-a0 * xd, -g - a0 * yd), da.Constraint(x**2 + y**2 - 1, name="rod"))
    times = np.linspace(0, 3, 60)
    angle = 0.7
    q0, qd0 = (np.sin(angle), -np.cos(angle)), (0.5 * np.cos(angle), 0.5 * np.sin(angle))
    run = da.simulate(rod, q0, qd0, times, parameters={"a0": 0.2, "g": 9.81})
    rng = np.random.default_rng(3)
    values = {c: run[c] + NOISE * rng.normal(size=60) for c in ("x", "y")}
    values["y"][10:30] = np.nan
    seen = da.Observation(times, values, (0.6, -0.9), (0.3, 0.5), free_start=True)
    found = da.fit(rod, seen, ["a0", "g"], guess={"a0": 0.1, "g": 9.0})
    assert found.unknowns == 4
    assert found.count == 100
    assert abs(found["a0"] - 0.2) < 4 * found.standard_errors["a0"]
    assert abs(found["g"] - 9.81) < 4 * found.standard_errors["g"]
    np.testing.assert_allclose(found.runs[0].q[0], q0, atol=5 * NOISE)
    assert np.isnan(found.residuals[0]["y"][10:30]).all()


def test_several_motions_are_fitted_at_once() -> None:
    system = block()
    rng = np.random.default_rng(4)
    seen = []
    for speed, gravity in ((1.0, 9.81), (2.0, 1.62)):
        times = np.linspace(0, 0.3, 20)
        exact = speed * times - 0.3 * gravity * times**2 / 2
        noisy = exact + NOISE * rng.normal(size=20)
        seen.append(da.Observation(times, {"x": noisy}, (0, 0), (speed, 0), parameters={"g": gravity}))
    both = da.fit(system, seen, ["mu"], guess={"mu": 0.1})
    one = da.fit(system, seen[0], ["mu"], guess={"mu": 0.1})
    assert both.count == 40
    assert abs(both["mu"] - 0.3) < 4 * both.standard_errors["mu"]
    assert both.standard_errors["mu"] < 1.05 * one.standard_errors["mu"]
    assert len(both.runs) == len(both.residuals) == 2


def test_standard_errors_are_those_of_the_linear_problem() -> None:
    """x = v t − μ g t²/2 is linear in μ: σ/√Σ(g t²/2)² exactly, with the noise known."""
    times = np.linspace(0, 0.3, 10)
    seen = da.Observation(times, {"x": times - 0.3 * 9.81 * times**2 / 2}, (0, 0), (1, 0))
    found = da.fit(block(), seen, ["mu"], guess={"mu": 0.2}, known={"g": 9.81}, noise={"x": NOISE})
    expected = NOISE / np.sqrt(np.sum((9.81 * times**2 / 2) ** 2))
    assert found.standard_errors["mu"] == pytest.approx(expected, rel=1e-6)
    assert found["mu"] == pytest.approx(0.3, abs=1e-8)
    assert found.noise == 1.0


def test_what_cannot_be_told_apart_is_said() -> None:
    """Only the product μ g can be seen."""
    times = np.linspace(0, 0.3, 10)
    seen = da.Observation(times, {"x": times - 1.5 * times**2 + 1e-4 * np.sin(99 * times)}, (0, 0), (1, 0))
    found = da.fit(block(), seen, ["mu", "g"], guess={"mu": 0.25, "g": 9.0})
    assert "do not determine `mu`, `g` separately" in found.notes[0]
    assert found["mu"] * found["g"] == pytest.approx(3.0, rel=1e-2)


def test_bounds_hold_and_the_table_tells() -> None:
    times = np.linspace(0, 0.3, 10)
    seen = da.Observation(times, {"x": times - 1.5 * times**2 + 1e-4 * np.sin(99 * times)}, (0, 0), (1, 0))
    found = da.fit(block(), seen, ["mu"], guess={"mu": 0.1}, known={"g": 9.81}, bounds={"mu": (0, 0.2)})
    assert found["mu"] == pytest.approx(0.2, abs=1e-6)
    assert str(found).splitlines()[0].split() == ["estimate", "standard", "error", "95", "%", "interval"]
    assert "10 measured values, 1 unknown;" in str(found)


def test_what_its_bound_holds_has_no_error_and_others_have_theirs() -> None:
    """The bound on c below is passed by nothing but noise; k is as well known as if c had been given."""
    k, c = da.parameters("k c")
    damped = da.System((x,), [[1]], (-k * x - c * xd,))
    times = np.linspace(0, 3, 30)
    noisy = np.exp(0.01 * times) * np.cos(2 * times) + NOISE * np.random.default_rng(8).normal(size=30)
    seen = da.Observation(times, {"x": noisy}, (1,), (0.01,))
    both = da.fit(damped, seen, ["c", "k"], guess={"c": 0.1, "k": 3.5}, bounds={"c": (0, 1)}, noise={"x": NOISE})
    alone = da.fit(damped, seen, ["k"], guess={"k": 3.5}, known={"c": 0.0}, noise={"x": NOISE})
    assert both["c"] == pytest.approx(0, abs=1e-6)
    assert np.isnan(both.standard_errors["c"])
    assert both["k"] == pytest.approx(alone["k"], abs=1e-6)
    assert both.standard_errors["k"] == pytest.approx(alone.standard_errors["k"], rel=1e-4)
    assert both.notes == (
        "`c` is at its bound: no standard error is reported for it, and those of the others are conditional on its "
        "value.",
    )


def test_one_number_is_enough_where_the_noise_is_known() -> None:
    seen = da.Observation([0, 0.3], {"x": [np.nan, 0.165]}, (0, 0), (1, 0))
    found = da.fit(block(), seen, ["mu"], guess={"mu": 0.1}, known={"g": 10}, noise={"x": NOISE})
    assert found["mu"] == pytest.approx(0.3)
    error = NOISE / 0.45
    np.testing.assert_allclose(found.interval("mu"), [0.3 - 1.959964 * error, 0.3 + 1.959964 * error], rtol=1e-6)
    assert found.aic == pytest.approx(2)


def test_data_without_any_error_or_effect() -> None:
    """All zero, as predicted: nothing is left to estimate the noise from, and nothing to find the stiffness from."""
    spring = da.System((x,), [[1]], (-a0 * x,))
    found = da.fit(spring, da.Observation([0, 1, 2], {"x": [0, 0, 0]}, (0,), (0,)), ["a0"], guess={"a0": 1})
    assert found.noise == 0
    assert found.interval("a0") == (-np.inf, np.inf)
    assert found.notes == ("No measured value depends on `a0`.",)
    with pytest.raises(da.InputError, match="the AIC of `one`, `other` is not finite: there are too few data, or they"):
        da.compare({"one": found, "other": found})


def test_beside_numbers_that_allow_no_motion_derivatives_are_one_sided() -> None:
    """x = (1 + a₀^1.5) t²/2 ends at a₀ = 0; what lies beyond is remembered, not taken for a slope."""
    edge = da.System((x,), [[1]], (1 + a0 ** sp.Rational(3, 2),))
    seen = da.Observation([0, 1, 2], {"x": [0, 0.45, 1.81]}, (0,), (0,))
    settings = {"rtol": 1e-11, "atol": 1e-13, "max_steps": 1000}
    problem = Problem.of(edge, seen, "a0", {"a0": 1}, None, None, settings)
    assert np.abs(problem.jacobian(np.array([5e-9]), np.ones(1))).max() < 1e-3
    assert len(problem.failures) == 1
    found = da.fit(edge, seen, a0, guess={"a0": 1})
    assert found["a0"] == pytest.approx(0, abs=1e-3)
    assert "of the trial values, which may have misled the search" in found.notes[0]


def test_comparison_shares_out_the_support() -> None:
    seen = experiment("block", np.random.default_rng(7))
    fits = {
        name: da.fit(system, seen, ["mu"], guess={"mu": 0.2}, known={"g": 9.81})
        for name, system in {"sticks": CASES["block"][0], "slides": block(mu_static=sp.Rational(2, 5))}.items()
    }
    found = da.compare(fits, "bic")
    assert sum(found.weights.values()) == pytest.approx(1)
    assert found.differences[found.best] == 0
    assert str(found).splitlines()[0].split()[:3] == ["unknowns", "noise", "BIC"]


def test_figure_carries_the_data() -> None:
    seen = experiment("bead", np.random.default_rng(2))
    found = da.fit(bead(), seen, ["mu"], guess={"mu": 0.1}, known={"g": 9.81})
    figure = found.plot(units={"t": "s", "x": "m"})
    above, below = figure.axes
    np.testing.assert_array_equal(above.lines[1].get_ydata(), seen.values["x"])
    np.testing.assert_array_equal(below.lines[0].get_ydata(), found.residuals[0]["x"])
    assert [above.get_ylabel(), below.get_xlabel()] == ["coordinates / m", "time t / s"]


SEEN = da.Observation([0, 1, 2], {"x": [0, 1, 2]}, (0, 0), (1, 0))
REFUSALS = {
    r"`values` must map coordinates": lambda: da.Observation([0, 1], [1, 2], (0,), (0,)),
    r"one number per time \(2\); `x` has shape \(3,\)": lambda: da.Observation([0, 1], {"x": [1, 2, 3]}, (0,), (0,)),
    r"all of it is NaN": lambda: da.Observation([0, 1], {"x": [np.nan, np.nan]}, (0,), (0,)),
    r"coordinates of the system \(`x`, `y`\); it has `w`": lambda: da.fit(
        block(), da.Observation([0, 1], {"w": [0, 1]}, (0, 0), (1, 0)), ["mu"], guess={"mu": 1}, known={"g": 1}
    ),
    r"`guess` must have a value for each of `mu`; missing: `mu`": lambda: da.fit(block(), SEEN, ["mu"], guess={}),
    r"unknown: `nu`": lambda: da.fit(block(), SEEN, ["mu"], guess={"mu": 1, "nu": 2}),
    r"`guess` must be a mapping": lambda: da.fit(block(), SEEN, ["mu"], guess=3),
    r"must name parameters of the system \(`g`, `mu`\); got `nu`": lambda: da.fit(
        block(), SEEN, ["nu"], guess={"nu": 1}
    ),
    r"`known` must have a value for `g`, which observation 1": lambda: da.fit(block(), SEEN, ["mu"], guess={"mu": 1}),
    r"either known or to be estimated; `mu` is both": lambda: da.fit(
        block(), SEEN, ["mu"], guess={"mu": 1}, known={"g": 1, "mu": 2}
    ),
    r"within `bounds`; `mu` is 1, not between 0 and 0.5": lambda: da.fit(
        block(), SEEN, ["mu"], guess={"mu": 1}, known={"g": 1}, bounds={"mu": (0, 0.5)}
    ),
    r"`bounds` must name parameters to estimate \(`mu`\); got `g`": lambda: da.fit(
        block(), SEEN, ["mu"], guess={"mu": 1}, known={"g": 1}, bounds={"g": (0, 0.5)}
    ),
    r"`noise` must be positive; that of `x` is not": lambda: da.fit(
        block(), SEEN, ["mu"], guess={"mu": 1}, known={"g": 1}, noise={"x": 0}
    ),
    r"more values than there are unknowns \(2\); got 2": lambda: da.fit(
        block(), da.Observation([0, 1], {"x": [0, 1]}, (0, 0), (1, 0)), ["mu", "g"], guess={"mu": 1, "g": 1}
    ),
    r"a parameter to estimate": lambda: da.fit(block(), SEEN, [], guess={}, known={"g": 1, "mu": 1}),
    r"name each parameter once; `mu` is": lambda: da.fit(block(), SEEN, ["mu", mu], guess={"mu": 1}, known={"g": 1}),
    r"`values\[x\]` must be finite, or NaN": lambda: da.Observation([0, 1], {"x": [0, np.inf]}, (0,), (0,)),
    r"`values\[x\]` must hold numbers; got 'abc'": lambda: da.Observation([0, 1], {"x": "abc"}, (0,), (0,)),
    r"`parameters` must be a mapping": lambda: da.Observation([0, 1], {"x": [0, 1]}, (0,), (0,), parameters=[1]),
    r"of an observation must name parameters of the system \(`g`, `mu`\); got `w`": lambda: da.fit(
        block(), da.Observation([0, 1], {"x": [0, 1]}, (0, 0), (1, 0), {"w": 3}), ["mu"], guess={"mu": 1}
    ),
    r"least and a greatest value for each name, .* `mu` has 3": lambda: da.fit(
        block(), SEEN, ["mu"], guess={"mu": 1}, known={"g": 1}, bounds={"mu": 3}
    ),
    r"least and a greatest .* `mu` has \(1, 0\)": lambda: da.fit(
        block(), SEEN, ["mu"], guess={"mu": 1}, known={"g": 1}, bounds={"mu": (1, 0)}
    ),
    r"`bounds` must be a mapping from names to pairs": lambda: da.fit(
        block(), SEEN, ["mu"], guess={"mu": 1}, known={"g": 1}, bounds=(0, 1)
    ),
    r"`guess` must be finite; `mu` is not": lambda: da.fit(block(), SEEN, ["mu"], guess={"mu": np.nan}),
    r"`known` must be a mapping": lambda: da.fit(block(), SEEN, ["mu"], guess={"mu": 1}, known=[1]),
    r"at least as many values as there are unknowns \(2\); got 1": lambda: da.fit(
        *(block(), da.Observation([0, 1], {"x": [np.nan, 1]}, (0, 0), (1, 0)), ["mu", "g"]),
        guess={"mu": 1, "g": 1},
        noise={"x": 1},
    ),
    r"`observations` must be .* got None": lambda: da.fit(block(), None, ["mu"], guess={"mu": 1}),
    r"`observations` must be a `da.Observation`": lambda: da.fit(block(), [3], ["mu"], guess={"mu": 1}),
    r"`system` must be a `da.System`": lambda: da.fit(3, SEEN, ["mu"], guess={"mu": 1}),
    r"at least two fits; got 1": lambda: da.compare({"one": None}),
    r"`fits` must be a mapping from names to fits; got \[1\]": lambda: da.compare([1]),
    r"`fits` must hold results of `da.fit`; `one`, `other` is not one": lambda: da.compare({"one": 1, "other": None}),
    r'"aic" or "bic"; got': lambda: da.compare({}, "cp"),
}


@pytest.mark.parametrize("message", REFUSALS)
def test_refusals(message: str) -> None:
    with pytest.raises(da.InputError, match=message):
        REFUSALS[message]()


@pytest.mark.parametrize(
    ("length", "time", "mass"), [(1, 1, 1), (1e-9, 1, 1), (1e9, 1e-3, 1), (1, 1, 1e-9), (1e-3, 1e3, 1e9)]
)
@pytest.mark.parametrize("free_start", [False, True])
def test_estimates_do_not_depend_on_units(length: float, time: float, mass: float, free_start: bool) -> None:
    """SciPy fits the closed form of an oscillator in units of one; one coefficient has the guess zero."""
    from scipy.optimize import curve_fit

    def closed_form(t: np.ndarray, k: float, c: float, q0: float = 1, qd0: float = 0) -> np.ndarray:
        rate = np.sqrt(k - c**2 / 4)
        return np.exp(-c * t / 2) * (q0 * np.cos(rate * t) + (qd0 + c * q0 / 2) / rate * np.sin(rate * t))

    at = np.linspace(0, 5, 41)
    motion = closed_form(at, 4, 0.3) + 1e-3 * np.cos(40 * at)
    expected, covariance = curve_fit(closed_form, at, motion, [4, 0.3, 1, 0][: 4 if free_start else 2], ftol=1e-14)
    k, c = da.parameters("k c")
    body = da.System((x,), [[mass]], (-k * x - c * xd,))
    start = (1.05 if free_start else 1) * length
    seen = da.Observation(time * at, {"x": length * motion}, (start,), (0,), free_start=free_start)
    units = {"k": mass / time**2, "c": mass / time}
    found = da.fit(body, seen, ["k", "c"], guess={"k": 3.4 * units["k"], "c": 0})
    errors = [found.standard_errors[name] / unit for name, unit in units.items()]
    np.testing.assert_allclose([found[name] / unit for name, unit in units.items()], expected[:2], rtol=1e-6)
    np.testing.assert_allclose(errors, np.sqrt(np.diag(covariance))[:2], rtol=1e-3)
    assert found.notes == ()


@pytest.mark.parametrize("labels", [[1, 0, 2], [0.0, 2.0, 1.0]])
def test_labels_of_measurements_must_be_those_of_the_times(labels: list[float]) -> None:
    pandas = pytest.importorskip("pandas")
    right = da.Observation([0, 1, 2], {"x": pandas.Series([3.0, 4.0, 5.0], index=[0, 1, 2])}, (0,), (0,))
    assert right.values["x"].tolist() == [3, 4, 5]
    moved = pandas.Series([3.0, 4.0, 5.0], index=labels)
    with pytest.raises(da.InputError, match=r"`values\[x\]` must be labelled by `times`"):
        da.Observation([0, 1, 2], {"x": moved}, (0,), (0,))
    with pytest.raises(da.InputError, match=r"`times` and `values\[x\]` must have the same labels"):
        da.Observation(pandas.Series([0, 1, 2]), {"x": moved}, (0,), (0,))


def test_fits_to_other_data_are_not_compared() -> None:
    fits = {
        str(seed): da.fit(
            bead(), experiment("bead", np.random.default_rng(seed)), ["mu"], guess={"mu": 0.2}, known={"g": 9.81}
        )
        for seed in (1, 2)
    }
    with pytest.raises(da.InputError, match="to the same data; `2` is not"):
        da.compare(fits)
    with pytest.raises(da.InputError, match="one of the estimated parameters"):
        fits["1"]["nu"]
    with pytest.raises(da.InputError, match="between 0 and 1"):
        fits["1"].interval("mu", 95)


def test_a_coefficient_ends_at_zero_without_a_standard_error() -> None:
    """Data of a block that accelerates: a viscous law cannot have a negative coefficient, which bounds the estimate."""
    x, y = da.coordinates("x y")
    friction = da.Viscous(da.parameters("c"))
    block = da.System((x, y), sp.eye(2), (0, -10), da.Constraint(y, name="floor", nonideal=friction))
    seen = da.Observation([0, 0.5, 1], {"x": [0, 0.6, 1.3]}, q0=(0, 0), qd0=(1, 0))
    found = da.fit(block, seen, ["c"], guess={"c": 0.1})
    assert abs(found["c"]) < 1e-9 and np.isnan(found.standard_errors["c"])
    assert any("`c` is at its bound" in note for note in found.notes)
