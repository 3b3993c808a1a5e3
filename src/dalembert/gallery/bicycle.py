# SPDX-License-Identifier: BSD-3-Clause
"""Whipple's bicycle with the parameters of its benchmark: four rigid bodies, three hinges, two rolling discs."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.bodies import start_of
from dalembert.gallery.definition import Case, Check, Picture, digits, gained_energy, histories, si
from dalembert.integration.trajectory import Trajectory
from dalembert.mechanisms.forces import Gravity
from dalembert.mechanisms.frames import ground
from dalembert.mechanisms.joints import Revolute
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.rolling import RollingDisc
from dalembert.mechanisms.spatial_body import Body
from dalembert.mechanisms.vectors import quaternion, rotation
from dalembert.model.symbols import t

SOURCE = "Meijaard, Papadopoulos, Ruina and Schwab 2007"
G, TILT = 9.81, np.pi / 10
REAR, FRONT = 0.3, 0.35
"""Radii of the wheels."""

# M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = 0 for roll and steer
M = ((80.81722, 2.31941332208709), (2.31941332208709, 0.29784188199686))
C1 = ((0, 33.86641391492494), (-0.85035641456978, 1.68540397397560))
K0 = ((-80.95, -2.59951685249872), (-2.59951685249872, -0.80329488458618))
K2 = ((0, 76.59734589573222), (0, 2.65431523794604))
WEAVE_SPEED, CAPSIZE_SPEED = 4.29238253634111, 6.02426201538837
BIFURCATION_SPEED, BIFURCATION_EIGENVALUE = 0.68428307889246, 3.78290405129320
WEAVE_FREQUENCY = 3.43503384866144
"""Imaginary part of the weave eigenvalue at the weave speed."""

# at 0, 1, … 10 m/s; for a complex pair, the eigenvalue with positive imaginary part
EIGENVALUES = (
    (-3.13164324790656, 3.13164324790656, -5.53094371765393, 5.53094371765393),
    (-3.13423125066578, 3.52696170990070 + 0.8077402751993j, -7.11008014637442),
    (-3.07158645641514, 2.68234517512745 + 1.68066296590675j, -8.67387984831735),
    (-2.63366137253667, 1.70675605663975 + 2.31582447384325j, -10.35101467245920),
    (-1.42944427361326, 0.41325331521125 + 3.07910818603206j, -12.15861426576450),
    (-0.32286642900409, -0.77534188219585 + 4.46486771378823j, -14.07838969279820),
    (-0.00406690076970, -1.52644486584142 + 5.87673060598709j, -16.08537123098030),
    (0.10268170574766, -2.13875644258362 + 7.19525913329805j, -18.15788466125262),
    (0.14327879765713, -2.69348683581097 + 8.46037971396931j, -20.27940894394569),
    (0.15790184030917, -3.21675402252485 + 9.69377351531791j, -22.43788559040858),
    (0.16105338653172, -3.72016840437287 + 10.90681139476287j, -24.62459635017404),
)


def published_matrix(speed: float) -> Any:
    """Return the matrix of ż = matrix · z for roll, steer and their rates, from the published M, C₁, K₀ and K₂."""
    stiffness = G * np.array(K0) + speed**2 * np.array(K2)
    below = -np.linalg.solve(M, np.hstack([stiffness, speed * np.array(C1)]))
    return np.vstack([np.eye(4)[2:], below])


def sympy_rows(speed: float) -> Any:
    """Return the two lower rows of the same matrix, as printed in SymPy's test_kane3."""
    constant = [digits("9.48977444677355 -0.571523173729245 0 0"), digits("11.7194768719633 30.9087533932407 0 0")]
    linear = [digits("0 0 -0.105522449805691 -0.330515398992311"), digits("0 0 3.67680523332152 -3.08486552743311")]
    square = [digits("0 -0.891197738059089 0 0"), digits("0 -1.97171508499972 0 0")]
    return np.array(constant) + speed * np.array(linear) + speed**2 * np.array(square)


