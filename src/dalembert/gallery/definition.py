# SPDX-License-Identifier: BSD-3-Clause
"""Cases of the gallery: a system with parameter values, ready to run, and known properties of its motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dalembert.common.names import counted, listed, summary
from dalembert.control.controller import Controller
from dalembert.equation.formulation import Formulation
from dalembert.errors import InputError
from dalembert.gallery.traced_points import traced_points
from dalembert.integration.drift import Drift, Projection
from dalembert.integration.trajectory import Trajectory
from dalembert.live.experiment import require_live
from dalembert.live_page import page
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.mechanism_assembly import Assembly
from dalembert.model.ordering import name_of
from dalembert.model.system import System
from dalembert.settings import method_of
from dalembert.verbs import simulate

Measure = Callable[[Trajectory], Any]
"""A number, or an array of numbers, computed from a trajectory."""


@dataclass(frozen=True)
class Check:
    """A known property of the motion: a value that ``measure`` must return to within ``tolerance``.

    Values may be arrays; the entry with the largest error counts.

    expected         a number or an array; or a function of a trajectory, if it is not constant along the motion
    expected_text    the expected value as text, if it is a function
    times            times of the values, if they are a history
    """

    what: str
    measure: Measure
    expected: Any
    tolerance: float
    source: str
    expected_text: str = ""
    times: Measure | None = None

    def outcome(self, run: Trajectory) -> Outcome:
        """Return the outcome of the check for a trajectory."""
        got = np.asarray(self.measure(run), float)
        expected = np.asarray(self.expected(run) if callable(self.expected) else self.expected, float)
        off = np.abs(got - expected)
        worst = float(np.max(off))
        at = None if self.times is None else float(self.times(run)[int(np.argmax(off))])
        return Outcome(self, got, expected, worst, bool(worst <= self.tolerance), at)


@dataclass(frozen=True)
class Outcome:
    """A check, computed and expected value, the error, whether the check passed, and the time of a history's error."""

    check: Check
    got: Any
    expected: Any
    off: float
    passed: bool
    at: float | None = None


@dataclass(frozen=True)
class Curve:
    """One line of a figure: ``y`` against ``x``."""

    label: str
    x: Measure
    y: Measure


@dataclass(frozen=True)
class Picture:
    """A figure of a trajectory, as curves on one pair of axes.

    equal    same scale on both axes, as for a path in space; a dot marks where each curve starts
    """

    name: str
    caption: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log: bool = False
    equal: bool = False


