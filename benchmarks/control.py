# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of a three-link arm whose tip follows a circle: ours beside Pinocchio and MuJoCo with a quadratic program.

Three motors share the task with the least uᵀN u. The peers compute inertia, bias and Jacobian in C or C++, and quadprog
minimises under the two equations of the requirement, as whole-body controllers do.

    .venv-peers/bin/python -m benchmarks.control
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import quadprog
import sympy as sp
from llvmlite import ir

import dalembert as da
from benchmarks.document_sections import replace_section
from benchmarks.timing import best, short, table
from dalembert.lowering.build import build
from dalembert.lowering.programs import Programs
from dalembert.native.assembly import MachineCode, write_program
from dalembert.native.batch import write_each
from dalembert.native.tape import Program

LENGTHS, MASSES = (1.0, 0.8, 0.5), (2.0, 1.5, 1.0)
CENTRE, RADIUS, RATE, GRAVITY = (1.2, 0.0), 0.3, 4.0, 9.81
COST = np.array([[2, 0.3, 0], [0.3, 1, 0.1], [0, 0.1, 0.5]])
STATES = 10_000


def arm(*, controlled: bool = True) -> da.System:
    t, q = da.t, da.coordinates("q1 q2 q3")
    x = y = angle = kinetic = potential = sp.S.Zero
    for joint, length, mass in zip(q, LENGTHS, MASSES, strict=True):
        angle += joint
        middle = x + length / 2 * sp.cos(angle), y + length / 2 * sp.sin(angle)
        kinetic += mass * (middle[0].diff(t) ** 2 + middle[1].diff(t) ** 2) / 2
        kinetic += mass * length**2 / 24 * angle.diff(t) ** 2
        potential += mass * GRAVITY * middle[1]
        x, y = x + length * sp.cos(angle), y + length * sp.sin(angle)
    tip = (x - CENTRE[0] - RADIUS * sp.cos(t), y - CENTRE[1] - RADIUS * sp.sin(t))
    motors = tuple(da.Actuator(f"motor {k}", joint) for k, joint in enumerate(q))
    servos = (da.Servo("tip", tip, by=motors, settle=RATE, cost=COST),) if controlled else ()
    return da.System.from_lagrangian((kinetic - potential).doit(), q, servos=servos)


def least(M: Any, bias: Any, J: Any, drift: Any, place: Any, speed: Any, t: float) -> np.ndarray:
    """The torques of least cost with which the error of the tip settles, by quadprog."""
    c, s = np.cos(t), np.sin(t)
    error = place - np.array([CENTRE[0] + RADIUS * c, CENTRE[1] + RADIUS * s])
    rate = speed - RADIUS * np.array([-s, c])
    wanted = -RADIUS * np.array([c, s]) - 2 * RATE * rate - RATE**2 * error
    G = np.linalg.solve(M, J.T).T
    return quadprog.solve_qp(COST, np.zeros(3), G.T, wanted - drift + G @ bias, 2)[0]


def by_pinocchio() -> Callable[[Any, Any, float], np.ndarray]:
    model, parent, at = pin.Model(), 0, pin.SE3.Identity()
    model.gravity.linear = np.array([0, -GRAVITY, 0])
    for k, (length, mass) in enumerate(zip(LENGTHS, MASSES, strict=True)):
        parent = model.addJoint(parent, pin.JointModelRZ(), at, f"joint {k}")
        inertia = pin.Inertia(mass, np.array([length / 2, 0, 0]), np.diag([0, 0, mass * length**2 / 12]))
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
        at = pin.SE3(np.eye(3), np.array([length, 0, 0]))
    tip = model.addFrame(pin.Frame("tip", parent, 0, at, pin.FrameType.OP_FRAME))
    data, still = model.createData(), np.zeros(3)
    world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

    def inputs(q: Any, qd: Any, t: float) -> np.ndarray:
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        bias = pin.nonLinearEffects(model, data, q, qd)
        J = pin.computeFrameJacobian(model, data, q, tip, world)[:2]
        pin.forwardKinematics(model, data, q, qd, still)
        pin.updateFramePlacement(model, data, tip)
        drift = pin.getFrameClassicalAcceleration(model, data, tip, world).linear[:2]
        return least(M, bias, J, drift, data.oMf[tip].translation[:2], J @ qd, t)

    return inputs


