# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms as documents: bodies, joints and forces as entries of TOML files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from dalembert.mechanisms.contact_joints import PlaneContact, RoundContact
from dalembert.mechanisms.couplings import Drive, Gear, PointOnCurve, PointOnSurface
from dalembert.mechanisms.extra_coordinates import ExtraCoordinates
from dalembert.mechanisms.forces import Drag, Force, Gravity, Torque
from dalembert.mechanisms.frames import Ground, Marker, ground
from dalembert.mechanisms.function_fields import function_field
from dalembert.mechanisms.joint import joints_with_parameters
from dalembert.mechanisms.joint_inertia import Rotor
from dalembert.mechanisms.joints import Prismatic, Revolute, Rod, Rope, Weld
from dalembert.mechanisms.massless_body import MasslessBody
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.particle import Particle
from dalembert.mechanisms.planar_body import PlanarBody
from dalembert.mechanisms.planar_rolling import KnifeEdge, RollingOnLine
from dalembert.mechanisms.profiles import Cam, RollingOnProfile
from dalembert.mechanisms.rolling import RollingBall, RollingDisc, RollingEllipsoid
from dalembert.mechanisms.rolling_on_round import RollingOnCircle, RollingOnCylinder, RollingOnSphere
from dalembert.mechanisms.spatial_body import Body
from dalembert.mechanisms.spatial_joints import Cylindrical, Planar, Screw, Spherical, Universal
from dalembert.mechanisms.springs import Spring, TorsionSpring
from dalembert.mechanisms.transmission import Transmission
from dalembert.model.declared_names import MOST_DECLARED
from dalembert.model.document import (
    BOOLEAN,
    EXPRESSION,
    NESTED,
    NUMBER,
    NUMBERS,
    SEVERAL,
    TEXT,
    DocumentEntry,
    FieldKind,
    Fields,
    Scope,
    read_expression,
    read_expressions,
    read_nested,
    read_object,
    read_several,
    write_expression,
    write_nested,
    write_object,
    write_several,
)
from dalembert.model.expression_work import ORDINARY_JOINT
from dalembert.model.law_document import LAW, read_by_coordinate, read_constraint
from dalembert.model.servo_document import read_actuators, read_servos, write_actuator
from dalembert.model.signal_document import write_signals
from dalembert.model.system_document import located, read_coordinates, read_names, written_parts


def _read_point(entry: DocumentEntry, scope: Scope) -> Any:
    """Return a point: the name of a body for its reference point, or an array of the name and the coordinates."""
    entries = entry.one_or_more()
    if not entries:
        raise entry.expected('the name of a body, or an array such as ["bar", 0.5, 0]')
    bodies = {"ground": ground, **scope.bodies}
    body = bodies[entries[0].text(list(bodies))]
    if len(entries) == 1:
        return body
    with entry.places():
        return body.at(*(scope.parsed(own).expression for own in entries[1:]))


def _write_point(marker: Any) -> Any:
    if not isinstance(marker, Marker):
        return marker.name
    if not any(marker.point) and not isinstance(marker.body, Ground):
        return marker.body.name
    return [marker.body.name, *(write_expression(own) for own in marker.point)]


def _read_joint(entry: DocumentEntry, scope: Scope) -> Any:
    return scope.joints[entry.text(list(scope.joints))]


def _read_limits(entry: DocumentEntry, scope: Scope) -> Any:
    """Return the least and the greatest position of a joint; the text "none" stands for no limit."""
    return tuple(None if own.value == "none" else scope.parsed(own).expression for own in entry.list())


def _write_limits(limits: Any) -> Any:
    return ["none" if own is None else write_expression(own) for own in limits]


def _write_inertia(inertia: Any) -> Any:
    if isinstance(inertia, sp.MatrixBase) and inertia.is_diagonal():
        return [write_expression(inertia[i, i]) for i in range(3)]
    return write_nested(inertia)


_INERTIA = FieldKind(read_nested, _write_inertia, "nested")
_VECTOR = FieldKind(read_expressions, write_nested, "vector")
_AT_POINT = FieldKind(_read_point, _write_point, "point")
_JOINT = FieldKind(_read_joint, lambda joint: joint.name, "text")
_TWO_LIMITS = FieldKind(_read_limits, _write_limits, "several")
_CURVE = function_field("`curve` of a joint", "x", "y", "z", least=2, several=True)
_SURFACE = function_field("`surface` of a joint", "x", "y", "z", least=3)
_PROFILE = function_field("`profile` of a joint", "s", several=True)
_RADIUS = function_field("`profile` of a cam", "s")
_PULL = function_field("`force` of a spring", "extension")
_ENERGY = function_field("`potential_energy` of a spring", "extension")
_TWIST = function_field("`torque` of a torsion spring", "deflection")
_TWIST_ENERGY = function_field("`potential_energy` of a torsion spring", "deflection")

