# SPDX-License-Identifier: BSD-3-Clause
"""Rigid bodies that roll on a plane, compared with published results: a disc, a coin, a ball on a turntable."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.gallery.bodies import own_spin, own_spin_rate, start_of, turned, world_spin
from dalembert.gallery.definition import Case, Check, Curve, Picture, digits, gained_energy, path, si
from dalembert.integration.trajectory import Trajectory
from dalembert.mechanisms.couplings import Drive
from dalembert.mechanisms.forces import Gravity
from dalembert.mechanisms.frames import ground
from dalembert.mechanisms.joints import Revolute
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.rolling import RollingBall, RollingDisc
from dalembert.mechanisms.spatial_body import Body
from dalembert.model.symbols import t

G = 9.81
X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)

KANE = "published: SymPy's test_kane5"
EXUDYN = "Exudyn's rollingCoinTest"
DISC = {"mass": 3.43, "radius": 0.26}
# yaw, lean, spin angle; ω in axes that turn with the disc; q̇₁ to q̇₅ and u̇₁ to u̇₅, q₄ and q₅ being the contact point
DISC_STATES = (
    ((0.3, 0.1, 1.97), (-0.2, 1.3, 0.15)),
    ((3.97, -0.28, 8.2), (-0.25, -2.2, 0.62)),
)
DISC_PUBLISHED = (
    digits(
        "0.126603940595934 0.215942571601660 1.28736069604936 0.319764288376543 0.0989146857254898 "
        "-0.925848952664489 -0.0181350656532944 2.91695398184589 -0.00992793421754526 0.0412861634829171 "
    ),
    digits(
        "0.0259159090798597 0.668041660387416 -2.19283799213811 0.385441810852219 0.420109283790573 "
        "1.45030568179066 -0.0110924422400793 -8.35617840186040 -0.154098542632173 -0.146102664410010 "
    ),
)
# at t = 0.5
COIN_CONTACT = (0.0020049470207605265, 0.0025969231036030802)
COIN_CENTRE = (8.27529184473841e-05, 0.0015817819005021381, 0.009760873842582648)
COIN_SPIN = (-8.745871467796198, -6.5228908214732115, 31.221853491683262)
# x, y, ẋ, ẏ at t = 4
TURNTABLE_ANALYTIC = (-0.14729368344833021, 0.5540236657005156, -0.216584951828866, -0.05559639054190296)


def disc_mechanism(angles: Any = (0, 0, 0), spin: Any = (0, 0, 0), gravity: Any = G) -> Mechanism:
    """Return a thin disc on a plane: yaw about z, lean about x, turn about its axle y; ω in body axes."""
    m, r = DISC["mass"], DISC["radius"]
    yaw, lean, _ = angles
    R, e = turned(*zip((Z, X, Y), angles, strict=True))
    omega = R @ spin
    up = r * np.array([np.sin(yaw) * np.sin(lean), -np.cos(yaw) * np.sin(lean), np.cos(lean)])
    body = Body(
        *("disc", m, (m * r**2 / 4, m * r**2 / 2, m * r**2 / 4)),
        position=up,
        orientation=e,
        velocity=np.cross(omega, up),
        spin=omega,
    )
    rolling = RollingDisc("rolling", ground.at(0, 0, 0), body, radius=r, axle=Y)
    return Mechanism(body, rolling, Gravity((0, 0, -gravity)))


def disc(name: str, title: str) -> Case:
    mechanism = disc_mechanism(*DISC_STATES[0])
    q0, qd0 = start_of(mechanism)
    return Case(
        name=name,
        title=title,
        about=(
            "A thin disc leans, turns and rolls on its edge. Its equations are known in closed form; accelerations at "
            "the start are those that SymPy's tests print."
        ),
        source="Kane's rolling disc; SymPy's test_kane and test_kane5",
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 2, 201),
        checks=(
            Check(
                "q̇₁ to q̇₅, u̇₁ to u̇₅ at the start",
                lambda run: kane_rates(run, DISC_STATES[0][0]),
                DISC_PUBLISHED[0],
                1e-12,
                KANE,
            ),
            Check("ω̇ − closed form", lambda run: disc_imbalance(run), 0, 1e-9, "published: SymPy's test_kane"),
            Check("energy − energy at the start", gained_energy, 0, 1e-9, "conservation"),
        ),
        units=si(metres="x_disc y_disc z_disc"),
        pictures=(path("The path of the centre, from above", "x_disc", "y_disc"),),
        readable=False,
    )


def kane_rates(run: Trajectory, angles: Any) -> Any:
    """Return q̇₁ to q̇₅ and u̇₁ to u̇₅ at the start of a trajectory, for given yaw, lean and turn of the disc."""
    u, du = own_spin(run)[0], own_spin_rate(run)[0]

    def rates(q: Any, u: Any) -> Any:
        """Return the rates of yaw, lean and turn, and of the contact point."""
        s, c = np.sin(q[2]), np.cos(q[2])
        ahead, up = c * u[0] + s * u[2], c * u[2] - s * u[0]
        turn = u[1] - up * np.tan(q[1])
        rolled = DISC["radius"] * turn
        return np.array([up / np.cos(q[1]), ahead, turn, rolled * np.cos(q[0]), rolled * np.sin(q[0])])

    q = np.asarray(angles, float)
    first = rates(q, u)
    tiny = 1e-30  # complex-step derivative, exact to rounding
    second = rates(q + 1j * tiny * first[:3], u + 1j * tiny * du).imag / tiny
    return np.concatenate([first, du, second[3:]])


def lean_frame(run: Trajectory) -> tuple[Any, Any, Any]:
    """Return lean (T,), ω and its components' rates (T, 3), in axes that yaw and lean with the disc but do not turn."""
    body = disc_mechanism().bodies[0]
    axes = body.axes_along(run.q)
    axle = axes[:, :, 1]
    lean = np.arcsin(axle[:, 2])
    ahead = np.stack([axle[:, 1], -axle[:, 0], 0 * lean], axis=1) / np.cos(lean)[:, None]
    own = np.stack([ahead, axle, np.cross(ahead, axle)], axis=1)
    spin = np.einsum("tij,tj->ti", axes, own_spin(run))
    rate = np.einsum("tij,tj->ti", axes, own_spin_rate(run))
    u = np.einsum("tij,tj->ti", own, spin)
    # the axes rotate with ω minus the rotation about the axle, which changes the components accordingly
    turning = np.stack([u[:, 0], u[:, 2] * np.tan(lean), u[:, 2]], axis=1)
    return lean, u, np.einsum("tij,tj->ti", own, rate) - np.cross(turning, u)


