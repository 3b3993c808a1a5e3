# SPDX-License-Identifier: BSD-3-Clause
"""The woodpecker toy of Pfeiffer and Glocker: a sleeve that jams on its pole and slides, with impacts of the beak."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.contact_cases import PHASES, audit, times_of
from dalembert.gallery.definition import Case, Check, Curve, Picture, coordinate, histories, si, velocity
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.friction import Coulomb
from dalembert.model.symbols import coordinates, multiplier, parameters, t
from dalembert.model.system import System

PAPER = "Leine, Glocker and van Campen 2001"
NUMBERS = {"m_M": 0.0003, "J_M": 5e-9, "m_S": 0.0045, "J_S": 7e-7, "c": 0.0056, "g": 9.81, "mu": 0.3}
NUMBERS |= {"r_0": 0.0025, "r_M": 0.0031, "h_M": 0.0058, "l_M": 0.010, "l_G": 0.015, "h_S": 0.02, "l_S": 0.0201}


def toy(name: str, title: str) -> Case:
    stop = -(NUMBERS["r_M"] - NUMBERS["r_0"]) / NUMBERS["h_M"]
    return Case(
        name=name,
        title=title,
        about=(
            "The sleeve M fits loosely on a pole; a spring joins it to the bird S. Tilted, the sleeve jams at its low "
            "edge, while the bird swings; upright it slides down, until the upper edge, then the beak, hits the pole. "
            "Gravity makes up for the losses: the motion is periodic apart from y. Friction acts in the impacts by "
            "Moreau's law, as in the paper. Its period, 0.1452 s, is half a percent less than ours, 0.1460 s, which "
            "Siconos confirms (0.1461 s in steps of 20 µs). The dimensions are printed to two digits: the height h_M "
            "of the sleeve between 5.75 and 5.85 mm alone gives periods from 0.1442 to 0.1481 s."
        ),
        source=PAPER,
        system=_system(),
        parameters=NUMBERS,
        # in the phase in which the sleeve slides down on its lower edge, near the periodic motion
        q0=(0, stop, -0.2788),
        qd0=(-0.3411, 0, -7.4583),
        times=np.linspace(0, 0.45, 451),
        rtol=1e-9,
        atol=None,
        checks=(
            Check("period", lambda run: np.diff(_beak(run)), 0.1452, 1e-3, PAPER),
            Check("period by Siconos", lambda run: np.diff(_beak(run)), 0.14606, 2.5e-4, "its example, steps of 20 µs"),
            Check("least φ_S", lambda run: run["phi_S"].min(), -0.53, 5e-3, PAPER),
            Check("largest φ_M", lambda run: run["phi_M"].max(), 0.1034, 5e-5, PAPER),
            Check("φ_S where the beak hits", _angle_of_beak, 0.12, 1e-11, PAPER),
            Check("sequence of events", _matches_paper, 1, 0, PAPER),
            Check("balance of energy", audit, 0, 1e-12, "the ledger"),
        ),
        units=si(metres="y", radians="phi_M phi_S"),
        pictures=(
            Picture(
                "portrait",
                "Phase portrait of the bird",
                "φ_S / rad",
                "φ̇_S / (rad/s)",
                (Curve("", coordinate("phi_S"), velocity("phi_S")),),
            ),
            Picture("descent", "Descent", "time t / s", "y / m", histories({"y": coordinate("y")})),
        ),
        no_closed_form=PHASES,
    )


def _system() -> System:
    q = coordinates("y phi_M phi_S")
    _, sleeve, bird = q
    m_M, J_M, m_S, J_S, c, g, mu, r_0, r_M, h_M, l_M, l_G, h_S, l_S = parameters(" ".join(NUMBERS))
    levers = sp.Matrix([1, l_M, l_G])
    mass = m_S * levers * levers.T + sp.diag(m_M, J_M, J_S)
    spring = c * (bird - sleeve)
    force = sp.Matrix([-m_M * g, spring, -spring]) - m_S * g * levers
    rates = [x.diff(t) for x in q]

    def contact(name: str, gap: Any, levers: tuple[Any, Any], e: Any) -> Constraint:
        slip = rates[0] + levers[0] * rates[1] + levers[1] * rates[2]
        friction = Coulomb(mu, velocity=slip, normal_force=multiplier(name))
        return Constraint(sp.Ge(gap, 0), name=name, restitution=e, impact="moreau", nonideal=friction)

    contacts = (
        contact("beak", l_M + l_G - l_S - r_0 - h_S * bird, (l_M, l_G - l_S), sp.Rational(1, 2)),
        contact("lower edge", r_M - r_0 + h_M * sleeve, (r_M, 0), 0),
        contact("upper edge", r_M - r_0 - h_M * sleeve, (r_M, 0), 0),
    )
    return System(q, mass, list(force), contacts)


def _beak(run: Trajectory) -> Any:
    return np.array([event.t for event in run.events if event.name == "beak" and event.kind == "impact"])


def _angle_of_beak(run: Trajectory) -> Any:
    return np.array([event.before[2] for event in run.events if event.name == "beak"])


def _matches_paper(run: Trajectory) -> Any:
    """Return 1 if one period has the events 1 to 8 of the paper's figure 7, in this order."""
    wanted = [("lower edge", "slips"), ("lower edge", "opens"), ("upper edge", "impact"), ("beak", "impact")]
    wanted += [("upper edge", "impact"), ("upper edge", "opens"), ("lower edge", "impact"), ("lower edge", "sticks")]
    first = times_of(run, "slips")[0]
    found = [(event.name, event.kind) for event in run.events if event.t >= first]
    # those that the figure does not number: the instants at which an edge stays closed, and a second impact
    found = [pair for pair in found if pair[1] != "closes"]
    kept = [pair for k, pair in enumerate(found) if k == 0 or pair != found[k - 1]]
    return float(kept[:8] == wanted)
