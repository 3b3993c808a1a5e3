# SPDX-License-Identifier: BSD-3-Clause
"""Compile a system: choose straight-line or array code, and join the pieces into ``Dynamics``."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dalembert.equation.array_engine import array_engine
from dalembert.equation.dynamics import Compiled, Dynamics, Terms
from dalembert.equation.reaction import Nature, Reaction
from dalembert.equation.straight_line_engine import ScalarProgram, straight_line_engine
from dalembert.errors import InputError, ModelError
from dalembert.later import jax, jnp
from dalembert.lowering.autodiff import function_terms
from dalembert.lowering.compiling import refuse_unknown_functions
from dalembert.lowering.counting import count_elimination
from dalembert.lowering.laws import array_law, scalar_law
from dalembert.lowering.native import NativeSystem
from dalembert.lowering.source import Source, source_of
from dalembert.lowering.symbolic import SymbolicFunctions, array_terms, symbolic_functions
from dalembert.model.deep_stack import with_deep_stack
from dalembert.model.function_system import FunctionSystem
from dalembert.model.system import System, kind_of_object

if TYPE_CHECKING:
    from jax import Array


STRAIGHT_LINE_LIMIT = 620
"""Most operations, terms and elimination together, of a program that is written out. Written out it runs faster while
it is short, and takes longer to compile. The limit is where a thousand simulations of a planar chain cost the same both
ways, the first one included, which compiles: between 5 links (536 operations) and 6 (718). See docs/performance.md."""

DIFFERENTIATED_LIMIT = 190
"""The same for derivatives of a flow, which are some times longer than the program: between 2 links (138 operations)
and 3 (248)."""

MOST_KEPT = 64
"""Systems whose programs are kept for the next call. A program of JAX's takes ten memory maps and more, a system up to
500, and Linux gives a process 65 530 before it ends it."""

Style = Literal["straight-line", "array"]


@lru_cache(maxsize=MOST_KEPT)
def build(system: System | FunctionSystem, style: Style | None = None, *, differentiated: bool = False) -> Dynamics:
    """The dynamics of a system as compiled functions of numbers, reusable; the same system is built only once.

    ``style`` overrides the measured choice between straight-line and array code, for comparison; friction by the
    actual reaction is always array code. ``differentiated`` makes that choice for programs that JAX differentiates.

    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> da.build(da.System((x,), [[1]], [-x])).style
    'straight-line'
    """
    if isinstance(system, FunctionSystem):
        return _build_functions(system)
    if not isinstance(system, System):
        raise InputError(f"`system` must be a `da.System` or `da.FunctionSystem`; got {kind_of_object(system)}.")
    return _build_symbolic(system, style, DIFFERENTIATED_LIMIT if differentiated else STRAIGHT_LINE_LIMIT)


def _build_symbolic(system: System, style: Style | None, limit: float) -> Dynamics:
    source = with_deep_stack(lambda: source_of(system), "an expression of the model")
    refuse_unknown_functions(source, system.constraint_names)
    laws = source.laws
    return Dynamics(
        coordinates=system.coordinate_names,
        constraints=system.constraint_names,
        parameters=system.parameter_names,
        levels=source.levels,
        compile=lambda: with_deep_stack(lambda: _compiled(source, style, limit), "an expression of the model"),
        native=NativeSystem(source),
        laws=() if laws is None else laws.names,
        law_remarks=() if laws is None else laws.remarks,
        law_multipliers=() if laws is None else laws.used,
        contacts=() if laws is None else laws.actual,
    )


def _compiled(source: Source, style: Style | None, limit: float) -> Compiled:
    functions, laws = symbolic_functions(source), source.laws
    terms = array_terms(functions)
    law = array_law(functions.laws, terms)
    needs_ideal, used = (laws.needs_ideal, laws.used) if laws is not None else (False, ())
    chosen = (style or _faster_style(functions, limit)) if laws is None or not laws.actual else "array"
    engine = array_engine(
        terms,
        law,
        source.levels,
        law_needs_ideal=needs_ideal,
        law_multipliers=used,
        diagonal_mass=_diagonal(functions),
    )
    if chosen == "straight-line":
        scalars = scalar_law(functions.laws, lambda *state: functions.terms(*state).M)
        program = ScalarProgram(functions.terms, scalars, source.levels, law_needs_ideal=needs_ideal)
        engine = straight_line_engine(program, engine.watch)
    total = functions.energy
    return Compiled(
        terms=terms,
        law=law,
        energy=None if total is None else lambda q, qd, t, p: total(tuple(q), tuple(qd), t, tuple(p)),
        engine=engine,
        style=chosen,
    )


def _faster_style(functions: SymbolicFunctions, limit: float) -> Style:
    if functions.laws is not None and any(functions.laws.laws.scaled) and not _diagonal(functions):
        return "array"  # z needs the symmetric square root of M, which has no straight-line form
    operations = functions.operations
    if operations <= limit:
        operations += count_elimination(functions.form.mass_matrix, functions.form.constraint_matrix)
    return "straight-line" if operations <= limit else "array"


def _diagonal(functions: SymbolicFunctions) -> bool:
    M = functions.form.mass_matrix
    return all(M[i][j] == 0 for i in range(len(M)) for j in range(len(M)) if i != j)


def _build_functions(system: FunctionSystem) -> Dynamics:
    if system.coordinates is None or system.parameters is None:
        raise ModelError(
            ["a function system must name its `coordinates` and `parameters` before it is built on its own; pass both."]
        )
    terms = function_terms(system)
    names = system.parameter_names
    try:
        counts = _row_counts(system, terms)
    except KeyError as missing:
        raise InputError(f"`parameters` must give a value for every parameter; missing: `{missing.args[0]}`.") from None
    law = _function_law(system)
    levels = tuple(c.level for c, count in zip(system.constraints, counts, strict=True) for _ in range(count))
    return Dynamics(
        coordinates=system.coordinate_names,
        constraints=_row_names(system, counts),
        parameters=names,
        levels=levels,
        compile=lambda: Compiled(
            terms, law, _function_energy(system), array_engine(terms, law, levels, law_needs_ideal=True), "array"
        ),
        laws=() if law is None else (("", "nonideal"),),
    )


def _function_law(system: FunctionSystem) -> Callable[..., Nature] | None:
    if system.nonideal is None:
        return None
    given = jax.jit(system.nonideal)  # traced once

    def law(q: Array, qd: Array, t: Any, p: Any, reaction: Reaction) -> Nature:
        named = dict(zip(system.parameter_names, p, strict=True))
        return Nature(jnp.asarray(given(q, qd, t, named, reaction.force), float)[None], None)

    return law


def _function_energy(system: FunctionSystem) -> Callable[..., Array] | None:
    if system.lagrangian is None:
        return None
    lagrangian = jax.jit(system.lagrangian)  # traced once

    def energy(q: Array, qd: Array, t: Any, p: Any) -> Array:
        named = dict(zip(system.parameter_names, p, strict=True))
        value, rate = jax.jvp(lambda v: lagrangian(q, v, t, named), (qd,), (qd,))
        return rate - value

    return energy


def _row_names(system: FunctionSystem, counts: list[int]) -> tuple[str, ...]:
    names: list[str] = []
    for constraint, count in zip(system.constraints, counts, strict=True):
        names += [str(constraint.name)] if count == 1 else [f"{constraint.name}[{i}]" for i in range(count)]
    return tuple(names)


def _row_counts(system: FunctionSystem, terms: Callable[..., Terms]) -> list[int]:
    """How many equations each constraint holds, found by a trial call; shapes and linearity are checked on the way."""
    n = len(system.coordinate_names)
    draw = np.random.default_rng(19970101)
    q, qd = draw.uniform(0.5, 1.5, (2, n))
    p = {name: jnp.asarray(draw.uniform(0.5, 1.5)) for name in system.parameter_names}
    t = jnp.array(0.3)
    problems: list[str] = []
    counts: list[int] = []
    for constraint in system.constraints:
        arguments = {"position": (q, t, p), "velocity": (q, qd, t, p)}.get(constraint.level, (q, qd, q, t, p))
        shape = jax.eval_shape(constraint.function, *arguments).shape
        if len(shape) > 1:
            problems.append(f"constraint `{constraint.name}` must return a number or a vector; got shape {shape}.")
        if constraint.level == "acceleration":
            slope = jax.jacfwd(constraint.function, argnums=2)
            change = np.asarray(slope(q, qd, q, t, p) - slope(q, qd, -2 * q, t, p))
            if np.abs(change).max() > 1e-9 * (1 + np.abs(np.asarray(slope(q, qd, q, t, p))).max()):
                problems.append(f"constraint `{constraint.name}` must be linear in the accelerations; it is not.")
        counts.append(shape[0] if len(shape) == 1 else 1)
    if not problems:
        problems = _shape_problems(jax.eval_shape(terms, q, qd, t, tuple(p.values())), n)
    if problems:
        raise ModelError(problems)
    return counts


def _shape_problems(terms: Terms, n: int) -> list[str]:
    wanted = {"mass_matrix": (terms.M.shape, (n, n)), "applied_force": (terms.Q.shape, (n,))}
    return [
        f"`{name}` must return shape {shape} for {n} coordinates; got {got}."
        for name, (got, shape) in wanted.items()
        if got != shape
    ]
