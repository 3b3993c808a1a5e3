"""Accelerations of robots from URDF and MJCF files, compared with Pinocchio and MuJoCo at random states.

``python -m benchmarks.robots [names]`` in the environment of benchmarks/requirements.txt, which has the files of
`example-robot-data`. For each robot: moving bodies, coordinates, seconds to the first answer (reading, building,
compiling, one acceleration; imports not included), and the largest difference of joint accelerations relative to the
largest one. Loops and transmissions are added to the other programs' terms as rigid constraints.
"""

from __future__ import annotations

import sys
import sysconfig
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dalembert as da
from benchmarks.robot_peers import mujoco_acceleration, pinocchio_acceleration
from dalembert.mechanisms.joint_tree import joint_tree, loop_joints

STATES = 3
"""Random states of each robot."""

DATA = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"


class Robot(NamedTuple):
    """A file, and whether its base moves freely."""

    path: Path
    floating: bool = False


ROBOTS = {
    "UR5": Robot(DATA / "ur_description/urdf/ur5_robot.urdf"),
    "Panda": Robot(DATA / "panda_description/urdf/panda.urdf"),
    "Solo12": Robot(DATA / "solo_description/robots/solo12.urdf", True),
    "ANYmal": Robot(DATA / "anymal_b_simple_description/robots/anymal.urdf", True),
    "Go1": Robot(DATA / "go1_description/urdf/go1.urdf", True),
    "G1": Robot(DATA / "g1_description/urdf/g1_29dof_rev_1_0.urdf", True),
    "simple humanoid": Robot(DATA / "simple_humanoid_description/urdf/simple_humanoid.urdf", True),
    "human": Robot(DATA / "human_description/robots/human.urdf", True),
    "Talos": Robot(DATA / "talos_data/robots/talos_full_v2.urdf", True),
}


def random_motions(mechanism: da.Mechanism, rng: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return positions and velocities of all joints that follow no other one, and of free bodies."""
    driven = {joint.driven.name for joint in mechanism.joints if isinstance(joint, da.Transmission)}
    at_rest = mechanism.joint_motion(*mechanism.state())
    where: dict[str, Any] = {}
    rates: dict[str, Any] = {}
    for name, value in at_rest.position.items():
        size = np.size(value)
        if name in driven:
            continue
        if size == 1:
            where[name], rates[name] = rng.uniform(-1, 1), rng.uniform(-1, 1)
        else:
            turned = rng.normal(size=4)
            turned /= np.linalg.norm(turned)
            where[name] = turned if size == 4 else np.concatenate([rng.normal(size=3), turned])
            rates[name] = rng.normal(size=np.size(at_rest.velocity[name]))
    return where, rates


def random_state(mechanism: da.Mechanism, rng: Any) -> tuple[Any, Any]:
    """Return a random state; that of a robot with closed loops is near its given poses, where loops can be closed."""
    if not loop_joints(mechanism, joint_tree(mechanism)):
        return mechanism.state(*random_motions(mechanism, rng))
    q, qd = mechanism.state()
    away = rng.uniform(-0.05, 0.05, len(q)), rng.uniform(-1, 1, len(q))
    return da.consistent_state(mechanism.system, q + away[0], qd + away[1])


class Comparison(NamedTuple):
    """The size of a robot, the times of its first answer, and its largest difference from each of the others.

    bodies, coordinates    numbers of them
    wall, processor        seconds from reading the file to the accelerations of one state
    differences            relative to the largest acceleration, by program; NaN where it cannot read the file
    """

    bodies: int
    coordinates: int
    wall: float
    processor: float
    differences: dict[str, float]


def compared(robot: Robot) -> Comparison:
    """Compare the accelerations of a robot at random states with those of other programs."""
    begun = time.perf_counter(), time.process_time()
    read = da.Mechanism.from_mjcf if robot.path.suffix == ".xml" else da.Mechanism.from_urdf
    mechanism = read(robot.path, **({"floating": True} if robot.floating else {}))
    system = mechanism.system
    rng = np.random.default_rng(1)
    worst = {"Pinocchio": 0.0, "MuJoCo": 0.0}
    first = (0.0, 0.0)
    for k in range(STATES):
        q, qd = random_state(mechanism, rng)
        answer = da.motion(system, q, qd)
        if k == 0:
            first = time.perf_counter() - begun[0], time.process_time() - begun[1]
        ours = mechanism.joint_motion(q, qd, answer.acceleration)
        for peer, compute in (("Pinocchio", pinocchio_acceleration), ("MuJoCo", mujoco_acceleration)):
            theirs = compute(mechanism, robot.path, robot.floating, ours)
            worst[peer] = np.nan if theirs is None else max(worst[peer], _difference(ours.acceleration, theirs))
    return Comparison(len(mechanism.bodies), len(system.coordinate_names), *first, worst)


def measured(name: str, robot: Robot) -> str:
    """Return a row of the table."""
    found = compared(robot)
    numbers = " | ".join("–" if np.isnan(value) else f"{value:.0e}" for value in found.differences.values())
    size = f"{found.bodies} | {found.coordinates}"
    return f"| {name} | {size} | {found.wall:.1f} ({found.processor:.1f} CPU) | {numbers} |"


def _difference(ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    largest = max(np.abs(value).max() for value in theirs.values())
    return max(float(np.abs(ours[name] - theirs[name]).max()) for name in theirs) / largest


def main(names: list[str]) -> None:
    print("| robot | bodies | n | first answer, s | Pinocchio | MuJoCo |\n| --- | --- | --- | --- | --- | --- |")
    for name in names or ROBOTS:
        robot = ROBOTS[name] if name in ROBOTS else Robot(Path(name))
        print(measured(name, robot), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