BODIES: dict[str, tuple[Any, Fields]] = {
    "Particle": (Particle, {"name": TEXT, "mass": EXPRESSION, "position": NUMBERS, "velocity": NUMBERS}),
    "PlanarBody": (
        PlanarBody,
        {"name": TEXT, "mass": EXPRESSION, "inertia": EXPRESSION, "position": NUMBERS, "angle": NUMBER}
        | {"velocity": NUMBERS, "spin": NUMBER, "center": _VECTOR},
    ),
    "Body": (
        Body,
        {"name": TEXT, "mass": EXPRESSION, "inertia": _INERTIA, "position": NUMBERS, "orientation": NUMBERS}
        | {"velocity": NUMBERS, "spin": NUMBERS, "center": _VECTOR},
    ),
    "MasslessBody": (
        MasslessBody,
        {"name": TEXT, "position": NUMBERS, "orientation": NUMBERS, "velocity": NUMBERS, "spin": NUMBERS}
        | {"scale": NUMBERS},
    ),
}

_ENDS: Fields = {"name": TEXT, "first": _AT_POINT, "second": _AT_POINT}
_WITH_LAWS: Fields = {"nonideal": LAW}
_LIMITS: Fields = {"limits": _TWO_LIMITS, "restitution": EXPRESSION}
_ROUND: Fields = {"radius": EXPRESSION, "inside": BOOLEAN}
_IMPACTS: Fields = {"restitution": EXPRESSION, "impact": TEXT}
_DAMPED: Fields = {"stiffness": EXPRESSION, "damping": EXPRESSION}

JOINTS: dict[str, tuple[Any, Fields]] = {
    "Revolute": (Revolute, {**_ENDS, "axis": NESTED, "radius": EXPRESSION, **_LIMITS, **_WITH_LAWS}),
    "Prismatic": (Prismatic, {**_ENDS, "axis": NESTED, **_LIMITS, **_WITH_LAWS}),
    "Weld": (Weld, {**_ENDS, **_WITH_LAWS}),
    "Rod": (Rod, {**_ENDS, "length": EXPRESSION, **_WITH_LAWS}),
    "Rope": (Rope, {**_ENDS, "length": EXPRESSION, "restitution": EXPRESSION, **_WITH_LAWS}),
    "PlaneContact": (
        PlaneContact,
        {**_ENDS, "normal": NESTED, "radius": EXPRESSION, "axle": NESTED, "axes": NESTED, **_IMPACTS, **_WITH_LAWS},
    ),
    "RoundContact": (RoundContact, {**_ENDS, **_ROUND, "other": EXPRESSION, **_IMPACTS, **_WITH_LAWS}),
    "Spherical": (Spherical, {**_ENDS, **_WITH_LAWS}),
    "Cylindrical": (Cylindrical, {**_ENDS, "axis": NESTED, **_WITH_LAWS}),
    "Universal": (Universal, {**_ENDS, "axis": NESTED, **_WITH_LAWS}),
    "Planar": (Planar, {**_ENDS, "normal": NESTED, **_WITH_LAWS}),
    "Screw": (Screw, {**_ENDS, "axis": NESTED, "pitch": EXPRESSION, **_WITH_LAWS}),
    "Gear": (Gear, {**_ENDS, "ratio": EXPRESSION, "carrier": _AT_POINT, "axis": NESTED, **_WITH_LAWS}),
    "PointOnCurve": (PointOnCurve, {**_ENDS, "curve": _CURVE, **_WITH_LAWS}),
    "PointOnSurface": (PointOnSurface, {**_ENDS, "surface": _SURFACE, **_WITH_LAWS}),
    "Cam": (
        Cam,
        {**_ENDS, "profile": _RADIUS, "start": NUMBER, "radius": EXPRESSION, "face": NESTED, **_WITH_LAWS},
    ),
    "RollingOnProfile": (
        RollingOnProfile,
        {**_ENDS, "profile": _PROFILE, "start": NUMBER, "radius": EXPRESSION, "span": NUMBERS, **_WITH_LAWS},
    ),
    "RollingOnCircle": (RollingOnCircle, {**_ENDS, **_ROUND, "circle": EXPRESSION, **_WITH_LAWS}),
    "RollingOnSphere": (RollingOnSphere, {**_ENDS, **_ROUND, "sphere": EXPRESSION, **_WITH_LAWS}),
    "RollingOnCylinder": (
        RollingOnCylinder,
        {**_ENDS, **_ROUND, "cylinder": EXPRESSION, "axis": NESTED, **_WITH_LAWS},
    ),
    "RollingOnLine": (RollingOnLine, {**_ENDS, "radius": EXPRESSION, "along": NESTED, **_WITH_LAWS}),
    "KnifeEdge": (KnifeEdge, {**_ENDS, "sideways": NESTED, **_WITH_LAWS}),
    "RollingBall": (RollingBall, {**_ENDS, "normal": NESTED, "radius": EXPRESSION, **_WITH_LAWS}),
    "RollingDisc": (
        RollingDisc,
        {**_ENDS, "normal": NESTED, "radius": EXPRESSION, "axle": NESTED, **_WITH_LAWS},
    ),
    "RollingEllipsoid": (RollingEllipsoid, {**_ENDS, "normal": NESTED, "axes": NESTED, **_WITH_LAWS}),
    "Drive": (Drive, {"name": TEXT, "joint": _JOINT, "motion": EXPRESSION}),
    "Transmission": (Transmission, {"name": TEXT, "driving": _JOINT, "driven": _JOINT, "coefficients": SEVERAL}),
}