@dataclass(frozen=True, kw_only=True)
class Case:
    """One system of the gallery with its parameters, its initial state, and its checks.

    about              description of the case
    source             its origin
    drift, formulation, rtol, atol, allow_violation, control    as for ``da.simulate``
    settings           further arguments of ``da.simulate``
    units              by coordinate name, and "t"; quantities that are not listed have none
    histories          whether to plot all histories; false if they oscillate too fast to be seen
    no_closed_form     the reason why its equations have no closed form, as a sentence; empty if they have one
    readable           whether to print the closed form of its equations; false if it fills pages
    assembly           how the start of a mechanism in a file was found; None if it was given
    points, links      for animations: positions by name, from a trajectory, and pairs of names to connect
    point_expressions  the same positions as expressions, for live pages; None to derive them from ``points``
    mechanism          the mechanism that defines the system, if there is one; live pages draw it
    """

    name: str
    title: str
    about: str
    source: str
    system: System
    mechanism: Mechanism | None = None
    parameters: Mapping[str, float] = field(default_factory=dict[str, float])
    q0: Sequence[float]
    qd0: Sequence[float]
    times: Any
    checks: tuple[Check, ...]
    drift: Drift | None = field(default_factory=Projection)
    formulation: Formulation | None = None
    rtol: float = 1e-11
    atol: float | None = 1e-13
    allow_violation: bool = False
    control: Controller | None = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    units: Mapping[str, str] = field(default_factory=dict[str, str])
    pictures: tuple[Picture, ...] = ()
    histories: bool = True
    no_closed_form: str = ""
    readable: bool = True
    points: Callable[[Trajectory], Mapping[str, tuple[Any, Any]]] | None = None
    point_expressions: Mapping[str, tuple[Any, Any]] | None = None
    links: tuple[tuple[str, str], ...] = ()
    assembly: Assembly | None = None

    def __repr__(self) -> str:
        names = listed(self.system.coordinate_names, "coordinates")
        return summary(f"Case {self.name}", self.title, names, counted(len(self.checks), "check"))

    def __post_init__(self) -> None:
        # cases share parameters: a change to one must not affect another
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def simulate(
        self,
        *,
        parameters: Any = None,
        q0: Any = None,
        qd0: Any = None,
        times: Any = None,
        progress: bool | None = None,
    ) -> Trajectory:
        """Return the motion of the case, optionally with other parameter values, another start or other times.

        >>> import dalembert as da
        >>> run = da.gallery.case("bead").simulate(times=[0, 0.5])
        >>> print(run["x"].round(6))
        [-1.       -0.088299]
        """
        if parameters is not None and not isinstance(parameters, Mapping):
            raise InputError(f"`parameters` must be a mapping from names to numbers; got {parameters!r}.")
        changed = {name_of(key): value for key, value in (parameters or {}).items()}
        return simulate(
            self.system,
            self.q0 if q0 is None else q0,
            self.qd0 if qd0 is None else qd0,
            self.times if times is None else times,
            parameters={**self.parameters, **changed},
            drift=self.drift,
            formulation=self.formulation,
            rtol=self.rtol,
            atol=self.atol,
            allow_violation=self.allow_violation,
            control=self.control,
            progress=progress,
            **self.settings,
        )

    @property
    def export_arguments(self) -> dict[str, Any]:
        """Its numbers as arguments of ``da.export_c`` and the other exports; an error is raised for one with events."""
        if self.settings.get("events"):
            names = ", ".join(f"`{event.name}`" for event in self.settings["events"])
            raise InputError(
                f"`{self.name}` must have no events to be exported, since exported functions do not locate them; got "
                f"{names}. Without them it is exported in Python: `da.export_c(model.system, path)`."
            )
        return {
            "q0": self.q0,
            "qd0": self.qd0,
            "t0": float(self.times[0]),
            "parameters": dict(self.parameters),
            "drift": self.drift,
            "control": self.control,
            "allow_violation": self.allow_violation,
        }

    def page(self, path: str | Path) -> Path:
        """Write a page that runs the case in the browser, and return its path; see ``da.page``.

        Raises
        ------
        InputError    if a page cannot run the case; the message says why
        """
        if "events" in self.settings:
            raise InputError("a live page runs a motion without events; this one has some. `run.animate` shows it.")
        method = method_of(self.formulation, self.drift, None, self.rtol, self.atol, None, 1)
        require_live(self.system, method, self.control)
        drawn = self.mechanism is None and self.points is not None
        points = self.point_expressions
        if drawn and self.points is not None and points is None:
            points = traced_points(self.system, self.points)
        return page(
            self.mechanism or self.system,
            self.q0,
            self.qd0,
            self.times,
            path,
            parameters=self.parameters,
            points=points if drawn else None,
            links=self.links if drawn else (),
            title=self.title,
            about=self.about,
            rtol=self.rtol,
            atol=self.atol,
            drift=self.drift,
            allow_violation=self.allow_violation,
            control=self.control,
        )

    def verify(self, run: Trajectory) -> tuple[Outcome, ...]:
        """Return the outcome of every check, for a trajectory with the case's own parameters."""
        return tuple(check.outcome(run) for check in self.checks)


def time(run: Trajectory) -> Any:
    return run.t


def coordinate(name: str) -> Measure:
    """Return a measure: the history of a coordinate."""
    return lambda run: run[name]


def velocity(name: str) -> Measure:
    """Return a measure: the history of a velocity."""
    return lambda run: run.qd[:, run.coordinates.index(name)]


def gained_energy(run: Trajectory) -> Any:
    """Return the energy minus its initial value."""
    assert run.energy is not None
    return run.energy - run.energy[0]


def digits(text: str) -> tuple[float, ...]:
    """Return the numbers in a text."""
    return tuple(float(number) for number in text.split())


def histories(labels: Mapping[str, Measure]) -> tuple[Curve, ...]:
    """Return curves against time, by label."""
    return tuple(Curve(label, time, y) for label, y in labels.items())


def path(caption: str, horizontal: str = "x", vertical: str = "y") -> Picture:
    """Return the path in the plane of two coordinates, in metres."""
    curve = Curve("", coordinate(horizontal), coordinate(vertical))
    return Picture("path", caption, f"{horizontal} / m", f"{vertical} / m", (curve,), equal=True)


def si(*, metres: str = "", radians: str = "") -> dict[str, str]:
    """Return the units of time, of the named coordinates, and of the forces along them."""
    units = {"t": "s"}
    for unit, force, names in (("m", "N", metres), ("rad", "N m", radians)):
        units |= dict.fromkeys(names.split(), unit) | {f"force {name}": force for name in names.split()}
    return units
