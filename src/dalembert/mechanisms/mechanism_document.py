# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms as documents: bodies, joints and forces as entries of TOML files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.couplings import Drive, Gear, PointOnCurve
from dalembert.mechanisms.forces import Drag, Force, Gravity, Spring, Torque, TorsionSpring
from dalembert.mechanisms.frames import Ground, Marker, ground
from dalembert.mechanisms.joint_inertia import Rotor
from dalembert.mechanisms.joints import Prismatic, Revolute, Rod, Weld
from dalembert.mechanisms.massless_body import MasslessBody
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.particle import Particle
from dalembert.mechanisms.planar_body import PlanarBody
from dalembert.mechanisms.rolling import KnifeEdge, RollingBall, RollingDisc, RollingEllipsoid, RollingOnLine
from dalembert.mechanisms.spatial_body import Body
from dalembert.mechanisms.spatial_joints import Cylindrical, Spherical, Universal
from dalembert.mechanisms.transmission import Transmission
from dalembert.model import graph
from dalembert.model.document import (
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
    read_expressions,
    read_nested,
    read_object,
    write_expression,
    write_nested,
    write_object,
)
from dalembert.model.expression_text import expression_text
from dalembert.model.law_document import LAW, read_constraint
from dalembert.model.servo_document import read_actuators, read_servos, write_actuator
from dalembert.model.system_document import located, read_names, written_parts

CURVE_AXES = ("x", "y", "z")
"""Names of the coordinates of a point in the equation of a curve."""


@dataclass(frozen=True)
class CurveExpression:
    """The equation of a curve or surface as a function of the coordinates of a point."""

    expression: Any

    def __call__(self, *point: Any) -> Any:
        return graph.replace(self.expression, {_axis(name): own for name, own in zip(CURVE_AXES, point, strict=False)})


def _axis(name: str) -> sp.Symbol:
    return sp.Dummy(name, dummy_index=CURVE_AXES.index(name) + 1)  # pyright: ignore  (differs from every parameter)


def _read_curve(entry: DocumentEntry, scope: Scope) -> CurveExpression:
    """Return the equation of a curve, in which x, y and z are coordinates of the point."""
    names = {**scope.names, **{name: _axis(name) for name in CURVE_AXES}}
    return CurveExpression(replace(scope, names=names).parsed(entry).expression)


def _write_curve(curve: Any) -> str:
    """Return the equation of a curve in x, y and, for a surface, z."""
    points = [_axis(name) for name in CURVE_AXES]
    for count in (2, 3):
        try:
            expression = curve(*points[:count])
        except TypeError:
            continue
        clash = {s.name for s in graph.free_symbols(expression) if s not in points} & {*CURVE_AXES}
        if not clash:
            return expression_text(expression)
        raise ModelError([f"the `curve` of a joint in a file must not use a parameter `{clash.pop()}`: rename it."])
    raise ModelError(["the `curve` of a joint in a file must be a function of two or three coordinates; it is not."])


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


def _write_inertia(inertia: Any) -> Any:
    if isinstance(inertia, sp.MatrixBase) and inertia.is_diagonal():
        return [write_expression(inertia[i, i]) for i in range(3)]
    return write_nested(inertia)


_INERTIA = FieldKind(read_nested, _write_inertia, "nested")
_VECTOR = FieldKind(read_expressions, write_nested, "vector")
_AT_POINT = FieldKind(_read_point, _write_point, "point")
_JOINT = FieldKind(_read_joint, lambda joint: joint.name, "text")
_CURVE = FieldKind(_read_curve, _write_curve, "expression")

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