FORCES: dict[str, tuple[Any, Fields]] = {
    "Gravity": (Gravity, {"acceleration": _VECTOR, "name": TEXT}),
    "Force": (Force, {"at": _AT_POINT, "force": _VECTOR, "axes": TEXT, "name": TEXT}),
    "Torque": (Torque, {"body": _AT_POINT, "torque": NESTED, "against": _AT_POINT, "axes": TEXT, "name": TEXT}),
    "Spring": (
        Spring,
        {"first": _AT_POINT, "second": _AT_POINT, **_DAMPED, "length": EXPRESSION}
        | {"force": _PULL, "potential_energy": _ENERGY, "name": TEXT},
    ),
    "TorsionSpring": (
        TorsionSpring,
        {"joint": _JOINT, **_DAMPED, "angle": EXPRESSION, "torque": _TWIST, "potential_energy": _TWIST_ENERGY}
        | {"name": TEXT},
    ),
    "Rotor": (Rotor, {"joint": _JOINT, "inertia": EXPRESSION, "damping": EXPRESSION, "name": TEXT}),
    "Drag": (Drag, {"at": _AT_POINT, "linear": EXPRESSION, "quadratic": EXPRESSION, "name": TEXT}),
}

ENERGIES = ("kinetic", "potential")
"""Energies of extra coordinates."""

EXTRA_KEYS = ("name", "coordinates", *ENERGIES, "force", "start", "rates", "determined_by")
"""Keys of a table of extra coordinates."""

MECHANISM_KEYS = ("bodies", "extra_coordinates", "joints", "forces", "constraints", "actuators", "servos")
"""Keys of a document that describe a mechanism."""


def read_mechanism(document: DocumentEntry, scope: Scope) -> Mechanism:
    """Return the mechanism of a document; the scope receives its names."""
    table = document.table(required=("bodies",))
    read_names({key: table[key] for key in ("parameters", "signals") if key in table}, scope)
    bodies = _read_parts(table["bodies"], scope, BODIES, scope.bodies)
    coordinates = {q.func.__name__: q for body in bodies for q in body.coordinates}
    clash = sorted(set(coordinates) & set(scope.names))
    if clash:
        raise document.error(f"a parameter must not have the name of a coordinate; got `{clash[0]}`.")
    scope.names.update(coordinates)
    names = _declare_extra_coordinates(table, scope)
    read_names({key: table[key] for key in ("definitions",) if key in table}, scope)
    extras = [_read_extra(own, scope, name) for own, name in names]
    joints = _read_parts(table["joints"], scope, JOINTS, scope.joints) if "joints" in table else []
    own = [
        (extra.names, extra.coordinates)
        for joint in joints_with_parameters(joints)
        if (extra := joint.contact_parameter)
    ]
    scope.names.update({name: q for names, found in own for name, q in zip(names, found, strict=True)})
    forces = [read_object(own, scope, FORCES) for own in table["forces"].list()] if "forces" in table else []
    constraints = [read_constraint(own, scope) for own in table["constraints"].list()] if "constraints" in table else []
    actuators = read_actuators(table["actuators"], scope) if "actuators" in table else {}
    servos = read_servos(table["servos"], scope, actuators) if "servos" in table else ()
    with located(document):
        used = {actuator for servo in servos for actuator in servo.by or ()}
        others = tuple(actuator for actuator in actuators.values() if actuator not in used)
        mechanism = Mechanism(bodies, joints, forces, constraints, servos, extras, others)
        mechanism.system  # noqa: B018  (built here, so that its problems are those of the file)
    if "joints" in table:
        _require_derivable(mechanism, table["joints"])
    return mechanism


