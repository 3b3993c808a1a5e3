# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of a system from measurements of its motion, by least squares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import DalembertError, InputError
from dalembert.fitting.observation import Observation
from dalembert.fitting.result import Fit
from dalembert.fitting.start import FreeStart, on_constraints
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.model.ordering import name_of, quoted
from dalembert.model.system import System
from dalembert.model.values import state_values
from dalembert.verbs import simulate

Floats = NDArray[np.float64]

STEP = 1e-4
"""Relative step of the central differences: a run is good to about 1e-11, so that they are to about 1e-7."""

UNREACHABLE = 1e8
"""Residual, in units of the data, where numbers on trial allow no motion: the search turns back."""

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
) -> Fit:
    """Find parameters of a system from one or several measured motions, by least squares.

    The motions are simulated with numbers on trial; their derivatives are central differences of such runs, which
    take microseconds, so that laws that jump, stick and slip can be fitted like all others.

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
    problem = _Problem.of(system, observations, parameters, guess, known, noise, rtol, atol)
    low, high = problem.bounds(bounds)
    import scipy.optimize

    start = problem.start()
    if problem.count < len(start) + (noise is None):
        raise InputError(
            f"`observations` must hold more numbers than there are to find ({len(start)}); got {problem.count}."
        )
    problem.residuals(start, refuse=True)  # what is wrong with the guess is said in the words of the simulation
    least_squares: Any = scipy.optimize.least_squares  # its stubs take only strings for the Jacobian
    found = least_squares(
        problem.residuals,
        start,
        problem.jacobian,
        bounds=(low, high),
        x_scale="jac",
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    jacobian = problem.jacobian(found.x)
    return Fit.of(
        names=problem.names,
        unknowns=found.x,
        residuals=found.fun,
        jacobian=jacobian,
        known_noise=None if noise is None else problem.noise,
        indistinct=INDISTINCT,
        runs=problem.runs(found.x),
        observations=problem.observations,
        notes=_notes(problem, found, jacobian),
    )


def _notes(problem: _Problem, found: Any, jacobian: Floats) -> tuple[str, ...]:
    notes: list[str] = []
    if problem.failures:
        notes.append(
            f"{len(problem.failures)} simulations on the way failed, which may have led the search astray; the last "
            f"one said: {problem.failures[-1]}"
        )
    if found.status <= 0:
        notes.append("The search was given up before it had settled; the numbers are where it had come to.")
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


@dataclass(frozen=True)
class _Problem:
    """Residuals as a function of the unknowns: the parameters, then the free numbers of each start."""

    system: System
    observations: tuple[Observation, ...]
    names: tuple[str, ...]
    guess: Floats
    known: dict[str, float]
    noise: dict[str, float]
    starts: tuple[FreeStart, ...]
    settings: dict[str, Any]
    failures: list[str]

    @classmethod
    def of(
        cls,
        system: System,
        observations: Any,
        parameters: Any,
        guess: Any,
        known: Any,
        noise: Any,
        rtol: float,
        atol: float,
    ) -> _Problem:
        if not isinstance(system, System):
            raise InputError(f"`system` must be a `da.System`; got {type(system).__name__}.")
        seen = (observations,) if isinstance(observations, Observation) else tuple(observations)
        if not seen or not all(isinstance(one, Observation) for one in seen):
            raise InputError("`observations` must be a `da.Observation`, or several of them.")
        for one in seen:
            one.require_known(system.coordinate_names)
        names = tuple(name_of(name) for name in ([parameters] if isinstance(parameters, str) else parameters))
        values = _named(guess, names, "guess")
        given = {name_of(key): float(value) for key, value in dict(known or {}).items()}
        _require_all(system.parameter_names, names, given, seen)
        problem = cls(
            system=system,
            observations=seen,
            names=names,
            guess=np.array([values[name] for name in names]),
            known=given,
            noise=_noise(noise, seen),
            starts=(),
            settings={"rtol": rtol, "atol": atol},
            failures=[],
        )
        return problem.with_starts()

    def with_starts(self) -> _Problem:
        dynamics, names = build(self.system), self.system.coordinate_names
        starts: list[FreeStart] = []
        for one in self.observations:
            q, qd = state_values(names, one.q0, "q0"), state_values(names, one.qd0, "qd0")
            p = self._numbers(self.guess, one)
            p = tuple(p[name] for name in dynamics.parameters)
            starts.append(FreeStart.at(dynamics, q, qd, float(one.times[0]), p, free=one.free_start))
        return replace(self, starts=tuple(starts))

    @property
    def count(self) -> int:
        return sum(one.count for one in self.observations)

    @property
    def labels(self) -> list[str]:
        """What each unknown is called."""
        labels = list(self.names)
        for number, start in enumerate(self.starts, start=1):
            labels += [f"start {number}" if len(self.starts) > 1 else "start"] * start.count
        return labels

    def start(self) -> Floats:
        return np.concatenate([self.guess, *(np.zeros(start.count) for start in self.starts)])

    def bounds(self, given: Mapping[Any, tuple[float, float]] | None) -> tuple[Floats, Floats]:
        size = len(self.start())
        low, high = np.full(size, -np.inf), np.full(size, np.inf)
        for key, (least, greatest) in dict(given or {}).items():
            name = name_of(key)
            if name not in self.names:
                raise InputError(f"`bounds` must be of what is to be found ({quoted(self.names)}); got `{name}`.")
            i = self.names.index(name)
            low[i], high[i] = least, greatest
            if not least < self.guess[i] < greatest:
                raise InputError(
                    f"`guess` must lie within `bounds`; `{name}` is {self.guess[i]:g}, not between {least:g} and "
                    f"{greatest:g}."
                )
        return low, high

    def _numbers(self, unknowns: Floats, one: Observation) -> dict[str, float]:
        found = dict(zip(self.names, map(float, unknowns), strict=False))
        return {**self.known, **one.parameters, **found}

    def runs(self, unknowns: Floats) -> tuple[Trajectory, ...]:
        """The motions for some values of the unknowns."""
        found: list[Trajectory] = []
        used = len(self.names)
        dynamics = build(self.system)
        for one, start in zip(self.observations, self.starts, strict=True):
            numbers = self._numbers(unknowns, one)
            p = tuple(numbers[name] for name in dynamics.parameters)
            q, qd = start.state(unknowns[used : used + start.count])
            q, qd = on_constraints(dynamics, q, qd, float(one.times[0]), p)
            used += start.count
            run = simulate(
                self.system,
                q,
                qd,
                one.times,
                parameters=dict(zip(dynamics.parameters, p, strict=True)),
                **self.settings,
            )
            found.append(run)
        return tuple(found)

    def residuals(self, unknowns: Floats, *, refuse: bool = False) -> Floats:
        """Motion less measurement, in units of the noise where that is known."""
        try:
            runs = self.runs(unknowns)
        except DalembertError as refusal:
            if refuse:
                raise
            self.failures.append(str(refusal))
            return np.full(self.count, UNREACHABLE * self._scale())
        parts = [
            (run[name] - column)[mask] / self.noise[name]
            for run, one in zip(runs, self.observations, strict=True)
            for (name, column), mask in zip(one.values.items(), one.seen.values(), strict=True)
        ]
        return np.concatenate(parts)

    def _scale(self) -> float:
        return max(float(np.nanmax(np.abs(c))) for one in self.observations for c in one.values.values()) or 1.0

    def jacobian(self, unknowns: Floats) -> Floats:
        columns: list[Floats] = []
        for i, value in enumerate(unknowns):
            step = np.zeros_like(unknowns)
            step[i] = STEP * max(abs(value), STEP if i < len(self.names) else 1.0)
            columns.append(_difference(self.residuals, unknowns, step))
        return np.stack(columns, axis=1)


def _difference(function: Callable[[Floats], Floats], at: Floats, step: Floats) -> Floats:
    return (function(at + step) - function(at - step)) / (2 * np.abs(step).sum())


def _named(given: Any, names: tuple[str, ...], argument: str) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise InputError(f"`{argument}` must be a mapping from names to numbers; got {given!r}.")
    values = {name_of(key): float(value) for key, value in given.items()}
    missing = [name for name in names if name not in values]
    unknown = [name for name in values if name not in names]
    if missing or unknown:
        said = [f"missing: {quoted(missing)}"] if missing else []
        said += [f"unknown: {quoted(unknown)}"] if unknown else []
        raise InputError(f"`{argument}` must have a value for each of {quoted(names)}; {', '.join(said)}.")
    return values


def _require_all(wanted: Sequence[str], names: tuple[str, ...], known: dict[str, float], seen: Any) -> None:
    """Raise unless every parameter of the system is known, or to be found, and nothing is both or neither."""
    foreign = [name for name in (*names, *known) if name not in wanted]
    if foreign:
        raise InputError(f"`parameters` and `known` must be of the system ({quoted(wanted)}); got {quoted(foreign)}.")
    twice = [name for name in names if name in known or any(name in one.parameters for one in seen)]
    if twice:
        raise InputError(f"a parameter must be either known or to be found; {quoted(twice)} is both.")
    for number, one in enumerate(seen, start=1):
        missing = [name for name in wanted if name not in (*names, *known, *one.parameters)]
        if missing:
            raise InputError(f"`known` must have a value for {quoted(missing)}, which observation {number} needs.")


def _noise(given: Any, seen: tuple[Observation, ...]) -> dict[str, float]:
    names = tuple(dict.fromkeys(name for one in seen for name in one.values))
    if given is None:
        return dict.fromkeys(names, 1.0)
    noise = _named(given, names, "noise")
    off = [name for name, value in noise.items() if not value > 0]
    if off:
        raise InputError(f"`noise` must be positive; that of {quoted(off)} is not.")
    return noise
