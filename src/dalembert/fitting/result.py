# SPDX-License-Identifier: BSD-3-Clause
"""What a fit has found, how well, and which of several fits the data support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.array_types import Floats
from dalembert.errors import InputError
from dalembert.fitting.observation import Observation
from dalembert.integration.trajectory import Trajectory
from dalembert.model.ordering import name_of, quoted
from dalembert.table import aligned

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters found from measurements.

    estimates, standard_errors    by name; an error is NaN where a bound holds the estimate, infinite where nothing
                                  that was seen determines it
    covariance (k, k)             of the parameters, in the order of ``estimates``
    noise                         estimated standard deviation of a measurement; one where it was known, in its units
    residuals                     for each observation, by coordinate: motion less measurement, NaN where not seen
    runs                          the motions with these parameters
    observations                  what they were found from
    count, unknowns               numbers that were seen, and that were found, free starts included
    known_noise                   by coordinate, as it was given; None where it was estimated
    aic, bic                      Akaike's criterion, corrected for few data, and the Bayesian one: lower is better
    notes                         what a reader should know, one sentence each

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
        indistinct: float,
        runs: tuple[Trajectory, ...],
        observations: tuple[Observation, ...],
        notes: tuple[str, ...],
    ) -> Fit:
        """From the unknowns found, residuals and derivatives in units of the noise.

        ``bound`` are the unknowns that their bounds hold, for which there are no errors. ``indistinct`` is the smallest
        singular value, over the largest, at which unknowns can be told apart.
        """
        count, k = jacobian.shape
        squares = float(residuals @ residuals)
        noise = float(np.sqrt(squares / (count - k))) if known_noise is None else 1.0
        covariance = _covariance(jacobian, bound, indistinct, noise)[: len(names), : len(names)]
        found = k + (known_noise is None)
        if known_noise is None:
            misfit = count * np.log(squares / count) if squares > 0 else -np.inf
            few = 2 * found * (found + 1) / (count - found - 1) if count > found + 1 else np.inf
        else:
            misfit, few = squares, 0.0  # Akaike's own criterion needs no correction where the noise is known
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
            aic=float(misfit + 2 * found + few),
            bic=float(misfit + found * np.log(count)),
            known_noise=known_noise,
            notes=notes,
        )

    def __getitem__(self, name: Any) -> float:
        key = name_of(name)
        if key not in self.estimates:
            raise InputError(f"`{key}` must be one of the parameters found ({quoted(self.estimates)}).")
        return self.estimates[key]

    def interval(self, name: Any, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval of a parameter, by Student's distribution, or the normal one for known noise."""
        from scipy.stats import norm
        from scipy.stats import t as student

        if not 0 < level < 1:
            raise InputError(f"`level` must lie between 0 and 1; got {level!r}.")
        value, error = self[name], self.standard_errors[name_of(name)]
        share = (1 + level) / 2
        times = norm.ppf(share) if self.known_noise is not None else student.ppf(share, self.count - self.unknowns)
        return value - float(times) * error, value + float(times) * error

    def plot(self, units: Mapping[str, str] | None = None) -> Figure:
        """A figure of what was seen beside the motions found, with the residuals beneath."""
        from dalembert.figures.fit_figure import seen_and_found

        return seen_and_found(self, units or {})

    def __str__(self) -> str:
        rows = [("", "estimate", "standard error", "95 % interval")]
        for name, value in self.estimates.items():
            low, high = self.interval(name)
            rows.append((name, f"{value:.6g}", f"{self.standard_errors[name]:.2g}", f"{low:.6g} to {high:.6g}"))
        table = aligned(rows)
        told = f"{self.count} numbers seen, {self.unknowns} found; noise {self.noise:.3g}, AIC {self.aic:.5g}"
        return "\n".join([*table, told, *self.notes])


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several fits to the same data, the best first.

    fits          by name, in the order of the criterion
    criterion     "aic" or "bic"
    differences   by name: how much worse than the best
    weights       by name: how the data share their support among them, in all one

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
        rows = [("", "unknowns", "noise", self.criterion.upper(), "behind the best", "support")]
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
        return "\n".join(aligned(rows))


def compare(fits: Mapping[str, Fit], criterion: str = "aic") -> Comparison:
    """Which of several fits to the same data is supported best, by an information criterion.

    Parameters
    ----------
    fits         by a name of your own, such as that of the law
    criterion    "aic", Akaike's, corrected for few data, or "bic", the Bayesian one

    Raises
    ------
    InputError   if there are fewer than two, or they are not of the same data
    """
    if criterion not in ("aic", "bic"):
        raise InputError(f'`criterion` must be "aic" or "bic"; got {criterion!r}.')
    if len(fits) < 2:
        raise InputError(f"`fits` must hold two or more to compare; got {len(fits)}.")
    first = next(iter(fits.values()))
    off = [name for name, fit in fits.items() if fit.count != first.count or not _same_data(fit, first)]
    if off:
        raise InputError(f"`fits` must be to the same data; {quoted(off)} is not.")
    if any(fit.known_noise != first.known_noise for fit in fits.values()):
        raise InputError("`fits` must take the noise for known in the same way, or none of them; these do not.")
    values = {name: float(getattr(fit, criterion)) for name, fit in fits.items()}
    off = [name for name, value in values.items() if not np.isfinite(value)]
    if off:
        raise InputError(
            f"`fits` must leave something to compare by; the {criterion.upper()} of {quoted(off)} is not finite: the "
            f"data are too few, or met exactly."
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


def _covariance(jacobian: Floats, bound: NDArray[np.bool_], indistinct: float, noise: float) -> Floats:
    """Of the unknowns (k, k), those at a bound taken as they are; NaN for these themselves."""
    k = len(bound)
    covariance = np.full((k, k), np.nan)
    inverse = _inverse(jacobian[:, ~bound], indistinct)
    # what is open stays open, even where no noise is left
    covariance[np.ix_(~bound, ~bound)] = np.where(np.isinf(inverse), np.inf, noise**2 * np.nan_to_num(inverse))
    return covariance


def _inverse(jacobian: Floats, indistinct: float) -> Any:
    """(JᵀJ)⁻¹, infinite along what the data do not determine."""
    scale = np.linalg.norm(jacobian, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    _, values, rows = np.linalg.svd(jacobian / scale, full_matrices=False)
    open_ = values <= indistinct * values.max(initial=0.0)
    inside = rows[~open_].T / values[~open_]
    covariance = inside @ inside.T
    lost = (np.abs(rows[open_]) > 1e-3).any(axis=0)
    covariance[np.ix_(lost, lost)] = np.inf
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
