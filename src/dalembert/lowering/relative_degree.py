# SPDX-License-Identifier: BSD-3-Clause
"""The relative degree of servo constraints, found by differentiating them along the motion at random states.

The structure of a model does not depend on the state, except at single places: inputs that act on a requirement at a
random state act on it almost everywhere, and those that do not act at several random states never do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, islice

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.levels import LEVELS
from dalembert.errors import ModelError
from dalembert.lowering.control_structure import ControlStructure, Differentiation
from dalembert.lowering.programs import Programs
from dalembert.lowering.recorded_control import RecordedControl
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.lowering.recording import NoMachineCodeError
from dalembert.lowering.servo_refusals import determined, refusal, require_gains, too_few
from dalembert.lowering.source import Source
from dalembert.model.control_form import ControlForm
from dalembert.native.derivatives import differentiated
from dalembert.native.tape import Program, polynomials_of
from dalembert.numerics.constraint_solver import root
from dalembert.numerics.tolerances import SAME_VALUE, SHARE_TOLERANCE

HIGHEST_ORDER = 8
"""Highest derivative of a requirement in which inputs are looked for. Every derivative doubles the length of the
program, and models in use need four: a load behind an elastic element."""

LONGEST_PROGRAM = 200_000
"""Length of a program above which no further derivatives are tried."""

CHOICES, MOST_COMBINATIONS = 4, 1000
"""Choices of inputs among which a program decides at each state, and sets of inputs from which these are taken."""

STATES, ATTEMPTS = 3, 40
"""Random states at which the structure is judged, and draws until that many are found on the constraints."""


@dataclass(frozen=True)
class _State:
    """A state y (2n,), a time and parameters at which the structure is judged."""

    y: Floats
    t: float
    p: Floats


@dataclass(frozen=True)
class Effect:
    """The effect of inputs on the k rows at one state.

    G (k, r), sizes (k, r)    the effect of unit inputs, and the size of the terms it is the sum of
    alpha (k,)                the equations without inputs
    """

    G: Floats
    sizes: Floats
    alpha: Floats


def with_structure(source: Source) -> Source:
    """Return the source with the structure of its servo constraints; unchanged if it has none.

    Raises
    ------
    ModelError    naming servos whose requirements their actuators cannot meet
    """
    form = source.control
    if form is None:
        return source
    if form.euclidean and source.laws is not None and source.laws.needs_ideal:
        raise ModelError(
            [
                f"servo `{form.servos[0]}` must have the mass metric if laws depend on constraint forces "
                f"({', '.join(kind for _, kind in source.laws.names)}). Leave out `metric`."
            ]
        )
    try:
        found = replace(source, structure=_structure(source, form))
    except NoMachineCodeError as unknown:
        raise ModelError(
            [
                f"servo constraints must use functions that can be differentiated in machine code; `{unknown}` is not "
                f"one."
            ]
        ) from None
    if source.laws is not None and source.laws.needs_ideal and found.structure.differentiations:
        raise ModelError(
            [
                f"servo `{form.servos[0]}` must be influenced at its own level if laws depend on constraint forces "
                f"({', '.join(kind for _, kind in source.laws.names)}); inputs appear only in its derivative of order "
                f"{max(found.structure.orders)}. Use a law of the velocity, such as `da.Viscous`."
            ]
        )
    _refuse_impulses(found, form)
    return found


def _refuse_impulses(source: Source, form: ControlForm) -> None:
    """Raise if a requirement is differentiated so often that the derivative of a signal contains impulses."""
    if not source.has_signals:
        return
    program, _ = Programs.of_all_rows(source).control()
    lost = [own.name for own in polynomials_of(program) if own.smoothness < -1]
    if lost:
        raise ModelError(
            [
                f"servo `{form.servos[0]}` must have signals with finite derivatives up to the order in which inputs "
                f"appear, {max(source.structure.orders)}; those of `{lost[0]}` are not. Use a smoother `kind`, such as "
                f'"quintic".'
            ]
        )


def _structure(source: Source, form: ControlForm) -> ControlStructure:
    states, named = _states(source), (form.names, form.actuators)
    # accelerations, and with them inputs, first appear in the second derivative of a position, the first of a velocity
    base = tuple(LEVELS[::-1].index(requirement.level) for requirement in form.requirements)
    found = ControlStructure(owners=tuple(range(len(base))), orders=base)
    done: set[int] = set()  # rows of which the combination without inputs has been differentiated
    combined: dict[int, set[int]] = {}  # for each requirement, those that it is combined with
    while True:
        control = RecordedControl(RecordedTerms(Programs.of_all_rows(source)), form, found)
        effects = [_effect(control, state) for state in states]
        step, kept = deficient(effects, {*found.redundant, *done})
        if step is None:
            require_gains(form, found)
            return found
        i, basis, _ = step
        program = Program(control.terms.tape, [control.combination(step)])
        # with derivatives: a row that is constant at all states cannot be changed by any motion
        values = [differentiated(program, state.y, state.t, state.p) for state in states]
        scale = [abs(effect.alpha[[i, *basis]]).max() for effect in effects]
        if basis and all(abs(value[0]) <= SAME_VALUE * size for (value, _), size in zip(values, scale, strict=True)):
            if i >= len(form.requirements):  # requirements of one motion, such as a path and its rate
                raise refusal(*named, found.owners[i], sorted(combined[found.owners[i]]), found.orders[i])
            found = replace(found, redundant=(*found.redundant, i))
            continue
        order, owner = found.orders[i] + 1, found.owners[i]
        combined.setdefault(owner, set()).update(found.owners[j] for j in basis)
        # all inputs are in use for other rows, or nothing in the state changes ψ, so that it can never be made zero
        exhausted = len(kept) == len(form.actuators) or not max(np.abs(slope).max() for _, slope in values) > 0
        if exhausted or order > HIGHEST_ORDER or len(control.terms.tape.lines) > LONGEST_PROGRAM:
            if not basis and (names := _constraints_behind(source, control, i, states)):
                raise determined(named[0][owner], names)
            if not basis and len(kept) == len(form.actuators):
                raise too_few(*named, owner, [found.owners[j] for j in kept])
            raise refusal(*named, owner, sorted(combined[owner]), found.orders[i])
        if basis:
            done.add(i)
            grown = {"owners": (*found.owners, owner), "orders": (*found.orders, order)}
        else:
            grown = {"orders": tuple(order if k == i else old for k, old in enumerate(found.orders))}
        found = replace(found, differentiations=(*found.differentiations, step), **grown)


def _constraints_behind(source: Source, control: RecordedControl, i: int, states: list[_State]) -> list[str]:
    """Return the names of the constraints whose gradients span that of a requirement; none if they do not."""
    if i >= len(control.form.requirements) or not source.levels:
        return []
    n, read = control.terms.programs.n, control.terms.read
    rows = [*source.form.constraint_matrix, control.form.requirements[i].row.gradient]
    program = Program(control.terms.tape, [read(e) for row in rows for e in row])
    used: set[int] = set()
    for state in states:
        values = differentiated(program, state.y, state.t, state.p)[0].reshape(-1, n)
        A, row = values[:-1], values[-1]
        factors = np.linalg.lstsq(A.T, row, rcond=None)[0]
        if np.linalg.norm(factors @ A - row) > SHARE_TOLERANCE * np.linalg.norm(row):
            return []
        # relative to the row, so that the units of a constraint do not matter
        sizes = np.abs(factors) * np.linalg.norm(A, axis=1)
        used |= {int(k) for k in np.flatnonzero(sizes > SHARE_TOLERANCE * np.linalg.norm(row))}
    return [source.constraints[k] for k in sorted(used)]


def _effect(control: RecordedControl, state: _State) -> Effect:
    """Evaluate the effect of unit inputs at one state."""
    n, r, k = control.terms.programs.n, len(control.columns), len(control.owners)
    # inputs act on a requirement through its gradient, on a differentiated row through that of ψ by the velocities
    gradients = [control.terms.read(e) for row in control.form.requirements for e in row.row.gradient]
    columns = [entry for column in control.columns for entry in column]
    psi = [control.psi.get(i, 0) for i in range(k)]
    outputs = [*control.alpha, *psi, *columns, *gradients]
    values, slopes = differentiated(Program(control.terms.tape, outputs), state.y, state.t, state.p)
    alpha, _, D, A = np.split(values, np.cumsum([k, k, r * n]))
    through, D = slopes[k : 2 * k, n:], D.reshape(r, n).T
    for i, row in enumerate(A.reshape(-1, n)):
        through[i] = through[i] if i in control.psi else row
    return Effect(through @ D, np.abs(through) @ np.abs(D), alpha)


def deficient(effects: list[Effect], done: set[int]) -> tuple[Differentiation | None, list[int]]:
    """Return the first row on which inputs do not act independently of others, or None; and independent other rows.

    Rows on which inputs act most are taken first, so that the others are expressed by them.
    """
    rows = [i for i in range(len(effects[0].G)) if i not in done]
    kept: list[int] = []
    while rows:
        left = {i: float(np.median([_remainder(effect, i, kept) for effect in effects])) for i in rows}
        i = max(rows, key=lambda i: left[i])
        if not left[i] > SHARE_TOLERANCE:
            break
        kept.append(i)
        rows.remove(i)
    if not rows:
        return None, kept
    i = rows[0]
    basis = tuple(sorted(j for j in kept if any(_share(effect, i, j, kept) for effect in effects)))
    return Differentiation(i, basis, _columns(effects, [*basis, i]) if basis else ()), kept


def _columns(effects: list[Effect], rows: list[int]) -> tuple[tuple[int, ...], ...]:
    """Return choices of one input less than rows, whose effects on these are independent; the largest ones first."""
    everything = [_scaled(effect, rows) for effect in effects]
    sizes = {
        chosen: min(float(np.linalg.det(G[:, chosen].T @ G[:, chosen])) for G in everything)
        for chosen in islice(combinations(range(effects[0].G.shape[1]), len(rows) - 1), MOST_COMBINATIONS)
    }
    largest = max(sizes.values())
    found = [chosen for chosen, size in sizes.items() if size > SHARE_TOLERANCE * largest]
    return tuple(sorted(found, key=lambda chosen: -sizes[chosen])[:CHOICES])


def _scaled(effect: Effect, rows: list[int]) -> Floats:
    """Return rows of G with each input in the unit of its largest effect, each row relative to its terms."""
    with np.errstate(all="ignore"):
        units = np.nan_to_num(1 / effect.sizes.max(axis=0), posinf=0.0)
        lengths = np.linalg.norm(effect.sizes[rows] * units, axis=1)
        return np.nan_to_num(effect.G[rows] * units / lengths[:, None])


def _remainder(effect: Effect, i: int, kept: list[int]) -> float:
    """Return the part of a row of G that other rows do not span, relative to the terms of the row."""
    row, others = _scaled(effect, [i])[0], _scaled(effect, kept)
    return float(np.linalg.norm(row - np.linalg.lstsq(others.T, row, rcond=None)[0] @ others if kept else row))


def _share(effect: Effect, i: int, j: int, kept: list[int]) -> bool:
    row, others = _scaled(effect, [i])[0], _scaled(effect, kept)
    return bool(abs(np.linalg.lstsq(others.T, row, rcond=None)[0][kept.index(j)]) > SHARE_TOLERANCE)


def _states(source: Source) -> list[_State]:
    """Return random states on the physical constraints; general ones if none are found there."""
    # a fixed seed: the same model always gets the same structure
    draw = np.random.default_rng(20030101)
    n, count = len(source.form.applied_force), len(source.parameters)
    recorded = Programs.of_all_rows(source)
    residuals, terms = recorded.residuals(), recorded.terms_without_inputs()
    on, off = [], []
    for attempt in range(ATTEMPTS):
        # at first near one; then over wider ranges, for expressions that are not defined there
        y, t, p = 10 ** draw.uniform(-1, 1, 3) if attempt > STATES else np.ones(3)
        ranges = (0.2, 1.2, 2 * n), (0.2, 0.8), (0.5, 1.5, count)
        state = _State(y * draw.uniform(*ranges[0]), t * draw.uniform(*ranges[1]), p * draw.uniform(*ranges[2]))
        projected = root(lambda y, state=state: differentiated(residuals, y, state.t, state.p), state.y)
        for chosen, states in ((None if projected is None else replace(state, y=projected.x), on), (state, off)):
            if chosen is not None and np.isfinite(differentiated(terms, chosen.y, chosen.t, chosen.p)[0]).all():
                states.append(chosen)
        if len(on) == STATES:
            break
    states = on or off[:STATES]
    if not states:
        raise ModelError(
            [
                "the accelerations of a system with servo constraints must be finite at random states, times and "
                "parameters of the order of one, at which its structure is found; they are not: the mass matrix is "
                "singular, or an expression is undefined. Scale the model, or remove coordinates without mass."
            ]
        )
    return states
