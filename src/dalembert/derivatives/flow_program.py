# SPDX-License-Identifier: BSD-3-Clause
"""The integration behind a flow, traced by JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import Tracer

from dalembert.common.lazy_jax import refuse_forked_process
from dalembert.derivatives.flow_arguments import ordered_parameters, state_array
from dalembert.derivatives.flow_errors import (
    Ending,
    ending_error,
    explain,
    raise_if,
    refuse_rest,
    refuse_unreached,
    start_error,
    unless_forces_jump,
)
from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.errors import InputError
from dalembert.integration.default_tolerances import USUAL_ATOL
from dalembert.integration.flow_steps import GivenSteps, step_controller
from dalembert.integration.general_steps import guarded
from dalembert.integration.guarded_solver import GuardedSolver, vector_field
from dalembert.integration.method import Method, split_state
from dalembert.integration.start_states import require_start
from dalembert.integration.step_check import off_constraints, projects_fixed_steps
from dalembert.integration.time_segments import fixed_events
from dalembert.lowering.coefficient_signs import wrong_signs
from dalembert.lowering.sliding_directions import slides_on
from dalembert.model.coefficients import refuse_negative_coefficients
from dalembert.model.function_system import FunctionSystem
from dalembert.model.system import System
from dalembert.numerics.violation import state_scales, unresolved, violated

_EVERY_STEP = diffrax.SaveAt(t0=True, steps=True)


class FlowProgram:
    """The integration behind a flow: checks of its arguments, one compiled solution, and errors."""

    def __init__(
        self,
        system: System | FunctionSystem,
        dynamics: Dynamics,
        method: Method,
        times: Any,
        *,
        allow_violation: bool,
    ):
        self.system, self.dynamics, self.method = system, dynamics, method
        (self.times, self.stops, self.jumps), self.allow_violation = fixed_events(dynamics, times), allow_violation
        self.field = vector_field(dynamics, method.formulation, method.drift)
        self.slides = slides_on(system) if isinstance(system, System) else None
        self.wrong_signs = wrong_signs(system) if isinstance(system, System) else None
        # compiled outside of JAX's transformations too, where every operation would be a program of its own
        self.solve = jax.jit(self._solve, static_argnames="from_steps")
        self.with_derivatives = self._with_derivatives()

    def motion(self, q0: Any, qd0: Any, parameters: Mapping[Any, Any]) -> tuple[Array, Array]:
        """Return coordinates and velocities (T, n) from the start and the parameters by name."""
        refuse_forked_process()
        dynamics = self.dynamics
        # inside of `jax.jit`, arrays made from known numbers are tracers, too
        given = [list(x.values()) if isinstance(x, Mapping) else x for x in (q0, qd0, parameters)]  # keys may be mixed
        leaves = [*jax.tree.leaves(given), jnp.zeros(())]
        known = not any(isinstance(leaf, Tracer) for leaf in leaves)
        q, qd = (state_array(dynamics.coordinates, x, name, known) for x, name in ((q0, "q0"), (qd0, "qd0")))
        p = ordered_parameters(dynamics.parameters, parameters, known)
        if known:
            self._check_start(q, qd, p)
        ys, failed, off, end = self.solve(q, qd, p, from_steps=known)
        if known and bool(failed):
            self._raise_failure(q, qd, p, end)
        if known:
            self._refuse_negative(ys, p)
        if not known:  # values are unknown while tracing: the program itself raises, and JAX does not cache it on disk
            negative = False if self.wrong_signs is None else self.wrong_signs(self.times, ys, p)
            # a motion from a start off the constraints, or with a wrong coefficient, may fail for that reason
            severity = failed + 2 * off + 4 * negative
            ys = raise_if(ys, severity > 0, severity, self._message, (off, negative, q, qd, p, ys, end))
        return split_state(ys)

    def _message(self, off: Any, negative: Any, q: Any, qd: Any, p: Any, ys: Any, end: Ending) -> Exception:
        """Return the error of a motion in a compiled program, for its numbers."""
        if negative:
            try:
                self._refuse_negative(ys, p)
            except InputError as error:
                return error
        numbers = self.dynamics, self.method, q, qd, self.times
        return start_error(*numbers, p) if off else ending_error(self.system, *numbers, p, end)

    def _check_start(self, q: Array, qd: Array, p: tuple[Array, ...]) -> None:
        """Raise an error if a parameter or the start is not valid."""
        if isinstance(self.system, System):
            refuse_negative_coefficients(self.system, p)  # before the motion: it might not end
        numbers = np.asarray(q), np.asarray(qd), self.times[0], p
        require_start(self.dynamics, *numbers, allow_violation=self.allow_violation)

    def _refuse_negative(self, ys: Array, p: tuple[Array, ...]) -> None:
        """Raise an error if a coefficient of a law is negative, or becomes so along the motion."""
        if isinstance(self.system, System):
            refuse_negative_coefficients(self.system, p)
        test = self.dynamics.negative_coefficient
        found = None if test is None else test(np.asarray(self.times), np.asarray(ys), p)
        if found is not None:
            raise InputError(f"{found[1]} End the flow before, or write a coefficient that stays positive.")

    def _raise_failure(self, q: Array, qd: Array, p: tuple[Array, ...], end: Ending) -> None:
        """Raise the error of a motion that did not reach the last time."""
        refuse_unreached(self.dynamics, self.method, self.times, p, end)
        numbers = np.asarray(q), np.asarray(qd), self.times, p
        if isinstance(self.system, System):
            refuse_rest(self.system, self.method, *numbers)
        explain(self.dynamics, self.method, *numbers)

    def _solve(
        self, q: Array, qd: Array, p: tuple[Array, ...], *, from_steps: bool
    ) -> tuple[Array, Array, Array, Ending]:
        """Return the states at all times, whether the last time was not reached, whether the start is violated, and
        where the motion ended.

        Derivatives are those of a second motion with the steps of this one. In reverse mode JAX keeps only some of the
        states and computes the others again, with other rounding errors, to which adaptive steps are sensitive: from
        the second computation they would go to other times, where the derivatives of later steps do not belong.
        """
        fixed = jax.tree.map(lax.stop_gradient, (q, qd, p))
        states, steps, failed, off, end = self._by_own_steps(*fixed, from_steps=from_steps)
        if not from_steps:
            states = self.with_derivatives(states, steps, (q, qd, p))
        return states, failed, off, end

    def _by_own_steps(
        self, q: Array, qd: Array, p: tuple[Array, ...], *, from_steps: bool
    ) -> tuple[Array, Array, Array, Array, Ending]:
        """Return the results of ``_solve`` without derivatives, and after the states the times of all steps.

        Given the times of outputs, diffrax adds checks that call back from the compiled program, and JAX does not keep
        such programs on disk. Since steps end at all outputs, these can be chosen ``from_steps`` instead, which takes
        memory for the states of ``max_steps`` steps: too much for many motions at once.
        """
        outputs = jnp.asarray(self.times)
        terms = self.dynamics.terms(q, qd, outputs[0], p)
        off = jnp.asarray(False) if self.allow_violation else self._is_off(terms, q, qd, p)
        method = self._method_at(q, qd, p)
        solution = self._integrated(
            q,
            qd,
            p,
            solver=self._guarded(method, stages="lax"),
            stepsize_controller=step_controller(method, self.stops),
            saveat=_EVERY_STEP if from_steps else _outputs_and_end(outputs),
            adjoint=diffrax.ForwardMode(),  # a plain loop: nothing is differentiated here
        )
        ended: Any = diffrax.RESULTS
        failed, stopped = solution.result != ended.successful, solution.result == ended.internal_error
        times, states, steps = cast("Any", (solution.ts, solution.ys, solution.stats["num_steps"]))
        if from_steps:
            last = solution.stats["num_accepted_steps"]
            found, reached = states[jnp.searchsorted(times, outputs)], times
            end = Ending(times[last], states[last], steps, stopped)
        else:
            found, reached, end = states[0], times[2], Ending(times[1][0], states[1][0], steps, stopped)
        if projects_fixed_steps(self.dynamics, method):
            failed, end = self._with_unreached(found, p, failed, end)
        return found, reached, failed, off, end

    def _with_unreached(self, states: Array, p: tuple[Array, ...], failed: Array, end: Ending) -> tuple[Array, Ending]:
        """Return whether the motion failed and where it ended, which is also at an output off the constraints."""
        outputs, (q, qd) = jnp.asarray(self.times), split_state(states)
        terms = jax.vmap(self.dynamics.terms, in_axes=(0, 0, 0, None))(q, qd, outputs, p)
        unreached = jnp.any(off_constraints(terms, q, jnp), axis=1)
        first, any_off = jnp.argmax(unreached), ~failed & jnp.any(unreached)
        place = Ending(outputs[first], states[first], end.steps, end.stopped)
        return failed | any_off, jax.tree.map(lambda own, other: jnp.where(any_off, own, other), place, end)

    def _by_steps(self, steps: Array, q: Array, qd: Array, p: tuple[Array, ...]) -> Array:
        """Return the states at all times by steps to given times, which are infinite after the last one."""
        outputs = jnp.asarray(self.times)
        solution = self._integrated(
            q,
            qd,
            p,
            solver=self._guarded(self._method_at(q, qd, p), stages="bounded"),
            stepsize_controller=GivenSteps(jnp.minimum(steps, outputs[-1])),
            saveat=diffrax.SaveAt(ts=outputs),
            adjoint=diffrax.DirectAdjoint(),
        )
        return cast("Array", solution.ys)

    def _is_off(self, terms: Terms, q: Array, qd: Array, p: tuple[Array, ...]) -> Array:
        """Return whether a start violates a constraint, or is too small to tell."""
        off = violated(terms.position, terms.A, q, mass_matrix=terms.M, xp=jnp)
        off |= violated(terms.velocity, terms.A, qd, q, terms.M, xp=jnp)
        t = jnp.asarray(self.times)[0]
        off |= unresolved(terms.position, terms.A, lambda x: self.dynamics.terms(x, qd, t, p).A, q, jnp)
        return jnp.any(off)

    def _method_at(self, q: Array, qd: Array, p: tuple[Array, ...]) -> Method:
        """Return the method with tolerances for a start."""
        if self.method.atol is not None:
            return self.method
        terms = self.dynamics.terms(q, qd, jnp.asarray(self.times)[0], p)
        return replace(self.method, atol=USUAL_ATOL * lax.stop_gradient(state_scales(terms.M, terms.Q, q, qd, xp=jnp)))

    def _integrated(self, q: Array, qd: Array, p: tuple[Array, ...], **choices: Any) -> diffrax.Solution:
        outputs = jnp.asarray(self.times)
        # the undecorated function: the compiled `diffeqsolve` would keep the system alive until the process ends
        return diffrax.diffeqsolve.__wrapped__(  # pyright: ignore
            self.field,
            t0=outputs[0],
            t1=outputs[-1],
            dt0=None,
            y0=jnp.concatenate([q, qd]),
            args=(p, self.dynamics.engine.select_rows(q, qd, outputs[0], p)),
            max_steps=self.method.max_steps,
            throw=False,
            **choices,
        )

    def _with_derivatives(self) -> Callable[[Array, Array, Any], Array]:
        """Return a function of states, the times of their steps, and (q, qd, p): the states, whose derivatives by
        (q, qd, p) are those of a motion with these steps."""

        @jax.custom_jvp
        def states_of(states: Array, steps: Array, given: Any) -> Array:
            return states

        @states_of.defjvp
        def derivatives(values: Any, tangents: Any) -> tuple[Array, Array]:  # pyright: ignore[reportUnusedFunction]
            _, steps, given = values
            _, moved = jax.jvp(lambda given: self._by_steps(steps, *given), (given,), (tangents[2],))
            if self.slides is None:  # dry friction has its own check, which names the contact
                # a product, so that the program must call the check
                moved = moved * unless_forces_jump(self.dynamics, self.method, self.times, given)
            return states_of(*values), moved  # by its own rule, for derivatives of second order

        return states_of

    def _guarded(self, method: Method, stages: str) -> GuardedSolver:
        """Return the solver of a method, wrapped to check the constraints at each step."""
        solver = guarded(self.dynamics, method, stages=stages)
        # a start off the constraints is projected by the first step, far beyond any tolerance
        return replace(solver, slides=self.slides, lenient=self.allow_violation, jumps=tuple(map(float, self.jumps)))


def _outputs_and_end(outputs: Array) -> diffrax.SaveAt:
    times = diffrax.SubSaveAt(t0=True, steps=True, fn=lambda t, y, args: None)  # of the steps, without states
    return diffrax.SaveAt(subs=(diffrax.SubSaveAt(ts=outputs), diffrax.SubSaveAt(t1=True), times))
