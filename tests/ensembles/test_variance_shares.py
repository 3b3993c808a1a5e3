"""Shares of variance beside closed forms: additive functions, Ishigami's function, and grids by their definition."""

import numpy as np
import pytest
import scipy.stats
import xarray as xr

import dalembert as da

x = da.coordinates("x")
a, b, c = da.parameters("a b c")
FORCED = da.System((x,), [[1]], (a + 3 * b,))


def with_output(design, values):
    """A dataset like that of an ensemble, with an output at one time."""
    return xr.DataArray(values[:, None], dims=("member", "time"), coords={"time": [0.0], **design.data_vars})


@pytest.mark.parametrize("draw", [da.latin, da.sobol, da.scatter])
def test_shares_of_a_sum_of_independent_quantities(draw):
    """x = (a + 3 b) t²/2: shares 1/10 and 9/10, for ranges of equal length; c has none."""
    count = 4096
    many = da.simulate_ensemble(FORCED, (0,), (0,), [0, 1], parameters=draw(count, a=(0, 1), b=(0, 1)))
    shares = da.variance_shares(many["q"])
    assert shares.dims == ("quantity", "time", "coordinate") and shares["quantity"].values.tolist() == ["a", "b"]
    np.testing.assert_allclose(shares.sel(time=1, coordinate="x"), [0.1, 0.9], atol=2 / np.sqrt(count))
    assert shares.sel(time=0).isnull().all()


@pytest.mark.parametrize("seed", range(3))
def test_shares_of_ishigamis_function(seed):
    """sin a + 7 sin² b + 0.1 c⁴ sin a on (−π, π)³; Ishigami and Homma (1990): 0.3139, 0.4424 and 0."""
    count, span = 2**14, (-np.pi, np.pi)
    design = da.scatter(count, a=span, b=span, c=span, seed=seed)
    values = np.sin(design["a"]) + 7 * np.sin(design["b"]) ** 2 + 0.1 * design["c"] ** 4 * np.sin(design["a"])
    shares = da.variance_shares(with_output(design, values.values))
    np.testing.assert_allclose(shares.values.ravel(), [0.3139, 0.4424, 0.0], atol=0.02)


def test_the_error_falls_with_the_root_of_the_number_of_members():
    """For a noisy sum, over forty draws: the mean is right, and the scatter is about 1/√N."""
    for count in (256, 4096):
        found = []
        for seed in range(40):
            design = da.scatter(count, a=scipy.stats.norm(0, 1), b=scipy.stats.norm(0, 2), seed=seed)
            values = (design["a"] + design["b"]).values
            found.append(da.variance_shares(with_output(design, values)).values.ravel())
        spread = np.std(found, axis=0) * np.sqrt(count)
        np.testing.assert_allclose(np.mean(found, axis=0), [0.2, 0.8], atol=0.02)
        assert (spread < 2).all()


def test_shares_on_a_grid_are_those_of_its_means():
    """Product a b on a grid: the shares are Var of the means of rows and of columns, less what they have by chance."""
    many = da.simulate_ensemble(
        FORCED,
        (0,),
        (0,),
        [0, 1],
        parameters=da.grid(a=np.linspace(0, 1, 40), b=np.linspace(0, 1, 30)),
        outputs=[x * a],
    )
    (name,) = [name for name in many if name != "reason"]
    shares, values = da.variance_shares(many[name]), many[name].sel(time=1)
    for quantity, other in (("a", "b"), ("b", "a")):
        means = values.mean(other)
        classes, members = values.sizes[quantity], values.size
        chance = (values.var() - means.var()) * (classes - 1) / (members - classes)
        expected = (means.var() - chance) / values.var()
        np.testing.assert_allclose(shares.sel(quantity=quantity, time=1), expected, rtol=1e-10)


def test_members_without_a_result_are_left_out():
    design = da.sobol(256, a=(0, 1), b=(0, 1))
    values = (design["a"] + 3 * design["b"]).values
    whole = da.variance_shares(with_output(design.isel(member=slice(3, None)), values[3:]))
    values[:3] = np.nan
    np.testing.assert_allclose(da.variance_shares(with_output(design, values)), whole, rtol=1e-12)


def test_refusals():
    many = da.simulate_ensemble(FORCED, (0,), (0,), [0, 1], parameters=da.grid(a=[0.0, 1.0], b=1.0))
    summary = da.simulate_ensemble(FORCED, (0,), (0,), [0, 1], parameters=da.grid(a=[0.0, 1.0], b=1.0), keep="summary")
    for given, message in (
        (many, r"`output` must be a variable of an ensemble .* got Dataset"),
        (summary["mean_q"], "must have varied quantities as labels"),
        (many["q"], "that of at least 32 members; 2 have a result"),
    ):
        with pytest.raises(da.InputError, match=message):
            da.variance_shares(given)
