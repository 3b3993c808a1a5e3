# SPDX-License-Identifier: BSD-3-Clause
"""Exudyn: bodies and joints in redundant coordinates by the generalised-α method of index 2; a tree by DOPRI5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import exudyn as exu
import exudyn.itemInterface as eii
import numpy as np
from exudyn.utilities import RigidBodyInertia

from benchmarks.peers.planar import GROUND, Planar, planar
from benchmarks.peers.problems import DISC_MASS, DISC_RADIUS, DISC_START, G, Problem, disc_axes

PACKAGES = ("exudyn",)
COUNTS = (500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
RTOLS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
Outcome = Callable[[], np.ndarray]


def runs(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    if problem.velocity:
        build: Any = _disc
    else:
        mechanism = planar(problem)
        if not mechanism.loops:
            return {f"tree, DOPRI5 rtol={r:.0e}": lambda r=r: _explicit(problem, mechanism, r) for r in RTOLS}

        def build(mbs: Any) -> Outcome:
            return _links(mbs, mechanism)

    return {f"generalised α h={problem.end / c:.2g}": lambda c=c: _implicit(problem, build, c) for c in COUNTS}


def _implicit(problem: Problem, build: Any, count: int) -> np.ndarray:
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    seen = build(mbs)
    mbs.Assemble()
    settings = _settings(problem, count)
    alpha = settings.timeIntegration.generalizedAlpha
    alpha.useIndex2Constraints = alpha.useNewmark = alpha.computeInitialAccelerations = True
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.newton.relativeTolerance = 1e-10
    _solve(mbs, settings, exu.DynamicSolverType.GeneralizedAlpha)
    return seen()


def _explicit(problem: Problem, mechanism: Planar, rtol: float) -> np.ndarray:
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    node = _tree(mbs, mechanism)
    mbs.Assemble()
    settings = _settings(problem, 1000)
    settings.timeIntegration.automaticStepSize = True
    settings.timeIntegration.relativeTolerance, settings.timeIntegration.absoluteTolerance = rtol, rtol / 100
    settings.timeIntegration.minimumStepSize = 1e-10
    settings.timeIntegration.initialStepSize = 1e-3
    settings.timeIntegration.numberOfSteps = 1
    _solve(mbs, settings, exu.DynamicSolverType.DOPRI5)
    return mechanism.seen(mbs.GetNodeOutput(node, exu.OutputVariableType.Coordinates))


def _settings(problem: Problem, count: int) -> Any:
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = count, problem.end
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWriteInterval = problem.end
    settings.linearSolverType = exu.LinearSolverType.EigenSparse if len(problem.q) > 20 else settings.linearSolverType
    return settings


def _solve(mbs: Any, settings: Any, method: Any) -> None:
    if not mbs.SolveDynamic(settings, solverType=method, showHints=False, showCausingItems=False):
        raise RuntimeError("did not reach the end")


def _links(mbs: Any, mechanism: Planar) -> Outcome:
    """Bodies by their centres of mass, hinges between points of them."""
    ground = mbs.AddObject(eii.ObjectGround())
    angles, rates = (mechanism.absolute(x) for x in mechanism.start)
    centres: list[tuple[np.ndarray, np.ndarray]] = []
    hinges: list[tuple[np.ndarray, np.ndarray]] = []
    bodies, nodes = [], []
    for k, link in enumerate(mechanism.links):
        if link.parent == GROUND:
            place, speed = np.array(link.at), np.zeros(2)
        else:
            turned, moved = _turned(link.at, angles[link.parent], rates[link.parent])
            place, speed = hinges[link.parent][0] + turned, hinges[link.parent][1] + moved
        hinges.append((place, speed))
        turned, moved = _turned(link.com, angles[k], rates[k])
        centres.append((place + turned, speed + moved))
        nodes.append(
            mbs.AddNode(
                eii.NodeRigidBody2D(
                    referenceCoordinates=[*centres[k][0], angles[k]], initialVelocities=[*centres[k][1], rates[k]]
                )
            )
        )
        body = eii.ObjectRigidBody2D(physicsMass=link.mass, physicsInertia=link.inertia, nodeNumber=nodes[k])
        bodies.append(mbs.AddObject(body))
        _hang(mbs, nodes[k], bodies[k], link.mass * mechanism.gravity)

    def marker(link: int, at: Any) -> int:
        if link == GROUND:
            return mbs.AddMarker(eii.MarkerBodyPosition(bodyNumber=ground, localPosition=[*at, 0]))
        own = np.subtract(at, mechanism.links[link].com)
        return mbs.AddMarker(eii.MarkerBodyPosition(bodyNumber=bodies[link], localPosition=[*own, 0]))

    for k, link in enumerate(mechanism.links):
        ends = [marker(link.parent, link.at), marker(k, (0.0, 0.0))]
        mbs.AddObject(eii.ObjectJointRevolute2D(markerNumbers=ends))
    for loop in mechanism.loops:
        ends = [marker(loop.first, loop.at_first), marker(loop.second, loop.at_second)]
        mbs.AddObject(eii.ObjectJointRevolute2D(markerNumbers=ends))
    spring = mechanism.spring
    if spring is not None:
        ends = [marker(GROUND, spring.anchor), marker(spring.link, spring.at)]
        mbs.AddObject(
            eii.ObjectConnectorSpringDamper(
                markerNumbers=ends, stiffness=spring.stiffness, damping=0, referenceLength=spring.length
            )
        )
    if mechanism.torque:
        turning = mbs.AddMarker(eii.MarkerNodeRotationCoordinate(nodeNumber=nodes[0], rotationCoordinate=2))
        mbs.AddLoad(eii.LoadCoordinate(markerNumber=turning, load=mechanism.torque))

    def seen() -> np.ndarray:
        turned = [mbs.GetNodeOutput(node, exu.OutputVariableType.Coordinates)[2] for node in nodes]
        return mechanism.seen(mechanism.relative(angles + np.array(turned)))

    return seen


def _hang(mbs: Any, node: int, body: int, weight: float) -> None:
    if weight:
        mass = mbs.AddMarker(eii.MarkerNodePosition(nodeNumber=node))
        mbs.AddLoad(eii.LoadForceVector(markerNumber=mass, loadVector=[0, -weight, 0]))


def _turned(at: Any, angle: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """A point of a body from its hinge, and how it moves."""
    c, s = np.cos(angle), np.sin(angle)
    x, y = c * at[0] - s * at[1], s * at[0] + c * at[1]
    return np.array([x, y]), rate * np.array([-y, x])


def _tree(mbs: Any, mechanism: Planar) -> int:
    """Minimal coordinates."""
    count = len(mechanism.links)
    angles, rates = mechanism.start
    node = mbs.AddNode(
        eii.NodeGenericODE2(
            referenceCoordinates=[0.0] * count,
            initialCoordinates=list(angles),
            initialCoordinates_t=list(rates),
            numberOfODE2Coordinates=count,
        )
    )
    mbs.AddObject(
        eii.ObjectKinematicTree(
            nodeNumber=node,
            jointTypes=[exu.JointType.RevoluteZ] * count,
            linkParents=[link.parent for link in mechanism.links],
            jointTransformations=exu.Matrix3DList([np.eye(3)] * count),
            jointOffsets=exu.Vector3DList([[*link.at, 0] for link in mechanism.links]),
            linkInertiasCOM=exu.Matrix3DList([link.inertia * np.eye(3) for link in mechanism.links]),
            linkCOMs=exu.Vector3DList([[*link.com, 0] for link in mechanism.links]),
            linkMasses=[link.mass for link in mechanism.links],
            gravity=[0, -mechanism.gravity, 0],
            baseOffset=[0.0, 0.0, 0.0],
        )
    )
    return node


def _disc(mbs: Any) -> Outcome:
    """A rigid body with quaternions, its axle along y, on a rolling joint."""
    (yaw, lean, _), spin = DISC_START
    ahead, aside, up = axes = np.array(disc_axes(yaw, lean, np))
    third = DISC_MASS * DISC_RADIUS**2 / 4
    ground = mbs.AddObject(eii.ObjectGround())
    body = mbs.CreateRigidBody(
        inertia=RigidBodyInertia(mass=DISC_MASS, inertiaTensor=np.diag([third, 2 * third, third])),
        nodeType=exu.NodeType.RotationEulerParameters,
        referencePosition=DISC_RADIUS * up,
        referenceRotationMatrix=axes.T,
        initialVelocity=DISC_RADIUS * (spin[1] * ahead - spin[0] * aside),
        initialAngularVelocity=axes.T @ spin,
        gravity=[0, 0, -G],
    )
    below = mbs.AddMarker(eii.MarkerBodyRigid(bodyNumber=ground, localPosition=[0, 0, 0]))
    centre = mbs.AddMarker(eii.MarkerBodyRigid(bodyNumber=body, localPosition=[0, 0, 0]))
    mbs.AddObject(
        eii.ObjectJointRollingDisc(
            markerNumbers=[below, centre], discRadius=DISC_RADIUS, discAxis=[0, 1, 0], planeNormal=[0, 0, 1]
        )
    )

    def seen() -> np.ndarray:
        place = mbs.GetObjectOutputBody(body, exu.OutputVariableType.Position, [0, 0, 0])
        turned = mbs.GetObjectOutputBody(body, exu.OutputVariableType.RotationMatrix, [0, 0, 0])
        return np.array([*place, *np.reshape(turned, (3, 3))[:, 1]])

    return seen
