# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of a system from measurements of its motion, by least squares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.array_types import Floats
from dalembert.errors import InputError
from dalembert.fitting.fit_inputs import bounds_of
from dalembert.fitting.observation import Observation
from dalembert.fitting.problem import Problem
from dalembert.fitting.result import Fit
from dalembert.model.ordering import quoted
from dalembert.model.system import System

INDISTINCT = 1e-6
"""Smallest singular value of the scaled derivatives, over the largest, below which unknowns cannot be told apart:
differences of runs show no less."""


def fit(
    system: System,
    observations: Observation | Sequence[Observation],
    parameters: Sequence[Any],
    *,
    guess: Mapping[Any, float],
    known: Mapping[Any, float] | None = None,
    bounds: Mapping[Any, tuple[float, float]] | None = None,
    noise: Mapping[Any, float] | None = None,
    rtol: float = 1e-11,
    atol: float = 1e-13,
    max_steps: int = 100_000,
) -> Fit:
    """Find parameters of a system from one or several measured motions, by least squares.

    The motions are simulated with numbers on trial; their derivatives are central differences of such runs, which
    take microseconds, so that laws that jump, stick and slip can be fitted like all others. Numbers on trial that allow
    no motion are passed over: the search turns back from them, takes derivatives beside them from one side, and says so
    in a note.

    Parameters
    ----------
    observations    what was seen, of one motion or of several
    parameters      names of what is to be found
    guess           a first value for each of them
    known           values of all other parameters, but those that an observation has for itself
    bounds          by name: least and greatest value
    noise           by coordinate: standard deviation of the measurements, where it is known. Left out, it is taken to
                    be the same for all that was seen, and estimated
    rtol, atol      tolerances of the simulations
    max_steps       most steps of one simulation

    Raises
    ------
    InputError      if numbers are missing or do not fit, or there is less to see than to find

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
    problem = Problem.of(system, observations, parameters, guess, known, noise, settings)
    start = problem.start()
    low, high = bounds_of(bounds, problem.names, problem.guess, len(start))
    _require_enough(problem, noise is not None)
    problem.residuals(start)  # what is wrong with the guess is said in the words of the simulation
    import scipy.optimize

    least_squares: Any = scipy.optimize.least_squares  # its stubs take only strings for the Jacobian
    found = least_squares(
        problem.on_trial,
        start,
        problem.jacobian,
        bounds=(low, high),
        x_scale="jac",
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    jacobian = problem.jacobian(found.x)
    bound = _on_bounds(found.x, found.fun, jacobian, low, high)
    return Fit.of(
        names=problem.names,
        unknowns=found.x,
        residuals=found.fun,
        jacobian=jacobian,
        bound=bound,
        known_noise=None if noise is None else problem.noise,
        indistinct=INDISTINCT,
        runs=problem.runs(found.x),
        observations=problem.observations,
        notes=_notes(problem, found, jacobian, bound),
    )


def _require_enough(problem: Problem, noise_is_known: bool) -> None:
    """Raise unless there is something to find, and enough to find it, and the noise, from."""
    wanted = len(problem.start())
    if not wanted:
        raise InputError("`parameters` must name something to be found; it is empty, and so is every start known.")
    if problem.count < wanted + (not noise_is_known):
        raise InputError(
            f"`observations` must hold {'at least as many' if noise_is_known else 'more'} numbers "
            f"{'as' if noise_is_known else 'than'} there are to find ({wanted}); got {problem.count}."
        )


def _on_bounds(unknowns: Floats, residuals: Floats, jacobian: Floats, low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Which unknowns only their bounds keep from going on."""
    onwards = unknowns - np.linalg.lstsq(jacobian, residuals, rcond=INDISTINCT)[0]
    width = 1e-6 * np.abs(onwards - unknowns)
    return (onwards + width < low) | (onwards - width > high)


def _notes(problem: Problem, found: Any, jacobian: Floats, bound: NDArray[np.bool_]) -> tuple[str, ...]:
    notes: list[str] = []
    if problem.failures:
        notes.append(
            f"{len(problem.failures)} numbers on trial allowed no motion and were passed over, which may have led the "
            f"search astray; the last one was refused with: {problem.failures[-1]}"
        )
    if found.status <= 0:
        notes.append("The search was given up before it had settled; the numbers are where it had come to.")
    held = [name for name, on in zip(problem.labels, bound, strict=True) if on]
    if held:
        notes.append(
            f"{quoted(held)} would go on beyond the bound: there is no standard error for it, and those of others hold "
            f"for it as it is."
        )
    scaled = jacobian / np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
    _, values, directions = np.linalg.svd(scaled, full_matrices=False)
    names = problem.labels
    if values[-1] < INDISTINCT * values[0]:
        mixed = [name for name, share in zip(names, directions[-1], strict=True) if abs(share) > 0.1]
        notes.append(f"What was seen cannot tell {quoted(mixed)} apart: their errors are not to be trusted.")
    unmoved = [name for name, column in zip(names, jacobian.T, strict=True) if not column.any()]
    if unmoved:
        notes.append(f"Nothing that was seen depends on {quoted(unmoved)}.")
    return tuple(notes)
