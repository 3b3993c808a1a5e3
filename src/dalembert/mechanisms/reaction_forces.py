# SPDX-License-Identifier: BSD-3-Clause
"""Forces and torques of joints from the multipliers of a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.integration.start_states import terms_at
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.mechanisms.frames import Ground, Marker
from dalembert.mechanisms.motors import motors, unit_force
from dalembert.mechanisms.reactions import Reaction, Reactions
from dalembert.mechanisms.vectors import evaluate
from dalembert.model.active_system import active_system
from dalembert.model.expression_values import expression_values
from dalembert.model.friction import Friction
from dalembert.model.laws import SlidingLaw
from dalembert.model.ordering import quoted
from dalembert.model.standard_form import gradient
from dalembert.numerics.linear_algebra import are_determined, padded_null_space, unit_rows
from dalembert.numerics.tolerances import SOLVED_RANK_TOLERANCE

NEGLIGIBLE_RATIO = 1e-9
"""Singular values of unit rows, and forces, below this fraction of the largest count as zero: a thousand times what
sums over the entries of a mechanism leave of rounding."""


def require_trajectory_of(mechanism: Any, run: Any) -> None:
    """Raise unless a trajectory belongs to the mechanism's system."""
    system = mechanism.system
    if not isinstance(run, Trajectory):
        raise InputError(f"`run` must be a trajectory returned by `da.simulate`; got {run!r}.")
    names = (run.coordinates, run.constraints, set(run.parameters))
    if names != (system.coordinate_names, system.constraint_names, set(system.parameter_names)):
        raise InputError(
            "`run` must be a trajectory of the mechanism's own `system`; its coordinates, constraints or parameters "
            "differ."
        )


def reactions_of(mechanism: Any, run: Trajectory, axes: str) -> Reactions:
    """Return the reaction of each joint, from the multipliers of a trajectory."""
    if axes not in ("world", "body"):
        raise InputError(f'`axes` must be "world" or "body"; got {axes!r}.')
    require_trajectory_of(mechanism, run)
    pieces = [run] if run.source is None else run.source.pieces(run)
    parts = [_reactions_of(mechanism, piece, axes) for piece in pieces]
    return Reactions(run.t, parts[0] if len(parts) == 1 else {name: _joined(parts, name) for name in parts[0]})


def _joined(parts: Sequence[dict[str, Reaction]], name: str) -> Reaction:
    """Return a reaction along a run from those along its parts."""
    own = [part[name] for part in parts]
    return Reaction(*(np.concatenate([getattr(r, field) for r in own]) for field in ("force", "torque", "unique")))


def _reactions_of(mechanism: Any, run: Trajectory, axes: str) -> dict[str, Reaction]:
    """Return the reactions along a run with constant parameters."""
    rows = _rows(mechanism, run)
    given = run.reactions[:, :, None] * rows  # (T, m, n): the force of each constraint along each coordinate
    friction = _friction(mechanism, run, run.constraint_force - given.sum(axis=1))
    free = _self_equilibrated(rows)
    found: dict[str, Reaction] = {}
    for joint in mechanism.joints:
        mine = [run.constraints.index(str(constraint.name)) for constraint in joint.constraints]
        share = given[:, mine].sum(axis=1) + friction.get(joint.name, 0.0)
        force, torque = _wrench(mechanism, joint.markers, run, share, axes)
        found[joint.name] = Reaction(force, torque, _unique(rows[:, mine], free[:, mine]))
    return found | _motors(mechanism, run, axes)


def _motors(mechanism: Any, run: Trajectory, axes: str) -> dict[str, Reaction]:
    """Return the force and torque of each motor on the second body of its joint."""
    system, found = mechanism.system, dict[str, Reaction]()
    missing = [motor.name for motor in motors(mechanism.servos) if motor.name not in run.inputs]
    if missing:
        raise InputError(f"`run` must have the inputs of the mechanism's motors; missing: {quoted(missing)}.")
    y = np.concatenate([run.q, run.qd], axis=1)
    for motor in motors(mechanism.servos):
        along = expression_values(system, unit_force(motor.along, system.coordinates))(run.t, y, run.parameters)
        share = run.inputs[motor.name][:, None] * along
        found[motor.name] = Reaction(
            *_wrench(mechanism, motor.along.markers, run, share, axes), np.ones(len(run), dtype=bool)
        )
    return found


def _rows(mechanism: Any, run: Trajectory) -> Floats:
    """Return A (T, m, n) along the trajectory."""
    dynamics = build(active_system(mechanism.system))
    p = tuple(run.parameters[name] for name in dynamics.parameters)
    states = zip(run.q, run.qd, run.t, strict=True)
    rows = np.stack([np.asarray(terms_at(dynamics, q, qd, t, p).A) for q, qd, t in states])
    for k, constraint in enumerate(mechanism.system.constraints):
        if not constraint.is_permanent:  # while it is open it shares no load
            rows[run.reactions[:, k] == 0, k] = 0.0
    return rows


