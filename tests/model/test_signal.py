"""Signals as parts of expressions: interpolation, derivatives, printing, and the messages for wrong input."""

import pickle

import numpy as np
import pytest
import sympy as sp
from scipy.interpolate import CubicSpline, PchipInterpolator, PPoly, make_interp_spline

import dalembert as da
from dalembert.model.differentiation import derivative
from dalembert.model.numeric_function import numeric_function

TIMES = np.array([0.0, 0.4, 1.1, 1.3, 2.9, 4.0])
VALUES = np.array([0.3, -1.0, 2.0, 0.7, 0.1, 0.3])
INSIDE = np.linspace(0, 4, 57)


def values_of(expression, at=INSIDE):
    return numeric_function([da.t], expression, "numpy")(at)


@pytest.mark.parametrize(
    ("kind", "scipy"),
    [
        ("cubic", CubicSpline(TIMES, VALUES)),
        ("quintic", make_interp_spline(TIMES, VALUES, k=5)),
        ("pchip", PchipInterpolator(TIMES, VALUES)),
        ("linear", PPoly(np.array([np.diff(VALUES) / np.diff(TIMES), VALUES[:-1]]), TIMES)),
        ("previous", PPoly(VALUES[None, :-1], TIMES)),
    ],
)
def test_values_and_derivatives_are_those_of_scipy(kind, scipy):
    expression = da.signal(TIMES, VALUES, kind)
    for order in range(4):
        expected = scipy(INSIDE, nu=order)
        assert values_of(expression) == pytest.approx(expected, abs=1e-13 * (1 + np.abs(expected).max()))
        expression = expression.diff(da.t)


def test_the_chain_rule_holds_through_other_expressions():
    x, w = da.coordinates("x"), da.parameters("w")
    table = da.signal(TIMES, VALUES, of=x**2 * w)
    slope = table.diff(x)
    assert slope == 2 * x * w * table.fdiff(2)
    assert derivative(table, x) == slope  # of this library, as of SymPy


def test_a_held_cubic_is_clamped_and_a_periodic_one_repeats_with_two_derivatives():
    held = da.signal(TIMES, VALUES, extend="hold")
    at = np.array([-5.0, -1e-9, 0.0, 4.0, 4.0 + 1e-9, 9.0])
    assert values_of(held, at) == pytest.approx([0.3] * 6, abs=1e-14)
    assert values_of(held.diff(da.t), at) == pytest.approx([0] * 6, abs=1e-7)
    periodic = da.signal(TIMES, VALUES, extend="periodic")
    reference = CubicSpline(TIMES, VALUES, bc_type="periodic")
    fifth = da.signal(np.arange(9.0), np.sin(np.arange(9)), "quintic", extend="hold")
    ends = [values_of(fifth.diff(da.t, order), np.array([-1e-9, 0.0, 8.0, 8.0 + 1e-9])) for order in range(3)]
    assert np.array(ends) == pytest.approx(np.array([[0, 0, np.sin(8), np.sin(8)], [0] * 4, [0] * 4]), abs=1e-7)
    for order in range(3):
        assert values_of(periodic.diff(da.t, order), INSIDE + 8) == pytest.approx(reference(INSIDE, order), abs=1e-11)


def test_high_precision_agrees_with_floats():
    import mpmath

    periodic = da.signal(TIMES, VALUES, extend="periodic")
    function = numeric_function([da.t], periodic, "mpmath")
    with mpmath.workdps(40):
        found = [float(function(mpmath.mpf(at))) for at in (-3.3, 0.2, 1.2, 7.7)]
    assert found == pytest.approx(values_of(periodic, np.array([-3.3, 0.2, 1.2, 7.7])), abs=1e-13)


def test_channels_names_texts_and_pickles():
    both = da.signal(TIMES, np.stack([VALUES, 2 * VALUES], axis=1), name="wind")
    assert list(map(str, both)) == ["wind_0(t)", "wind_1(t)"]
    assert str(both[0].diff(da.t)) == "wind_0'(t)"
    assert sp.latex(both[0].diff(da.t) ** 2) == r"\mathrm{wind\_0}'\left(t\right)^{2}"
    named = da.signal(TIMES, np.stack([VALUES, VALUES], axis=1), name=("u", "v"))
    assert list(map(str, named)) == ["u(t)", "v(t)"]
    assert pickle.loads(pickle.dumps(both[0])) == both[0]
    assert both[0] != both[1] and da.signal(TIMES, VALUES) == da.signal(list(TIMES), list(VALUES))
    assert float(both[1].subs(da.t, 1.1)) == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"times": [0, 1, 1, 2, 3, 4]}, r"`times` must increase; entry 2, 1, does not follow 1\."),
        ({"times": [0, 2, 1, 2, 3, 4]}, r"`times` must increase; entry 2, 1, does not follow 2\."),
        ({"times": [0, 1]}, r"`times` must have shape \(K,\) .*; got \(2,\) and \(6,\)\."),
        ({"values": [[[1]]]}, r"got \(6,\) and \(1, 1, 1\)\."),
        ({"values": [0, np.nan, 0, 0, 0, 0]}, r"`values` must be finite; entry 1 is nan\. Leave out gaps"),
        ({"times": [0, 1, 2, 3, 4, np.inf]}, r"`times` must be finite; entry 5 is inf"),
        ({"values": "abc"}, r"`values` must hold numbers"),
        ({"times": [1.0], "values": [1.0]}, r"`times` must hold at least 2 times for this signal; got 1\."),
        (
            {"kind": "septic"},
            r"`kind` must be one of `previous`, `linear`, `pchip`, `cubic`, `quintic`; got 'septic'\.",
        ),
        ({"extend": "zero"}, r'`extend` must be "hold" or "periodic", or be left out; got \'zero\'\.'),
        ({"extend": "periodic", "values": [1, 2, 3, 4, 5, 6]}, r"the first and the last of `values` must agree"),
        ({"name": ("a", "b")}, r"`name` must be a text, or one text for each of the 1 channels"),
    ],
)
def test_wrong_input_is_refused(change, message):
    with pytest.raises(da.InputError, match=message):
        da.signal(**{"times": TIMES, "values": VALUES} | change)


