# SPDX-License-Identifier: BSD-3-Clause
"""Other programs with the chains of ``benchmarks.large``: ``python -m benchmarks.large_peers`` writes their table.

The chain of rods and the chain of bodies with ball joints are let go from a horizontal position. MuJoCo and Pinocchio
describe them by the angles of a tree, without constraints; Exudyn by the coordinates of its parts and constraints, as
this library does. Every case runs in a process of its own, and all times are CPU seconds. "Simulated" is the coarsest
run of the first 0.1 s whose largest error of a position is below ``ERROR``, run again and divided by 0.1. The error is
measured against Pinocchio with DOP853 and rtol 1e-11, or this library for longer chains. Packages as in
``benchmarks/requirements.txt``; what is missing is left out.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.document import replace_section
from benchmarks.large_timing import best, in_cpu_time
from benchmarks.timing import short, table

DOCS = Path(__file__).parents[1] / "docs"
KINDS, SIZES = ("chain", "bodies"), (10, 100, 300, 1000)
SPAN, ERROR, GRAVITY = 0.1, 1e-6, 9.81
INERTIA = (0.01, 0.1, 0.1)
POINT = 1e-14
"""The inertia of a point mass where zero is refused."""
MOST_BODIES = {"chain": 300, "bodies": 100}
"""Longest chains for MuJoCo and Pinocchio, which takes 16 GB for 300 bodies."""
LIMIT = 100
"""Seconds for one case."""
RTOLS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
STEPS = (10, 20, 50, 100, 200, 500, 1000, 2000)


class Model(NamedTuple):
    """A chain in one program: its acceleration, if it can be asked for alone, and runs from coarse to fine."""

    accelerate: Callable[[], Any] | None
    again: Any
    """The acceleration without checks and reports."""
    runs: Iterator[Callable[[], np.ndarray]]
    """Each returns the positions (N, 3) of the masses at the end."""


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

    def run(steps: int) -> np.ndarray:
        mujoco.mj_resetData(model, data)
        model.opt.timestep = SPAN / steps
        mujoco.mj_step(model, data, nstep=steps)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        return data.xipos[1:].copy()

    def accelerate() -> None:
        mujoco.mj_forward(model, data)

    return Model(accelerate, accelerate, ((lambda steps=steps: run(steps)) for steps in STEPS))


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

    def run(rtol: float) -> np.ndarray:
        from scipy.integrate import solve_ivp

        found = solve_ivp(rates, (0, SPAN), np.append(q0, nothing), method="DOP853", rtol=rtol, atol=rtol)
        pin.forwardKinematics(model, data, found.y[: model.nq, -1])
        return np.array([data.oMi[j].act(np.array([at, 0, 0])) for j in range(1, count + 1)])

    def accelerate() -> None:
        pin.aba(model, data, q0, nothing, nothing)

    return Model(accelerate, accelerate, ((lambda r=r: run(r)) for r in (*RTOLS, 1e-11)))


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

    def run(steps: int) -> np.ndarray:
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
        return np.array([mbs.GetObjectOutputBody(part, position, localPosition=[0, 0, 0]) for part in parts])

    return Model(None, None, ((lambda steps=steps: run(steps)) for steps in STEPS if container))


def dalembert(kind: str, count: int) -> Model:
    """This library; coordinates of the parts and constraints, the default integrator."""
    import dalembert as da
    from benchmarks import large_systems
    from benchmarks.large import evaluation

    case = getattr(large_systems, kind)(count)

    def run(rtol: float) -> np.ndarray:
        end = da.simulate(case.system, case.q, case.qd, [0, SPAN], rtol=rtol, atol=rtol).q[-1]
        if kind == "chain":
            return np.stack([end[:count], 0 * end[:count], end[count:]], axis=1)
        return end.reshape(count, -1)[:, :3]

    return Model(
        lambda: da.motion(case.system, case.q, case.qd),
        evaluation(case),
        ((lambda r=r: run(r)) for r in (*RTOLS, 1e-11)),
    )


PROGRAMS = {"dalembert": dalembert, "pinocchio": pinocchio, "mujoco": mujoco, "exudyn": exudyn}


def measure(program: str, kind: str, count: int, reference: Path) -> dict[str, Any]:
    """Measure one case; the finest run of Pinocchio writes the reference."""
    building, model = in_cpu_time(lambda: PROGRAMS[program](kind, count))
    found: dict[str, Any] = {"program": program, "kind": kind, "size": count}
    if model.accelerate is not None:
        found["first"] = building + in_cpu_time(model.accelerate)[0]
        if model.again is not None:
            found["acceleration"] = best(model.again)
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(json.dumps(found), flush=True)
    exact = np.load(reference) if reference.exists() else None
    if exact is None:
        return found
    for run in model.runs:
        error = float(np.abs(run() - exact).max())
        if error <= ERROR:
            return found | {"simulated": in_cpu_time(run)[0] / SPAN, "error": error}
    return found


def reference(kind: str, count: int, path: Path) -> None:
    """Write the positions at the end by the finest run of Pinocchio; of this library where Pinocchio has no room."""
    *_, finest = (pinocchio if count <= MOST_BODIES[kind] else dalembert)(kind, count).runs
    np.save(path, finest())


def in_own_process(*arguments: str) -> dict[str, Any]:
    """Return what a process printed last; empty if it printed nothing in time."""
    command = [sys.executable, "-m", "benchmarks.large_peers", *arguments]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT).stdout
    except subprocess.TimeoutExpired as stopped:
        printed = stopped.stdout.decode() if isinstance(stopped.stdout, bytes) else ""
    lines = [line for line in printed.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {}


def report(rows: list[dict[str, Any]]) -> str:
    """Return the table, and the slopes of times against size, fitted to all sizes of a program."""
    head = ["case", "program", "first answer", "acceleration", "per simulated second", "error", "memory"]
    units = (("first", "s", 1.0), ("acceleration", "ms", 1e3), ("simulated", "s", 1.0), ("error", "", 1.0))
    cells = [
        [
            f"{row['kind']} {row['size']}",
            row["program"],
            *(f"{short(scale * row[key])} {unit}".strip() if key in row else "–" for key, unit, scale in units),
            f"{row['memory']:.0f} MB",
        ]
        for row in rows
    ]
    fitted = [
        f"{kind}, {program}: {what} ~ size^{_slope(kind, program, key, rows):.2f}"
        for kind in KINDS
        for program in PROGRAMS
        for key, what in (("acceleration", "acceleration"), ("simulated", "simulated second"))
        if np.isfinite(_slope(kind, program, key, rows))
    ]
    return f"{table(head, cells)}\n\nFitted from 100 on: {'; '.join(fitted)}."


def _slope(kind: str, program: str, key: str, rows: list[dict[str, Any]]) -> float:
    """Return the exponent of a time as a power of the size, from sizes of 100 on; NaN for fewer than two of them."""
    own = [
        (row["size"], row[key])
        for row in rows
        if (row["kind"], row["program"]) == (kind, program) and key in row and row["size"] >= 100
    ]
    return float(np.polyfit(*np.log(own).T, 1)[0]) if len(own) > 1 else float("nan")


def main() -> None:
    """Measure one case, or all of them and write the table."""
    if len(sys.argv) > 1:
        program, kind, count, path = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
        if program == "reference":
            reference(kind, count, path)
        else:
            print(json.dumps(measure(program, kind, count, path)))
        return
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            for count in SIZES:
                exact = f"{folder}/{kind}{count}.npy"
                in_own_process("reference", kind, str(count), exact)
                for program in PROGRAMS:
                    if count > MOST_BODIES[kind] and program in ("mujoco", "pinocchio"):
                        continue
                    if find_spec(program) and (found := in_own_process(program, kind, str(count), exact)):
                        rows.append(found)
                        print(json.dumps(found), file=sys.stderr, flush=True)
                replace_section("large peers", report(rows), DOCS / "large.md")


if __name__ == "__main__":
    main()
