# SPDX-License-Identifier: BSD-3-Clause
"""Periodic motions with events: the fixed points of a return map, found by Newton's method with its derivative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import InputError, SimulationError
from dalembert.hybrid.sensitivity import derivative_of
from dalembert.integration.drift import Drift, Projection
from dalembert.integration.trajectory import Trajectory
from dalembert.model.event import Event
from dalembert.model.input_values import state_values, tolerance_value
from dalembert.model.ordering import name_of, quoted
from dalembert.model.system import System, kind_of_object
from dalembert.runs.simulated_run import SimulatedRun
from dalembert.verbs import simulate

RETURN_ITERATIONS = 30
"""Iterations of Newton's method after which the search ends."""

PERIODICITY_TOLERANCE = 1e-9
"""Difference of a state from the one before, relative to the state, at which it is periodic; it is reduced until
rounding prevents it."""


SECOND_PERIOD = 1e-6
"""Difference, relative to the state and the period, between two periods of a motion; errors grow in unstable ones."""

NEUTRAL_TOLERANCE = 1e-8
"""Singular values of the return map's derivative less one, relative to it, that are rounding of the differences. Where
a whole family of motions is periodic, the nearest one is found."""


@dataclass(frozen=True, eq=False)
class PeriodicMotion:
    """A motion that returns to its initial state.

    q0, qd0 (n,)            the state just after the event
    period                  the time until the event occurs again
    derivative (2n, 2n)     of the state after the next event with respect to this one
    multipliers (2n,)       the eigenvalues of the derivative, the largest first: the motion is stable if all are
                            smaller than one
    residual                largest difference of the state after one period from q0, qd0
    run                     one period of the motion
    """

    q0: Floats
    qd0: Floats
    period: float
    derivative: Floats
    multipliers: Any
    residual: float
    run: Trajectory

    def __repr__(self) -> str:
        sizes = ", ".join(f"{abs(value):.4g}" for value in self.multipliers[:2])
        return f"<PeriodicMotion of period {self.period:.6g}; largest multipliers {sizes}>"


def transition_matrix(run: Trajectory) -> Floats:
    """Return the state-transition matrix (2n, 2n): the derivative of the last state of a run with respect to the first.

    The run must be one with events, contacts or dry friction; it is differentiated through all of them, with the
    change of their instants. For smooth motion there is ``da.flow``, which JAX differentiates.

    Raises
    ------
    InputError         if the run has no events, or was loaded from a file
    SimulationError    where the derivative does not exist: events that coincide or only touch zero, or accumulate; and
                       if a force jumps with the state, as ``sign(x)`` does: the run is not divided there

    Examples
    --------
    >>> import sympy as sp
    >>> import dalembert as da
    >>> y = da.coordinates("y")
    >>> floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=0.5)
    >>> run = da.simulate(da.System((y,), [[1]], (0,), floor), (1,), (-1,), [0, 2])
    >>> print(da.transition_matrix(run).round(6) + 0)  # a start at 1 + δ rebounds later by δ, to 0.5 − δ/2
    [[-0.5 -1. ]
     [ 0.  -0.5]]
    """
    source = run.source if isinstance(run, Trajectory) else None
    record = source.stick_slip if isinstance(source, SimulatedRun) else None
    if record is None:
        raise InputError(
            "`run` must be one of `da.simulate` with events, contacts or dry friction to be differentiated here. For "
            "smooth motion there is `da.flow`."
        )
    return derivative_of(record, at_event=False).state


def periodic_motion(
    system: System,
    q0: Any,
    qd0: Any,
    event: Event,
    within: float,
    *,
    parameters: Any = None,
    drifting: Any = (),
    rtol: float = 1e-12,
    atol: float | None = None,
    drift: Drift | None = Projection(),
) -> PeriodicMotion:
    """Return the motion that has the same state after an event as after the one before it.

    The state after the event is a function of the state after the event before it, the return map. Its fixed point is
    found by Newton's method, with the derivative through the event and all contacts.

    Parameters
    ----------
    q0, qd0       a state just after the event, near the periodic one
    event         with its changes, if it makes any
    within        a time within which the event occurs again
    parameters    a value for every constant of the model
    drifting      coordinates that need not return to their value, such as the distance walked; the motion must not
                  depend on them
    rtol, atol, drift    as for ``da.simulate``

    Raises
    ------
    InputError         if a name in ``drifting`` is unknown, or an argument is of the wrong kind
    SimulationError    if the event does not occur again, if its derivative does not exist, or if there is no periodic
                       motion near the given state
    """
    if not isinstance(system, System):
        raise InputError(f"`system` must be a `da.System`; got {kind_of_object(system)}.")
    if not isinstance(event, Event):
        raise InputError(f"`event` must be a `da.Event`; got {event!r}.")
    names = tuple(map(name_of, drifting if isinstance(drifting, (tuple, list)) else (drifting,)))
    missing = [name for name in names if name not in system.coordinate_names]
    if missing:
        raise InputError(f"`drifting` must name coordinates; unknown: {quoted(missing)}.")
    start = np.concatenate([state_values(system.coordinate_names, x, n) for x, n in ((q0, "q0"), (qd0, "qd0"))])
    options: dict[str, Any] = {"parameters": parameters, "rtol": rtol, "atol": atol, "drift": drift}
    span = tolerance_value(within, "within")
    search = _Search(system, replace(event, stop=True), span, options, _kept(system, names))
    found = search.from_start(start)
    search.require_second_period(found)
    return found