def disc_imbalance(run: Trajectory, gravity: float = G) -> Any:
    """Return ω̇ in the leaning axes minus its closed form."""
    lean, (u1, u2, u3), rate = (part.T for part in lean_frame(run))
    r = DISC["radius"]
    first = (6 * u2 * u3 - u3**2 * np.tan(lean)) / 5 + 4 * gravity / (5 * r) * np.sin(lean)
    return rate - np.stack([first, -2 * u1 * u3 / 3, u1 * (u3 * np.tan(lean) - 2 * u2)])


def coin(name: str, title: str) -> Case:
    r, tilt, spin = 0.01, np.deg2rad(1), np.array([0, 0, np.deg2rad(1800)])
    R, e = turned((Y, tilt))
    body = Body(
        *("coin", 1, (0.5 * r**2, 0.25 * r**2, 0.25 * r**2)),
        position=R @ [0, 0, r],
        orientation=e,
        velocity=np.cross(spin, R @ [0, 0, r]),
        spin=spin,
    )
    rolling = RollingDisc("rolling", ground.at(0, 0, 0), body, radius=r, axle=X)
    mechanism = Mechanism(body, rolling, Gravity((0, 0, -G)))
    q0, qd0 = start_of(mechanism)

    def contact(run: Trajectory) -> Any:
        axle = body.axes_along(run.q)[:, :, 0]
        down = axle * axle[:, 2:] - [0, 0, 1]
        return run.q[:, :3] + r * down / np.linalg.norm(down, axis=1, keepdims=True)

    ours = "computed by us; Exudyn's converge to it"
    return Case(
        name=name,
        title=title,
        about="A coin spun on its edge, one degree off the vertical, which soon leans over and rolls in curves.",
        source=EXUDYN,
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 0.5, 501),
        checks=(
            Check("contact point at t = 0.5", lambda run: contact(run)[-1, :2], COIN_CONTACT, 1e-10, ours),
            Check(
                "x of the contact point at t = 0.5",
                lambda run: contact(run)[-1, 0],
                0.002004099927340136,
                1e-6,
                f"published: {EXUDYN}, at a step of 5e-4 s",
            ),
            Check("centre at t = 0.5", lambda run: run.q[-1, :3], COIN_CENTRE, 1e-10, ours),
            Check("ω at t = 0.5", lambda run: world_spin(run)[-1], COIN_SPIN, 1e-7, ours),
            Check("height of the contact point", lambda run: contact(run)[:, 2], 0, 1e-12, "the constraint"),
        ),
        units=si(metres="x_coin y_coin z_coin"),
        pictures=(
            Picture(
                "contact",
                "The path of the contact point",
                "x / m",
                "y / m",
                (Curve("", lambda run: contact(run)[:, 0], lambda run: contact(run)[:, 1]),),
                equal=True,
            ),
        ),
        rtol=1e-12,
        readable=False,
    )


