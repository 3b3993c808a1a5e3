# SPDX-License-Identifier: BSD-3-Clause
"""Findings on servo constraints: whether and how actuators can meet them, and the motion that remains."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.analysis.check_context import CheckContext
from dalembert.analysis.internal_dynamics import Internal, dimension, steady_states
from dalembert.analysis.verdict import Finding, ServoReport
from dalembert.common.array_types import Floats
from dalembert.common.levels import LEVELS
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import ModelError
from dalembert.integration.control_outputs import control_at, unmet
from dalembert.lowering.build import build
from dalembert.lowering.closed_loop import ClosedLoop, input_directions, with_frozen_time
from dalembert.lowering.source import Source
from dalembert.model import graph
from dalembert.model.control_form import ControlForm
from dalembert.model.ordering import quoted
from dalembert.model.servo import Servo
from dalembert.model.system import System
from dalembert.numerics.violation import violated

ALIGNMENT_TOLERANCE = 1e-9
"""Largest part of the acceleration by inputs, relative to all of it, that no ideal force causes: rounding of values of
order one leaves far less."""

MOST_VALUES = 8
"""Largest number of values that are listed in one message."""

ORDINALS = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def servo_report(context: CheckContext) -> ServoReport:
    """Return the findings on the servo constraints of a system, by the name of each."""
    try:
        dynamics = build(context.system)
    except ModelError as refusal:
        return ServoReport(tuple(Finding(_subject(context.system, text), text, True) for text in refusal.problems))
    source: Source = dynamics.native.source  # pyright: ignore  (the protocol of compiled systems has no symbols)
    findings: list[Finding] = []
    # first: where no inputs meet the requirements, their directions at this state are not described
    singular = _inputs(context, dynamics)
    for name, rows in dynamics.servos.items():
        structure = _structure(context, source, list(rows), hidden=bool(singular))
        findings += [
            Finding(f"servo `{name}`", text) for text in (*structure, *_start(context, dynamics, source, list(rows)))
        ]
    findings += singular
    findings += _limits(context, dynamics, source)
    internal = None
    # internal dynamics needs inputs that meet the requirements
    if not any(finding.trouble for finding in findings):
        finding, internal = _internal_dynamics(context, source)
        findings.append(finding)
    names = [row.name for row in _form(source).requirements]
    degrees = {name: source.structure.relative_degree(i) for i, name in enumerate(names)}
    return ServoReport(tuple(findings), degrees, None if internal is None else internal.eigenvalues)


def _subject(system: System, problem: str) -> str:
    """Return the servo that a problem is about: the first that it names."""
    owners = {str(name): servo.name for servo in system.servos for name in (servo.name, *_row_names(servo))}
    named = [owners[word] for word in problem.split("`")[1::2] if word in owners]
    return f"servo `{named[0]}`" if named else "servo"


def _row_names(servo: Servo) -> list[Any]:
    return [row.name for row in servo.requirement]


def _form(source: Source) -> ControlForm:
    assert source.control is not None
    return source.control


def _structure(context: CheckContext, source: Source, rows: list[int], *, hidden: bool) -> list[str]:
    """Return sentences on the realisation of a servo constraint, its relative degrees and its redundant rows."""
    form, structure = _form(source), source.structure
    names = [row.name for row in form.requirements]
    # rows of combinations come after those of the requirements, and have no names
    redundant = {structure.owners[i] for i in structure.redundant if i < len(names)}
    texts = [f"`{names[i]}` follows from the other requirements; it is met with them." for i in rows if i in redundant]
    rows = [i for i in rows if i not in redundant]
    if not rows:
        return texts
    degrees = {i: structure.relative_degree(i) for i in rows}
    # inputs act later than on the derivative that the level of the requirement suggests
    behind = [i for i in rows if degrees[i] > _own_order(form.requirements[i].level)]
    order = _own_order(form.requirements[rows[0]].level)
    if behind:
        combined = any(structure.owners.count(i) > 1 for i in behind)
        act = "act only on some combinations of requirements in" if combined else "do not act on"
        realisation = (
            f"Tangent realisation: the inputs {act} the {_ordinal(order)} derivative{'s' * (len(rows) > 1)}, so that "
            f"{quoted(names[i] for i in behind)} {'is' if len(behind) == 1 else 'are'} differentiated along the motion."
        )
    elif hidden:
        realisation = "At this state inputs do not act on the requirement as they do elsewhere."
    elif _aligned(context, source, rows):
        realisation = "Orthogonal realisation: the inputs act as the ideal force of the same constraint would."
    else:
        realisation = (
            "Oblique realisation: the inputs act on the requirement, and on motions that the ideal force of the same "
            "constraint would leave alone."
        )
    one = len(set(degrees.values())) == 1
    listed = ", ".join(f"`{names[i]}` {degree}" for i, degree in degrees.items())
    degree_text = f"Relative degree {degrees[rows[0]]}." if one else f"Relative degrees: {listed}."
    return [*texts, f"{realisation} {degree_text}"]


def _own_order(level: str) -> int:
    # a position must be differentiated twice until accelerations occur, a velocity once
    return LEVELS[::-1].index(level)  # pyright: ignore[reportArgumentType]


def _ordinal(order: int) -> str:
    return ORDINALS[order]


def _aligned(context: CheckContext, source: Source, rows: list[int]) -> bool:
    """Return whether the accelerations by inputs are those by ideal forces of the requirements."""
    found = input_directions(source, _state(context), context.point.t, context.point.p)
    inputs, normals = found.inputs[rows] * found.weights, found.normals[rows] * found.weights
    if not np.isfinite(inputs).all() or not np.isfinite(normals).all():
        return False
    lengths = np.linalg.norm(inputs, axis=1, keepdims=True)
    inputs = inputs / np.where(lengths > 0, lengths, 1.0)
    # the part of the accelerations by inputs outside the span of those by ideal forces
    rest = inputs.T - normals.T @ np.linalg.lstsq(normals.T, inputs.T, rcond=None)[0]
    return bool(np.abs(rest).max(initial=0.0) <= ALIGNMENT_TOLERANCE)


def _state(context: CheckContext) -> Floats:
    return np.concatenate([context.point.q, context.point.qd])


def _start(context: CheckContext, dynamics: Dynamics, source: Source, rows: list[int]) -> list[str]:
    """Return sentences on the start that a servo constraint needs, and on how its errors settle."""
    form = _form(source)
    own = [form.requirements[i] for i in rows]
    # a requirement of relative degree r must start with r matching derivatives; the first ones are those of its own
    # level
    higher = sum(max(0, source.structure.relative_degree(i) - _own_order(form.requirements[i].level)) for i in rows)
    conditions = {"position": "the requirement and its rate", "velocity": "the requirement"}.get(own[0].level, "")
    if higher:
        conditions += f"{' and' * bool(conditions)} {higher} condition{'s' * (higher > 1)} on higher derivatives"
    settles = not all(row.rate == 0 for row in own)
    otherwise = _settling_text(own) if settles else "any other error remains or grows, since `settle` is None"
    texts: list[str] = []
    if conditions:
        texts.append(
            f"The error is zero from the beginning if the initial state meets {conditions.strip()}: "
            f"`da.consistent_state(..., servos=True)` finds such a state; {otherwise}."
        )
    elif not settles:
        texts.append("Errors do not settle: `settle` is None.")
    if context.given and conditions:
        texts.append(_match(context, dynamics, {row.name for row in own}))
    return texts


def _settling_text(own: Any) -> str:
    rates = {row.rate for row in own}
    rate = rates.pop() if len(rates) == 1 else None
    if rate is None:
        return "any other error settles"
    shown = f"{float(rate):.4g}" if rate.is_number else f"({graph.shown(rate)})"
    return f"any other error settles with all poles at -{shown}"


def _match(context: CheckContext, dynamics: Dynamics, names: set[str]) -> str:
    """Return whether the given state matches a servo constraint."""
    native = dynamics.machine_code
    assert native is not None
    found, y = native.state_equations, _state(context)
    residuals, slopes = found.at(y, context.point.t, context.point.p)
    every = [*[""] * len(found.constraints), *found.requirements]
    own = [k for k, name in enumerate(every) if name in names]
    off = violated(residuals[own], slopes[own], y)
    if not off.any():
        return "The given state matches."
    # only among those out of tolerance: the largest residual may be one with large terms
    worst = own[int(np.argmax(np.abs(residuals[own]) * off))]
    level = {"position": "the requirement", "velocity": "the requirement at velocity level"}.get(
        found.levels[worst], "a condition on higher derivatives"
    )
    return f"The given state does not match: `{every[worst]}` is off by {residuals[worst]:.1e} in {level}."


def _inputs(context: CheckContext, dynamics: Dynamics) -> list[Finding]:
    """Return a finding if no inputs meet the requirements at the given state."""
    q, qd, t, p = context.point
    reason = unmet(dynamics, q, qd, t, p) if context.given else ""
    return [Finding("inputs", f"At this state {reason}", True)] if reason else []


def _limits(context: CheckContext, dynamics: Dynamics, source: Source) -> list[Finding]:
    """Return findings on the limits of inputs, and on inputs that are at their limits at the given state."""
    form, point = _form(source), context.point
    limits = {name: limit for name, limit in zip(form.actuators, form.limits, strict=True) if limit is not None}
    if not limits:
        return []
    text = (
        f"{quoted(limits)} {'has a limit' if len(limits) == 1 else 'have limits'}: where more is needed, the "
        f"requirements are not met."
    )
    findings = [Finding("limits", text)]
    values = dict(zip(source.parameters, map(float, point.p), strict=True))
    for name, limit in limits.items() if context.given else ():
        most = float(graph.replace(limit, values))
        if not most > 0:
            findings.append(Finding("limits", f"The limit of `{name}` must be positive; it is {most:.4g}.", True))
            continue
        u = control_at(dynamics, point.q, point.qd, point.t, point.p).inputs[0, form.actuators.index(name)]
        if abs(u) >= most:
            findings.append(Finding("limits", f"`{name}` is at its limit of {most:.4g} at this state."))
    return findings


def _internal_dynamics(context: CheckContext, source: Source) -> tuple[Finding, Internal | None]:
    """Return a finding on the motion that remains when all requirements are met, and that motion if linearised."""
    system, point = context.system, context.point
    # a steady state exists only for constant references: they are held as at the given time
    standing = with_frozen_time(source, system, point.t) if _depends_on_time(source) else source
    loop, about = ClosedLoop(standing), "internal dynamics"
    text = f"With {quoted(servo.name for servo in system.servos)} met, "
    free = dimension(loop, _state(context), point.t, point.p)
    if free == 0:
        return Finding(about, f"{text}no motion remains: the requirements determine it."), None
    text += f"an internal motion{'' if free is None else f' of dimension {free}'} remains"
    # the given state first: its own steady state decides if a state was given
    starts = [_state(context), *(np.concatenate([s.point.q, s.point.qd]) for s in context.around)]
    states = steady_states(loop, starts, point.t, point.p, moving_first=context.given)
    if not states:
        return Finding(
            about, f"{text}. It was not linearised, since no steady state was found near the given state."
        ), None
    states = states[:1] if context.given else states  # the first is that of the given start
    stable = [state for state in states if not state.unstable]
    state = (stable or states)[0]
    where = _where(context, state, frozen=standing is not source)
    numbers = f"about {where}: eigenvalues {_numbers(state)}"
    if stable:
        return Finding(about, f"{text}. It {'decays' if state.decays else 'does not grow'} {numbers}."), state
    text = (
        f"{text}. It is unstable {numbers} (non-minimum phase): in the linearised motion inputs grow without bound "
        f"although the requirements are met. Require another output, or add an actuator."
    )
    if context.fixed.p is None and context.model.parameters:  # other values may give another answer
        text += " Pass `parameters` to decide it for their values."
    return Finding(about, text), state


def _depends_on_time(source: Source) -> bool:
    form, control, time = source.form, _form(source), source.form.symbols.time
    terms: list[Any] = [*(e for row in form.mass_matrix for e in row), *form.applied_force, *form.constraint_rhs]
    terms += [*form.position, *form.velocity, *(e for direction in control.directions for e in direction)]
    for requirement in control.requirements:
        terms += [requirement.row.rhs, requirement.row.position, requirement.row.velocity, *requirement.row.gradient]
    return time in graph.free_symbols(*terms)


def _where(context: CheckContext, state: Internal, *, frozen: bool) -> str:
    """Return a text with the state about which internal dynamics was linearised."""
    names, n = context.system.coordinate_names, len(context.system.coordinates)
    velocities = [(f"{name}'", v) for name, v in zip(names, state.y[n:], strict=True) if v]
    shown = [*zip(names, state.y[:n], strict=True), *velocities]
    if context.fixed.p is None:
        shown += [(symbol.name, value) for symbol, value in zip(context.model.parameters, context.point.p, strict=True)]
    # adding zero turns −0 into 0
    text = ", ".join(f"{name} = {round(value, 6) + 0.0:.3g}" for name, value in shown[:MOST_VALUES])
    text += ", ..." if len(shown) > MOST_VALUES else ""
    return f"{text}, with references as at t = {context.point.t:.3g}" if frozen else text


def _numbers(state: Internal) -> str:
    """Return eigenvalues as text: complex pairs as one entry, values of the size of rounding as zero."""
    texts: list[str] = []
    for value in state.eigenvalues:
        real, imaginary = (0.0 if abs(x) <= state.neutral else x for x in (value.real, value.imag))
        if imaginary < 0:
            continue  # listed with its conjugate
        pair = f" ± {imaginary:.3g}i" if imaginary else ""
        texts.append(f"{real:.3g}{pair}" if real or not imaginary else f"±{imaginary:.3g}i")
    more = len(texts) - MOST_VALUES
    return ", ".join(texts[:MOST_VALUES]) + (f" and {more} more" if more > 0 else "")
