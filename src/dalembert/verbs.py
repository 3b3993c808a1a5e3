# SPDX-License-Identifier: BSD-3-Clause
"""The functions ``motion``, ``simulate`` and ``consistent_state``.

What only some systems need, for friction, contacts, events, controllers or many coordinates, is imported by the
functions that call it: importing all of it would double the time of the first answer for a pendulum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dalembert.analysis.conservation import conserved
from dalembert.analysis.failed_runs import explained, hidden_behind, may_be_hidden, refuse_paradox_at_end
from dalembert.analysis.redundancy import redundancies, refuse_fragile_rows
from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.answer_checks import require_fit
from dalembert.equation.dynamics import Dynamics
from dalembert.equation.factored import checked_formulation
from dalembert.equation.formulation import Formulation
from dalembert.equation.one_state import finished
from dalembert.equation.painleve import refuse_paradox, refuse_undetermined
from dalembert.errors import ConstraintError, InputError, MassMatrixError, SimulationError
from dalembert.hybrid.moreau_jean import MoreauJean
from dalembert.integration.control_outputs import motion_with_control, refuse_unmet
from dalembert.integration.default_tolerances import USUAL_ATOL, USUAL_RTOL, with_tolerances
from dalembert.integration.drift import Drift, Projection, drift_notes
from dalembert.integration.matching_states import matching_state
from dalembert.integration.method import Method
from dalembert.integration.run import run
from dalembert.integration.start_states import State, nearest_state
from dalembert.integration.state_answer import answer_at
from dalembert.integration.time_segments import settled_run, settled_times
from dalembert.integration.trajectory import Trajectory
from dalembert.live.run_page import page_source
from dalembert.lowering.build import build as build
from dalembert.model.active_system import all_permanent
from dalembert.model.friction_contacts import contacts
from dalembert.model.function_values import end_of_function_values
from dalembert.model.input_values import scalar_value, time_values
from dalembert.model.signal_ranges import end_of_range, require_in_range
from dalembert.model.system import System
from dalembert.runs.large_support import stated_large, supports_formulation, supports_method, supports_metric
from dalembert.runs.simulated_run import SimulatedRun, symbols_of
from dalembert.settings import AnySystem, method_of, prepared, require_coefficients, require_system, require_values

if TYPE_CHECKING:
    from dalembert.control.controller import Controller
    from dalembert.model.large_statement import LargeStatement
    from dalembert.stick_slip.simulation import StickSlipSimulation


def motion(
    system: AnySystem,
    q: Any,
    qd: Any,
    t: float = 0.0,
    *,
    parameters: Any = None,
    formulation: Formulation | None = None,
    throw: bool = True,
) -> ConstrainedMotion:
    """Compute the acceleration and the constraint forces of a system at one state.

    Solves  M q̈ = Q + Qᶜᵢ + Qᶜₙᵢ,  A q̈ = b. The state need not satisfy the constraints; the stabilising terms of a
    drift cure are not included. If surfaces under dry friction are at rest, C is the friction that keeps them at rest
    or, if they cannot stick, the sliding friction in the direction in which they start to move.

    Parameters
    ----------
    q, qd          n coordinates and velocities, as a sequence or a mapping by name
    t              time
    parameters     a value for every constant of the model, by name or symbol
    formulation    ``da.Factored()`` when left out
    throw          whether to raise an error when there is no valid answer

    Raises
    ------
    InputError         missing, unknown, misshapen or non-finite numbers
    MassMatrixError    a mass matrix that the formulation cannot use
    ConstraintError    contradictory constraints, redundant ones where the formulation needs independent rows, or
                       contacts at rest whose friction forces are not unique
    PainleveError      friction by the actual reaction that has no solution, or several

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    >>> pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -10), rod)
    >>> print(da.motion(pendulum, q=(0, -1), qd=(2, 0)).ideal_force)
    [ 0. 14.]
    """
    require_system(system)
    if (stated := stated_large(system, supports_formulation, formulation)) is not None:
        from dalembert.runs.large_runs import large_motion, with_arrays

        answer = large_motion(stated, q, qd, t, parameters, formulation, throw=throw)
        deferred = isinstance(system, System) and system.deferred is not None
        return with_arrays(answer) if deferred else answer
    dynamics, q, qd, p = prepared(system, q, qd, parameters, ("q", "qd"))
    formulation = checked_formulation(formulation)
    require_fit(formulation, len(dynamics.coordinates), len(dynamics.constraints))
    require_values(system, time := scalar_value(t, "t"), "t", q, qd, p)
    at = settled_times(dynamics, p, time)
    require_coefficients(system, at, q, qd, p)
    if throw:
        refuse_unmet(dynamics, q, qd, at, p)
    answer = _at_rest(system, dynamics, formulation, q, qd, float(at), p)
    if answer is None:
        answer = answer_at(dynamics, q, qd, at, p, formulation)
        answer = motion_with_control(dynamics, answer, q, qd, at, p)
    if throw:
        refuse_paradox(dynamics, answer, q, qd, t)
    answer = finished(answer, formulation, throw=throw, names=dynamics.constraints)
    if throw:
        refuse_undetermined(dynamics, answer)
    return answer


def _at_rest(
    system: AnySystem, dynamics: Dynamics, formulation: Formulation, q: Any, qd: Any, t: float, p: Any
) -> ConstrainedMotion | None:
    """Return the motion if surfaces under dry friction are at rest; None if there are none."""
    if not isinstance(system, System) or not contacts(system):
        return None
    from dalembert.stick_slip.motion_at_rest import motion_at_rest

    method = method_of(formulation, Projection(), None, USUAL_RTOL, USUAL_ATOL, None, 1)
    numbers = dict(zip(dynamics.parameters, map(float, p), strict=True))
    return motion_at_rest(system, method, q, qd, t, numbers)


def simulate(
    system: AnySystem,
    q0: Any,
    qd0: Any,
    times: Any,
    *,
    parameters: Any = None,
    rtol: float = 1e-9,
    atol: float | None = None,
    drift: Drift | None = Projection(),
    solver: Any = None,
    formulation: Formulation | None = None,
    step: float | None = None,
    max_step: float | None = None,
    max_steps: int = 1_000_000,
    allow_violation: bool = False,
    control: Controller | None = None,
    events: Any = (),
    progress: bool | None = None,
) -> Trajectory:
    """Simulate the motion of a system from a given initial state, and return it at given times.

    Parameters
    ----------
    q0, qd0            coordinates and velocities at ``times[0]``; they must satisfy the constraints. Requirements of
                       servo constraints may be violated and then settle; ``da.consistent_state(..., servos=True)``
                       returns an initial state from which they are met at all times
    times              increasing times of the output; they do not influence the steps. At a jump of a function of
                       time, such as ``Heaviside(t)`` at zero, the output is the state before it; a ``Piecewise`` states
                       by its conditions on which side the instant lies
    parameters         a value for every constant of the model
    rtol, atol         tolerances of the error per step. By default, ``atol`` follows the scales of the initial state:
                       1e-11 for coordinates and velocities of the order of one, and proportionally smaller or larger
                       for others
    drift              ``da.Projection()``, also with ``conserve``, ``da.Baumgarte(alpha, beta)`` or None
    solver             ``da.Implicit()`` for stiff systems, a diffrax solver for ordinary differential equations, or the
                       tableau of an explicit Runge–Kutta method for the compiled integrator; when left out, the
                       Dormand–Prince method of order 8, natively compiled if the system allows.
                       ``da.MoreauJean(step)`` takes fixed steps through the impacts of many contacts
    formulation        ``da.Factored()`` when left out
    step               a fixed step size instead of an adaptive one, for the classical Runge–Kutta method of order 4
                       unless a ``solver`` is given; outputs between two steps are reached by one shorter step
    max_step           the longest adaptive step. Explicit functions of time are sampled beforehand, so that neither
                       their jumps nor pulses longer than about 1/8000 of the run are missed; for shorter pulses, and
                       for a ``da.FunctionSystem``, pass a step that resolves them
    max_steps          largest number of steps
    allow_violation    start from a state that does not satisfy the constraints
    control            a ``da.controller`` that drives the actuators in the place of the system's own servos
    events             ``da.Event`` objects: zeros of expressions, located and listed in ``run.events``, which may end
                       or change the motion
    progress           True or False to show or hide the progress bar; by default it appears on a terminal after two
                       seconds

    Raises
    ------
    InputError         missing, unknown, misshapen or non-finite numbers; times that do not increase; parameters that
                       make a coefficient of friction or damping negative
    StateError         an initial state that does not satisfy the constraints
    MassMatrixError, ConstraintError    as for ``da.motion``, at the initial state
    SimulationError    the motion could not be continued; carries the trajectory so far
    PainleveError      friction has no reaction, or several; carries the trajectory so far

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    >>> pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -10), rod)
    >>> run = da.simulate(pendulum, (1, 0), (0, 0), [0, 1, 2])
    >>> bool(abs(run.violation).max() < 1e-12)
    True
    """
    if isinstance(solver, MoreauJean):
        from dalembert.runs.stepped_run import refuse_other_methods, simulate_by_steps  # imported here: needs SciPy

        refuse_other_methods(formulation, step, max_step, events, control, drift)
        return simulate_by_steps(
            system, q0, qd0, times, parameters, solver, allow_violation=allow_violation, progress=progress
        )
    method = method_of(formulation, drift, solver, rtol, atol, step, max_steps, max_step)
    has_events = events not in ((), [])
    grouped = _large_with_events(system, events) if has_events else None
    if (has_events and grouped is None) or not all_permanent(system):
        from dalembert.runs.event_run import simulate_with_events

        times = time_values(times, "times", increasing=True)
        given: Any = {"allow_violation": allow_violation, "progress": progress, "control": control, "events": events}
        return simulate_with_events(system, q0, qd0, times, parameters, method, **given)
    require_system(system)
    stated = stated_large(system, supports_method, method, control) if grouped is None else grouped
    if stated is not None:
        from dalembert.runs.large_runs import large_simulation

        start: dict[str, Any] = {"allow_violation": allow_violation, "progress": progress, "control": control}
        return large_simulation(stated, method, q0, qd0, times, parameters=parameters, events=events, **start)
    if control is not None:
        from dalembert.control.controlled_plant import controlled

        plant = controlled(system, control, q0, qd0, parameters)
        system, q0, qd0, parameters = plant.system, plant.q0, plant.qd0, plant.parameters
    dynamics, q0, qd0, p = prepared(system, q0, qd0, parameters, ("q0", "qd0"))
    times = time_values(times, "times", increasing=True)
    require_values(system, times, "times", q0, qd0, p)
    span = (times[0], times[-1])
    page = page_source(system, method, (q0, qd0), span, p, allow_violation=allow_violation, control=control)
    if method.drift.integrals:
        at_start = (q0, qd0, times[0])
        system, dynamics, p = conserved(system, method, control, at_start, p, allow_violation=allow_violation)
    asked, times = times, settled_run(dynamics, p, times, q0, qd0)
    method = with_tolerances(dynamics, method, q0, qd0, times[0], p)
    refuse_unmet(dynamics, q0, qd0, times[0], p)
    refuse_fragile_rows(dynamics, method.drift, q0, qd0, times[0], p)
    stick_slip = _stick_slip(system, dynamics, method, p)
    sampled = None
    if control is not None:
        from dalembert.control.controlled_plant import sampled_simulation

        sampled = sampled_simulation(system, dynamics, control, method, p, stick_slip)
    symbols, symbolic = symbols_of(system, dynamics), system if isinstance(system, System) else None
    begin = float(asked[0]), float(times[0])
    source = SimulatedRun(dynamics, method, p, symbols, control, stick_slip, sampled, page, symbolic, begin)
    try:
        start = {"allow_violation": allow_violation, "progress": progress}
        if sampled is not None:
            found = sampled.run(q0, qd0, times, **start)
        elif stick_slip is None:
            found = run(dynamics, method, q0, qd0, times, p, **start)
        else:
            found = stick_slip.run(q0, qd0, times, **start)
        notes = (*drift_notes(method.drift, dynamics.integrals), *redundancies(dynamics, found, p))
        return source.complete(found, asked, times, notes)
    except (MassMatrixError, ConstraintError) as refusal:
        raise explained(refusal, system, p) from None
    except SimulationError as end:
        end.trajectory = source.complete(end.trajectory, asked, times)
        refuse_paradox_at_end(dynamics, end, method.formulation, p)
        hint = hidden_behind(system, p) if may_be_hidden(dynamics, end.trajectory, p) else ""
        last = (system, end.trajectory.q[-1], end.trajectory.qd[-1], end.time, p)
        hint += end_of_range(*last) + end_of_function_values(*last, end.time - end.trajectory.t[0])
        raise SimulationError(f"{end}{hint}", end.time, end.trajectory) if hint else end from None


def consistent_state(
    system: AnySystem,
    q0: Any,
    qd0: Any,
    t: float = 0.0,
    *,
    parameters: Any = None,
    metric: Literal["mass", "euclidean"] = "mass",
    servos: bool = False,
) -> State:
    """Return the state nearest to a given one that satisfies the constraints, as (q, qd).

    Distances are measured in the mass metric: q minimises (q − q0)ᵀM(q − q0) with M at the given state, then qd is
    found likewise. With ``metric="euclidean"``, for a singular or indefinite mass matrix, M is replaced by the
    identity.

    With ``servos=True`` the state also matches the servo constraints: the error of every requirement is zero from the
    beginning, and does not have to settle. If inputs act only on the third or a higher derivative of a requirement,
    positions and velocities depend on one another, and both are found together.

    Raises
    ------
    InputError         missing, unknown, misshapen or non-finite numbers; ``servos=True`` for a system without servos
    MassMatrixError    a mass matrix that is not positive definite, and therefore no metric
    StateError         if no nearby state satisfies the constraints; names those that remain violated

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    >>> pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -10), rod)
    >>> q, qd = da.consistent_state(pendulum, (0, -2), (1, 1))
    >>> print(q.round(9), qd.round(9))
    [ 0. -1.] [1. 0.]
    """
    require_system(system)
    if (stated := stated_large(system, supports_metric, metric, servos)) is not None:
        from dalembert.runs.large_runs import large_consistent_state

        return large_consistent_state(stated, q0, qd0, t, parameters, metric, servos=servos)
    dynamics, q0, qd0, p = prepared(system, q0, qd0, parameters, ("q0", "qd0"))
    if metric not in ("mass", "euclidean"):
        raise InputError(f'`metric` must be "mass" or "euclidean"; got {metric!r}.')
    if servos and not dynamics.servos:
        raise InputError("`servos=True` needs a system with servo constraints; got one without. Leave it out.")
    require_in_range(system, scalar_value(t, "t"), "t")
    nearest = matching_state if servos else nearest_state
    return nearest(dynamics, q0, qd0, settled_times(dynamics, p, scalar_value(t, "t")), p, metric)


def _large_with_events(system: AnySystem, events: Any) -> LargeStatement | None:
    """Return the groups of terms by which a run with events is simulated; None if it is not."""
    from dalembert.runs.large_events import statement_with_events

    return statement_with_events(system, events)


def _stick_slip(system: AnySystem, dynamics: Dynamics, method: Method, p: Any) -> StickSlipSimulation | None:
    """Return the simulation of a system with contacts that can stick, None if it has no such contacts."""
    touching = contacts(system) if isinstance(system, System) else ()
    if not isinstance(system, System) or not touching:
        return None
    from dalembert.stick_slip.simulation import StickSlipSimulation

    return StickSlipSimulation(system, touching, method, dict(zip(dynamics.parameters, map(float, p), strict=True)))
