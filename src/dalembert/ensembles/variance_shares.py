# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the variance of an output that the quantities of a design explain by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.numerics.tolerances import ROUNDING, TINY

if TYPE_CHECKING:
    import xarray as xr

LEAST_SAMPLE = 32
"""Fewest members with a result: below, shares of random designs consist of noise."""

LEAST_IN_CLASS = 4
"""Mean number of members with the same value from which on these values are the classes, as in a grid."""

NOT_VARIED = ("time", "coordinate", "constraint", "entry", "event", "quantile")
"""Dimensions of the dataset of an ensemble that are not those of members."""


def variance_shares(output: Any) -> xr.DataArray:
    """Return the share of the variance of an output that each varied quantity explains by itself.

    Sᵢ = Var E[Y | xᵢ] / Var Y, the first-order index of Sobol', for every time and component of the output Y. What is
    left of 1 is due to quantities acting together.

    The members are divided into classes with equal values of xᵢ, as in a grid, or with neighbouring ones, in which
    E[Y | xᵢ] is a straight line; what this explains by chance is subtracted. The quantities must be independent of one
    another, as in ``da.grid``, ``da.latin``, ``da.sobol`` and ``da.scatter``. With N members of a random design the
    error is about 1/√N, so that small shares may be negative. Members without a result are left out.

    Parameters
    ----------
    output    a variable of the result of ``da.simulate_ensemble``, such as ``many["q"]``

    Returns
    -------
    DataArray    the shares by quantity and the other dimensions of the output; NaN where it does not vary

    Raises
    ------
    InputError    if the argument is no such variable, nothing was varied, or there are too few members

    Examples
    --------
    >>> import dalembert as da
    >>> x, (a, b) = da.coordinates("x"), da.parameters("a b")
    >>> pushed = da.System((x,), [[1]], (a + 3 * b,))
    >>> many = da.simulate_ensemble(pushed, (0,), (0,), [0, 1], parameters=da.sobol(1024, a=(0, 1), b=(0, 1)))
    >>> print(da.variance_shares(many["q"]).sel(coordinate="x", time=1).values.round(1))
    [0.1 0.9]
    """
    import xarray as xr

    if not isinstance(output, xr.DataArray):
        raise InputError(
            f'`output` must be a variable of an ensemble such as `many["q"]`; got {type(output).__name__}.'
        )
    dims = [dim for dim in output.dims if dim not in NOT_VARIED]
    varied = [
        str(name) for name, own in output.coords.items() if own.dims and {*own.dims} <= {*dims} and name != "member"
    ]
    varied = [name for name in varied if output[name].dtype.kind in "fiu"]
    if not varied:
        raise InputError(
            "`output` must have varied quantities as labels of its members, as variables of ensembles have; it has "
            'none. Summaries have no members: keep "times" or "end".'
        )
    ordered = output.transpose(*dims, ...)
    rest = ordered.dims[len(dims) :]
    values = ordered.values.reshape(-1, *ordered.shape[len(dims) :])
    known = np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
    if known.sum() < LEAST_SAMPLE:
        raise InputError(f"`output` must be that of at least {LEAST_SAMPLE} members; {known.sum()} have a result.")
    own = {name: np.broadcast_to(_spread(ordered, name, dims), ordered.shape[: len(dims)]).ravel() for name in varied}
    shares = np.array([_share(own[name][known], values[known]) for name in varied])
    kept = {dim: output[dim].values for dim in rest if dim in output.coords}
    return xr.DataArray(shares, dims=("quantity", *rest), coords={"quantity": varied, **kept}, name="share")


def _spread(output: xr.DataArray, name: str, dims: list[Any]) -> Any:
    """Return the values of a label with one axis for each dimension of members."""
    own = output[name]
    return own.transpose(*(dim for dim in dims if dim in own.dims)).values.reshape(
        [output.sizes[dim] if dim in own.dims else 1 for dim in dims]
    )


def _share(x: Floats, values: Floats) -> Floats:
    """Return Var E[Y | x] / Var Y for values (N, …) of Y."""
    order = np.argsort(x, kind="stable")
    starts, slopes = _classes(x[order])
    sizes, beside = np.diff([*starts, len(x)]), (1,) * (values.ndim - 1)
    centred = values[order] - values.mean(axis=0)
    sums = np.add.reduceat(centred, starts, axis=0)
    explained, fitted = (sums**2 / sizes.reshape(-1, *beside)).sum(axis=0), len(starts)
    if slopes:
        z = x[order] - np.repeat(np.add.reduceat(x[order], starts) / sizes, sizes)
        squares = np.maximum(np.add.reduceat(z**2, starts), TINY).reshape(-1, *beside)
        explained += (np.add.reduceat(z.reshape(-1, *beside) * centred, starts, axis=0) ** 2 / squares).sum(axis=0)
        fitted *= 2
    whole = (centred**2).sum(axis=0)
    # each number that is fitted explains some of the rest by chance
    chance = (whole - explained) * (fitted - 1) / (len(x) - fitted)
    rounding = len(x) * (ROUNDING * np.abs(values).max(axis=0)) ** 2
    with np.errstate(all="ignore"):
        return np.where(whole > rounding, (explained - chance) / whole, np.nan)


def _classes(x: Floats) -> tuple[NDArray[np.intp], bool]:
    """Return where the classes of increasing values begin, and whether the values within them differ."""
    changes = np.flatnonzero(np.diff(x, prepend=-np.inf))
    if len(changes) * LEAST_IN_CLASS <= len(x):
        return changes, False
    # few, because in designs that fill space evenly less is explained by chance than is subtracted
    count = int(np.cbrt(len(x)))
    return np.linspace(0, len(x), count + 1).astype(int)[:-1], True
