"""Designs of ensembles, and results whose dimensions are the swept quantities."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import sympy as sp
import xarray as xr

import dalembert as da
from helpers import pendulum

x, y = da.coordinates("x y")
theta = da.coordinates("theta")
g, length = da.parameters("g l")
TIMES = [0, 0.5, 1]


def swing():
    return da.System.from_lagrangian(length**2 * theta.diff(da.t) ** 2 / 2 + g * length * sp.cos(theta), (theta,))


def test_a_grid_has_one_dimension_for_each_sequence():
    design = da.grid({length: [1.0, 2.0, 3.0]}, g=[9.0, 10.0])
    many = da.simulate_ensemble(swing(), (1,), (0,), TIMES, parameters=design)
    assert many["q"].dims == ("l", "g", "time", "coordinate")
    assert many["reason"].dims == ("l", "g")
    np.testing.assert_array_equal(many["l"], [1, 2, 3])
    alone = da.simulate(swing(), (1,), (0,), TIMES, parameters={"l": 2.0, "g": 10.0})
    np.testing.assert_allclose(many["q"].sel(l=2.0, g=10.0), alone.q, rtol=1e-12, atol=1e-13)


def test_starts_are_swept_by_the_names_of_coordinates_and_velocities():
    design = da.grid({"theta": [0.1, 0.2], "theta'": [0.0, 1.0, 2.0]}, g=9.81, l=1.0)
    many = da.simulate_ensemble(swing(), (0,), (0,), TIMES, parameters=design)
    assert dict(many.sizes) == {"theta": 2, "theta'": 3, "time": 3, "coordinate": 1}
    np.testing.assert_array_equal(many["q"].sel({"theta": 0.2, "theta'": 1.0, "time": 0}), [0.2])
    np.testing.assert_array_equal(many["qd"].sel({"theta": 0.2, "theta'": 2.0, "time": 0}), [2.0])


def test_scattered_starts_are_moved_onto_the_constraints():
    design = da.scatter(300, x=scipy.stats.norm(1, 0.1), y=(-0.1, 0.1), g=9.81)
    many = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, parameters=design, outputs=("q", "violation"))
    assert not many["reason"].values.any()
    assert np.abs(many["violation"]).max() < 1e-13
    np.testing.assert_allclose((many["q"] ** 2).sum("coordinate"), 1, atol=1e-13)
    assert "members were moved onto the constraints, by up to" in many.attrs["notes"]
    # the nearest point on the circle, up to the steps of Gauss and Newton
    start = many["q"].isel(time=0)
    off = start.sel(coordinate="x") * many["y"] - start.sel(coordinate="y") * many["x"]
    assert np.abs(off).max() < 2e-3


def test_a_start_without_constraints_nearby_fails_alone():
    design = da.grid(x=[0.0, 0.9], y=0.0, g=9.81)
    many = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, parameters=design)
    assert [bool(reason) for reason in many["reason"].values] == [True, False]
    assert "violated" in many["reason"].values[0]


def test_random_designs_follow_their_distributions():
    for draw in (da.latin, da.sobol, da.scatter):
        design = draw(1024, {"l": scipy.stats.norm(1, 0.01)}, g=(9, 10), m=2)
        assert design["l"].dims == design["g"].dims == ("member",) and design["m"].dims == ()
        assert abs(float(design["l"].mean()) - 1) < 1e-3 and abs(float(design["l"].std()) - 0.01) < 1e-3
        assert 9 <= design["g"].min() < 9.01 and 9.99 < design["g"].max() < 10
        xr.testing.assert_identical(design, draw(1024, {"l": scipy.stats.norm(1, 0.01)}, g=(9, 10), m=2))
        assert not design["g"].equals(draw(1024, {"l": (0, 1)}, g=(9, 10), seed=1)["g"])
    # one member in each part of equal length
    parts = np.floor(da.latin(50, g=(0, 50))["g"].values)
    np.testing.assert_array_equal(np.sort(parts), np.arange(50))


def test_designs_are_combined_by_merging():
    design = da.grid(g=[9.0, 10.0]).merge(da.scatter(5, l=(1, 2)))
    many = da.simulate_ensemble(swing(), (1,), (0,), TIMES, parameters=design)
    assert many["q"].dims == ("g", "member", "time", "coordinate")
    assert many["l"].dims == ("member",)


def test_tables_of_pandas_and_xarray_are_designs():
    table = pd.DataFrame({"g": [9.0, 10.0], "l": [1.0, 2.0]})
    many = da.simulate_ensemble(swing(), (1,), (0,), TIMES, parameters=table)
    arrays = da.simulate_ensemble(swing(), (1,), (0,), TIMES, parameters={"g": [9.0, 10.0], "l": [1.0, 2.0]})
    np.testing.assert_array_equal(many["q"], arrays["q"])
    np.testing.assert_array_equal(arrays["g"], [9.0, 10.0])
    assert many["g"].dims == arrays["g"].dims == ("member",)
    data = xr.Dataset({"g": ("case", [9.0, 10.0]), "l": (("case", "size"), [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])})
    named = da.simulate_ensemble(swing(), (1,), (0,), TIMES, parameters=data)
    assert named["q"].dims == ("case", "size", "time", "coordinate")
    np.testing.assert_array_equal(named["q"][1, 0], many["q"][1])


def test_texts_that_label_a_table_are_labels_of_the_result():
    sites = xr.Dataset({"g": ("site", [9.0, 10.0]), "l": 1.0}, coords={"site": ["north", "south"]})
    many = da.simulate_ensemble(swing(), (1,), (0,), TIMES, parameters=sites)
    alone = da.simulate(swing(), (1,), (0,), TIMES, parameters={"g": 10.0, "l": 1.0})
    np.testing.assert_allclose(many["q"].sel(site="south"), alone.q, rtol=1e-12)
    index = pd.MultiIndex.from_product([["north", "south"], ["a", "b"]], names=["site", "rod"])
    table = pd.DataFrame({"g": [9.0, 9.0, 10.0, 10.0], "l": [1.0, 2.0, 1.0, 2.0]}, index=index)
    both = da.simulate_ensemble(swing(), (1,), (0,), TIMES, parameters=table)
    assert both["q"].dims == ("site", "rod", "time", "coordinate")
    np.testing.assert_allclose(both["q"].sel(site="south", rod="a"), alone.q, rtol=1e-12)


@pytest.mark.parametrize(
    ("design", "outputs", "name"),
    [
        (da.grid(g=[9.0, 10.0], l=1.0), {"g": 2 * theta}, "g"),
        (da.grid(theta=[0.1, 0.2], g=9.0, l=1.0), [theta], "theta"),
        ({"g": [9.0, 10.0], "l": 1.0}, {"member": theta}, "member"),
    ],
)
def test_outputs_with_the_name_of_a_varied_value_are_refused(design, outputs, name):
    given = {"parameters": design, "outputs": outputs}
    with pytest.raises(da.InputError, match=f"`outputs` must have other names than .* `{name}` is one of these"):
        da.simulate_ensemble(swing(), (1,), (0,), TIMES, **given)
    summary = da.simulate_ensemble(swing(), (1,), (0,), TIMES, keep="summary", **given)
    assert f"mean_{name}" in summary


LABELLED = {
    "a Series": ("g", lambda values: pd.Series(values, index=[2, 0, 1]), [2, 0, 1]),
    "labels of text": ("g", lambda values: pd.Series(values, index=["a", "b", "c"]), ["a", "b", "c"]),
    "a DataArray": ("g", lambda values: xr.DataArray(values, dims="run", coords={"run": [5, 3, 4]}), [5, 3, 4]),
    "starts": ("q0", lambda values: pd.DataFrame({"theta": values}, index=[7, 6, 5]), [7, 6, 5]),
    "rates": (
        "qd0",
        lambda values: xr.DataArray(
            [[v] for v in values], dims=("run", "name"), coords={"run": [4, 3, 2], "name": ["theta"]}
        ),
        [4, 3, 2],
    ),
}


@pytest.mark.parametrize("case", LABELLED)
def test_labels_of_members_are_kept(case):
    """The member with a label moves as the value with this label says."""
    varied, labelled, labels = LABELLED[case]
    values = [1.0, 2.0, 3.0]

    def arguments(given, alone):
        state = (given,) if alone else given
        p = {"g": given if varied == "g" else 9.0, "l": 1.0}
        return (
            {"q0": (1,), "qd0": (0,), "times": TIMES} | ({} if varied == "g" else {varied: state}) | {"parameters": p}
        )

    many = da.simulate_ensemble(swing(), **arguments(labelled(values), alone=False))
    assert list(many["member"].values) == labels
    for label, value in zip(labels, values, strict=True):
        alone = da.simulate(swing(), **arguments(value, alone=True))
        np.testing.assert_allclose(many["q"].sel(member=label, time=TIMES[-1]), alone.q[-1], rtol=1e-9)


def test_labels_that_differ_are_refused():
    starts = pd.DataFrame({"theta": [1.0, 2.0]})
    weights = xr.DataArray([9.0, 10.0], dims="run", coords={"run": [1, 0]})
    with pytest.raises(da.InputError, match=r"`q0` and `parameters\[g\]` must have the same labels"):
        da.simulate_ensemble(swing(), starts, (0,), TIMES, parameters={"g": weights, "l": 1})


def test_a_parameter_called_member():
    """The name of the dimension: values may be an array, but not a design, whose labels have this name."""
    ball = da.System((x,), [[1]], (da.parameters("member"),))
    many = da.simulate_ensemble(ball, (0,), (0,), TIMES, parameters={"member": [1.0, 2.0]})
    np.testing.assert_array_equal(many["member"], [0, 1])
    np.testing.assert_array_equal(many["parameter(member)"], [1, 2])
    labels = xr.Dataset({"x": ("member", [1.0, 2.0])}, coords={"member": [3, 4]})
    for made in (
        lambda: da.grid(member=[1.0, 2.0]),
        lambda: da.latin(2, member=(1, 2)),
        lambda: da.simulate_ensemble(ball, (0,), (0,), TIMES, parameters=pd.DataFrame({"member": [1.0, 2.0]})),
        lambda: da.simulate_ensemble(ball, (0,), (0,), TIMES, parameters=labels),
    ):
        with pytest.raises(da.InputError, match="must not be named `member`, which is the dimension"):
            made()


def test_a_parameter_with_a_name_of_the_dataset():
    q = da.parameters("q")
    ball = da.System((x,), [[1]], (q,))
    many = da.simulate_ensemble(ball, (0,), (0,), TIMES, parameters=da.grid(q=[1.0, 2.0]))
    assert many["q"].dims == ("parameter(q)", "time", "coordinate")
    np.testing.assert_allclose(many["q"].isel(time=-1).values.ravel(), [0.5, 1.0])


def test_results_of_a_grid_go_to_files(tmp_path):
    many = da.simulate_ensemble(swing(), (1,), (0,), TIMES, parameters=da.grid(g=[9.0, 10.0], l=[1.0, 2.0]))
    many.to_netcdf(tmp_path / "many.nc", engine="scipy")
    np.testing.assert_array_equal(xr.open_dataset(tmp_path / "many.nc", engine="scipy")["q"], many["q"])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: da.grid(g=9.81), "at least one sequence of values"),
        (lambda: da.grid(g=[[1.0]]), r"`g` must be a number or a sequence of numbers; got shape \(1, 1\)"),
        (lambda: da.grid({"g": [1.0]}, g=[1.0]), "`g` must be given once"),
        (lambda: da.grid([1, 2]), "`values` must be a mapping"),
        (lambda: da.latin(0, g=(1, 2)), "`members` must be a whole number, at least 1; got 0"),
        (lambda: da.sobol(2.5, g=(1, 2)), "`members` must be a whole number"),
        (lambda: da.scatter(5, g=(1, 2), seed="a"), "`seed` must be a whole number, at least 0; got 'a'"),
        (lambda: da.latin(5, g=(1, 2), seed=-1), "`seed` must be a whole number"),
        (lambda: run_with(pd.DataFrame([[1.0, 2.0]], columns=["g", "g"])), "given twice: `g`"),
        (lambda: da.scatter(5, g=1), "must have a range or a distribution"),
        (lambda: da.scatter(5, g=scipy.stats.norm(1, -1)), "distribution of `g` must give finite values; got nan"),
        (lambda: da.scatter(5, g=(2, 1)), r"`g` must be a number, a range \(low, high\), or a distribution"),
        (lambda: run_with(da.grid(g=[1.0], k=[2.0])), "`k` is unknown"),
        (lambda: run_with(da.grid(k=[2.0], x=[1.0])), "`k` is unknown"),
        (lambda: run_with(da.grid(x=[1.0])), "missing: `g`"),
        (lambda: run_with(xr.Dataset({"g": 1.0})), "a design must have at least one member"),
    ],
)
def test_bad_designs_are_refused(made, message):
    with pytest.raises(da.InputError, match=message):
        made()


def run_with(design):
    return da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, parameters=design)
