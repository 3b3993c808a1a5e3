# SPDX-License-Identifier: BSD-3-Clause
"""The five problems, once for all programs: M q̈ = Q + Aᵀλ with constraints, a start, and where the motion ends.

Everything is plain SymPy with numbers put in; nobody has to carry parameters along. The ends were found in other
coordinates than those that are measured: see ``reference_states``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sympy as sp

G = 9.81


class CannotError(Exception):
    """The reason why a program cannot solve a problem."""


@dataclass(frozen=True)
class Problem:
    """A motion to be found.

    q, v                  symbols of coordinates and velocities
    kinetic, potential    energies
    position, velocity    constraints φ(q) = 0 and ψ(q, q̇) = 0, linear in q̇
    seen                  what is compared at the end, from q
    reference             that, good to 1e-12
    """

    name: str
    title: str
    q: tuple[sp.Symbol, ...]
    v: tuple[sp.Symbol, ...]
    kinetic: Any
    potential: Any
    position: tuple[Any, ...]
    velocity: tuple[Any, ...]
    q0: tuple[float, ...]
    qd0: tuple[float, ...]
    end: float
    reference: tuple[float, ...]
    seen: Callable[[np.ndarray], np.ndarray] = np.asarray

    @property
    def y0(self) -> np.ndarray:
        return np.array([*self.q0, *self.qd0], float)

    def error(self, seen: Any) -> float:
        """The largest error of positions at the end."""
        return float(np.abs(np.asarray(seen, float) - self.reference).max())

    @cached_property
    def mass_matrix(self) -> list[list[Any]]:
        slopes = [sp.diff(self.kinetic, v) for v in self.v]
        return [[sp.diff(slope, v) for v in self.v] for slope in slopes]

    @cached_property
    def applied_force(self) -> list[Any]:
        """Return the right side of Lagrange's equations: ∂(T − V)/∂q − (∂²T/∂q̇∂q) q̇."""
        slopes = [sp.diff(self.kinetic, v) for v in self.v]
        return [
            sp.diff(self.kinetic - self.potential, q) - self._along(slope)
            for q, slope in zip(self.q, slopes, strict=True)
        ]

    @cached_property
    def constraint_matrix(self) -> list[list[Any]]:
        by_q = [[sp.diff(row, q) for q in self.q] for row in self.position]
        return by_q + [[sp.diff(row, v) for v in self.v] for row in self.velocity]

    @cached_property
    def constraint_rhs(self) -> list[Any]:
        rates = [self._along(row) for row in self.position]
        return [-self._along(rate) for rate in (*rates, *self.velocity)]

    def _along(self, expression: Any) -> Any:
        """The rate of change with the coordinates alone."""
        touched = expression.free_symbols
        return sum(sp.diff(expression, q) * v for q, v in zip(self.q, self.v, strict=True) if q in touched)


def _symbols(names: str) -> tuple[tuple[sp.Symbol, ...], tuple[sp.Symbol, ...]]:
    q = tuple(sp.Symbol(name, real=True) for name in names.split())
    return q, tuple(sp.Symbol(f"v_{s}", real=True) for s in q)


def double_pendulum() -> Problem:
    """Two masses of 1 kg on rods of 1 m, stretched out sideways and let go."""
    q, v = _symbols("x1 y1 x2 y2")
    x1, y1, x2, y2 = q
    return Problem(
        *("double pendulum", "Double pendulum in Cartesian coordinates, 3 s", q, v),
        kinetic=sum(s**2 for s in v) / 2,
        potential=G * (y1 + y2),
        position=(x1**2 + y1**2 - 1, (x2 - x1) ** 2 + (y2 - y1) ** 2 - 1),
        velocity=(),
        q0=(1, 0, 2, 0),
        qd0=(0,) * 4,
        end=3.0,
        reference=DOUBLE_PENDULUM,
    )


def four_bars(loops: int) -> Problem:
    """Windows of four uniform bars side by side, of 1 kg and 1 m, hanging; the joints start sideways at 3 m/s."""
    joints = range(loops + 1)
    q, v = _symbols(" ".join(f"x{i} y{i}" for i in joints))
    bars = [((0, 0), (v[2 * i], v[2 * i + 1])) for i in joints]
    bars += [((v[2 * i], v[2 * i + 1]), (v[2 * i + 2], v[2 * i + 3])) for i in range(loops)]
    rows = [(q[2 * i] - i) ** 2 + q[2 * i + 1] ** 2 - 1 for i in joints]
    rows += [(q[2 * i + 2] - q[2 * i]) ** 2 + (q[2 * i + 3] - q[2 * i + 1]) ** 2 - 1 for i in range(loops)]
    couplers = [(i > 0) + (i < loops) for i in joints]
    x, y = ONE_FOUR_BAR if loops == 1 else FORTY_FOUR_BARS
    return Problem(
        f"{loops} four-bar{'s' if loops > 1 else ''}",
        f"{'One four-bar' if loops == 1 else f'{loops} coupled four-bars, n = {len(q)}'}, 10 s",
        *(q, v),
        kinetic=sum((a**2 + a * b + b**2) / 6 for start, end in bars for a, b in zip(start, end, strict=True)),
        potential=sum(G * sp.Rational(1 + count, 2) * q[2 * i + 1] for i, count in enumerate(couplers)),
        position=tuple(rows),
        velocity=(),
        q0=tuple(c for i in joints for c in (i, -1)),
        qd0=(3, 0) * (loops + 1),
        end=10.0,
        reference=tuple(c for i in joints for c in (x + i, y)),
    )


