# SPDX-License-Identifier: BSD-3-Clause
"""Motion, simulation and consistent states of systems stated by arrays, and what a run of them can compute.

No array of n × n numbers is made: A and M are sparse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.names import quoted
from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.factored import checked_formulation
from dalembert.equation.multipliers import Multipliers
from dalembert.equation.singular_mass import SingularMass
from dalembert.errors import ConstraintError, InputError
from dalembert.integration.method import Method
from dalembert.integration.progress import Progress
from dalembert.integration.sparse_contradictions import refuse_contradiction
from dalembert.integration.sparse_masses import refuse_undetermined_motion
from dalembert.integration.sparse_motion import (
    refuse_unmet_servos,
    require_valid_terms,
    solution,
    sparse_answer,
)
from dalembert.integration.sparse_run import SparseRun, sparse_run, usual_tolerances
from dalembert.integration.sparse_start import nearest_sparse_state
from dalembert.integration.start_states import State
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.expressions_along import values_of_part
from dalembert.lowering.large_structure import find_structure
from dalembert.lowering.large_system import compiled
from dalembert.model.input_values import scalar_value, state_values, time_values
from dalembert.model.large_statement import LargeStatement, with_unit_masses
from dalembert.model.similar_terms import with_requirements
from dalembert.native.added_inertia import MassRule
from dalembert.native.sparse_system import LargeDynamics
from dalembert.numerics.tolerances import RESIDUAL_TOLERANCE
from dalembert.runs.large_events import event_functions
from dalembert.runs.large_support import has_sparse_steps
from dalembert.runs.simulated_run import times_within

if TYPE_CHECKING:
    from dalembert.analysis.ledger import Ledger
    from dalembert.integration.motion_data import MotionData


def _prepared(
    statement: LargeStatement,
    q: Any,
    qd: Any,
    parameters: Any,
    arguments: tuple[str, str],
    mass_rule: MassRule = "positive definite",
) -> tuple[LargeDynamics, Floats, Floats, Floats]:
    """Return the compiled system and checked numbers."""
    names = statement.coordinate_names
    q, qd = state_values(names, q, arguments[0]), state_values(names, qd, arguments[1])
    values = statement.values(parameters)
    dynamics = compiled(statement, mass_rule)
    return dynamics, q, qd, dynamics.numbers(values)


def _mass_rule(formulation: Any) -> MassRule:
    """Return what a formulation demands of the mass matrix; raise an error unless large systems have it."""
    found = checked_formulation(formulation)
    if found.uses_engine:
        return "positive definite"
    if isinstance(found, SingularMass):
        return "semidefinite"
    if isinstance(found, Multipliers):
        return "any"
    raise InputError(
        f"`formulation` of a large system must be `da.Factored()`, `da.SingularMass()` or `da.Multipliers()`; got "
        f"{formulation!r}. State the system with at most 200 coordinates, or leave it out."
    )


def large_motion(
    statement: LargeStatement, q: Any, qd: Any, t: Any, parameters: Any, formulation: Any, *, throw: bool
) -> ConstrainedMotion:
    """Return ``da.motion`` of a system stated by arrays."""
    dynamics, q, qd, numbers = _prepared(statement, q, qd, parameters, ("q", "qd"), _mass_rule(formulation))
    time = float(scalar_value(t, "t"))
    find_structure(dynamics, q, qd, time, numbers)
    answer = sparse_answer(dynamics, q, qd, time, numbers)
    if throw:
        refuse_undetermined_motion(dynamics)
        found = solution(dynamics)
        refuse_unmet_servos(dynamics, found, time)
        refuse_contradiction(dynamics, found)
        _refuse_residual(answer)
    return answer


def _refuse_residual(answer: ConstrainedMotion) -> None:
    """Raise an error if an answer does not solve its equations."""
    if not answer.residual <= RESIDUAL_TOLERANCE:
        raise ConstraintError(
            f"the acceleration must satisfy its equations to {RESIDUAL_TOLERANCE:g}; the relative residual is "
            f"{float(answer.residual):.1e}. Constraints are nearly dependent, or masses differ by many orders of "
            f"magnitude."
        )


def with_arrays(answer: ConstrainedMotion) -> ConstrainedMotion:
    """Return an answer with arrays in place of sparse matrices, for systems that need not be large."""
    names = ("mass_matrix", "constraint_matrix", "law_nonideal")
    sparse = {name: value for name in names if hasattr(value := getattr(answer, name), "toarray")}
    return replace(answer, **{name: value.toarray() for name, value in sparse.items()})


def large_consistent_state(
    statement: LargeStatement, q0: Any, qd0: Any, t: Any, parameters: Any, metric: str, *, servos: bool
) -> State:
    """Return ``da.consistent_state`` of a system stated by arrays."""
    if metric not in ("mass", "euclidean"):
        raise InputError(f'`metric` must be "mass" or "euclidean"; got {metric!r}.')
    if metric == "euclidean":
        statement = with_unit_masses(statement)
    if servos and not statement.servos:
        raise InputError("`servos=True` needs a system with servo constraints; got one without. Leave it out.")
    dynamics, q, qd, numbers = _prepared(statement, q0, qd0, parameters, ("q0", "qd0"))
    time = float(scalar_value(t, "t"))
    if servos:
        find_structure(dynamics, q, qd, time, numbers)
        _refuse_higher_orders(dynamics)
        dynamics, *_, numbers = _prepared(with_requirements(statement), q, qd, parameters, ("q0", "qd0"))
    return nearest_sparse_state(dynamics, q, qd, time, numbers, 'If that is meant, pass `metric="euclidean"`.')


def _refuse_higher_orders(dynamics: LargeDynamics) -> None:
    """Raise an error if more than the errors of requirements and their rates must vanish at a matching start."""
    structure = None if dynamics.code.servos is None else dynamics.code.servos.structure
    if structure is not None and structure.differentiations:
        names = quoted(dynamics.requirements[structure.owners[i]] for i in structure.differentiated)
        raise InputError(
            f"`servos=True` of a large system needs inputs that act on requirements at their own level; those of "
            f"{names} act on a derivative of order {max(structure.orders)}. Leave it out: errors settle."
        )


def large_simulation(
    statement: LargeStatement,
    method: Method,
    q0: Any,
    qd0: Any,
    times: Any,
    *,
    parameters: Any,
    allow_violation: bool,
    control: Any,
    progress: bool | None,
    events: Any = (),
) -> Trajectory:
    """Return ``da.simulate`` of a system stated by arrays."""
    rule = _mass_rule(method.formulation)
    if not has_sparse_steps(method, control):
        raise InputError(
            "a large system must be simulated by an explicit Runge–Kutta method or `da.Implicit()`, with "
            "`da.Projection()` without `conserve`, `da.Baumgarte` or None for `drift`, and without `control`. Leave "
            "the other arguments out."
        )
    dynamics, q, qd, numbers = _prepared(statement, q0, qd0, parameters, ("q0", "qd0"), rule)
    times = time_values(times, "times", increasing=True)
    if method.atol is None:
        dynamics.code.evaluate(q, qd, float(times[0]), numbers)
        require_valid_terms(dynamics)
        method = replace(method, atol=usual_tolerances(dynamics, q, qd))
    find_structure(dynamics, q, qd, float(times[0]), numbers)
    given = {name: np.asarray(value, float) for name, value in dict(parameters or {}).items()}
    options: dict[str, Any] = {"allow_violation": allow_violation, "progress": progress}
    named = {str(getattr(name, "name", name)): _reported(value) for name, value in given.items()}
    source, watched = LargeRun(dynamics, method, numbers), event_functions(statement, events, given)
    options["events"] = watched
    return sparse_run(dynamics, method, (q, qd), times, numbers, parameters=named, source=source, **options)


def _reported(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value


@dataclass(frozen=True, eq=False)
class LargeRun:
    """The compiled system of a run and its method; an implementation of ``RunSource``."""

    dynamics: LargeDynamics
    method: Method
    numbers: Floats

    def model_text(self) -> str:
        """Return an empty text: systems that are given by arrays cannot be written as a model file."""
        return ""

    @property
    def write_page(self) -> Callable[..., Path]:
        raise InputError(_refusal("a live page"))

    def ledger(self, run: Trajectory) -> Ledger:
        """Return the work and energy of all forces."""
        from dalembert.analysis.large_ledger import large_ledger

        return large_ledger(self.dynamics, self.method, self.numbers, run)

    def at(self, run: Trajectory, times: Any) -> Trajectory:
        """Return the motion at one time, or at increasing ones, within those of the run."""
        asked = times_within(run, times)
        if np.isin(asked, run.t).all():
            return run.taken(np.searchsorted(run.t, asked))
        wanted = np.unique(np.concatenate([run.t[[0, -1]], asked]))
        found = self._again(run, wanted).trajectory(run.parameters, [], self)
        return replace(found.taken(np.searchsorted(wanted, asked)), notes=run.notes, statistics=run.statistics)

    def _again(self, run: Trajectory, times: Floats) -> SparseRun:
        """Integrate a run once more, by the same steps, with outputs at other times."""
        again = SparseRun(self.dynamics, self.method, self.numbers, times)
        with Progress(float(times[0]), float(times[-1]), False) as bar:
            again.follow(np.concatenate([run.q[0], run.qd[0]]), bar)
        return again

    def pieces(self, run: Trajectory) -> list[Trajectory]:
        """Return the run: no event changes its parameters."""
        return [run]

    def steps(self, run: Trajectory) -> Floats:
        """Return the times of the integration steps, from the first time of the run to its last."""
        return np.array([run.t[0], *self._again(run, run.t[[0, -1]]).step_times])

    def mass_and_rows(self, run: MotionData) -> tuple[Floats, Floats]:
        """Return M (T, n, n) and A (T, m, n) along the run, unless they are too large."""
        code = self.dynamics.code
        if len(run) * code.n * (code.n + code.m) > MOST_NUMBERS:
            raise InputError(_refusal("M and A as arrays"))
        terms = [(code.mass.matrix().toarray(), code.A.toarray()) for _ in self._evaluated(run)]
        return np.array([M for M, _ in terms]), np.array([A for _, A in terms])

    def kinetic_energy(self, run: MotionData) -> Floats:
        """Return ½ q̇ᵀM q̇ (T,) along the run."""
        mass = self.dynamics.code.mass
        return np.array([v @ (mass.matrix() @ v) / 2 for v, _ in zip(run.qd, self._evaluated(run), strict=True)])

    def row_of(self, run: MotionData, i: int) -> Floats:
        """Return row i of A (T, n) along the run."""
        code = self.dynamics.code
        return np.array([code.A[[i]].toarray()[0] for _ in self._evaluated(run)])

    def _evaluated(self, run: MotionData) -> Iterator[None]:
        """Evaluate the terms at each time of a run."""
        for q, qd, t in zip(run.q, run.qd, run.t, strict=True):
            yield self.dynamics.code.evaluate(np.array(q), np.array(qd), float(t), self.numbers)

    def requirement_gradients(self, run: MotionData) -> Floats:
        """Return A₂ (T, k, n) of the servo constraints along the run, unless they are too large."""
        code = self.dynamics.code
        if len(run) * code.n * (code.n + code.m) > MOST_NUMBERS:
            raise InputError(_refusal("a split of input forces"))
        servos = [code.evaluate_servos() for _ in self._evaluated(run)]
        return np.array([terms.A.toarray() for terms in servos if terms is not None])

    def values(self, run: Trajectory, expression: Any) -> Floats:
        """Return the values (T, …) of an expression, or of nested sequences of expressions, along the run."""
        return values_of_part(run, expression)


MOST_NUMBERS = 10**7
"""Most numbers of M and A along a run that are returned as arrays."""


def _refusal(what: str) -> str:
    return (
        f"{what} must be of a system that is compiled term by term, with at most 200 coordinates or with terms of many "
        f"kinds; this run is of a larger one."
    )
