# SPDX-License-Identifier: BSD-3-Clause
"""`da.fit`: least-squares estimation of the parameters of a system from measured motions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.dask_client import client_in_use
from dalembert.errors import InputError
from dalembert.fitting.fit_inputs import bounds_of
from dalembert.fitting.observation import Observation
from dalembert.fitting.problem import Problem
from dalembert.fitting.result import Fit
from dalembert.model.coefficients import parameters_not_negative
from dalembert.model.ordering import quoted
from dalembert.model.system import System
from dalembert.numerics.tolerances import TINY

IDENTIFIABILITY = 1e-6
"""Ratio of the smallest to the largest singular value of the scaled Jacobian below which the unknowns are not
identifiable: the Jacobian, computed by differences of runs, is accurate to about 1e-7."""

FIT_RTOL = 1e-11
"""Default relative tolerance of the simulations, near rounding, since differences of runs are used as derivatives."""

SEARCH_TOLERANCE = 1e-12
"""Tolerances of the minimization, below the accuracy of the runs: it ends when no further progress is possible."""

BOUND_MARGIN = 1e-6
"""A Gauss–Newton step must leave the bounds by more than this fraction of its length for the bound to be active: the
step is accurate to about this fraction."""

CORRELATED_SHARE = 0.1
"""Unknowns with a larger component in the direction that the data do not determine are named in the note."""


def fit(
    system: System,
    observations: Observation | Sequence[Observation],
    parameters: Sequence[Any],
    *,
    guess: Mapping[Any, float],
    known: Mapping[Any, float] | None = None,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    noise: Mapping[Any, float] | None = None,
    rtol: float = FIT_RTOL,
    atol: float | None = None,
    max_steps: int = 100_000,
    client: Any = None,
) -> Fit:
    """Estimate parameters of a system from one or several measured motions, by least squares.

    The motions are simulated for trial values of the unknowns, and derivatives are central differences of such runs.
    Laws with discontinuities, such as dry friction, can therefore be fitted like all others. If no motion exists for
    some trial values, they are given a large residual, derivatives next to them are one-sided, and a note reports it.

    Parameters
    ----------
    observations    the measurements, of one motion or of several
    parameters      names of the parameters to estimate
    guess           an initial value for each of them
    known           values of all other parameters, except those given by an observation
    bounds          by name: lower and upper bound
    noise           by coordinate: standard deviation of the measurements, if it is known. By default it is assumed to
                    be the same for all measurements, and estimated
    rtol, atol      tolerances of the simulations; ``atol`` left out follows the scales of the motion
    max_steps       largest number of steps of one simulation
    client          a client of Dask (``dask.distributed.Client``), whose workers simulate the motions; inside ``with
                    client:`` it need not be passed

    Raises
    ------
    DeviceError     if the workers or the connection to them are lost
    InputError      if values are missing or inconsistent, or there are too few measurements

    Examples
    --------
    >>> import numpy as np
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> mu = da.parameters("mu")
    >>> floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(mu))
    >>> block = da.System((x, y), [[1, 0], [0, 1]], (0, -10), floor)
    >>> times = np.linspace(0, 0.5, 6)
    >>> seen = da.Observation(times, {"x": 2 * times - 1.5 * times**2 + [0, 1e-3, -1e-3, 0, 1e-3, 0]}, (0, 0), (2, 0))
    >>> found = da.fit(block, seen, ["mu"], guess={"mu": 0.1})
    >>> round(found["mu"], 2)
    0.3
    """
    settings = {"rtol": rtol, "atol": atol, "max_steps": max_steps}
    problem = Problem.of(system, observations, parameters, guess, known, noise, settings, client_in_use(client))
    start = problem.start()
    low, high = bounds_of(bounds, problem.names, problem.guess, len(start), parameters_not_negative(system))
    _require_enough(problem, noise is not None)
    residuals = problem.residuals(start)  # raises the error of the simulation if the guess allows no motion
    units = problem.units()
    solution = _search(problem, residuals, units, low, high)
    unknowns = solution.x * units
    residuals, jacobian = problem.penalised_residuals(unknowns), problem.jacobian(unknowns, units)
    bound = _on_bounds(unknowns, residuals, jacobian, low, high)
    return Fit.of(
        names=problem.names,
        unknowns=unknowns,
        residuals=residuals,
        jacobian=jacobian,
        bound=bound,
        known_noise=None if noise is None else problem.noise,
        rank_tolerance=IDENTIFIABILITY,
        runs=problem.runs(unknowns),
        observations=problem.observations,
        notes=_notes(problem, solution, jacobian, bound),
    )


def _search(problem: Problem, residuals: Floats, units: Floats, low: Floats, high: Floats) -> Any:
    """Minimise the residuals, and return SciPy's result, whose unknowns are in these units.

    SciPy's criteria are absolute numbers, so its unknowns and residuals must be of the order of one.
    """
    import scipy.optimize

    least_squares: Any = scipy.optimize.least_squares  # its stubs take only strings for the Jacobian
    size = max(problem.scale(), float(np.abs(residuals).max()))
    return least_squares(
        lambda u: problem.penalised_residuals(u * units) / size,
        problem.start() / units,
        lambda u: problem.jacobian(u * units, units) * units / size,
        bounds=(low / units, high / units),
        x_scale="jac",
        xtol=SEARCH_TOLERANCE,
        ftol=SEARCH_TOLERANCE,
        gtol=SEARCH_TOLERANCE,
    )


def _require_enough(problem: Problem, noise_is_known: bool) -> None:
    """Raise unless there are unknowns, and enough measurements to estimate them and the noise."""
    unknowns = len(problem.start())
    if not unknowns:
        raise InputError(
            "`parameters` must name a parameter to estimate, or an observation must have `free_start=True`; there is "
            "neither."
        )
    if problem.count < unknowns + (not noise_is_known):
        raise InputError(
            f"`observations` must hold {'at least as many' if noise_is_known else 'more'} values "
            f"{'as' if noise_is_known else 'than'} there are unknowns ({unknowns}); got {problem.count}."
        )


def _on_bounds(unknowns: Floats, residuals: Floats, jacobian: Floats, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Return a mask of the unknowns whose bounds are active: the Gauss–Newton step leads beyond them."""
    # the unconstrained Gauss–Newton step shows in which direction the minimum lies
    target = unknowns - np.linalg.lstsq(jacobian, residuals, rcond=IDENTIFIABILITY)[0]
    margin = BOUND_MARGIN * np.abs(target - unknowns)
    return (target + margin < low) | (target - margin > high)


