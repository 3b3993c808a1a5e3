# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of a motion with respect to its start, through events, impacts, and the onset of sticking.

Between events the derivative is that of the integrator's own steps, a product of the Jacobians of single steps. At an
event the instant changes with the start, too: with the jump y⁺ = R(y) where h(y, t) = 0, a change δy before it becomes
R′ δy + (f⁺ − R′ f⁻) δt after it, with δt = −h′ δy/(h′ f⁻ + ∂h/∂t). Jacobians are differences of fourth order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import SimulationError
from dalembert.hybrid.jumps_with_the_state import first_jump
from dalembert.integration.path_outputs import outputs_at
from dalembert.model import graph
from dalembert.model.ordering import quoted
from dalembert.model.symbols import reaction
from dalembert.numerics.tolerances import ROUNDING
from dalembert.stick_slip.phases import Phase
from dalembert.stick_slip.segment import Segment
from dalembert.stick_slip.simulation import Reset, StickSlipSimulation

JACOBIAN_STEP = 1e-3
"""Relative step of differences: their error is its fourth power, and rounding divided by it."""

OFFSETS, WEIGHTS = np.array([-2, -1, 1, 2]), np.array([1, -8, 8, -1]) / 12
"""The central difference of fourth order."""

TRANSVERSAL = 1e-9
"""Rate of an event expression, relative to its terms, below which it only touches zero."""


class ReturnDerivative(NamedTuple):
    """Derivatives (2n, 2n) of the state at the end, and (2n,) of the time of the end, with respect to the start."""

    state: Floats
    time: Floats


def derivative_of(record: StickSlipSimulation, *, at_event: bool) -> ReturnDerivative:
    """Return the derivative of the end of a motion: at its fixed time, or after the event that ends it.

    Raises
    ------
    SimulationError    where it does not exist: events that coincide, or only touch zero; impacts that accumulate; a
                       force that jumps with the state
    """
    n = len(record.segments[0].path.y[0])
    rests = [event.name for event in record.events if event.kind == "rests"]
    if rests:
        _refuse(record, record.segments[-1].end, f"the impacts of {quoted(rests)} accumulate: they are infinitely many")
    whole, scales = np.eye(n), _Scales.of(record)
    for k, segment in enumerate(record.segments):
        _refuse_force_jumps(record, segment, scales)
        whole = _flow(segment, scales) @ whole
        if k + 1 < len(record.segments):
            after = record.segments[k + 1].phase
            rate = _rate(after, segment.end, record.segments[k + 1].path.y[0])
            whole = _jump(record, k, rate, scales) @ whole
    if not at_event:
        return ReturnDerivative(whole, np.zeros(n))
    last = len(record.segments) - 1
    gradient = _time_gradient(record, last, scales)
    return ReturnDerivative(_jump(record, last, np.zeros(n), scales) @ whole, gradient @ whole)


def _differences(function: Callable[[Floats], Floats], y: Floats, steps: Floats) -> Floats:
    """Return the Jacobian (m, n) at y of a function of many states (k, n) → (k, m), by differences with steps (n,)."""
    changes = OFFSETS[:, None, None] * np.diag(steps)
    values = function((y + changes).reshape(-1, len(y)))
    return np.einsum("o,ojm->mj", WEIGHTS, values.reshape(4, len(y), -1)) / steps


class _Scales(NamedTuple):
    """The sizes (2n,) of coordinates and velocities of a motion, and its duration."""

    state: Floats
    time: float

    @classmethod
    def of(cls, record: StickSlipSimulation) -> _Scales:
        """Return the largest values in a motion; what is always zero has the size of the others."""
        segments = record.segments
        largest = np.max([np.abs(np.vstack([s.path.y, s.final[0]])).max(axis=0) for s in segments], axis=0)
        duration = float(segments[-1].end - segments[0].path.t[0])
        lengths, rates = np.split(largest, 2)
        length = lengths.max() or rates.max() * duration or 1.0
        parts = ((lengths, length), (rates, rates.max() or length / duration))
        return cls(np.concatenate([np.where(own > ROUNDING * all_, own, all_) for own, all_ in parts]), duration)

    def steps(self, y: Floats) -> Floats:
        """Return the steps of differences, for states (2n,) or (k, 2n)."""
        size = np.abs(y)
        return JACOBIAN_STEP * np.where(size > JACOBIAN_STEP * self.state, size, self.state)


def _refuse_force_jumps(record: StickSlipSimulation, segment: Segment, scales: _Scales) -> None:
    """Raise an error if a force jumps with the state along a segment, or within reach of the differences."""
    path, phase = segment.path, segment.phase
    native = phase.mode.dynamics.machine_code
    if native is None:
        return
    kept = path.t < segment.end
    t, y = np.append(path.t[kept], segment.end), np.vstack([path.y[kept], segment.final[0]])
    names, values = native.switching_functions
    # as far as the outermost points of the differences
    reach = 2 * scales.steps(y[:-1])[:, :, None] * np.eye(y.shape[1])
    near = np.stack([y[:-1, None] - reach, y[:-1, None] + reach], axis=2).reshape(-1, 2, y.shape[1])
    lines = np.concatenate([np.stack([y[:-1], y[1:]], axis=1), near])
    moments = np.repeat(t[:-1], y.shape[1])
    times = np.concatenate([np.stack([t[:-1], t[1:]], axis=1), np.stack([moments, moments], axis=1)])
    p = phase.values
    found = first_jump(tuple(names), lambda y, at: values(y, at, p), lambda t, y: _rate(phase, t, y), times, lines)
    if found is not None:
        _refuse(record, found.t, f"a force jumps with the state, where `{found.name}` vanishes. Smooth it")


