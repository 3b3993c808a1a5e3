# SPDX-License-Identifier: BSD-3-Clause
"""Contacts beside MuJoCo and Drake on closed forms: ``python -m benchmarks.contacts``.

Three motions in a plane: a ball that bounces with restitution 1/2 until it rests, a bead that leaves a sphere, and a
ball that is thrown sliding and starts to roll. Each program runs at several steps; the table has the largest error of
the position at some instants, and the CPU time of the run without building and compiling the model. Programs that are
not installed are left out: they may be in an environment of their own, without dalembert.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

GRAVITY, RESTITUTION, FRICTION = 10.0, 0.5, 0.2
BOUNCES = np.array([0.5, 1.3, 1.8, 2.2, 2.6, 3.5])
"""Instants of the bouncing ball, which rests from t = 3 on."""

TOP_SPEED, AFTER = 1.0, 0.2
"""Speed of the bead at the top of the sphere of radius 1, and time of flight after it has left."""

ROLLS = np.array([0.5, 1.0, 2.0])
"""Instants of the ball that slides with the speed 7 and rolls from t = 1 on."""

Run = tuple[np.ndarray, float]
"""Positions (times, 2) and CPU seconds."""


def bouncing() -> np.ndarray:
    """Heights of a ball that falls from 5."""
    heights = []
    for t in BOUNCES:
        begins, speed, height = 1.0, 10 * RESTITUTION, 5 - GRAVITY * t**2 / 2
        while t > begins and begins < 3 - 1e-12:
            s = t - begins
            height = max(speed * s - GRAVITY * s**2 / 2, 0.0)
            begins, speed = begins + 2 * speed / GRAVITY, speed * RESTITUTION
        heights.append(height if t < 3 else 0.0)
    return np.stack([0 * BOUNCES, heights], axis=1)


def leaving() -> tuple[float, np.ndarray]:
    """The instant after the bead has left a sphere of radius 1, and its position there."""
    angle = np.arccos((2 + TOP_SPEED**2 / GRAVITY) / 3)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    on = angle * (nodes + 1) / 2
    t = angle / 2 * weights @ (1 / np.sqrt(TOP_SPEED**2 + 2 * GRAVITY * (1 - np.cos(on))))
    speed = np.sqrt(TOP_SPEED**2 + 2 * GRAVITY * (1 - np.cos(angle)))
    x = np.sin(angle) + speed * np.cos(angle) * AFTER
    z = np.cos(angle) - speed * np.sin(angle) * AFTER - GRAVITY * AFTER**2 / 2
    return float(t + AFTER), np.array([[x, z]])


def rolling() -> np.ndarray:
    """Positions of a ball of radius 1 that slides with the speed 7, then rolls with 5/7 of it."""
    x = np.where(ROLLS <= 1, 7 * ROLLS - FRICTION * GRAVITY * ROLLS**2 / 2, 6 + 5 * (ROLLS - 1))
    return np.stack([x, np.ones(3)], axis=1)


def our_models() -> dict[str, tuple[Any, Any, Any, Any]]:
    """System, start and times of each case."""
    import sympy as sp

    import dalembert as da

    x, z, a = da.coordinates("x z a")
    floor = da.Constraint(sp.Ge(z, 0), name="floor", restitution=RESTITUTION)
    sphere = da.Constraint(sp.Ge(sp.sqrt(x**2 + z**2), 1), name="sphere", restitution=0)
    slip = da.Coulomb(FRICTION, velocity=x.diff(da.t) + a.diff(da.t), normal_force=da.multiplier("floor"))
    rough = da.Constraint(sp.Ge(z, 1), name="floor", restitution=0, nonideal=slip, impact="moreau")
    free = sp.eye(2), (0, -GRAVITY)
    ball = da.System((x, z, a), sp.diag(1, 1, sp.Rational(2, 5)), (0, -GRAVITY, 0), rough)
    return {
        "bouncing": (da.System((x, z), *free, floor), (0, 5), (0, 0), [0, *BOUNCES]),
        "leaving": (da.System((x, z), *free, sphere), (0, 1), (TOP_SPEED, 0), [0, leaving()[0]]),
        "rolling": (ball, (0, 1, 0), (7, 0, 0), [0, *ROLLS]),
    }


def ours(case: str, step: float | None) -> Run:
    import dalembert as da

    model = our_models()[case]
    given: Any = {"rtol": 1e-12} if step is None else {"solver": da.MoreauJean(step)}
    da.simulate(*model, **given)  # compiles
    began = time.process_time()
    run = da.simulate(*model, **given)
    return run.q[1:, :2], time.process_time() - began


MUJOCO = """
<mujoco>
  <option timestep="{step}" gravity="0 0 -{gravity}" integrator="RK4" cone="elliptic" tolerance="1e-14"/>
  <worldbody>
    {ground}
    <body pos="0 0 {height}">
      <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint type="hinge" axis="0 1 0"/>
      <geom type="sphere" size="{size}" mass="1" condim="{condim}" friction="{mu} 0 0"
        solref="{solref}" solimp="0.9999 0.9999 0.001"/>
    </body>
  </worldbody>
