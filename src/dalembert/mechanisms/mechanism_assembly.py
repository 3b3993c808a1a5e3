# SPDX-License-Identifier: BSD-3-Clause
"""Assembly: the state of a mechanism nearest to the given one that satisfies its joints."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import InputError, StateError
from dalembert.integration.matching_states import matching_state
from dalembert.integration.start_states import HeldRows, State, nearest_state, terms_at
from dalembert.integration.time_segments import settled_times
from dalembert.mechanisms.assembly_changes import UNREPORTED_CHANGE, Assembly, changes_of, changes_one_by_one
from dalembert.mechanisms.given_quantities import Quantity, coordinate_quantities, given_quantities
from dalembert.mechanisms.joint import joints_with_parameters
from dalembert.mechanisms.mechanism_system import extra_coordinates_of
from dalembert.mechanisms.part_copies import coordinate_names
from dalembert.mechanisms.spatial_body import Body
from dalembert.model.active_system import permanent_system
from dalembert.model.input_values import parameter_values, scalar_value
from dalembert.model.ordering import quoted
from dalembert.model.system import System
from dalembert.numerics.constraint_solver import root
from dalembert.verbs import consistent_state, prepared


def assembled(mechanism: Any, keep: Any, t: float, parameters: Any, servos: bool) -> Assembly:
    """Return the nearest state on the constraints: see ``Mechanism.assemble``."""
    system = mechanism.system
    if system.is_large or (system.deferred is not None and not keep and not servos):
        return _large_assembly(mechanism, keep, t, parameters, servos)
    names = mechanism.system.coordinate_names
    q, qd = given_state(mechanism)
    known = given_quantities(mechanism.bodies, names)
    kept = _kept(keep, known, names, q, qd)
    if servos and not mechanism.servos:
        raise InputError("`servos=True` needs a mechanism with servo constraints; got one without. Leave it out.")
    solve = _Solver(mechanism, t, parameters, q, qd, servos)
    try:
        state = solve(kept)
    except StateError as error:
        _raise_contradiction(solve, kept, error)
        raise StateError(f"the mechanism cannot be assembled from the given poses of its bodies: {error}") from None
    changes = tuple(changes_of(known, mechanism.bodies, State(np.array(q), np.array(qd)), state))
    return Assembly(state.q, state.qd, changes, tuple(dict.fromkeys(quantity.name for quantity in kept)))


def _large_assembly(mechanism: Any, keep: Any, t: float, parameters: Any, servos: bool) -> Assembly:
    """Return the nearest state of a mechanism that is stated by groups; its bodies are compared one by one."""
    if keep:
        raise InputError(
            "`keep` must be left out for a mechanism of more than 200 coordinates; give the bodies an initial state "
            "that satisfies the joints instead."
        )
    q, qd = map(np.array, given_state(mechanism))
    try:
        state = consistent_state(mechanism.system, q, qd, t, parameters=parameters, servos=servos)
        turned = _with_given_spins(mechanism.bodies, mechanism.system.coordinate_names, state.q, qd)
        if turned is not None:
            state = consistent_state(mechanism.system, state.q, turned, t, parameters=parameters, servos=servos)
    except StateError as error:
        raise StateError(f"the mechanism cannot be assembled from the given poses of its bodies: {error}") from None
    return Assembly(state.q, state.qd, tuple(changes_one_by_one(mechanism.bodies, State(q, qd), state)))


def given_state(mechanism: Any) -> tuple[list[float], list[float]]:
    """Return the given initial coordinates and velocities of a mechanism."""
    starts = [body.start for body in mechanism.bodies]
    starts += [(list(extra.start), list(extra.rates)) for extra in extra_coordinates_of(mechanism)]
    return [x for q, _ in starts for x in q], [x for _, qd in starts for x in qd]


class _Solver:
    """The nearest state of a mechanism with some quantities kept."""

    def __init__(self, mechanism: Any, t: Any, parameters: Any, q: Any, qd: Any, servos: bool):
        self.mechanism, self.servos = mechanism, servos
        constants = mechanism.system.parameter_names
        self.given = dict(zip(constants, parameter_values(constants, parameters), strict=True))
        self.t, self.q, self.qd = t, q, qd

    def __call__(self, kept: Sequence[Quantity]) -> State:
        matched = self.servos and not kept
        # ropes and contacts need not be closed: a start that they do not allow is refused by `da.simulate`
        system = permanent_system(self._system(matched))
        own = {name: self.given[name] for name in system.parameter_names}
        dynamics, q, qd, p = prepared(system, self.q, self.qd, own, ("q0", "qd0"))
        at = settled_times(dynamics, p, scalar_value(self.t, "t"))
        q = _with_contacts(self.mechanism, dynamics, q, qd, at, p)
        if matched:
            return matching_state(dynamics, q, qd, at, p, "mass")

        def nearest(q: Floats, qd: Floats) -> State:
            return nearest_state(dynamics, q, qd, at, p, "mass", lambda level, q: _held(kept, level, q))

        state = nearest(q, qd)
        turned = _with_given_spins(self.mechanism.bodies, dynamics.coordinates, state.q, qd)
        return state if turned is None else nearest(state.q, turned)

    def _system(self, matched: bool) -> System:
        """Return the system without servos, or, if required, with their requirements as constraints.

        No input acts on quantities that are kept.
        """
        system = self.mechanism.system
        if matched or not self.mechanism.servos:
            return system
        required = [row for servo in self.mechanism.servos for row in servo.requirement] if self.servos else []
        return replace(system, constraints=(*system.constraints, *required), servos=())


def _with_contacts(mechanism: Any, dynamics: Dynamics, q: Floats, qd: Floats, t: Any, p: Any) -> Floats:
    """Return coordinates whose contact parameters are those of the given poses, if they are found.

    Their approximate values must not move the bodies.
    """
    joints: list[Any] = list(joints_with_parameters(mechanism.joints))
    rows = [dynamics.constraints.index(joint.row_name("foot")) for joint in joints]
    columns = [dynamics.coordinates.index(joint.contact_parameter.names[0]) for joint in joints]

    def equations(s: Floats) -> tuple[Floats, Floats]:
        moved = q.copy()
        moved[columns] = s
        terms = terms_at(dynamics, moved, qd, t, p)
        return np.asarray(terms.position)[rows], np.asarray(terms.A)[np.ix_(rows, columns)]

    found = root(equations, q[columns]) if joints else None
    if found is None:
        return q
    moved = q.copy()
    moved[columns] = found.x
    return moved


def _with_given_spins(bodies: Sequence[Any], names: Sequence[str], q: Floats, qd: Floats) -> Floats | None:
    """Return velocities with the given spins at orientations that were changed; None if they are the same."""
    found, places = qd.copy(), {name: i for i, name in enumerate(names)}
    for body in bodies:
        if isinstance(body, Body) and any(body.spin):
            columns = [places[name] for name in coordinate_names(body)[3:]]
            e = q[columns]
            found[columns] = body.quaternion_rates(e / np.linalg.norm(e))
    return None if np.allclose(found, qd, rtol=0, atol=UNREPORTED_CHANGE * np.abs(qd).max(initial=0.0)) else found


def _held(kept: Sequence[Quantity], level: str, q: Floats) -> HeldRows:
    """Return the linear equations that keep quantities of a level at their given values."""
    own = [quantity for quantity in kept if quantity.level == level]
    rows = [quantity.rows(q) for quantity in own]
    return HeldRows(
        [f"kept {quantity.name}" for quantity, block in zip(own, rows, strict=True) for _ in block],
        np.concatenate(rows) if rows else np.zeros((0, len(q))),
        np.array([value for quantity in own for value in quantity.given]),
    )


def _kept(keep: Any, known: Sequence[Quantity], names: Sequence[str], q: Any, qd: Any) -> list[Quantity]:
    """Return the quantities to keep: coordinates with their velocities, and quantities of bodies."""
    asked = (keep,) if isinstance(keep, str) else tuple(map(str, keep or ()))
    by_name = {quantity.name: [quantity] for quantity in known}
    unknown = [name for name in asked if name not in by_name and name not in names]
    if unknown:
        near = difflib.get_close_matches(unknown[0], (*names, *by_name), n=1)
        raise InputError(
            f"`keep` must name only coordinates of the model and given quantities such as `{known[0].name}`; "
            f"`{unknown[0]}` is unknown. {f'Did you mean `{near[0]}`?' if near else f'It has: {quoted(names)}.'}"
        )
    by_name |= {name: coordinate_quantities(name, names, q, qd) for name in asked if name in names}
    return [quantity for name in asked for quantity in by_name[name]]


def _raise_contradiction(solve: _Solver, kept: Sequence[Quantity], error: StateError) -> None:
    """Raise an error that names quantities that cannot be kept together; return if the joints alone cannot hold."""
    names = list(dict.fromkeys(quantity.name for quantity in kept))

    def possible(chosen: Sequence[str]) -> bool:
        try:
            solve([quantity for quantity in kept if quantity.name in chosen])
        except StateError:
            return False
        return True

    if not names or not possible(()):
        return
    for name in tuple(names):
        rest = [other for other in names if other != name]
        if not possible(rest):
            names = rest
    found = "contradicts the joints" if len(names) == 1 else "contradict one another or the joints"
    raise StateError(
        f"`keep` must name quantities whose given values the joints allow together; {quoted(names)} {found}. "
        f"Leave {'it' if len(names) == 1 else 'one of them'} out, or change the given value."
    ) from error
