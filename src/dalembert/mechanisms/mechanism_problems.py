# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the parts of a mechanism against one another."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dalembert.errors import ModelError
from dalembert.mechanisms.couplings import Drive
from dalembert.mechanisms.forces import Gravity
from dalembert.mechanisms.frames import Ground
from dalembert.mechanisms.joint import Joint
from dalembert.mechanisms.mechanism_system import extra_coordinates_of
from dalembert.mechanisms.motors import motor_problems, motors, on_joints
from dalembert.mechanisms.transmission import Transmission
from dalembert.model.force_parts import REST
from dalembert.model.ordering import quoted


def mechanism_problems(mechanism: Any) -> list[str]:
    """Return the problems of a mechanism as sentences."""
    if not mechanism.bodies:
        return ["`bodies` must hold at least one body."]
    problems: list[str] = []
    for noun, parts in (("body", mechanism.bodies), ("joint", mechanism.joints)):
        duplicates = [name for name, count in Counter(part.name for part in parts).items() if count > 1]
        plural = {"body": "bodies", "joint": "joints"}[noun]
        problems += [f"{plural} must differ in name; given twice: {quoted(duplicates)}."] if duplicates else []
    problems += _force_names(mechanism.forces)
    names = [f"{letter}_{body.name}" for body in mechanism.bodies for letter in body.letters]
    names += [name for extra in extra_coordinates_of(mechanism) for name in extra.names]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated and not problems:  # bodies of one name have been reported
        problems.append(f"coordinates must differ in name; given twice: {quoted(repeated)}.")
    if len({body.dimension for body in mechanism.bodies}) > 1:
        problems.append("bodies must be all in the plane or all in space; got some of each.")
    attached = [(f"joint `{joint.name}`", joint.markers) for joint in mechanism.joints]
    attached += [(f"a {type(force).__name__}", force.markers) for force in mechanism.forces]
    known = {body.name: body for body in mechanism.bodies}
    for what, markers in attached:
        invalid = [m.body.name for m in markers if not isinstance(m.body, Ground) and known.get(m.body.name) != m.body]
        if invalid:
            problems.append(f"{what} must be of bodies of the mechanism; {quoted(invalid)} is not among its `bodies`.")
    for force in mechanism.forces:
        given = {len(force.acceleration)} if isinstance(force, Gravity) else {m.dimension for m in force.markers}
        if given != {mechanism.dimension}:
            problems.append(
                f"a {type(force).__name__} must have {mechanism.dimension} components, as the bodies have. Correct "
                "`forces`."
            )
    for joint in mechanism.joints:
        if joint.dimension != mechanism.dimension:
            problems.append(
                f"joint `{joint.name}` must have points of {mechanism.dimension} coordinates, as the bodies have."
            )
        problems += _law_problems(joint)
        for driven in _related(joint):
            if driven not in mechanism.joints:
                kind = type(joint).__name__.lower()
                problems.append(
                    f"{kind} `{joint.name}` must drive a joint of the mechanism; `{driven.name}` is not among its "
                    f"`joints`."
                )
    given = on_joints((*motors(mechanism.servos), *mechanism.actuators))
    return problems + motor_problems(given, mechanism.joints)


def _force_names(forces: Any) -> list[str]:
    """Return the problems with the names of forces, which need none."""
    given = [force.name for force in forces if force.name is not None]
    invalid = [name for name in given if not isinstance(name, str) or not name or name == REST]
    problems = [f"the name of a force must be a text, and not `{REST}`; got {name!r}." for name in invalid]
    duplicates = [name for name in dict.fromkeys(map(str, given)) if given.count(name) > 1]
    return [*problems, *([f"forces must differ in name; given twice: {quoted(duplicates)}."] if duplicates else [])]


def _related(joint: Any) -> tuple[Any, ...]:
    """Return the joints whose motion a drive or a transmission prescribes."""
    if isinstance(joint, Drive):
        return (joint.joint,)
    return (joint.driving, joint.driven) if isinstance(joint, Transmission) else ()


def _law_problems(joint: Any) -> list[str]:
    """Return the problems of the laws of a joint; drives have none."""
    if not isinstance(joint, Joint) or not joint.nonideal:
        return []
    try:
        joint.laws  # noqa: B018  (found here, so that a mechanism with an incomplete law is never made)
    except ModelError as error:
        return list(error.problems)
    return []
