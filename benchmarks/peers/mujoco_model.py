# SPDX-License-Identifier: BSD-3-Clause
"""MuJoCo: links on hinges, loops as soft equalities that are as stiff as the step allows, its RK4, steps in C."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import mujoco
import numpy as np

from benchmarks.peers.planar import GROUND, Planar, planar
from benchmarks.peers.problems import CannotError, Problem

PACKAGES = ("mujoco",)
STEPS = (300, 600, 1000, 2000, 3000, 6000, 12_000, 30_000, 60_000)
RELAXING = (0.5, 2.0)
"""In how many steps a loop that has opened closes again; with less than half a step RK4 is not stable."""

POINT = 1e-14
"""The inertia of a point mass; zero is refused."""


def runs(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    if problem.velocity:
        raise CannotError("no nonholonomic equality; it rolls only by friction in a soft contact")
    mechanism = planar(problem)
    angles, rates = mechanism.start

    @lru_cache(maxsize=1)
    def model(count: int, relaxing: float) -> Any:
        made = mujoco.MjModel.from_xml_string(_xml(mechanism, problem.end / count, relaxing))
        return made, mujoco.MjData(made)

    def run(count: int, relaxing: float) -> np.ndarray:
        ready, data = model(count, relaxing)
        mujoco.mj_resetData(ready, data)
        data.qpos[:], data.qvel[:] = angles, rates
        data.qfrc_applied[0] = mechanism.torque
        mujoco.mj_step(ready, data, nstep=count)
        return mechanism.seen(data.qpos)

    return {
        f"RK4 h={problem.end / count:.2g}" + f", loops relax in {relaxing:g} h" * bool(mechanism.loops): (
            lambda count=count, relaxing=relaxing: run(count, relaxing)
        )
        for count in STEPS
        for relaxing in RELAXING[: 2 if mechanism.loops else 1]
    }


def _xml(mechanism: Planar, h: float, relaxing: float) -> str:
    sites: list[list[tuple[str, Any]]] = [[] for _ in mechanism.links]
    joined = ""
    for k, loop in enumerate(mechanism.loops):
        sites[loop.first].append((f"a{k}", loop.at_first))
        sites[loop.second].append((f"b{k}", loop.at_second))
        # critically damped, with the largest impedance there is
        joined += f'<connect site1="a{k}" site2="b{k}" solref="{relaxing * h!r} 1" solimp="0.9999 0.9999 0.001"/>'
    spring, tendon = mechanism.spring, ""
    fixed = ""
    if spring is not None:
        sites[spring.link].append(("spring", spring.at))
        fixed = f'<site name="anchor" pos="{_place(spring.anchor)}"/>'
        tendon = (
            f'<tendon><spatial stiffness="{spring.stiffness!r}" springlength="{spring.length!r}">'
            '<site site="anchor"/><site site="spring"/></spatial></tendon>'
        )
    return (
        f'<mujoco><compiler angle="radian"/><option integrator="RK4" timestep="{h!r}" tolerance="1e-14" '
        f'gravity="0 {-mechanism.gravity!r} 0"><flag contact="disable" refsafe="disable"/></option>'
        f"<worldbody>{fixed}{_bodies(mechanism, GROUND, sites)}</worldbody>"
        f"<equality>{joined}</equality>{tendon}</mujoco>"
    )


def _bodies(mechanism: Planar, parent: int, sites: list[list[tuple[str, Any]]]) -> str:
    found = ""
    for k, link in enumerate(mechanism.links):
        if link.parent == parent:
            turn = max(link.inertia, POINT)
            marks = "".join(f'<site name="{name}" pos="{_place(at)}"/>' for name, at in sites[k])
            found += (
                f'<body pos="{_place(link.at)}"><joint type="hinge" axis="0 0 1"/>'
                f'<inertial pos="{_place(link.com)}" mass="{link.mass!r}" diaginertia="{turn!r} {turn!r} {turn!r}"/>'
                f"{marks}{_bodies(mechanism, k, sites)}</body>"
            )
    return found


def _place(at: Any) -> str:
    return f"{float(at[0])!r} {float(at[1])!r} 0"