def andrews() -> Problem:
    """Andrews' squeezing mechanism of the test set for solvers of initial value problems, its crank driven."""
    from dalembert.gallery import case
    from dalembert.gallery.ivp_test_set import ANDREWS_COMPUTED, ANDREWS_NUMBERS, ANDREWS_START
    from dalembert.lowering.source import source_of

    form = source_of(case("andrews").system).form
    q, v = _symbols("beta Theta gamma Phi delta Omega epsilon")
    put = dict(zip((*form.symbols.q, *form.symbols.qd), (*q, *v), strict=True))
    put |= {sp.Symbol(name, real=True): value for name, value in ANDREWS_NUMBERS.items()}
    n = {name: sp.Float(value) for name, value in ANDREWS_NUMBERS.items()}
    M = sp.Matrix(form.mass_matrix).xreplace(put)
    gamma = q[2]
    x = n["sd"] * sp.cos(gamma) + n["sc"] * sp.sin(gamma) + n["xb"] - n["xc"]
    y = n["sd"] * sp.sin(gamma) - n["sc"] * sp.cos(gamma) + n["yb"] - n["yc"]
    return Problem(
        *("andrews", "Andrews' squeezing mechanism, 0.03 s", q, v),
        kinetic=(sp.Matrix(v).T * M * sp.Matrix(v))[0] / 2,
        potential=n["c0"] / 2 * (sp.sqrt(x**2 + y**2) - n["l0"]) ** 2 - n["mom"] * q[0],
        position=tuple(sp.sympify(row).xreplace(put) for row in form.position),
        velocity=(),
        q0=tuple(map(float, ANDREWS_START)),
        qd0=(0,) * 7,
        end=0.03,
        reference=tuple(map(float, ANDREWS_COMPUTED[0])),
    )


DISC_MASS, DISC_RADIUS = 3.43, 0.26
DISC_START = (0.3, 0.2, 0.0), (-0.2, 6.0, 0.5)
"""Yaw, lean, turn; ω along the direction ahead, the axle, and square to both."""


def rolling_disc() -> Problem:
    """A thin disc that rolls on a plane: its centre, yaw about the vertical, lean, turn about its axle."""
    q, v = _symbols("x y z yaw lean turn")
    m, r, yaw, lean = DISC_MASS, DISC_RADIUS, q[3], q[4]
    spin = (v[4], v[5] + v[3] * sp.sin(lean), v[3] * sp.cos(lean))
    axes = disc_axes(yaw, lean, sp)
    inertia = (m * r**2 / 4, m * r**2 / 2, m * r**2 / 4)
    (yaw0, lean0, _), (u1, u2, u3) = DISC_START
    ahead, aside, up = np.array(disc_axes(yaw0, lean0, np))
    rates = (*(r * (u2 * ahead - u1 * aside)), u3 / np.cos(lean0), u1, u2 - u3 * np.tan(lean0))
    return Problem(
        *("rolling disc", "Rolling disc, 5 s", q, v),
        kinetic=m * sum(s**2 for s in v[:3]) / 2 + sum(i * u**2 for i, u in zip(inertia, spin, strict=True)) / 2,
        potential=m * G * q[2],
        position=(),
        velocity=tuple(v[k] - r * (spin[1] * axes[0][k] - spin[0] * axes[1][k]) for k in range(3)),
        q0=(*map(float, r * up), *DISC_START[0]),
        qd0=tuple(map(float, rates)),
        end=5.0,
        reference=ROLLING_DISC,
        seen=disc_seen,
    )


def disc_axes(yaw: Any, lean: Any, lib: Any) -> list[list[Any]]:
    """The direction ahead, the axle, and the direction from the point of contact to the centre."""
    s, c, sl, cl = lib.sin(yaw), lib.cos(yaw), lib.sin(lean), lib.cos(lean)
    return [[c, s, 0 * s], [-s * cl, c * cl, sl], [s * sl, -c * sl, cl]]


def disc_seen(q: np.ndarray) -> np.ndarray:
    """The centre of the disc and the direction of its axle."""
    return np.array([*q[:3], *disc_axes(q[3], q[4], np)[1]])


DOUBLE_PENDULUM = (0.9769765658909509, 0.21334664211073132, 1.876250850682071, -0.2240384979128174)
ONE_FOUR_BAR = (0.7357004565690201, -0.6773070486892451)
FORTY_FOUR_BARS = (0.025123603474348843, -0.9996843524575463)
ROLLING_DISC = (
    *(1.1234472168128422, -0.2686349226748748, 0.23403154946773344),
    *(0.7364279400157022, 0.5175831559089052, 0.43563926118246865),
)

PROBLEMS = {
    "double-pendulum": double_pendulum,
    "four-bar": lambda: four_bars(1),
    "andrews": andrews,
    "rolling-disc": rolling_disc,
    "forty-four-bars": lambda: four_bars(40),
}


@lru_cache
def problem(name: str) -> Problem:
    return PROBLEMS[name]()