def _notes(problem: Problem, solution: Any, jacobian: Floats, bound: NDArray[np.bool_]) -> tuple[str, ...]:
    notes: list[str] = []
    if problem.failures:
        notes.append(
            f"No motion exists for {len(problem.failures)} of the trial values, which may have misled the search. The "
            f"last error was: {problem.failures[-1]}"
        )
    if solution.status <= 0:
        notes.append("The search did not converge; the estimates are those of its last iteration.")
    at_bound = [name for name, on in zip(problem.labels, bound, strict=True) if on]
    if at_bound:
        notes.append(
            f"{quoted(at_bound)} is at its bound: no standard error is reported for it, and those of the others are "
            f"conditional on its value."
        )
    # unit columns, so that the units of the unknowns do not decide which of them are identifiable
    scaled = jacobian / np.maximum(np.linalg.norm(jacobian, axis=0), TINY)
    _, values, directions = np.linalg.svd(scaled, full_matrices=False)
    names = problem.labels
    if values[-1] < IDENTIFIABILITY * values[0]:
        mixed = [name for name, share in zip(names, directions[-1], strict=True) if abs(share) > CORRELATED_SHARE]
        notes.append(f"The data do not determine {quoted(mixed)} separately: their standard errors are not valid.")
    without_effect = [name for name, column in zip(names, jacobian.T, strict=True) if not column.any()]
    if without_effect:
        notes.append(f"No measured value depends on {quoted(without_effect)}.")
    return tuple(notes)