def _require_derivable(mechanism: Mechanism, joints: DocumentEntry) -> None:
    """Raise an error at a joint with a function of the file that has too large derivatives."""
    for joint, entry in zip(mechanism.joints, joints.list(), strict=True):
        for constraint in joint.constraints:
            problem = entry.budget.taken_to_derive(constraint.expression, without=ORDINARY_JOINT)
            if problem:
                raise entry.error(problem)


def _declare_extra_coordinates(table: Any, scope: Scope) -> list[tuple[DocumentEntry, tuple[Any, ...]]]:
    """Make extra coordinates known to all expressions; return each entry with its coordinates."""
    found: list[tuple[DocumentEntry, tuple[Any, ...]]] = []
    for own in table["extra_coordinates"].list() if "extra_coordinates" in table else ():
        names = own.table(EXTRA_KEYS, required=("name", "coordinates"))["coordinates"]
        with own.places():
            found.append((own, read_coordinates(names, scope)))
    return found


def _read_extra(entry: DocumentEntry, scope: Scope, coordinates: tuple[Any, ...]) -> ExtraCoordinates:
    table = entry.table()
    values: dict[str, Any] = {key: read_expression(table[key], scope) for key in ENERGIES if key in table}
    values |= {key: table[key].numbers() for key in ("start", "rates") if key in table}
    if "determined_by" in table:
        values["determined_by"] = read_several(table["determined_by"], scope)
    if "force" in table:
        values["force"] = read_by_coordinate(table["force"], scope)
    with entry.places():
        return ExtraCoordinates(table["name"].text(), coordinates, **values)


def _write_extra(extra: ExtraCoordinates) -> dict[str, Any]:
    document: dict[str, Any] = {"name": extra.name, "coordinates": list(extra.names)}
    document |= {key: write_expression(getattr(extra, key)) for key in ENERGIES if getattr(extra, key) != 0}
    document |= {"force": [write_expression(own) for own in extra.force]} if any(extra.force) else {}
    document |= {"determined_by": write_several(extra.determined_by)} if extra.determined_by else {}
    return document | {key: list(getattr(extra, key)) for key in ("start", "rates") if any(getattr(extra, key))}


def _read_parts(entry: DocumentEntry, scope: Scope, kinds: Any, known: dict[str, Any]) -> list[Any]:
    """Return bodies or joints, and make them known by name to the entries that follow."""
    entries = entry.list()
    if len(entries) > MOST_DECLARED:
        raise entry.error(f"{entry.label} must be at most {MOST_DECLARED}; got {len(entries)}.")
    for own in entries:
        part = read_object(own, scope, kinds)
        if part.name in known or part.name == "ground":
            raise own.error(f"{entry.label} must differ in name, and none be `ground`; given twice: `{part.name}`.")
        known[part.name] = part
    return list(known.values())


def mechanism_document(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism as a document."""
    document: dict[str, Any] = {"bodies": _written(mechanism.bodies, BODIES)}
    extras = [_write_extra(extra) for extra in mechanism.extra_coordinates]
    document |= {"extra_coordinates": extras} if extras else {}
    document |= {"joints": _written(mechanism.joints, JOINTS)} if mechanism.joints else {}
    document |= {"forces": _written(mechanism.forces, FORCES)} if mechanism.forces else {}
    signals = mechanism.system.signals
    document |= {"signals": write_signals(signals)} if signals else {}
    parts = written_parts(mechanism.constraints, mechanism.servos)
    used = {actuator for servo in mechanism.servos for actuator in servo.by or ()}
    others = [write_actuator(actuator) for actuator in mechanism.actuators if actuator not in used]
    return document | parts | ({"actuators": [*parts.get("actuators", []), *others]} if others else {})


def _written(parts: Sequence[Any], kinds: Any) -> list[dict[str, Any]]:
    return [write_object(part, kinds) for part in parts]
