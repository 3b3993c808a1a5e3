# SPDX-License-Identifier: BSD-3-Clause
"""JAX-compiled functions of a system, cached on the system so that they are freed together with it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from dalembert.common.lazy_jax import refuse_forked_process
from dalembert.common.stabilisation import Gains
from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.equation.formulation import Formulation

SOON_READY = {"xla_backend_optimization_level": 0}
"""Compiler options for programs that run only a few times: without optimisation they compile in half the time."""

MAPS = Path("/proc/self/maps")
MOST_MAPS = 20_000
"""Memory maps of the process above which programs of other systems are dropped before another one is compiled. Linux
ends a process that has more than 65 530, and a system with two of diffrax's solvers takes up to 4000 of them."""

_compiled_for: weakref.WeakSet[Dynamics] = weakref.WeakSet()
"""Systems that may have programs, also those that a trajectory or a user still holds."""


def _drop_programs_of_others(dynamics: Dynamics) -> None:
    """Drop the programs of all other systems if the process has many memory maps; they are compiled again on demand."""
    _compiled_for.add(dynamics)
    # other operating systems neither have this file nor this limit
    if not MAPS.exists() or MAPS.read_bytes().count(b"\n") < MOST_MAPS:
        return
    for other in [one for one in _compiled_for if one is not dynamics]:
        other.programs.clear()
    gc.collect()


def kept_by_dynamics(options: dict[str, Any] | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile functions whose first argument is ``Dynamics``; array arguments are traced, all others are static.

    JAX keeps the programs of a function for the lifetime of that function. A module-level function would keep the
    programs of every system, until the process runs out of memory maps; so each system gets a function of its own.
    """

    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(dynamics: Dynamics, *arguments: Any) -> Any:
            refuse_forked_process()
            leaves, tree = jax.tree.flatten(arguments)
            traced = tuple(isinstance(leaf, (np.ndarray, jax.Array)) for leaf in leaves)
            fixed = tuple(None if is_traced else leaf for leaf, is_traced in zip(leaves, traced, strict=True))
            # all that a trace depends on except the shapes, which JAX itself distinguishes
            key = (function, tree, traced, fixed)
            if key not in dynamics.programs:
                _drop_programs_of_others(dynamics)
                program = _for_one_system(function, dynamics, tree, traced, fixed)
                dynamics.programs[key] = jax.jit(program, compiler_options=options)
            return dynamics.programs[key](*(leaf for leaf, is_traced in zip(leaves, traced, strict=True) if is_traced))

        return call

    return compiled


def _for_one_system(
    function: Callable[..., Any], dynamics: Dynamics, tree: Any, traced: tuple[bool, ...], fixed: tuple[Any, ...]
) -> Callable[..., Any]:
    """Return a function of the array arguments; a weak reference avoids a cycle with the system that caches it."""
    system = weakref.ref(dynamics)

    def program(*arrays: Any) -> Any:
        remaining = iter(arrays)
        leaves = [next(remaining) if is_traced else leaf for leaf, is_traced in zip(fixed, traced, strict=True)]
        # called only while tracing, when the caller holds the system
        return function(system(), *jax.tree.unflatten(tree, leaves))

    return program


@kept_by_dynamics()
def compiled_terms(dynamics: Dynamics, q: Any, qd: Any, t: Any, p: Any) -> Terms:
    """Return the terms of the equation of motion at one state."""
    return dynamics.terms(q, qd, t, p)


@kept_by_dynamics(SOON_READY)
def compiled_answer(
    dynamics: Dynamics, q: Any, qd: Any, t: Any, p: Any, formulation: Formulation, gains: Gains | None = None
) -> ConstrainedMotion:
    """Return the constrained motion at one state."""
    return dynamics.answer(q, qd, t, p, formulation, gains)