</mujoco>
"""


STIFFNESS = 0.2
"""Angular frequency of a contact of MuJoCo times the step: the stiffest one that steps resolve."""


def damping_ratio() -> float:
    """The damping ratio ζ of a spring and damper that rebounds with the coefficient of restitution.

    The contact ends where its force x + 2ζẋ vanishes, since it does not pull.
    """
    low, high = 0.0, 0.9
    for _ in range(60):
        zeta = (low + high) / 2
        rate = np.sqrt(1 - zeta**2)
        end = np.arctan2(2 * zeta * rate, 2 * zeta**2 - 1) / rate
        speed = np.exp(-zeta * end) * (zeta * np.sin(rate * end) / rate - np.cos(rate * end))
        low, high = (zeta, high) if speed > RESTITUTION else (low, zeta)
    return (low + high) / 2


def mujoco(case: str, step: float) -> Run:
    """MuJoCo: contacts are springs with dampers, as stiff as a step allows; restitution follows from the damping."""
    import mujoco as mj  # pyright: ignore[reportMissingImports]

    rate = STIFFNESS / step
    damping = damping_ratio() if case == "bouncing" else 1.0
    law = 'solref="{solref}" solimp="0.9999 0.9999 0.001"'
    plane = f'<geom type="plane" size="0 0 1" friction="{{mu}} 0 0" condim="{{condim}}" {law}/>'
    sphere = f'<geom type="sphere" size="0.5" condim="1" {law}/>'
    fields: Any = {"step": step, "gravity": GRAVITY, "mu": FRICTION, "solref": f"{-(rate**2)} {-2 * damping * rate}"}
    size = {"bouncing": 0.5, "leaving": 0.5, "rolling": 1.0}[case]
    height = {"bouncing": 5.5, "leaving": 1.0, "rolling": 1.0}[case]
    fields |= {"size": size, "height": height, "condim": 3 if case == "rolling" else 1}
    fields["ground"] = (sphere if case == "leaving" else plane).format(**fields)
    model = mj.MjModel.from_xml_string(MUJOCO.format(**fields))
    data = mj.MjData(model)
    data.qvel[0] = {"bouncing": 0.0, "leaving": TOP_SPEED, "rolling": 7.0}[case]
    below = 0.5 if case == "bouncing" else 0.0
    return _stepped(lambda: mj.mj_step(model, data), lambda: (data.qpos[0], data.qpos[1] + height - below), case, step)


def _stepped(step: Callable[[], Any], place: Callable[[], Any], case: str, h: float) -> Run:
    """Take steps; positions between two steps are interpolated, which is exact to second order."""
    wanted = {"bouncing": BOUNCES, "leaving": np.array([leaving()[0]]), "rolling": ROLLS}[case]
    found: list[Any] = []
    began, k, before, now = time.process_time(), 0, np.array(place()), np.array(place())
    for t in wanted:
        while k * h < t - 1e-12:
            before = now
            step()
            now, k = np.array(place()), k + 1
        found.append(before + (now - before) * (t - (k - 1) * h) / h)
    return np.array(found), time.process_time() - began


def drake(case: str, step: float) -> Run:
    """Drake's discrete solver: contacts are compliant and have no coefficient of restitution."""
    import pydrake.all as pd  # pyright: ignore[reportMissingImports]

    builder: Any = pd.DiagramBuilder()
    plant, _ = pd.AddMultibodyPlantSceneGraph(builder, step)
    plant.set_discrete_contact_approximation(pd.DiscreteContactApproximation.kLagged)
    plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY])
    size, mu = (1.0, FRICTION) if case == "rolling" else (0.5, 0.0)
    body = plant.AddRigidBody("ball", pd.SpatialInertia.SolidSphereWithMass(1.0, size))
    carriers = [plant.AddRigidBody(name, pd.SpatialInertia.Zero()) for name in "xz"]
    frames = [plant.world_frame(), *(carrier.body_frame() for carrier in carriers), body.body_frame()]
    axes = ([1, 0, 0], [0, 0, 1])
    joints = [plant.AddJoint(pd.PrismaticJoint(f"j{i}", frames[i], frames[i + 1], axes[i])) for i in range(2)]
    plant.AddJoint(pd.RevoluteJoint("turn", frames[2], frames[3], [0, 1, 0]))
    rigid = pd.ProximityProperties()
    pd.AddContactMaterial(
        dissipation=1000.0, point_stiffness=1e7, friction=pd.CoulombFriction(mu, mu), properties=rigid
    )
    plant.RegisterCollisionGeometry(body, pd.RigidTransform(), pd.Sphere(size), "ball", rigid)
    ground = pd.Sphere(0.5) if case == "leaving" else pd.HalfSpace()
    plant.RegisterCollisionGeometry(plant.world_body(), pd.RigidTransform(), ground, "ground", rigid)
    plant.Finalize()
    simulator: Any = pd.Simulator(builder.Build())
    simulator.get_mutable_integrator()
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    joints[1].set_translation(context, 1.0)
    joints[0].set_translation_rate(context, TOP_SPEED if case == "leaving" else 7.0)
    simulator.Initialize()

    def advance() -> None:
        simulator.AdvanceTo(context.get_time() + step)

    return _stepped(advance, lambda: [joint.get_translation(context) for joint in joints], case, step)


