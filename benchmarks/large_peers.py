# SPDX-License-Identifier: BSD-3-Clause
"""Models of ``benchmarks.large`` in this library, by hand, and in other programs.

MuJoCo and Pinocchio describe chains by the angles of a tree, without constraints. Exudyn has coordinates of parts and
constraints, as this library does. Packages as in ``benchmarks/requirements.txt``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

GRAVITY, SPAN = 9.81, 0.1
"""SPAN is the number of seconds that are simulated."""
INERTIA = (0.01, 0.1, 0.1)
POINT = 1e-14
"""The inertia of a point mass where zero is refused."""
MOST = {"mujoco": 300, "pinocchio": 300, "exudyn": 1000}
"""Most angles or parts; MuJoCo's reader refuses bodies within 1000 others, and Pinocchio's memory grows with the third
power of the number of angles, to 1.8 GB for 300."""
RTOLS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
STEPS = (10, 20, 50, 100, 200, 500, 1000, 2000)


class Model(NamedTuple):
    """A system in one program: its acceleration, if it can be asked for alone, and runs from coarse to fine."""

    accelerate: Callable[[], Any] | None
    again: Callable[[], Callable[[], Any] | None] | None
    """Returns the acceleration without checks and reports."""
    runs: Iterator[Callable[[], tuple[np.ndarray, float | None]]]
    """Each returns the positions (N, 3) of the particles or bodies at the end, and the largest violation."""
    alone: Callable[[], dict[str, Callable[[], Any]]] = dict
    """Returns the solution of the linear equations alone, by other programs."""


def mujoco(kind: str, count: int) -> Model:
    """Angles of a tree; RK4 with fixed steps."""
    import mujoco

    turning, at = (INERTIA, 0.5) if kind == "bodies" else ((POINT,) * 3, 1.0)
    joint = '<joint type="ball"/>' if kind == "bodies" else '<joint type="hinge" axis="0 -1 0"/>'
    body = f'{joint}<inertial pos="{at} 0 0" mass="1" diaginertia="{turning[0]} {turning[1]} {turning[2]}"/>'
    links = "".join(f'<body pos="{min(i, 1)} 0 0">{body}' for i in range(count)) + "</body>" * count
    text = (
        '<mujoco><option integrator="RK4" gravity="0 0 -9.81"><flag contact="disable"/></option>'
        f"<worldbody>{links}</worldbody></mujoco>"
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)

    def run(steps: int) -> tuple[np.ndarray, None]:
        mujoco.mj_resetData(model, data)
        model.opt.timestep = SPAN / steps
        mujoco.mj_step(model, data, nstep=steps)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        return data.xipos[1:].copy(), None

    def accelerate() -> None:
        mujoco.mj_forward(model, data)

    return Model(accelerate, lambda: accelerate, ((lambda steps=steps: run(steps)) for steps in STEPS))


def pinocchio(kind: str, count: int) -> Model:
    """Angles of a tree; SciPy's DOP853 around accelerations in C++."""
    import pinocchio as pin

    ball = kind == "bodies"
    turning, at = (np.diag(INERTIA), 0.5) if ball else (np.zeros((3, 3)), 1.0)
    model, last = pin.Model(), 0
    for i in range(count):
        kind_of_joint = pin.JointModelSpherical() if ball else pin.JointModelRY()
        last = model.addJoint(last, kind_of_joint, pin.SE3(np.eye(3), np.array([min(i, 1.0), 0, 0])), f"j{i}")
        model.appendBodyToJoint(last, pin.Inertia(1.0, np.array([at, 0, 0]), turning), pin.SE3.Identity())
    data = model.createData()
    q0, nothing = pin.neutral(model), np.zeros(model.nv)

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        q, v = y[: model.nq], y[model.nq :]
        if not ball:
            return np.concatenate([v, pin.aba(model, data, q, v, nothing)])
        p = q.reshape(-1, 4)
        p = p / np.linalg.norm(p, axis=1)[:, None]
        turn = v.reshape(-1, 3)
        along = p[:, 3:] * turn + np.cross(p[:, :3], turn)
        qd = 0.5 * np.hstack([along, -(p[:, :3] * turn).sum(axis=1)[:, None]])
        return np.concatenate([qd.ravel(), pin.aba(model, data, p.ravel(), v, nothing)])

    def run(rtol: float) -> tuple[np.ndarray, None]:
        from scipy.integrate import solve_ivp

        found = solve_ivp(rates, (0, SPAN), np.append(q0, nothing), method="DOP853", rtol=rtol, atol=rtol)
        pin.forwardKinematics(model, data, found.y[: model.nq, -1])
        return np.array([data.oMi[j].act(np.array([at, 0, 0])) for j in range(1, count + 1)]), None

    def accelerate() -> None:
        pin.aba(model, data, q0, nothing, nothing)

    return Model(accelerate, lambda: accelerate, ((lambda r=r: run(r)) for r in (*RTOLS, 1e-11)))