JOINTS: dict[str, tuple[Any, Fields]] = {
    "Revolute": (Revolute, {**_ENDS, "axis": NESTED, "radius": EXPRESSION, **_WITH_LAWS}),
    "Prismatic": (Prismatic, {**_ENDS, "axis": NESTED, **_WITH_LAWS}),
    "Weld": (Weld, {**_ENDS, **_WITH_LAWS}),
    "Rod": (Rod, {**_ENDS, "length": EXPRESSION, **_WITH_LAWS}),
    "Spherical": (Spherical, {**_ENDS, **_WITH_LAWS}),
    "Cylindrical": (Cylindrical, {**_ENDS, "axis": NESTED, **_WITH_LAWS}),
    "Universal": (Universal, {**_ENDS, "axis": NESTED, **_WITH_LAWS}),
    "Gear": (Gear, {**_ENDS, "ratio": EXPRESSION, "carrier": _AT_POINT, "axis": NESTED, **_WITH_LAWS}),
    "PointOnCurve": (PointOnCurve, {**_ENDS, "curve": _CURVE, **_WITH_LAWS}),
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
    "Gravity": (Gravity, {"acceleration": _VECTOR}),
    "Force": (Force, {"at": _AT_POINT, "force": _VECTOR, "axes": TEXT}),
    "Torque": (Torque, {"body": _AT_POINT, "torque": NESTED, "against": _AT_POINT, "axes": TEXT}),
    "Spring": (
        Spring,
        {
            "first": _AT_POINT,
            "second": _AT_POINT,
            "stiffness": EXPRESSION,
            "length": EXPRESSION,
            "damping": EXPRESSION,
        },
    ),
    "TorsionSpring": (
        TorsionSpring,
        {"joint": _JOINT, "stiffness": EXPRESSION, "angle": EXPRESSION, "damping": EXPRESSION},
    ),
    "Rotor": (Rotor, {"joint": _JOINT, "inertia": EXPRESSION, "damping": EXPRESSION}),
    "Drag": (Drag, {"at": _AT_POINT, "linear": EXPRESSION, "quadratic": EXPRESSION}),
}

MECHANISM_KEYS = ("bodies", "joints", "forces", "constraints", "actuators", "servos")
"""Keys of a document that describe a mechanism."""


def read_mechanism(document: DocumentEntry, scope: Scope) -> Mechanism:
    """Return the mechanism of a document; the scope receives its names."""
    table = document.table(required=("bodies",))
    read_names({key: table[key] for key in ("parameters",) if key in table}, scope)
    bodies = _read_parts(table["bodies"], scope, BODIES, scope.bodies)
    coordinates = {q.func.__name__: q for body in bodies for q in body.coordinates}
    clash = sorted(set(coordinates) & set(scope.names))
    if clash:
        raise document.error(f"a parameter must not have the name of a coordinate; got `{clash[0]}`.")
    scope.names.update(coordinates)
    read_names({key: table[key] for key in ("definitions",) if key in table}, scope)
    joints = _read_parts(table["joints"], scope, JOINTS, scope.joints) if "joints" in table else []
    forces = [read_object(own, scope, FORCES) for own in table["forces"].list()] if "forces" in table else []
    constraints = [read_constraint(own, scope) for own in table["constraints"].list()] if "constraints" in table else []
    actuators = read_actuators(table["actuators"], scope) if "actuators" in table else {}
    servos = read_servos(table["servos"], scope, actuators) if "servos" in table else ()
    with located(document):
        used = {actuator for servo in servos for actuator in servo.by or ()}
        others = tuple(actuator for actuator in actuators.values() if actuator not in used)
        mechanism = Mechanism(bodies, joints, forces, constraints, servos, others)
        mechanism.system  # noqa: B018  (built here, so that its problems are those of the file)
        return mechanism


def _read_parts(entry: DocumentEntry, scope: Scope, kinds: Any, known: dict[str, Any]) -> list[Any]:
    """Return bodies or joints, and make them known by name to the entries that follow."""
    for own in entry.list():
        part = read_object(own, scope, kinds)
        if part.name in known or part.name == "ground":
            raise own.error(f"{entry.label} must differ in name, and none be `ground`; given twice: `{part.name}`.")
        known[part.name] = part
    return list(known.values())


def mechanism_document(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism as a document."""
    document: dict[str, Any] = {"bodies": _written(mechanism.bodies, BODIES)}
    document |= {"joints": _written(mechanism.joints, JOINTS)} if mechanism.joints else {}
    document |= {"forces": _written(mechanism.forces, FORCES)} if mechanism.forces else {}
    parts = written_parts(mechanism.constraints, mechanism.servos)
    used = {actuator for servo in mechanism.servos for actuator in servo.by or ()}
    others = [write_actuator(actuator) for actuator in mechanism.actuators if actuator not in used]
    return document | parts | ({"actuators": [*parts.get("actuators", []), *others]} if others else {})


def _written(parts: Sequence[Any], kinds: Any) -> list[dict[str, Any]]:
    return [write_object(part, kinds) for part in parts]
