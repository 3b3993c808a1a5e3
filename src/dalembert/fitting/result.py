# SPDX-License-Identifier: BSD-3-Clause
"""The result of a fit with its uncertainties, and the comparison of several fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.notebook_html import block, figure_or_nothing, paragraph, table
from dalembert.common.table import aligned
from dalembert.errors import InputError
from dalembert.fitting.observation import Observation
from dalembert.integration.trajectory import Trajectory
from dalembert.model.ordering import name_of, quoted
from dalembert.numerics.tolerances import NAMED_SHARE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters estimated from measurements.

    estimates, standard_errors    by name; an error is NaN if the estimate is at its bound, and infinite if the data do
                                  not determine it
    covariance (k, k)             of the parameters, in the order of ``estimates``
    noise                         estimated standard deviation of a measurement; 1 if the noise was given
    residuals                     for each observation, by coordinate: simulated less measured values, NaN where missing
    runs                          the motions with these parameters
    observations                  the measurements
    count, unknowns               numbers of measured values and of unknowns, free initial states included
    known_noise                   by coordinate, as it was given; None if it was estimated
    aic, bic                      Akaike's criterion, corrected for small samples, and the Bayesian one: lower is better
    notes                         remarks, one sentence each

    ``fit["mu"]`` is an estimate; ``print(fit)`` shows a table.
    """

    estimates: dict[str, float]
    standard_errors: dict[str, float]
    covariance: Floats
    noise: float
    residuals: tuple[dict[str, Floats], ...]
    runs: tuple[Trajectory, ...]
    observations: tuple[Observation, ...]
    count: int
    unknowns: int
    aic: float
    bic: float
    known_noise: dict[str, float] | None
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        names: tuple[str, ...],
        unknowns: Floats,
        residuals: Floats,
        jacobian: Floats,
        bound: NDArray[np.bool_],
        known_noise: dict[str, float] | None,
        rank_tolerance: float,
        runs: tuple[Trajectory, ...],
        observations: tuple[Observation, ...],
        notes: tuple[str, ...],
    ) -> Fit:
        """Return the fit from the unknowns, and the residuals and their Jacobian in units of the noise.

        ``bound`` is a mask of the unknowns at their bounds, which have no standard errors. ``rank_tolerance`` is the
        ratio of singular values below which the data do not determine a direction.
        """
        count, k = jacobian.shape
        squares = float(residuals @ residuals)
        noise = float(np.sqrt(squares / (count - k))) if known_noise is None else 1.0
        covariance = _covariance(jacobian, bound, rank_tolerance, noise)[: len(names), : len(names)]
        estimated = k + (known_noise is None)
        if known_noise is None:
            misfit = count * np.log(squares / count) if squares > 0 else -np.inf
            correction = 2 * estimated * (estimated + 1) / (count - estimated - 1) if count > estimated + 1 else np.inf
        else:
            misfit, correction = squares, 0.0  # the small-sample correction assumes an estimated noise
        return cls(
            estimates=dict(zip(names, map(float, unknowns), strict=False)),
            standard_errors=dict(zip(names, map(float, np.sqrt(np.diag(covariance))), strict=True)),
            covariance=covariance,
            noise=noise,
            residuals=tuple(
                {name: run[name] - column for name, column in one.values.items()}
                for run, one in zip(runs, observations, strict=True)
            ),
            runs=runs,
            observations=observations,
            count=count,
            unknowns=k,
            aic=float(misfit + 2 * estimated + correction),
            bic=float(misfit + estimated * np.log(count)),
            known_noise=known_noise,
            notes=notes,
        )

    def __getitem__(self, name: Any) -> float:
        key = name_of(name)
        if key not in self.estimates:
            raise InputError(f"`{key}` must be one of the estimated parameters ({quoted(self.estimates)}).")
        return self.estimates[key]

    def interval(self, name: Any, level: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval of a parameter: Student's t distribution, or normal for known noise."""
        from scipy.stats import norm
        from scipy.stats import t as student

        if not 0 < level < 1:
            raise InputError(f"`level` must lie between 0 and 1; got {level!r}.")
        value, error = self[name], self.standard_errors[name_of(name)]
        share = (1 + level) / 2
        times = norm.ppf(share) if self.known_noise is not None else student.ppf(share, self.count - self.unknowns)
        return value - float(times) * error, value + float(times) * error

    def plot(self, units: Mapping[str, str] | None = None) -> Figure:
        """Plot the measurements and the fitted motions, with the residuals below them."""
        from dalembert.figures.fit_figure import plot_fit

        return plot_fit(self, units or {})

    def __str__(self) -> str:
        return "\n".join([*aligned(self._table()), self._summary(), *self.notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head, *rows = self._table()
        picture = figure_or_nothing(self.plot, "measurements, fitted motions and residuals")
        return block(table(head, rows), *map(paragraph, (self._summary(), *self.notes)), picture)

    def _table(self) -> list[tuple[str, ...]]:
        rows = [("", "estimate", "standard error", "95 % interval")]
        for name, value in self.estimates.items():
            low, high = self.interval(name)
            rows.append((name, f"{value:.6g}", f"{self.standard_errors[name]:.2g}", f"{low:.6g} to {high:.6g}"))
        return rows

    def _summary(self) -> str:
        unknowns = f"{self.unknowns} unknown{'s' * (self.unknowns != 1)}"
        return f"{self.count} measured values, {unknowns}; noise {self.noise:.3g}, AIC {self.aic:.5g}"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several fits to the same data, ordered by an information criterion, the best first.

    fits          by name, in the order of the criterion
    criterion     "aic" or "bic"
    differences   by name: difference of the criterion to the best
    weights       by name: Akaike weights, which sum to one

    ``comparison.best`` is the name of the best; ``print(comparison)`` shows a table.
    """

    fits: dict[str, Fit]
    criterion: str
    differences: dict[str, float]
    weights: dict[str, float]

    @property
    def best(self) -> str:
        return next(iter(self.fits))

    def __str__(self) -> str:
        return "\n".join(aligned(self._table()))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head, *rows = self._table()
        return block(table(head, rows))

    def _table(self) -> list[tuple[str, ...]]:
        rows = [("", "unknowns", "noise", self.criterion.upper(), "difference", "weight")]
        for name, fit in self.fits.items():
            value = getattr(fit, self.criterion)
            rows.append(
                (
                    name,
                    str(fit.unknowns),
                    f"{fit.noise:.3g}",
                    f"{value:.5g}",
                    f"{self.differences[name]:.3g}",
                    f"{self.weights[name]:.1%}",
                )
            )
        return rows


def compare(fits: Mapping[str, Fit], criterion: str = "aic") -> Comparison:
    """Compare several fits to the same data by an information criterion.

    Parameters
    ----------
    fits         by any name, such as that of the force law
    criterion    "aic", Akaike's, corrected for small samples, or "bic", the Bayesian one

    Raises
    ------
    InputError   if there are fewer than two fits, or they are not to the same data
    """
    if criterion not in ("aic", "bic"):
        raise InputError(f'`criterion` must be "aic" or "bic"; got {criterion!r}.')
    if not isinstance(fits, Mapping):
        raise InputError(f"`fits` must be a mapping from names to fits; got {fits!r}.")
    if len(fits) < 2:
        raise InputError(f"`fits` must hold at least two fits; got {len(fits)}.")
    others = [name for name, fit in fits.items() if not isinstance(fit, Fit)]
    if others:
        raise InputError(f"`fits` must hold results of `da.fit`; {quoted(map(str, others))} is not one.")
    first = next(iter(fits.values()))
    off = [name for name, fit in fits.items() if fit.count != first.count or not _same_data(fit, first)]
    if off:
        raise InputError(f"`fits` must be to the same data; {quoted(off)} is not.")
    if any(fit.known_noise != first.known_noise for fit in fits.values()):
        raise InputError("`fits` must all use the same known noise, or all estimate it; these do not.")
    values = {name: float(getattr(fit, criterion)) for name, fit in fits.items()}
    off = [name for name, value in values.items() if not np.isfinite(value)]
    if off:
        raise InputError(
            f"`fits` must have a finite criterion; the {criterion.upper()} of {quoted(off)} is not finite: there "
            f"are too few data, or they are fitted exactly."
        )
    order = sorted(fits, key=lambda name: values[name])
    differences = {name: values[name] - values[order[0]] for name in order}
    support = {name: np.exp(-difference / 2) for name, difference in differences.items()}
    total = sum(support.values())
    return Comparison(
        fits={name: fits[name] for name in order},
        criterion=criterion,
        differences=differences,
        weights={name: float(value / total) for name, value in support.items()},
    )


def _covariance(jacobian: Floats, bound: NDArray[np.bool_], rank_tolerance: float, noise: float) -> Floats:
    """Return the covariance (k, k) of the unknowns, with those at a bound fixed; NaN for these."""
    k = len(bound)
    covariance = np.full((k, k), np.nan)
    inverse = _inverse(jacobian[:, ~bound], rank_tolerance)
    # undetermined unknowns have an infinite variance even if the estimated noise is zero
    covariance[np.ix_(~bound, ~bound)] = np.where(np.isinf(inverse), np.inf, noise**2 * np.nan_to_num(inverse))
    return covariance


def _inverse(jacobian: Floats, rank_tolerance: float) -> Any:
    """Return (JᵀJ)⁻¹, infinite for unknowns that the data do not determine."""
    # unit columns, so that the rank does not depend on the units of the unknowns
    scale = np.linalg.norm(jacobian, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    _, values, rows = np.linalg.svd(jacobian / scale, full_matrices=False)
    undetermined = values <= rank_tolerance * values.max(initial=0.0)
    # the pseudo-inverse on the determined directions; the others are marked as infinite below
    factor = rows[~undetermined].T / values[~undetermined]
    covariance = factor @ factor.T
    affected = (np.abs(rows[undetermined]) > NAMED_SHARE).any(axis=0)
    covariance[np.ix_(affected, affected)] = np.inf
    return covariance / np.outer(scale, scale)


def _same_data(one: Fit, other: Fit) -> bool:
    if len(one.observations) != len(other.observations):
        return False
    pairs = zip(one.observations, other.observations, strict=True)
    return all(
        set(a.values) == set(b.values)
        and np.array_equal(a.times, b.times)
        and all(np.array_equal(a.values[name], b.values[name], equal_nan=True) for name in a.values)
        for a, b in pairs
    )
