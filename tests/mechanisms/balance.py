"""Newton's and Euler's laws for every body of a mechanism: reactions without multipliers."""

import numpy as np

import dalembert as da
from dalembert.mechanisms.frames import Ground
from dalembert.mechanisms.vectors import half_turning


def imbalance(mechanism, run, gravity):
    """The largest force and torque about the centre of mass, over bodies and times, that reactions do not balance."""
    reactions = mechanism.reactions(run)
    names, worst = list(mechanism.system.coordinates), 0.0
    for body in mechanism.bodies:
        mine = [names.index(c) for c in body.coordinates]
        q, qd, qdd = run.q[:, mine], run.qd[:, mine], run.acceleration[:, mine]
        force, torque = _needed(body, q, qd, qdd, np.asarray(gravity, float))
        center = body.place_along(q, body.center_of_mass.point)
        for name, markers in _attached(mechanism):
            for marker, sign in zip(markers[:2], (-1, 1), strict=True):
                if marker.body == body:
                    given = reactions[name]
                    at = markers[1]
                    force = force - sign * given.force
                    torque = torque - sign * (given.torque + _moment(_place(mechanism, run, at) - center, given.force))
        worst = max(worst, np.abs(force).max(), np.abs(torque).max())
    return worst


def _attached(mechanism):
    """Names and points of joints and motors."""
    actuators = {actuator for servo in mechanism.servos for actuator in servo.by}
    return [
        *((joint.name, joint.markers) for joint in mechanism.joints),
        *((actuator.name, actuator.along.markers) for actuator in actuators),
    ]


def _needed(body, q, qd, qdd, gravity):
    """m (a − g) of the centre of mass, and the rate of the angular momentum about it."""
    axes, c = body.axes_along(q), np.asarray(body.center_of_mass.point, float).ravel()
    if isinstance(body, da.Body):
        H, bend = np.asarray(half_turning(q[:, 3:].T)), qdd[:, 3:]
        w = 2 * np.einsum("ijt,tj->ti", H, qd[:, 3:])
        wd = 2 * np.einsum("ijt,tj->ti", H, bend)
        a = qdd[:, :3] + np.einsum("tij,tj->ti", axes, np.cross(wd, c) + np.cross(w, np.cross(w, c)))
        J = np.array(body.inertia, float)
        return float(body.mass) * (a - gravity), np.einsum("tij,tj->ti", axes, wd @ J + np.cross(w, w @ J))
    arm = axes @ c
    if isinstance(body, da.PlanarBody):
        a = qdd[:, :2] + qdd[:, 2:] * np.stack([-arm[:, 1], arm[:, 0]], 1) - qd[:, 2:] ** 2 * arm
        return float(body.mass) * (a - gravity), float(body.inertia) * qdd[:, 2]
    return float(body.mass) * (qdd - gravity), np.zeros((len(q), 3) if body.dimension == 3 else len(q))


def _place(mechanism, run, marker):
    if isinstance(marker.body, Ground):
        return np.asarray(marker.point, float).ravel()
    names = list(mechanism.system.coordinates)
    return marker.body.place_along(run.q[:, [names.index(c) for c in marker.body.coordinates]], marker.point)


def _moment(arm, force):
    if force.shape[1] == 3:
        return np.cross(arm, force)
    return arm[:, 0] * force[:, 1] - arm[:, 1] * force[:, 0]