def turntable(name: str, title: str) -> Case:
    r, rate, v = 0.05, 2.0, np.array([0.1, 0.2, 0])
    place = np.array([0.3, 0, 0])
    slip = v - np.cross([0, 0, rate], place)  # compensated by ω × (−r z)
    table = Body("table", 1, (0.1, 0.1, 0.2), spin=(0, 0, rate))
    ball = Body(
        *("ball", 1, (0.4 * r**2,) * 3),
        position=(*place[:2], r),
        velocity=v,
        spin=(-slip[1] / r, slip[0] / r, 0.7),
    )
    bearing = Revolute("bearing", ground.at(0, 0, 0), table, axis=Z)
    mechanism = Mechanism(
        (table, ball),
        (bearing, Drive("motor", bearing, rate * t), RollingBall("rolling", table, ball, radius=r)),
        Gravity((0, 0, -G)),
    )
    q0, qd0 = start_of(mechanism)
    source = "closed form: Weckesser 1997; Morin, Harvard's problem of the week 21"

    def circled(time: Any) -> Any:
        """Return x and y; v rotates at 2Ω/7."""
        w = 2 * rate / 7
        s, c = np.sin(w * time), np.cos(w * time)
        return np.stack(
            [place[0] + (v[0] * s - v[1] * (1 - c)) / w, place[1] + (v[1] * s + v[0] * (1 - c)) / w], axis=1
        )

    return Case(
        name=name,
        title=title,
        about="The ball does not fly off: it circles at two sevenths of the table's rate, wherever it starts.",
        source=source,
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 4, 201),
        checks=(
            Check(
                "x, y, ẋ, ẏ at t = 4",
                lambda run: [*run.q[-1, 7:9], *run.qd[-1, 7:9]],
                TURNTABLE_ANALYTIC,
                1e-10,
                source,
            ),
            Check("x, y − closed form", lambda run: run.q[:, 7:9] - circled(run.t), 0, 1e-10, source),
        ),
        rtol=1e-12,
        units=si(metres="x_ball y_ball z_ball"),
        pictures=(path("Part of a circle", "x_ball", "y_ball"),),
        histories=False,
        readable=False,
    )