def _self_equilibrated(rows: Floats) -> Floats:
    """Return multipliers (T, m, k) without resultant force: null vectors of Aᵀ, padded with zeros to k."""
    unit, scales = unit_rows(rows, np.ones(rows.shape[:2]))
    null_vectors: Any = padded_null_space(unit.swapaxes(1, 2), SOLVED_RANK_TOLERANCE)  # pyright: ignore
    return null_vectors * scales[:, :, None]


def _unique(rows: Floats, free: Floats) -> NDArray[np.bool_]:
    """Return whether no redistribution among redundant constraints changes the force of these rows."""
    exchanged = np.abs(np.einsum("tmn,tmk->tnk", rows, free)).max(axis=(1, 2), initial=0.0)
    return are_determined(exchanged)


def _friction(mechanism: Any, run: Trajectory, total: Floats) -> dict[str | None, Floats]:
    """Return the forces of the laws by joint: C of each law, and holding forces; key None for laws of no joint.

    ``total`` is the sum of all these forces. Holding forces act along the sliding directions, which identifies them.
    """
    system = mechanism.system
    owners = {str(constraint.name): joint.name for joint in mechanism.joints for constraint in joint.constraints}
    owned = [(owners.get(placed.constraint), placed.law) for placed in system.laws]
    shares: dict[str | None, Floats] = {name: np.zeros_like(total) for name, _ in owned}
    y = np.concatenate([run.q, run.qd], axis=1)
    for name, law in owned:
        actual = isinstance(law, Friction) and law.normal == "actual"
        components = expression_values(system, law.components(system.coordinates))
        shares[name] += components(
            run.t, y, run.parameters, run.reactions if actual else run.multipliers, run.reactions
        )
    held = total - sum(shares.values(), np.zeros_like(total))
    sliding = [
        (name, v)
        for name, law in owned
        if isinstance(law, SlidingLaw)
        for v in law.sliding_velocity(system.coordinates)
    ]
    if not sliding or (
        not run.events and np.abs(held).max(initial=0.0) <= NEGLIGIBLE_RATIO * np.abs(total).max(initial=0.0)
    ):
        return shares
    slopes = [gradient(system.symbols.plain(v), system.symbols.qd) for _, v in sliding]
    flat = expression_values(system, tuple(entry for row in slopes for entry in row))(run.t, y, run.parameters)
    along = flat.reshape(len(run), len(sliding), -1)
    sizes = np.einsum("tdn,tn->td", np.linalg.pinv(np.swapaxes(along, 1, 2)), held)
    for k, (name, _) in enumerate(sliding):
        shares[name] += sizes[:, k, None] * along[:, k]
    return shares


def _wrench(
    mechanism: Any, markers: Sequence[Marker], run: Trajectory, share: Floats, axes: str
) -> tuple[Floats, Floats]:
    """Return force and torque on the second body at the second point; on the ground, the opposite of the total."""
    second = markers[1]
    on_ground = isinstance(second.body, Ground)
    point = evaluate(second.point, run.parameters)
    if not on_ground:
        place = second.body.place_along(_body_columns(mechanism, second.body, run.q), point)
        force, torque = _wrench_at(mechanism, second.body, run, share, place)
        return _in_body_axes(mechanism, second.body, run, force, torque) if axes == "body" else (force, torque)
    bodies = {marker.body.name: marker.body for marker in markers if not isinstance(marker.body, Ground)}
    place = np.tile(point, (len(run.t), 1))
    wrenches = [_wrench_at(mechanism, body, run, share, place) for body in bodies.values()]
    return -np.sum([force for force, _ in wrenches], axis=0), -np.sum([torque for _, torque in wrenches], axis=0)


def _body_columns(mechanism: Any, body: Any, along: Floats) -> Floats:
    """Return the columns of a body's coordinates (T, k)."""
    names = list(mechanism.system.coordinates)
    return along[:, [names.index(coordinate) for coordinate in body.coordinates]]


def _wrench_at(mechanism: Any, body: Any, run: Trajectory, share: Floats, place: Floats) -> tuple[Floats, Floats]:
    """Return the force on a body, and the torque about a point (T, d), in world axes."""
    q = _body_columns(mechanism, body, run.q)
    force, torque = body.wrench(q, _body_columns(mechanism, body, share))
    arm = place - q[:, : body.dimension]
    if body.dimension == 2:
        return force, torque - (arm[:, 0] * force[:, 1] - arm[:, 1] * force[:, 0])
    return force, torque - np.cross(arm, force)


def _in_body_axes(mechanism: Any, body: Any, run: Trajectory, force: Floats, torque: Floats) -> tuple[Floats, Floats]:
    turned = body.axes_along(_body_columns(mechanism, body, run.q))
    own = np.einsum("tji,tj->ti", turned, force)
    return own, torque if torque.ndim == 1 else np.einsum("tji,tj->ti", turned, torque)
