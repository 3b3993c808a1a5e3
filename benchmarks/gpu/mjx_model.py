# SPDX-License-Identifier: BSD-3-Clause
"""MJX, MuJoCo in JAX: the double pendulum by two hinges, the four-bar by three and a soft constraint that closes it.

MuJoCo has no ideal rolling, so that the disc is left out. Its coordinates are the joints' angles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.gpu.gpu_problems import BARS, BASE, G, Problem

# A point mass must have some inertia here: 1e-10 of what it has about the hinge.
POINT = '<inertial pos="0 0 -1" mass="1" diaginertia="1e-10 1e-10 1e-10"/>'
HINGE = '<joint type="hinge" axis="0 -1 0"/>'
DOUBLE_PENDULUM = f"""
<body>{HINGE}{POINT}<body pos="0 0 -1">{HINGE}{POINT}</body></body>
"""
# As stiff as a step of 1 ms allows.
CLOSED = """
<equality><connect body1="coupler" body2="rocker" anchor="{l2} 0 0" solref=".002 1" solimp="{s} {s} .001"/></equality>
"""


def _bar(name: str, place: float, inside: str = "") -> str:
    size = BARS[name]
    inertia = size**3 / 12
    mass = f'<inertial pos="{size / 2} 0 0" mass="{size}" diaginertia="1e-3 {inertia} {inertia}"/>'
    return f'<body name="{name}" pos="{place} 0 0">{HINGE}{mass}{inside}</body>'


def _four_bar() -> tuple[str, str]:
    coupler = _bar("coupler", BARS["crank"])
    closed = CLOSED.format(l2=BARS["coupler"], s=0.9999)
    return _bar("crank", 0, coupler) + _bar("rocker", BASE), closed


def model(problem: Problem) -> Any:
    import mujoco

    body, equality = (DOUBLE_PENDULUM, "") if problem.name == "double pendulum" else _four_bar()
    # constraints are equalities or none, so that Newton's first iteration is exact
    made = mujoco.MjModel.from_xml_string(
        f"""<mujoco><compiler boundinertia="0" balanceinertia="false" angle="radian"/>
        <option timestep="{problem.h}" integrator="RK4" gravity="0 0 {-G}" iterations="1" ls_iterations="1">
        <flag contact="disable" {'constraint="disable"' if not equality else ""}/></option>
        <worldbody>{body}</worldbody>{equality}</mujoco>"""
    )
    if equality:  # the point of the second body; MuJoCo would take it from all angles zero, where the loop is open
        made.eq_data[0, 3:6] = (BARS["rocker"], 0, 0)
    return made


def to_joints(problem: Problem, q: Any, qd: Any) -> tuple[Any, Any]:
    """Angles and rates of the hinges, (joints, count), from q and qd."""
    if problem.name == "double pendulum":
        first = np.arctan2(q[0], -q[1])
        second = np.arctan2(q[2] - q[0], q[1] - q[3])
        # the members start at rest
        return np.stack([first, second - first]), np.zeros((2, q.shape[1]))
    return tuple(np.stack([x[2], x[5] - x[2], x[8]]) for x in (q, qd))


def from_joints(problem: Problem, angle: Any, rate: Any) -> tuple[Any, Any]:
    """q and qd, (n, count), from angles and rates of the hinges."""
    angle, rate = (np.asarray(x, float) for x in (angle, rate))
    first, second = np.cumsum(angle[:2], axis=0)
    spins = np.cumsum(rate[:2], axis=0)
    if problem.name == "double pendulum":
        r1, r2 = (np.stack([np.sin(a), -np.cos(a)]) for a in (first, second))
        v1, v2 = (w * np.stack([np.cos(a), np.sin(a)]) for a, w in zip((first, second), spins, strict=True))
        return np.concatenate([r1, r1 + r2]), np.concatenate([v1, v1 + v2])
    q, qd = [], []
    begin = begun = np.zeros((2, angle.shape[1]))
    for name, a, w in zip(BARS, (first, second, angle[2]), (*spins, rate[2]), strict=True):
        if name == "rocker":
            begin, begun = np.array([[BASE], [0.0]]), np.zeros((2, 1))
        arm, swing = np.stack([np.cos(a), np.sin(a)]), w * np.stack([-np.sin(a), np.cos(a)])
        q += [*(begin + BARS[name] / 2 * arm), a]
        qd += [*(begun + BARS[name] / 2 * swing), w]
        begin, begun = begin + BARS[name] * arm, begun + BARS[name] * swing
    return np.stack(q), np.stack(qd)


def mjx_run(problem: Problem) -> Callable[[Any, Any], tuple[Any, Any]]:
    """``run(angle, rate)`` with all steps, (joints, count), in and out, in JAX's default float type."""
    from mujoco import mjx

    made = mjx.put_model(model(problem), impl="jax")

    def motion(angle: Any, rate: Any) -> tuple[Any, Any]:
        data = mjx.make_data(made, impl="jax").replace(qpos=angle, qvel=rate)
        data, _ = jax.lax.scan(lambda d, _: (mjx.step(made, d), None), data, length=problem.steps)
        return data.qpos, data.qvel

    mapped = jax.vmap(motion, in_axes=1, out_axes=1)
    return jax.jit(lambda angle, rate: mapped(jnp.asarray(angle), jnp.asarray(rate)))
