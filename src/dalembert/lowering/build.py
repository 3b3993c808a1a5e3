# SPDX-License-Identifier: BSD-3-Clause
"""Compile a system: join its machine code and its JAX functions into ``Dynamics``."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.lazy_jax import jax, jnp
from dalembert.equation.array_engine import ArrayProgram
from dalembert.equation.dynamics import Compiled, Dynamics, Terms
from dalembert.equation.reaction import IdealReaction, NonidealForces
from dalembert.errors import DalembertError, InputError, ModelError
from dalembert.lowering.autodiff import function_terms, real_values
from dalembert.lowering.friction_resolution import friction_resolution
from dalembert.lowering.general_time_functions import general_time_functions
from dalembert.lowering.input_sources import Held
from dalembert.lowering.jax_functions import assemble, flat, refuse_unknown_functions
from dalembert.lowering.law_functions import array_law
from dalembert.lowering.native_system import NativeSystem
from dalembert.lowering.programs import Programs
from dalembert.lowering.recorded_feedback import RecordedFeedback
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.lowering.source import Source, source_of
from dalembert.lowering.symbolic import (
    SymbolicFunctions,
    array_terms,
    has_python_functions,
    mass_function,
    symbolic_functions,
)
from dalembert.lowering.tape_functions import evaluated
from dalembert.model.deep_stack import with_deep_stack
from dalembert.model.function_system import FunctionSystem
from dalembert.model.moving_coefficients import moving_coefficients
from dalembert.model.system import System, kind_of_object
from dalembert.numerics.tolerances import SAME_VALUE

if TYPE_CHECKING:
    from jax import Array


KEPT_DYNAMICS = 64
"""Systems whose programs are kept for the next call. A JAX program takes ten memory maps or more, a system up to 500,
and Linux ends a process that has more than 65 530."""


@lru_cache(maxsize=KEPT_DYNAMICS)
def build(system: System | FunctionSystem) -> Dynamics:
    """Return the dynamics of a system as compiled functions of numbers; the same system is built only once.

    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> da.build(da.System((x,), [[1]], [-x])).coordinates
    ('x',)
    """
    if isinstance(system, FunctionSystem):
        return _build_functions(system)
    if not isinstance(system, System):
        raise InputError(f"`system` must be a `da.System` or `da.FunctionSystem`; got {kind_of_object(system)}.")
    return _build_symbolic(system)


def symbolic_source(system: System) -> Source:
    """Return a system in plain symbols, with the structure of its servo constraints."""
    # SymPy traverses expressions recursively, and large models exceed the default stack
    source = with_deep_stack(lambda: source_of(system), "an expression of the model")
    refuse_unknown_functions(source, system.constraint_names)
    if source.control is None:
        return source
    from dalembert.lowering.relative_degree import with_structure  # imported here: needed for servos alone

    return with_structure(source)


def _build_symbolic(system: System) -> Dynamics:
    source = symbolic_source(system)
    laws = source.laws
    actuators, servos = _control_names(source)
    moving = moving_coefficients(system)
    return Dynamics(
        coordinates=system.coordinate_names,
        constraints=system.constraint_names,
        parameters=system.parameter_names,
        levels=source.levels,
        # put off, since most runs need machine code alone, and JAX takes seconds to import
        compile=lambda: with_deep_stack(lambda: _compiled(source), "an expression of the model"),
        native=NativeSystem(source),
        laws=() if laws is None else laws.names,
        law_remarks=() if laws is None else laws.remarks,
        law_multipliers=() if laws is None else laws.used,
        contacts=() if laws is None else laws.actual,
        pressing=() if laws is None else laws.pressing,
        actuators=actuators,
        servos=servos,
        integrals=() if system.conserved is None else system.conserved.names,
        unreported=() if system.conserved is None else system.conserved.parameters,
        general_time_functions=lambda: general_time_functions(source),
        negative_coefficient=None if moving is None else moving.first_negative,
    )


def _control_names(source: Source) -> tuple[tuple[str, ...], dict[str, list[int]]]:
    """Return the names of actuators, and the rows of servo constraints by name."""
    if isinstance(source.feedback, Held):
        return source.feedback.actuators, {}
    form = source.control if source.feedback is None else source.feedback.source.control
    return ((), {}) if form is None else (form.actuators, form.rows_of)


def _compiled(source: Source) -> Compiled:
    functions, laws = symbolic_functions(source), source.laws
    inputs = None if source.control is None and source.feedback is None else input_function(source)
    terms = array_terms(functions, inputs)
    law = array_law(functions.laws, terms)
    program = ArrayProgram(
        terms,
        law,
        source.levels,
        law_needs_ideal=laws is not None and laws.needs_ideal,
        law_multipliers=() if laws is None else laws.used,
        diagonal_mass=_diagonal(functions),
        masses_differ=source.masses_differ,
    )
    total = functions.energy
    return Compiled(
        terms=terms,
        law=law,
        energy=None if total is None else lambda q, qd, t, p: total(tuple(q), tuple(qd), t, tuple(p)),
        engine=program.engine(),
        inputs=inputs,
        mass=mass_function(source) if has_python_functions(source) else None,
        resolve=_resolution(source),
    )


def _resolution(source: Source) -> Callable[..., Array] | None:
    """Return ``friction_resolution`` as a function of arrays."""
    program = friction_resolution(Programs.of_all_rows(source))
    if program is None:
        return None

    def resolve(t0: Any, y0: Array, t1: Any, y1: Array, p: Any) -> Array:
        numbers = {"y": (*y0, *y1, t1), "t": (t0,), "p": tuple(p)}
        return jnp.asarray(evaluated(program.tape, program.outputs, numbers)[0]) > 0

    return resolve


def input_function(source: Source) -> Callable[..., Array]:
    """Return the forces (r, n) of the actuators as a function of arrays; the rate of an adaptive bound is one more."""
    recorded = RecordedTerms(Programs.of_all_rows(source))
    assert recorded.control is not None
    forces = list(recorded.control.input_forces)
    if isinstance(recorded.control, RecordedFeedback) and recorded.control.feedback.adaptive:
        forces.append([*[0] * (len(source.form.applied_force) - 1), recorded.control.adaptation])
    shape = (len(forces), len(source.form.applied_force))

    @jax.jit  # not for speed: it is called from several places, and it is traced once
    def inputs(q: Array, qd: Array, t: Any, p: Any) -> Array:
        numbers = {"y": (*q, *qd), "t": (t,), "p": tuple(p)}
        return assemble(flat(evaluated(recorded.tape, forces, numbers)), shape)

    return inputs


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
    except DalembertError:
        raise
    except Exception as error:
        text = str(error).strip().partition("\n")[0]
        raise InputError(
            f"the functions of a function system must accept arrays q and qd, a time and a dict of parameters, and use "
            f"`jax.numpy` in the place of NumPy; one of them raised {type(error).__name__}: {text}"
        ) from error
    law = _function_law(system)
    levels = tuple(c.level for c, count in zip(system.constraints, counts, strict=True) for _ in range(count))
    return Dynamics(
        coordinates=system.coordinate_names,
        constraints=_row_names(system, counts),
        parameters=names,
        levels=levels,
        compile=lambda: Compiled(
            terms, law, _function_energy(system), ArrayProgram(terms, law, levels, law_needs_ideal=True).engine()
        ),
        laws=() if law is None else (("", "nonideal"),),
    )


def _function_law(system: FunctionSystem) -> Callable[..., NonidealForces] | None:
    if system.nonideal is None:
        return None
    given = jax.jit(system.nonideal)  # traced once

    def law(q: Array, qd: Array, t: Any, p: Any, reaction: IdealReaction) -> NonidealForces:
        named = dict(zip(system.parameter_names, p, strict=True))
        return NonidealForces(real_values(given(q, qd, t, named, reaction.force), "nonideal", q.shape)[None], None)

    return law


def _function_energy(system: FunctionSystem) -> Callable[..., Array] | None:
    if system.lagrangian is None:
        return None
    lagrangian = jax.jit(system.lagrangian)  # traced once

    def energy(q: Array, qd: Array, t: Any, p: Any) -> Array:
        named = dict(zip(system.parameter_names, p, strict=True))
        # q̇·∂L/∂q̇ − L, the first term as the derivative of L along q̇
        value, rate = jax.jvp(lambda v: lagrangian(q, v, t, named), (qd,), (qd,))
        return rate - value

    return energy


def _row_names(system: FunctionSystem, counts: list[int]) -> tuple[str, ...]:
    names: list[str] = []
    for constraint, count in zip(system.constraints, counts, strict=True):
        names += [str(constraint.name)] if count == 1 else [f"{constraint.name}[{i}]" for i in range(count)]
    return tuple(names)


def _row_counts(system: FunctionSystem, terms: Callable[..., Terms]) -> list[int]:
    """Return the number of equations of each constraint, by a trial call that also checks shapes and linearity."""
    n = len(system.coordinate_names)
    draw = np.random.default_rng(19970101)
    # away from zero, where many functions are singular; with a fixed seed, so that errors are reproducible
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
            # linear if the derivative does not depend on the accelerations
            change = np.asarray(slope(q, qd, q, t, p) - slope(q, qd, -2 * q, t, p))
            if np.abs(change).max() > SAME_VALUE * (1 + np.abs(np.asarray(slope(q, qd, q, t, p))).max()):
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
