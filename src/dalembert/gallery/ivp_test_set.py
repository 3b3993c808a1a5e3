# SPDX-License-Identifier: BSD-3-Clause
"""Andrews' squeezing mechanism, of the test set for solvers of initial value problems."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp
from sympy import cos, sin, sqrt

from dalembert.gallery.definition import Case, Check, Measure, Picture, coordinate, digits, histories, si
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.symbols import coordinates, t
from dalembert.model.system import System

TEST_SET = "Test Set for IVP Solvers (Mazzia and Magherini)"
PUBLISHED = f"published: {TEST_SET}"
OURS = "computed by us in 80 bits with an extrapolation method of order 16"


def _named(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in (pair.split("=") for pair in text.split())}


ANDREWS_NUMBERS = _named(
    "m1=0.04325 m2=0.00365 m3=0.02373 m4=0.00706 m5=0.07050 m6=0.00706 m7=0.05498 xa=-0.06934 ya=-0.00227 "
    "xb=-0.03635 yb=0.03273 xc=0.014 yc=0.072 c0=4530 i1=2.194e-6 i2=4.410e-7 i3=5.255e-6 i4=5.667e-7 "
    "i5=1.169e-5 i6=5.667e-7 i7=1.912e-5 d=28e-3 da=115e-4 e=2e-2 ea=1421e-5 rr=7e-3 ra=92e-5 l0=7785e-5 "
    "ss=35e-3 sa=1874e-5 sb=1043e-5 sc=18e-3 sd=2e-2 ta=2308e-5 tb=916e-5 u=4e-2 ua=1228e-5 ub=449e-5 "
    "zf=2e-2 zt=4e-2 fa=1421e-5 mom=33e-3"
)
ANDREWS_START = digits(
    "-0.0617138900142764496 0 0.45527981916307038025 0.22266839016588588467 0.48736497954384255022 "
    "-0.2226683901658858846 1.23054744454982119249"
)
# q, q̇, q̈ and λ at t = 0.03. The published values, by PSIDE, are those of the motion 1e-12 s later.
ANDREWS_PUBLISHED = (
    digits(
        "0.1581077119629904e+2 -0.1575637105984298e+2 0.4082224013073101e-1 -0.5347301163226948e+0 "
        "0.5244099658805304e+0 0.5347301163226948e+0 0.1048080741042263e+1"
    ),
    digits(
        "0.1139920302151208e+4 -0.1424379294994111e+4 0.1103291221937134e+2 0.1929337464421385e+2 "
        "0.5735699284790808e+0 -0.1929337464421385e+2 0.3231791658026955e+0"
    ),
    digits(
        "-0.2463176316945196e+5 0.5185037701610329e+5 0.3241025686413781e+6 0.5667493645176213e+6 "
        "0.1674362929479361e+5 -0.5667493645176222e+6 0.9826520791458422e+4"
    ),
    digits(
        "0.1991753333731910e+3 -0.2975531228015052e+2 0.2306654119098399e+2 0.3145271365475927e+2 "
        "0.2264249232082739e+2 0.1161740700019673e+2"
    ),
)
ANDREWS_COMPUTED = (
    digits(
        "1.58107711951537115e+01 -1.57563710584118454e+01 4.08222401196460214e-02 -5.34730116342079265e-01 "
        "5.24409965879954161e-01 5.34730116342079481e-01 1.04808074104193794e+00"
    ),
    digits(
        "1.13992030225910619e+03 -1.42437929517754019e+03 1.10329119106199983e+01 1.92933741050345013e+01 "
        "5.73569914829583183e-01 -1.92933741050344803e+01 3.23179149249165375e-01"
    ),
    digits(
        "-2.46317631228793628e+04 5.18503196364713211e+04 3.24102600707578502e+05 5.66749422000995137e+05 "
        "1.67436354183453417e+04 -5.66749422000995138e+05 9.82650780154433103e+03"
    ),
    digits(
        "1.99175348104538628e+02 -2.97553099749721948e+01 2.30665436116221288e+01 3.14527252757709494e+01 "
        "2.26424947863943695e+01 1.16173923526114407e+01"
    ),
)
SQUEEZER_LINKS = ("O crank", "crank F", "B F", "F E", "E A", "F H", "H A", "B D", "D C")


def andrews(name: str, title: str) -> Case:
    published, computed = (
        [
            _apart(f"{what} at t = 0.03, relative to {whose}", part, values, tolerance, source)
            for (what, part), values, tolerance in zip(_ANDREWS_PARTS, table, tolerances, strict=True)
        ]
        for whose, table, tolerances, source in (
            ("the published", ANDREWS_PUBLISHED, (1e-9, 2e-7, 3e-6, 3e-6), f"{PUBLISHED}, by PSIDE"),
            ("the converged", ANDREWS_COMPUTED, (1e-11, 1e-10, 1e-9, 1e-9), OURS),
        )
    )
    return Case(
        name=name,
        title=title,
        about=(
            "Seven bodies in the plane with one degree of freedom, squeezed by a motor: three loops, closed by six "
            "equations. The motion is fast: the crank turns two and a half times in 0.03 s."
        ),
        source=f"{TEST_SET}, problem andrews",
        system=_squeezer(),
        parameters=ANDREWS_NUMBERS,
        q0=ANDREWS_START,
        qd0=(0.0,) * 7,
        times=np.linspace(0, 0.03, 121),
        checks=(
            _apart(
                "β̈ and Θ̈ at the start",
                _first("acceleration", 2),
                (14222.4439199541, -10666.8329399656),
                1e-12,
                PUBLISHED,
            ),
            _apart(
                "λ₁ and λ₂ at the start",
                _first("multipliers", 2, -1),
                (98.5668703962411, -6.12268834425567),
                1e-11,
                PUBLISHED,
            ),
            *published,
            *computed,
        ),
        units=si(radians="beta Theta gamma Phi delta Omega epsilon"),
        pictures=(
            Picture(
                "angles",
                "Angles of the five links that swing",
                "time t / s",
                "angle / rad",
                histories({n: coordinate(n) for n in ("gamma", "Phi", "delta", "Omega", "epsilon")}),
            ),
        ),
        points=_squeezer_points,
        links=tuple((a, b) for a, b in map(str.split, SQUEEZER_LINKS)),
        rtol=1e-12,
    )


def _squeezer_points(run: Trajectory) -> dict[str, tuple[Any, Any]]:
    """Return the joints: ground at O, A, B and C, and F, where three links meet; a spring joins C and D."""
    beta, theta, gamma, _, delta, _, epsilon = (run[name] for name in run.coordinates)
    n = run.parameters
    x, y = n["rr"] * np.cos(beta), n["rr"] * np.sin(beta)
    lever = n["sc"] * np.sin(gamma) + n["sd"] * np.cos(gamma), n["sd"] * np.sin(gamma) - n["sc"] * np.cos(gamma)
    return {
        "O": (0, 0),
        "crank": (x, y),
        "F": (x - n["d"] * np.cos(beta + theta), y - n["d"] * np.sin(beta + theta)),
        "A": (n["xa"], n["ya"]),
        "E": (n["zt"] * np.cos(delta) + n["xa"], n["zt"] * np.sin(delta) + n["ya"]),
        "H": (n["u"] * np.sin(epsilon) + n["xa"], n["ya"] - n["u"] * np.cos(epsilon)),
        "B": (n["xb"], n["yb"]),
        "C": (n["xc"], n["yc"]),
        "D": (n["xb"] + lever[0], n["yb"] + lever[1]),
    }


def _apart(what: str, measure: Measure, values: Any, tolerance: float, source: str) -> Check:
    """Return the relative error of each entry."""
    wanted = np.asarray(values)
    return Check(what, lambda run: np.asarray(measure(run)) / wanted, np.ones(len(wanted)), tolerance, source)


def _first(field: str, count: int, sign: int = 1) -> Measure:
    return lambda run: sign * getattr(run, field)[0, :count]


_ANDREWS_PARTS: tuple[tuple[str, Measure], ...] = (
    ("angles", lambda run: run.q[-1]),
    ("angular velocities", lambda run: run.qd[-1]),
    ("angular accelerations", lambda run: run.acceleration[-1]),
    ("multipliers", lambda run: -run.multipliers[-1]),
)


def _squeezer() -> System:
    q = beta, theta, gamma, phi, delta, omega, epsilon = coordinates("beta Theta gamma Phi delta Omega epsilon")
    v = {angle: angle.diff(t) for angle in q}
    n = {name: sp.Symbol(name, real=True) for name in ANDREWS_NUMBERS}
    m, i = ([n[f"{letter}{k}"] for k in range(1, 8)] for letter in "mi")
    r, d, da, zt, u = n["rr"], n["d"], n["da"], n["zt"], n["u"]
    e, f = n["e"] - n["ea"], n["zf"] - n["fa"]
    M = sp.zeros(7)
    M[0, 0] = m[0] * n["ra"] ** 2 + m[1] * (r**2 - 2 * da * r * cos(theta) + da**2) + i[0] + i[1]
    M[0, 1] = M[1, 0] = m[1] * (da**2 - da * r * cos(theta)) + i[1]
    M[1, 1] = m[1] * da**2 + i[1]
    M[2, 2] = m[2] * (n["sa"] ** 2 + n["sb"] ** 2) + i[2]
    M[3, 3] = m[3] * e**2 + i[3]
    M[3, 4] = M[4, 3] = m[3] * (e**2 + zt * e * sin(phi)) + i[3]
    M[4, 4] = m[3] * (zt**2 + 2 * zt * e * sin(phi) + e**2) + m[4] * (n["ta"] ** 2 + n["tb"] ** 2) + i[3] + i[4]
    M[5, 5] = m[5] * f**2 + i[5]
    M[5, 6] = M[6, 5] = m[5] * (f**2 - u * f * sin(omega)) + i[5]
    M[6, 6] = m[5] * (f**2 - 2 * u * f * sin(omega) + u**2) + m[6] * (n["ua"] ** 2 + n["ub"] ** 2) + i[5] + i[6]
    force = (
        n["mom"] - m[1] * da * r * v[theta] * (v[theta] + 2 * v[beta]) * sin(theta),
        m[1] * da * r * v[beta] ** 2 * sin(theta),
        _spring_torque(gamma, n),
        m[3] * zt * e * v[delta] ** 2 * cos(phi),
        -m[3] * zt * e * v[phi] * (v[phi] + 2 * v[delta]) * cos(phi),
        -m[5] * u * f * v[epsilon] ** 2 * cos(omega),
        m[5] * u * f * v[omega] * (v[omega] + 2 * v[epsilon]) * cos(omega),
    )
    x, y = r * cos(beta) - d * cos(beta + theta), r * sin(beta) - d * sin(beta + theta)
    ends = {
        "spring lever": (n["ss"] * sin(gamma) + n["xb"], -n["ss"] * cos(gamma) + n["yb"]),
        "upper arm": (
            n["e"] * sin(phi + delta) + zt * cos(delta) + n["xa"],
            -n["e"] * cos(phi + delta) + zt * sin(delta) + n["ya"],
        ),
        "lower arm": (
            n["zf"] * cos(omega + epsilon) + u * sin(epsilon) + n["xa"],
            n["zf"] * sin(omega + epsilon) - u * cos(epsilon) + n["ya"],
        ),
    }
    loops = [
        Constraint(place - own, name=f"{link} {axis}")
        for link, end in ends.items()
        for axis, place, own in zip("xy", (x, y), end, strict=True)
    ]
    return System(q, M, force, loops)


def _spring_torque(gamma: Any, n: dict[str, Any]) -> Any:
    x = n["sd"] * cos(gamma) + n["sc"] * sin(gamma)
    y = n["sd"] * sin(gamma) - n["sc"] * cos(gamma)
    away = sp.Matrix([x + n["xb"] - n["xc"], y + n["yb"] - n["yc"]])
    far = sqrt(away.dot(away))
    return -n["c0"] * (far - n["l0"]) / far * (away[1] * x - away[0] * y)