def exudyn(kind: str, count: int) -> Model:
    """Parts with constraints; the generalised-α method with fixed steps and a sparse solver."""
    import exudyn as exu
    from exudyn.utilities import RigidBodyInertia

    container = exu.SystemContainer()
    mbs = container.AddSystem()
    last, parts, down = mbs.CreateGround(), [], [0, 0, -GRAVITY]
    for i in range(count):
        if kind == "bodies":
            inertia = RigidBodyInertia(mass=1, inertiaTensor=np.diag(INERTIA))
            parts.append(mbs.CreateRigidBody(referencePosition=[i + 0.5, 0, 0], inertia=inertia, gravity=down))
            mbs.CreateSphericalJoint(bodyNumbers=[last, parts[-1]], position=[i, 0, 0], show=False)
        else:
            parts.append(mbs.CreateMassPoint(referencePosition=[i + 1, 0, 0], physicsMass=1, gravity=down))
            mbs.CreateDistanceConstraint(bodyNumbers=[last, parts[-1]], distance=1)
        last = parts[-1]
    mbs.Assemble()

    def run(steps: int) -> tuple[np.ndarray, None]:
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = steps, SPAN
        settings.timeIntegration.verboseMode = 0
        settings.solutionSettings.writeSolutionToFile = False
        settings.linearSolverType = exu.LinearSolverType.EigenSparse
        alpha = settings.timeIntegration.generalizedAlpha
        alpha.useIndex2Constraints = alpha.useNewmark = alpha.computeInitialAccelerations = True
        settings.timeIntegration.newton.useModifiedNewton = True
        if not mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.GeneralizedAlpha, showHints=False):
            raise RuntimeError("did not reach the end")
        position = exu.OutputVariableType.Position
        return np.array([mbs.GetObjectOutputBody(part, position, localPosition=[0, 0, 0]) for part in parts]), None

    return Model(None, None, ((lambda steps=steps: run(steps)) for steps in STEPS if container))


def dalembert(kind: str, count: int) -> Model:
    """This library; coordinates of the parts and constraints, the default integrator."""
    import dalembert as da
    from benchmarks import large_systems
    from benchmarks.large_accelerations import alone, evaluation

    case: large_systems.Case = getattr(large_systems, kind)(count)

    def run(rtol: float) -> tuple[np.ndarray, float]:
        found = da.simulate(case.system, case.q, case.qd, [0, SPAN], rtol=rtol, atol=rtol)
        end, violation = found.q[-1], float(np.abs(found.violation).max())
        if kind == "bodies":
            return end.reshape(count, -1)[:, :3], violation
        return in_space(end.reshape(3 if kind == "net" else 2, -1).T), violation

    return Model(
        lambda: da.motion(case.system, case.q, case.qd),
        lambda: evaluation(case),
        ((lambda r=r: run(r)) for r in RTOLS),
        lambda: alone(case, is_chain=kind == "chain"),
    )


def by_hand(kind: str, count: int) -> Model:
    """NumPy, Thomas's algorithm or QDLDL, and SciPy's DOP853."""
    from benchmarks.large_by_hand import ByHand
    from benchmarks.large_systems import PARTICLES

    written = ByHand(PARTICLES[kind](count))

    def run(rtol: float) -> tuple[np.ndarray, float]:
        end, violation = written.run(rtol, SPAN)
        return in_space(end), violation

    def accelerate() -> np.ndarray:
        return written.rates(0.0, written.y0)

    return Model(accelerate, lambda: accelerate, ((lambda r=r: run(r)) for r in RTOLS))


def in_space(points: np.ndarray) -> np.ndarray:
    """Return points (N, 3); those of a plane are in the plane of x and z."""
    return points if points.shape[1] == 3 else np.insert(points, 1, 0.0, axis=1)


MODULES = {"pinocchio": "pinocchio", "mujoco": "mujoco", "exudyn": "exudyn"}
PROGRAMS = {"dalembert": dalembert, "by hand": by_hand, "pinocchio": pinocchio, "mujoco": mujoco, "exudyn": exudyn}


def can_do(program: str, kind: str, count: int) -> bool:
    """Return whether a program has a model of a case."""
    if program == "dalembert":
        return True
    if program == "by hand":
        return kind != "bodies"
    size = 3 * count if kind == "bodies" and program != "exudyn" else count
    return kind in ("chain", "bodies") and size <= MOST[program]