def bicycle_mechanism(speed: float = 1.0, lean: float = 0.0) -> Mechanism:
    """Return the bicycle with x forward, y right, z down, rotated by the lean about the contact line, moving ahead."""
    turn = quaternion((1, 0, 0), lean)
    R = np.array(rotation(turn))

    def body(name: str, mass: float, inertia: Any, place: Any, rolls: float = 0.0) -> Body:
        spin = R @ [0, -speed * rolls, 0]
        return Body(name, mass, inertia, position=R @ place, orientation=turn, velocity=(speed, 0, 0), spin=spin)

    places = {"frame": (0.3, 0, -0.9), "fork": (0.9, 0, -0.7), "rear": (0, 0, -REAR), "front": (1.02, 0, -FRONT)}
    frame = body("frame", 85, [[9.2, 0, 2.4], [0, 11, 0], [2.4, 0, 2.8]], places["frame"])
    fork = body("fork", 4, [[0.05892, 0, -0.00756], [0, 0.06, 0], [-0.00756, 0, 0.00708]], places["fork"])
    rear = body("rear", 2, (0.0603, 0.12, 0.0603), places["rear"], 1 / REAR)
    front = body("front", 3, (0.1405, 0.28, 0.1405), places["front"], 1 / FRONT)

    def at(body: Body, place: Any) -> Any:
        return body.at(*(np.asarray(place) - places[body.name]))

    head, axle, up = (1.02 + 0.08, 0, 0), (0, 1, 0), (0, 0, -1)
    joints = (
        Revolute("rear axle", at(frame, places["rear"]), rear, axis=axle),
        Revolute("front axle", at(fork, places["front"]), front, axis=axle),
        Revolute("steering", at(frame, head), at(fork, head), axis=(np.sin(TILT), 0, np.cos(TILT))),
        RollingDisc("rear wheel", ground.at(0, 0, 0), rear, radius=REAR, axle=axle, normal=up),
        RollingDisc("front wheel", ground.at(0, 0, 0), front, radius=FRONT, axle=axle, normal=up),
    )
    return Mechanism((frame, fork, rear, front), joints, Gravity((0, 0, G)))


def roll_and_steer(mechanism: Mechanism) -> dict[str, Any]:
    """Return roll, steer and their rates as expressions: the outputs to which the published matrices refer."""
    frame, steering = mechanism.bodies[0], mechanism.joints[2]
    roll = sp.asin(frame.turn(sp.Matrix([0, 1, 0]))[2])
    rate = sp.Add(*(roll.diff(x) * x.diff(t) for x in frame.coordinates))
    return {"roll": roll, "steer": steering.angle, "roll rate": rate, "steer rate": steering.rate}


def both_of_each_pair(values: Any) -> Any:
    """Return eigenvalues in order, each complex one with its conjugate."""
    every = {complex(value) for value in (*values, *np.conj(values))}
    return np.array(sorted(every, key=lambda z: (round(z.real, 9), z.imag)))


def weave(matrix: Any) -> complex:
    """Return the eigenvalue of the weave mode, which has the largest imaginary part."""
    return max(np.linalg.eigvals(matrix), key=lambda z: z.imag)


def meeting(matrix: Any) -> tuple[float, float]:
    """Return the squared half difference, and the mean, of the two eigenvalues with the largest real parts.

    The first changes its sign where two real eigenvalues meet and become a complex pair.
    """
    one, other = sorted(np.linalg.eigvals(matrix), key=lambda z: z.real)[2:]
    return float(((one - other) ** 2).real / 4), float((one + other).real / 2)


SPEED, LEAN = 5.0, 1e-3


def leaning(name: str, title: str) -> Case:
    mechanism = bicycle_mechanism(SPEED, LEAN)
    q0, qd0 = start_of(mechanism)
    values, modes = np.linalg.eig(published_matrix(SPEED))
    shares = np.linalg.solve(modes, [LEAN, 0, 0, 0])

    def predicted(times: Any) -> Any:
        return ((shares * np.exp(np.outer(times, values))) @ modes.T).real

    return Case(
        name=name,
        title=title,
        about=(
            "An uncontrolled bicycle at 5 m/s, between weave and capsize speed: it steers into the fall and "
            "rights itself. The full nonlinear mechanism is simulated; for a small lean it follows linear theory."
        ),
        source=f"{SOURCE}, the benchmark bicycle",
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 5, 201),
        checks=(
            Check(
                "roll, steer − linear theory",
                lambda run: _roll_and_steer(mechanism, run) - predicted(run.t)[:, :2],
                0,
                1e-7,
                f"published matrices: {SOURCE}; what is left is of third order in the lean",
            ),
            Check("energy − energy at the start", gained_energy, 0, 1e-8, "conservation"),
            Check("rank", lambda run: run.rank, 25, 0, "28 coordinates, three velocities free"),
        ),
        units=si(metres=" ".join(f"{a}_{b.name}" for b in mechanism.bodies for a in "xyz")),
        pictures=(
            Picture(
                "angles",
                "Roll and steer die out",
                "time t / s",
                "angle / rad",
                histories(
                    {
                        "roll": lambda run: _roll(mechanism, run),
                        "steer": lambda run: _roll_and_steer(mechanism, run)[:, 1],
                    }
                ),
            ),
        ),
        histories=False,
        readable=False,
    )


def _roll(mechanism: Mechanism, run: Trajectory) -> Any:
    return np.arcsin(mechanism.bodies[0].axes_along(run.q[:, :7])[:, 2, 1])


def _roll_and_steer(mechanism: Mechanism, run: Trajectory) -> Any:
    frame, fork = (mechanism.bodies[k].axes_along(run.q[:, 7 * k : 7 * k + 7]) for k in (0, 1))
    relative = np.swapaxes(frame, 1, 2) @ fork
    # rotation about a known axis: sin from the antisymmetric part
    steer = np.arcsin((relative[:, 1, 0] - relative[:, 0, 1]) / 2 / np.cos(TILT))
    return np.stack([_roll(mechanism, run), steer], axis=1)
