# SPDX-License-Identifier: BSD-3-Clause
"""Designs of ensembles: which values the members have. A design is an xarray Dataset."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.model.input_values import as_numbers
from dalembert.model.ordering import by_name

if TYPE_CHECKING:
    import xarray as xr

NEAREST_TO_ZERO = 2.0**-53
"""Samples are kept this far away from zero and one, where quantiles of a normal distribution are infinite."""


def grid(values: Any = None, /, **named: Any) -> xr.Dataset:
    """Return a design with one member for each combination of values.

    Each array becomes a dimension; a number holds for all members. Names are those of parameters, of coordinates, whose
    values are starts, or of velocities as in ``{"theta'": [0, 1]}``.

    >>> import dalembert as da
    >>> design = da.grid(g=[9.0, 9.5, 10.0], l=[1.0, 2.0], m=1.0)
    >>> dict(design.sizes)
    {'g': 3, 'l': 2}

    Two designs are combined, each member of one with each of the other, by ``one.merge(other)``.
    """
    import xarray as xr

    given = {name: as_numbers(value, name) for name, value in _entries(values, named).items()}
    for name, array in given.items():
        if array.ndim > 1 or not array.size:
            raise InputError(f"`{name}` must be a number or a sequence of numbers; got shape {array.shape}.")
    axes = {name: array for name, array in given.items() if array.ndim}
    if not axes:
        raise InputError("a grid must have at least one sequence of values; got numbers only.")
    return xr.Dataset({name: ((), array) for name, array in given.items() if not array.ndim}, coords=axes)


def latin(members: float, values: Any = None, /, *, seed: int = 0, **named: Any) -> xr.Dataset:
    """Return a design of members drawn by Latin hypercube sampling (``scipy.stats.qmc.LatinHypercube``).

    A pair is a range, of which each part of equal length gets one member; an object with a method ``ppf``, such as
    ``scipy.stats.norm(1, 0.01)``, is a distribution; a number holds for all members.

    >>> import dalembert as da
    >>> design = da.latin(100, g=(9, 10), m=1.0)
    >>> dict(design.sizes)
    {'member': 100}
    """
    return _sampled(members, values, named, lambda size, count: _qmc("LatinHypercube", size, seed).random(count))


def sobol(members: float, values: Any = None, /, *, seed: int = 0, **named: Any) -> xr.Dataset:
    """Return a design of members from a scrambled Sobol' sequence (``scipy.stats.qmc.Sobol``).

    Values are given as for ``da.latin``. The number of members should be a power of two.

    >>> import dalembert as da
    >>> float(da.sobol(8, g=(9, 10))["g"].mean().round(1))
    9.5
    """
    return _sampled(members, values, named, lambda size, count: _qmc("Sobol", size, seed).random(count))


def scatter(members: float, values: Any = None, /, *, seed: int = 0, **named: Any) -> xr.Dataset:
    """Return a design of members drawn at random, independently of one another; values are given as for ``da.latin``.

    >>> import scipy.stats
    >>> import dalembert as da
    >>> design = da.scatter(1000, l=scipy.stats.norm(1, 0.01), g=9.81)
    >>> bool(abs(design["l"].std() - 0.01) < 1e-3)
    True
    """
    return _sampled(members, values, named, lambda size, count: _generator(seed).random((count, size)))


def _entries(values: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by name, from a mapping and from keywords."""
    found, problems = by_name({} if values is None else values, "values", "parameter")
    if found is None:
        raise InputError(f"`values` must be a mapping from names to values; got {values!r}.")
    twice = [f"`{name}` must be given once; it is in `values` and a keyword." for name in named if name in found]
    if problems or twice:
        raise InputError(" ".join([*problems, *twice]))
    refuse_dimension_name([*found, *named])
    return found | dict(named)


def refuse_dimension_name(names: Iterable[str]) -> None:
    """Raise an error if a quantity of a design has the name of the dimension of members."""
    if "member" in names:
        raise InputError(
            "a quantity of a design must not be named `member`, which is the dimension of its members. Rename the "
            "parameter, or pass its values as an array: `parameters={'member': [...]}`."
        )


def _generator(seed: Any) -> np.random.Generator:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"`seed` must be a whole number, at least 0; got {seed!r}.")
    return np.random.default_rng(int(seed))


def _sampled(members: Any, values: Any, named: Any, draw: Callable[[int, int], Floats]) -> xr.Dataset:
    import xarray as xr

    if isinstance(members, bool) or not isinstance(members, (int, float, np.integer)) or members < 1 or members % 1:
        raise InputError(f"`members` must be a whole number, at least 1; got {members!r}.")
    count = int(members)
    given = {name: _distribution(name, value) for name, value in _entries(values, named).items()}
    drawn = [name for name, (_, is_drawn) in given.items() if is_drawn]
    if not drawn:
        raise InputError("a random design must have a range or a distribution; got numbers only.")
    points = np.clip(draw(len(drawn), count), NEAREST_TO_ZERO, 1 - NEAREST_TO_ZERO)
    found: dict[str, Any] = {}
    for name, (quantile, is_drawn) in given.items():
        column = np.asarray(quantile(points[:, drawn.index(name)]), float) if is_drawn else None
        if column is not None and not np.isfinite(column).all():
            raise InputError(
                f"the distribution of `{name}` must give finite values; got {column[~np.isfinite(column)][0]}. Check "
                f"its parameters: a standard deviation, for example, is positive."
            )
        found[name] = ((), quantile(0.5)) if column is None else (("member",), column)
    return xr.Dataset(found, {"member": np.arange(count)})


def _distribution(name: str, given: Any) -> tuple[Callable[[Any], Any], bool]:
    """Return the quantile function of a range, distribution or number, and whether its values differ."""
    quantile = getattr(given, "ppf", None)
    if quantile is not None:
        return quantile, True
    numbers = as_numbers(given, name)
    if numbers.ndim == 0:
        return lambda _: float(numbers), False
    if numbers.shape != (2,) or not np.isfinite(numbers).all() or not numbers[0] < numbers[1]:
        raise InputError(
            f"`{name}` must be a number, a range (low, high), or a distribution such as `scipy.stats.norm(1, 0.1)`; "
            f"got {given!r}."
        )
    low, high = numbers
    return lambda u: low + (high - low) * u, True


def _qmc(kind: str, size: int, seed: int) -> Any:
    from scipy.stats import qmc

    sampler = getattr(qmc, kind)
    # the name of the argument depends on the version of SciPy
    name = "rng" if "rng" in inspect.signature(sampler.__init__).parameters else "seed"
    return sampler(size, **{name: _generator(seed)})
