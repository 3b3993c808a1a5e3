# SPDX-License-Identifier: BSD-3-Clause
"""Exudyn: bodies and joints in redundant coordinates by the generalised-α method of index 2; a tree by DOPRI5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import exudyn as exu
import numpy as np
from exudyn import itemInterface as item  # noqa: N813
from exudyn.utilities import RigidBodyInertia

from benchmarks.peers.planar import GROUND, Planar, planar
from benchmarks.peers.problems import DISC_MASS, DISC_RADIUS, DISC_START, G, Problem, disc_axes

PACKAGES = ("exudyn",)
COUNTS = (500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
RTOLS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
Outcome = Callable[[], np.ndarray]


def runs(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    if problem.velocity:
        seen = _disc(mbs)
    else:
        mechanism = planar(problem)
        seen = _links(mbs, mechanism) if mechanism.loops else _tree(mbs, mechanism)
    mbs.Assemble()

    def run(settings: Any, method: Any) -> np.ndarray:
        """Each time from the start, which the container it is in keeps."""
        if not (container and mbs.SolveDynamic(settings, solverType=method, showHints=False, showCausingItems=False)):
            raise RuntimeError("did not reach the end")
        return seen()

    if not problem.velocity and not mechanism.loops:
        explicit = exu.DynamicSolverType.DOPRI5
        return {f"tree, DOPRI5 rtol={r:.0e}": lambda r=r: run(_adaptive(problem, r), explicit) for r in RTOLS}
    implicit = exu.DynamicSolverType.GeneralizedAlpha
    return {f"generalised α h={problem.end / c:.2g}": lambda c=c: run(_fixed(problem, c), implicit) for c in COUNTS}


def _fixed(problem: Problem, count: int) -> Any:
    settings = _settings(problem, count)
    alpha = settings.timeIntegration.generalizedAlpha
    alpha.useIndex2Constraints = alpha.useNewmark = alpha.computeInitialAccelerations = True
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.newton.relativeTolerance = 1e-10
    return settings


def _adaptive(problem: Problem, rtol: float) -> Any:
    settings = _settings(problem, 1)
    steps = settings.timeIntegration
    steps.automaticStepSize, steps.initialStepSize, steps.minimumStepSize = True, 1e-3, 1e-10
    steps.relativeTolerance, steps.absoluteTolerance = rtol, rtol / 100
    return settings


def _settings(problem: Problem, count: int) -> Any:
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = count, problem.end
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    settings.linearSolverType = exu.LinearSolverType.EigenSparse if len(problem.q) > 20 else settings.linearSolverType
    return settings


def _links(mbs: Any, mechanism: Planar) -> Outcome:
    """Bodies by their centres of mass, hinges between points of them."""
    ground = mbs.AddObject(item.ObjectGround())
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
                item.NodeRigidBody2D(
                    referenceCoordinates=[*centres[k][0], angles[k]], initialVelocities=[*centres[k][1], rates[k]]
                )
            )
        )
        body = item.ObjectRigidBody2D(physicsMass=link.mass, physicsInertia=link.inertia, nodeNumber=nodes[k])
        bodies.append(mbs.AddObject(body))
        _hang(mbs, nodes[k], bodies[k], link.mass * mechanism.gravity)

    def marker(link: int, at: Any) -> int:
        if link == GROUND:
            return mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=ground, localPosition=[*at, 0]))
        own = np.subtract(at, mechanism.links[link].com)
        return mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=bodies[link], localPosition=[*own, 0]))

    for k, link in enumerate(mechanism.links):
        ends = [marker(link.parent, link.at), marker(k, (0.0, 0.0))]
        mbs.AddObject(item.ObjectJointRevolute2D(markerNumbers=ends))
    for loop in mechanism.loops:
        ends = [marker(loop.first, loop.at_first), marker(loop.second, loop.at_second)]
        mbs.AddObject(item.ObjectJointRevolute2D(markerNumbers=ends))
    spring = mechanism.spring
    if spring is not None:
        ends = [marker(GROUND, spring.anchor), marker(spring.link, spring.at)]
        mbs.AddObject(
            item.ObjectConnectorSpringDamper(
                markerNumbers=ends, stiffness=spring.stiffness, damping=0, referenceLength=spring.length
            )
        )
    if mechanism.torque:
        turning = mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=2))
        mbs.AddLoad(item.LoadCoordinate(markerNumber=turning, load=mechanism.torque))

    def seen() -> np.ndarray:
        turned = [mbs.GetNodeOutput(node, exu.OutputVariableType.Coordinates)[2] for node in nodes]
        return mechanism.seen(mechanism.relative(angles + np.array(turned)))

    return seen


def _hang(mbs: Any, node: int, body: int, weight: float) -> None:
    if weight:
        mass = mbs.AddMarker(item.MarkerNodePosition(nodeNumber=node))
        mbs.AddLoad(item.LoadForceVector(markerNumber=mass, loadVector=[0, -weight, 0]))


def _turned(at: Any, angle: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """A point of a body from its hinge, and how it moves."""
    c, s = np.cos(angle), np.sin(angle)
    x, y = c * at[0] - s * at[1], s * at[0] + c * at[1]
    return np.array([x, y]), rate * np.array([-y, x])


def _tree(mbs: Any, mechanism: Planar) -> Outcome:
    """Minimal coordinates."""
    count = len(mechanism.links)
    angles, rates = mechanism.start
    node = mbs.AddNode(
        item.NodeGenericODE2(
            referenceCoordinates=[0.0] * count,
            initialCoordinates=list(angles),
            initialCoordinates_t=list(rates),
            numberOfODE2Coordinates=count,
        )
    )
    mbs.AddObject(
        item.ObjectKinematicTree(
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
    return lambda: mechanism.seen(mbs.GetNodeOutput(node, exu.OutputVariableType.Coordinates))


def _disc(mbs: Any) -> Outcome:
    """A rigid body with quaternions, its axle along y, on a rolling joint."""
    (yaw, lean, _), spin = DISC_START
    ahead, aside, up = axes = np.array(disc_axes(yaw, lean, np))
    third = DISC_MASS * DISC_RADIUS**2 / 4
    ground = mbs.AddObject(item.ObjectGround())
    body = mbs.CreateRigidBody(
        inertia=RigidBodyInertia(mass=DISC_MASS, inertiaTensor=np.diag([third, 2 * third, third])),
        nodeType=exu.NodeType.RotationEulerParameters,
        referencePosition=DISC_RADIUS * up,
        referenceRotationMatrix=axes.T,
        initialVelocity=DISC_RADIUS * (spin[1] * ahead - spin[0] * aside),
        initialAngularVelocity=axes.T @ spin,
        gravity=[0, 0, -G],
    )
    below = mbs.AddMarker(item.MarkerBodyRigid(bodyNumber=ground, localPosition=[0, 0, 0]))
    centre = mbs.AddMarker(item.MarkerBodyRigid(bodyNumber=body, localPosition=[0, 0, 0]))
    mbs.AddObject(
        item.ObjectJointRollingDisc(
            markerNumbers=[below, centre], discRadius=DISC_RADIUS, discAxis=[0, 1, 0], planeNormal=[0, 0, 1]
        )
    )

    def seen() -> np.ndarray:
        place = mbs.GetObjectOutputBody(body, exu.OutputVariableType.Position, [0, 0, 0])
        turned = mbs.GetObjectOutputBody(body, exu.OutputVariableType.RotationMatrix, [0, 0, 0])
        return np.array([*place, *np.reshape(turned, (3, 3))[:, 1]])

    return seen