def by_mujoco() -> Callable[[Any, Any, float], np.ndarray]:
    inner = '<site name="tip" pos="0.5 0 0"/>'
    for length, mass, before in reversed(list(zip(LENGTHS, MASSES, (0.0, *LENGTHS), strict=False))):
        spin = mass * length**2 / 12
        inner = (
            f'<body pos="{before} 0 0"><joint type="hinge" axis="0 0 1"/><inertial pos="{length / 2} 0 0" '
            f'mass="{mass}" diaginertia="{spin} {spin} {spin}"/>{inner}</body>'
        )
    text = f'<mujoco><option gravity="0 {-GRAVITY} 0"/><worldbody>{inner}</worldbody></mujoco>'
    model = mujoco.MjModel.from_xml_string(text)
    data, M, J, Jdot = mujoco.MjData(model), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    body = model.site_bodyid[0]

    def inputs(q: Any, qd: Any, t: float) -> np.ndarray:
        data.qpos[:], data.qvel[:] = q, qd
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_fullM(model, data, M)
        mujoco.mj_jacSite(model, data, J, None, 0)
        mujoco.mj_jacDot(model, data, Jdot, None, data.site_xpos[0], body)
        return least(M, data.qfrc_bias, J[:2], Jdot[:2] @ qd, data.site_xpos[0, :2], J[:2] @ qd, t)

    return inputs


def by_ours() -> Callable[[Any, Any, float], np.ndarray]:
    control = da.controller(arm())
    return lambda q, qd, t: np.array(list(control(q, qd, t).values()))


def seconds_per_state(program: Program, y: np.ndarray, t: np.ndarray) -> float:
    """The time of a program in machine code, in a loop over many states."""
    module = ir.Module()
    write_each(module, "each", write_program(module, "program", program, hot=True), y.shape[1], len(program.outputs))
    code = MachineCode(module)
    kinds = ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p
    each = ctypes.CFUNCTYPE(None, *kinds)(code.address("each"))
    found, p = np.empty((len(y), len(program.outputs))), np.zeros(1)
    address = (y.ctypes.data, t.ctypes.data, p.ctypes.data, 0, found.ctypes.data)
    return best(lambda: each(len(y), *address)) / len(y)


def main() -> None:
    draw = np.random.default_rng(1)
    y, t = draw.normal(size=(STATES, 6)), draw.uniform(0, 6, STATES)
    kinds = {"dalembert": by_ours(), "Pinocchio, quadprog": by_pinocchio(), "MuJoCo, quadprog": by_mujoco()}
    reference = np.array([kinds["dalembert"](s[:3], s[3:], at) for s, at in zip(y[:50], t[:50], strict=True)])
    rows: list[list[str]] = []
    times: dict[str, float] = {}
    for name, inputs in kinds.items():
        found = np.array([inputs(s[:3], s[3:], at) for s, at in zip(y[:50], t[:50], strict=True)])
        off = np.abs(found - reference).max() / np.abs(reference).max()
        states = list(zip(y[:200, :3], y[:200, 3:], t[:200].tolist(), strict=True))
        times[name] = best(lambda inputs=inputs, states=states: [inputs(*s) for s in states]) / len(states)
        ratio = times[name] / times["dalembert"]
        rows.append([name, short(1e6 * times[name]), f"{ratio:.1f}", f"{off:.0e}"])
    acceleration = Programs(build(arm(controlled=False)).native.source, (), None).acceleration()
    control, _ = Programs.of_all_rows(build(arm()).native.source).control()
    closed = Programs(build(arm()).native.source, (), None).acceleration()
    inside = {
        "acceleration of the arm": seconds_per_state(acceleration, y, t),
        "inputs": seconds_per_state(Program(control.tape, control.outputs[:3]), y, t),
        "acceleration with the inputs": seconds_per_state(closed, y, t),
    }
    first = inside["acceleration of the arm"]
    text = table(["one call from Python", "µs", "ratio", "difference"], rows)
    text += "\n\n" + table(
        ["in machine code", "ns", "ratio"],
        [[name, short(1e9 * seconds), f"{seconds / first:.2f}"] for name, seconds in inside.items()],
    )
    print(text)
    replace_section("control", text)


if __name__ == "__main__":
    main()