def _kept(system: System, drifting: Sequence[str]) -> Any:
    """Return the places in the state that must return to their values."""
    n = len(system.coordinate_names)
    return np.array([k for k in range(2 * n) if k >= n or system.coordinate_names[k] not in drifting])


@dataclass(frozen=True, eq=False)
class _Search:
    """The return map of an event, and Newton's method for its fixed point; ``kept`` are the places that return."""

    system: System
    event: Event
    within: float
    options: dict[str, Any]
    kept: Any

    def motion(self, y: Floats) -> PeriodicMotion:
        """Return the motion from a state to the next event, as far as it is periodic."""
        q0, qd0 = np.split(y, 2)
        run = simulate(self.system, q0, qd0, [0.0, self.within], events=[self.event], **self.options)
        if run.t[-1] == self.within or not run.events or run.events[-1].name != self.event.name:
            raise SimulationError(
                f"the event `{self.event.name}` must occur again within {self.within:g}; it does not from q0, qd0 = "
                f"{y.round(6)}. Raise `within`, or start nearer to the periodic motion.",
                float(run.t[-1]),
                run,
            )
        assert isinstance(run.source, SimulatedRun) and run.source.stick_slip is not None
        slope = derivative_of(run.source.stick_slip, at_event=True).state
        values = np.linalg.eigvals(slope[np.ix_(self.kept, self.kept)])
        values = values[np.argsort(-np.abs(values), kind="stable")]
        residual = float(np.abs(run.events[-1].after - y)[self.kept].max())
        return PeriodicMotion(q0, qd0, float(run.t[-1]), slope, values, residual, run)

    def require_second_period(self, motion: PeriodicMotion) -> None:
        """Raise an error unless the event occurs a second time after another period, with the same state."""
        y, end = np.concatenate([motion.q0, motion.qd0]), 2 * motion.period
        through = replace(self.event, stop=False)
        times = [0.0, end * (1 + SECOND_PERIOD) + SECOND_PERIOD * motion.period]
        run = simulate(self.system, motion.q0, motion.qd0, times, events=[through], **self.options)
        found = [event for event in run.events if event.name == self.event.name]
        # errors of one period grow by the largest multiplier in the next
        allowed = SECOND_PERIOD * np.abs(y).max() + 10 * motion.residual * np.abs(motion.multipliers).max(initial=1.0)
        shift = (np.asarray(motion.run.events[-1].after) - y) * ~np.isin(np.arange(len(y)), self.kept)
        if len(found) != 2 or np.abs(found[1].after - y - 2 * shift).max() > allowed:
            what = "it does not occur again" if len(found) < 2 else "the state is another one"
            raise SimulationError(
                f"a periodic motion must repeat itself; after the event `{self.event.name}` at t = "
                f"{motion.period:.6g} the state is the initial one, but after the same time again {what}. Where "
                f"functions of time drive the motion, choose an event that occurs once in their period, such as a "
                f"zero of `sin(omega*da.t)`.",
                float(run.t[-1]),
                run,
            )

    def improved(self, motion: PeriodicMotion) -> Floats:
        """Return the next state of Newton's method."""
        y, kept = np.concatenate([motion.q0, motion.qd0]), self.kept
        slope = motion.derivative[np.ix_(kept, kept)]
        left, sizes, right = np.linalg.svd(slope - np.eye(len(kept)))
        used = sizes > NEUTRAL_TOLERANCE * (1 + np.abs(slope).max())
        missed = (motion.run.events[-1].after - y)[kept]
        y[kept] -= right[used].T @ ((left.T @ missed)[used] / sizes[used])
        return y

    def from_start(self, y: Floats) -> PeriodicMotion:
        best, converged = self.motion(y), False
        for _ in range(RETURN_ITERATIONS):
            converged = best.residual <= PERIODICITY_TOLERANCE * np.abs([*best.q0, *best.qd0]).max()
            found = self.motion(self.improved(best))
            if converged and found.residual >= best.residual / 2:
                return best
            best = found
        if converged:
            return best
        raise SimulationError(
            f"a periodic motion must be near `q0` and `qd0`; {RETURN_ITERATIONS} iterations of Newton's method end "
            f"with a residual of {best.residual:.1e}. Start nearer to the periodic motion.",
            best.period,
            best.run,
        )
