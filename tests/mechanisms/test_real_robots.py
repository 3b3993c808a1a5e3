"""Robots of the package `example-robot-data` and closed loops beside Pinocchio and MuJoCo, where these are installed.

``pip install -r benchmarks/requirements.txt`` installs all three. The small robots of ``test_robots.py`` are compared
with stored numbers of the same programs on every machine.
"""

from pathlib import Path

import numpy as np
import pytest

NOT_INSTALLED = "not installed; see benchmarks/requirements.txt"

ROBOTS = [("UR5", 6), ("Panda", 9), ("Solo12", 13), ("Go1", 13), ("G1", 30), ("simple humanoid", 30)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "bodies"), ROBOTS)
def test_accelerations_are_those_of_pinocchio_and_mujoco(name: str, bodies: int) -> None:
    pytest.importorskip("pinocchio", reason=f"Pinocchio is {NOT_INSTALLED}")
    pytest.importorskip("mujoco", reason=f"MuJoCo is {NOT_INSTALLED}")
    from benchmarks import robots

    robot = robots.ROBOTS[name]
    if not robot.path.is_file():
        pytest.skip(f"example-robot-data is {NOT_INSTALLED}")
    found = robots.compared(robot)
    assert found.bodies == bodies
    assert found.differences["Pinocchio"] < 1e-11
    # MuJoCo does not accept the inertia of the base of this robot
    assert np.isnan(found.differences["MuJoCo"]) if name == "Go1" else found.differences["MuJoCo"] < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize(("name", "bodies", "in_pinocchio"), [("stewart.xml", 19, True), ("loop.xml", 4, False)])
def test_closed_loops_at_random_states(name: str, bodies: int, in_pinocchio: bool) -> None:
    pytest.importorskip("pinocchio", reason=f"Pinocchio is {NOT_INSTALLED}")
    pytest.importorskip("mujoco", reason=f"MuJoCo is {NOT_INSTALLED}")
    from benchmarks import robots

    found = robots.compared(robots.Robot(Path(__file__).parent / "robot_files" / name))
    assert found.bodies == bodies
    assert found.differences["MuJoCo"] < 1e-11
    # the constraints of Pinocchio are connections; the belt of the other file is none
    assert found.differences["Pinocchio"] < 1e-11 if in_pinocchio else np.isnan(found.differences["Pinocchio"])