def test_values_that_are_left_out_are_asked_for():
    with pytest.raises(da.InputError, match=r"`values` must hold .* at `times`; none were given\.$"):
        da.signal(TIMES)
    with pytest.raises(da.InputError, match=r"Of a SciPy spline `s`, pass `s\.x` and `s\(s\.x\)`\."):
        da.signal(CubicSpline(TIMES, VALUES))


def test_a_constraint_needs_finite_accelerations():
    x, y = da.coordinates("x y")
    at_rest = [[1, 0], [0, 1]]
    message = (
        r"derivative 2 of signal `path`, on which constraint `drive` at position level depends, must be finite; the "
        r'signal of kind "linear" jumps in its derivative 1\. Use a smoother `kind`, such as "cubic"\.'
    )
    with pytest.raises(da.ModelError, match=message):
        da.System(
            (x, y), at_rest, (0, 0), da.Constraint(x - da.signal(TIMES, VALUES, "linear", name="path"), name="drive")
        )
    step = da.signal(TIMES, VALUES, "previous", name="step")
    with pytest.raises(
        da.ModelError, match=r"derivative 2 of signal `step`, .*; the signal of kind \"previous\" jumps\. Use"
    ):
        da.System((x, y), at_rest, (0, 0), da.Constraint(x - step, name="drive"))
    # at velocity level the velocities follow a jump by an impulse
    da.System((x, y), at_rest, (0, 0), da.Constraint(x.diff(da.t) - step, name="drive"))
    speed = x.diff(da.t) + da.signal(TIMES, VALUES, "linear", name="path").diff(da.t)
    with pytest.raises(da.ModelError, match=r"derivative 2 of signal `path`, on which the equations of motion depend"):
        da.System.from_lagrangian(speed**2 / 2, (x,))
    for kind in ("cubic", "pchip"):
        da.System((x, y), at_rest, (0, 0), da.Constraint(x - da.signal(TIMES, VALUES, kind), name="drive"))


def test_other_models_are_refused():
    x = da.coordinates("x")
    one, two = da.signal(TIMES, VALUES, "linear"), da.signal(TIMES, 2 * VALUES, "linear")
    with pytest.raises(da.ModelError, match=r"signals with different numbers must have different names; .*: `signal`"):
        da.System((x,), [[1]], (one + two,))
    with pytest.raises(da.ModelError, match=r"signal `table` must be a function of time, since values of kind"):
        da.System((x,), [[1]], (da.signal(TIMES, VALUES, "previous", name="table", of=x),))


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (np.array(["2020-01-01", "2020-01-02"], "datetime64[s]"), "`times` must hold plain numbers; got datetime64"),
        (np.array([0, 1], "timedelta64[ms]"), "`times` must hold plain numbers; got timedelta64"),
        ([False, True], "`times` must hold numbers; got booleans"),
        ([0, 1j], "`times` must be real; got complex numbers"),
    ],
)
def test_what_numpy_would_convert_in_silence_is_refused(times, message: str) -> None:
    with pytest.raises(da.InputError, match=message):
        da.signal(times, [0, 1], "linear")


def test_columns_with_other_labels_are_refused() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    table = pandas.DataFrame({"t": [0.0, 1.0, 2.0], "v": [5.0, 6.0, 7.0]})
    assert float(da.signal(table["t"], table["v"], "linear").subs(da.t, 2)) == 7
    with pytest.raises(da.InputError, match=r"their indices differ\. Pass columns of one table"):
        da.signal(table["t"], table["v"][::-1], "linear")
    indexed = table.set_index("t")["v"]
    assert float(da.signal(indexed.index, indexed, "linear").subs(da.t, 2)) == 7
    with pytest.raises(da.InputError, match=r"`values` must be labelled by `times`, or not at all"):
        da.signal([0.0, 1.0, 2.0], indexed[::-1], "linear")