def _flow(segment: Segment, scales: _Scales) -> Floats:
    """Return the derivative of the state at the end of a segment with respect to that at its beginning."""
    path, phase = segment.path, segment.phase
    kept = path.t < segment.end
    ends = np.append(path.t[kept][1:], segment.end)
    found: list[Floats] = []
    for start, end, y in zip(path.t[kept], ends, path.y[kept], strict=True):

        def step(states: Floats, start: float = start, end: float = end) -> Floats:
            ones = np.ones(len(states))
            return phase.outputs_at(path.native, start * ones, states, end * ones)[0]

        # one step for all states: steps chosen for each would not depend smoothly on it
        found.append(_differences(step, y, scales.steps(y)))
    return reduce(lambda later, earlier: later @ earlier, reversed(found), np.eye(len(path.y[0])))


def _rate(phase: Phase, t: float, y: Floats) -> Floats:
    """Return ẏ."""
    here = np.array([t])
    found = outputs_at(phase.mode.dynamics, phase.method, None, here, y[None], here, phase.values)
    return np.concatenate([np.split(y, 2)[1], found["acceleration"][0]])


def _jump(record: StickSlipSimulation, k: int, after: Floats, scales: _Scales) -> Floats:
    """Return the derivative of the state just after a segment; ``after`` is its rate there, zero if that is the end."""
    segment = record.segments[k]
    z = np.append(segment.final[0], segment.end)
    slope = np.eye(len(z))  # of state and time
    resets: Sequence[Reset] = record.resets.get(k, ())
    for reset in resets:

        def jump(many: Floats, reset: Reset = reset) -> Floats:
            return np.array([np.append(reset(one[:-1], float(one[-1])), one[-1]) for one in many])

        steps = np.append(scales.steps(z[:-1]), JACOBIAN_STEP * scales.time)
        slope, z = _differences(jump, z, steps) @ slope, jump(z[None])[0]
    # the event comes later by δt: the state moves on with the rate before it, and less with that after it
    moved = slope[:-1] @ np.append(_rate(segment.phase, segment.end, segment.final[0]), 1.0)
    return slope[:-1, :-1] + np.outer(moved - after, _time_gradient(record, k, scales))


def _time_gradient(record: StickSlipSimulation, k: int, scales: _Scales) -> Floats:
    """Return the gradient of the instant at which a segment ends; zero where its end leaves the rates continuous."""
    segment = record.segments[k]
    phase, t, (y, reactions) = segment.phase, segment.end, segment.final
    # a reaction vanishes where a contact opens, and friction is at its limit where one slips: nothing jumps there
    fired = [guard for guard in segment.fired if guard.kind in ("event", "gap")]
    stopped = [] if segment.fired else [c for c in segment.stopped() if c in phase.directions]
    if not fired and not stopped:
        return np.zeros(len(y))
    if len(fired) + len(stopped) > 1:
        names = [*(guard.name for guard in fired), *(contact.name for contact in stopped)]
        _refuse(record, t, f"{quoted(names)} coincide, and their order may change")

    def value(states: Floats, times: Any) -> Floats:
        if stopped:
            return (phase.velocity(stopped[0], times, states) @ phase.directions[stopped[0]])[:, None]
        shape = (len(states), len(reactions))
        values = phase.guard_values(times, states, np.broadcast_to(reactions, shape))
        return values[phase.guards.index(fired[0])][:, None]

    if fired and graph.atoms(fired[0].expression, reaction):
        _refuse(record, t, f"the event `{fired[0].name}` depends on reactions")
    slope = _differences(lambda states: value(states, np.full(len(states), t)), y, scales.steps(y))[0]
    moment = np.array([t])
    pause = np.array([JACOBIAN_STEP * scales.time])
    in_time = float(_differences(lambda times: value(np.tile(y, (len(times), 1)), times[:, 0]), moment, pause)[0, 0])
    rate = _rate(phase, t, y)
    total = float(slope @ rate) + in_time
    if abs(total) <= TRANSVERSAL * (np.abs(slope) @ np.abs(rate) + abs(in_time)):
        _refuse(record, t, f"{quoted([(*fired, *stopped)[0].name])} only touches zero")
    # g(y(t), t) = 0 holds for all starts: its derivative gives ∂t/∂y = −∂g/∂y / ġ
    return -slope / total


def _refuse(record: StickSlipSimulation, t: float, why: str) -> None:
    raise SimulationError(
        f"a motion must depend smoothly on its initial state to be differentiated; at t = {t:.6g} it does not: "
        f"{why}. End the motion before, or start elsewhere.",
        t,
        record.partial_trajectory(np.array([record.segments[0].path.t[0]])),
    )