def rows(case: str) -> list[tuple[str, str, float, float]]:
    """Program, step, error and CPU seconds of one case."""
    exact = {"bouncing": bouncing(), "leaving": leaving()[1], "rolling": rolling()}[case]
    runs: list[tuple[str, Any, Sequence[float | None]]] = []
    if find_spec("dalembert") is not None:
        runs += [("dalembert, events", ours, [None]), ("dalembert, MoreauJean", ours, [1e-2, 1e-3])]
    if find_spec("mujoco") is not None:
        runs.append(("MuJoCo", mujoco, [1e-2, 1e-3, 1e-4]))
    if find_spec("pydrake") is not None and case != "bouncing":
        runs.append(("Drake", drake, [1e-2, 1e-3]))
    found: list[tuple[str, str, float, float]] = []
    for program, run, steps in runs:
        for step in steps:
            places, seconds = run(case, step)
            error = float(np.abs(places - exact).max())
            found.append((program, "" if step is None else f"{step:.0e}", error, seconds))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=("bouncing", "leaving", "rolling"), action="append")
    cases = parser.parse_args().case or ("bouncing", "leaving", "rolling")
    print("| case | program | step | largest error | CPU time |\n|---|---|---|---|---|")
    for case in cases:
        for program, step, error, seconds in rows(case):
            print(f"| {case} | {program} | {step} | {error:.1e} | {1000 * seconds:.1f} ms |", flush=True)


if __name__ == "__main__":
    main()
