# SPDX-License-Identifier: BSD-3-Clause
"""The result of a simulation: states, forces and violations over time, by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.array_types import Floats
from dalembert.errors import InputError
from dalembert.integration.saturation import Saturation
from dalembert.integration.trajectory_files import read, write
from dalembert.names import name_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from dalembert.analysis.ledger import Ledger

PER_COORDINATE = ("q", "qd", "acceleration", "ideal_force", "nonideal_force")
PER_CONSTRAINT = ("multipliers", "reactions", "violation", "velocity_violation")
PER_TIME = ("rank", "inconsistency", "energy")

USUAL_THEORY = "d'Alembert"


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A simulated motion at T times, for n coordinates and m constraints.

    t (T,)
    q, qd, acceleration (T, n)
    ideal_force, nonideal_force (T, n)    the two parts of the constraint force
    multipliers (T, m)                    λ with Aᵀλ the ideal force
    reactions (T, m)                      λ including the effect of nonideal laws: Aᵀλ = Qᶜ − C
    violation (T, m)                      residual of each constraint, as it was stated, at its own level
    velocity_violation (T, m)             residual of its velocity form; zero for acceleration-level constraints
    rank (T,), inconsistency (T,)         of the constraint rows
    energy (T,)                           q̇·∂L/∂q̇ − L, or None when no Lagrangian is known
    coordinates, constraints              names, in the order of the columns
    parameters                            values by name
    statistics                            steps, rejected steps, seconds and the method, by name
    notes                                 sentences about events during the run
    events                                (t, contact, "sticks" or "slips"), in order of time
    ledger_source                         function that computes the ledger; not kept in files
    inputs                                u (T,) of each actuator, by its name
    input_force (T, n)                    the generalised force of all actuators, or None; M q̈ = Q + Qᶜ + this force
    servo_error                           error (T,) of each servo constraint, by its name; (T, k) for k requirements
    saturation                            (actuator, start, end): intervals in which an input is at its limit
    estimated_bound                       α (T,) of an adaptive controller, or None; see ``da.AdaptiveBound``
    theory                                "d'Alembert", or the name of another mechanics, such as "vakonomic", which is
                                          then shown everywhere; there multipliers and forces are that theory's

    Accelerations, forces and multipliers are those of the equation that was integrated: with the stabilising terms of
    ``da.Baumgarte`` where that is the drift cure. ``run["x"]`` is the history of a coordinate, ``run["rod"]`` the
    multiplier of a constraint.
    """

    t: Floats
    q: Floats
    qd: Floats
    acceleration: Floats
    ideal_force: Floats
    nonideal_force: Floats
    multipliers: Floats
    reactions: Floats
    violation: Floats
    velocity_violation: Floats
    rank: NDArray[np.int64]
    inconsistency: Floats
    energy: Floats | None
    coordinates: tuple[str, ...]
    constraints: tuple[str, ...]
    parameters: dict[str, float]
    statistics: dict[str, Any]
    notes: tuple[str, ...] = ()
    theory: str = USUAL_THEORY
    events: tuple[Any, ...] = ()
    ledger_source: Callable[[Trajectory], Ledger] | None = None
    inputs: Mapping[str, Floats] = field(default_factory=dict[str, Floats])
    input_force: Floats | None = None
    servo_error: Mapping[str, Floats] = field(default_factory=dict[str, Floats])
    estimated_bound: Floats | None = None
    saturation: tuple[Saturation, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "ledger_source": None}  # compiled programs cannot be pickled

    def __getitem__(self, name: Any) -> Floats:
        """Return the history of a coordinate, by name or symbol, or of the multiplier of a constraint, by name."""
        key = name_of(name)
        if key in self.coordinates:
            return self.q[:, self.coordinates.index(key)]
        if key in self.constraints:
            return self.multipliers[:, self.constraints.index(key)]
        known = ", ".join(f"`{k}`" for k in (*self.coordinates, *self.constraints))
        raise InputError(f"`{key}` must be a coordinate or a constraint of the run; it has {known}.")

    @property
    def constraint_force(self) -> Floats:
        """Qᶜ (T, n), ideal and nonideal part together."""
        return self.ideal_force + self.nonideal_force

    @property
    def mark(self) -> str:
        """The name of the theory to show beside the motion; empty for d'Alembert's."""
        return "" if self.theory == USUAL_THEORY else self.theory

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} to {self.t[-1]:g}" if len(self) else "empty"
        worst = float(np.abs(self.violation).max(initial=0.0))
        mark = f" ({self.mark})" if self.mark else ""
        return (
            f"<Trajectory{mark} of {', '.join(self.coordinates)}: {len(self)} times, {span}; "
            f"{self.statistics.get('steps', '?')} steps; largest violation {worst:.1e}>"
        )

    def to_xarray(self) -> xr.Dataset:
        """Return the trajectory as a labelled dataset with dimensions time, coordinate and constraint."""
        import xarray as xr

        variables: dict[str, Any] = {name: (("time", "coordinate"), getattr(self, name)) for name in PER_COORDINATE}
        if self.constraints:  # a dimension of length zero would become unlimited in a NetCDF file
            variables |= {name: (("time", "constraint"), getattr(self, name)) for name in PER_CONSTRAINT}
        variables |= {name: (("time",), getattr(self, name)) for name in PER_TIME if getattr(self, name) is not None}
        labels = {"time": self.t, "coordinate": list(self.coordinates)}
        labels |= {"constraint": list(self.constraints)} if self.constraints else {}
        if self.input_force is not None:
            variables["input_force"] = (("time", "coordinate"), self.input_force)
        if self.estimated_bound is not None:
            variables["estimated_bound"] = (("time",), self.estimated_bound)
        variables |= {f"input({name})": (("time",), values) for name, values in self.inputs.items()}
        for name, values in self.servo_error.items():
            rows = f"requirement of {name}"
            variables[f"error({name})"] = (("time",) if values.ndim == 1 else ("time", rows), values)
        texts = ("parameters", "statistics", "notes", "events", "saturation")
        described = {key: json.dumps(getattr(self, key)) for key in texts}
        return xr.Dataset(variables, labels, described | {"theory": self.theory})

    @classmethod
    def from_xarray(cls, data: xr.Dataset) -> Trajectory:
        """Return the trajectory in a dataset that ``to_xarray`` returned."""
        names = (*PER_COORDINATE, *PER_CONSTRAINT, *PER_TIME)
        arrays: dict[str, Any] = {name: data[name].values if name in data else None for name in names}
        if "constraint" not in data:
            arrays |= dict.fromkeys(PER_CONSTRAINT, np.zeros((len(data["time"]), 0)))
        return cls(
            t=data["time"].values,
            **arrays,
            coordinates=tuple(str(name) for name in data["coordinate"].values),
            constraints=tuple(str(name) for name in data["constraint"].values) if "constraint" in data else (),
            parameters=json.loads(data.attrs["parameters"]),
            statistics=json.loads(data.attrs["statistics"]),
            notes=tuple(json.loads(data.attrs["notes"])),
            events=tuple(tuple(event) for event in json.loads(data.attrs["events"])),
            theory=str(data.attrs.get("theory", USUAL_THEORY)),  # files written before there was another have none
            inputs=_called(data, "input"),
            input_force=data["input_force"].values if "input_force" in data else None,
            estimated_bound=data["estimated_bound"].values if "estimated_bound" in data else None,
            saturation=tuple(Saturation(*one) for one in json.loads(data.attrs.get("saturation", "[]"))),
            servo_error=_called(data, "error"),
        )

    def save(self, path: str | Path) -> None:
        """Write the trajectory to a file, in the format of its ending.

        ``.nc`` is NetCDF and ``.zarr`` a Zarr folder, which ``load`` reads; ``.csv`` and ``.parquet`` are tables.
        ``pip install 'dalembert[files]'`` installs the packages for Parquet and Zarr.

        The columns of the table are t, then for every coordinate x, x', x'' and its constraint forces, and for every
        constraint its multiplier, reaction and violation. An existing file is replaced only once the new one is
        complete.

        Raises
        ------
        InputError             if the path has another ending, or no folder
        ModuleNotFoundError    if the package for the format is not installed
        """
        write(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Trajectory:
        """Read a trajectory that ``save`` wrote as NetCDF or Zarr.

        Raises
        ------
        InputError    if there is no such file, it holds something else, or it is damaged
        """
        return read(path, cls.from_xarray)

    def until(self, count: int) -> Trajectory:
        """Return the first ``count`` times of the trajectory."""
        cut = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("t", *PER_COORDINATE, *PER_CONSTRAINT, *PER_TIME):
            cut[name] = None if cut[name] is None else cut[name][:count]
        for name in ("input_force", "estimated_bound"):
            cut[name] = None if cut[name] is None else cut[name][:count]
        for name in ("inputs", "servo_error"):
            cut[name] = {key: values[:count] for key, values in cut[name].items()}
        return Trajectory(**cut)

    def ledger(self) -> Ledger:
        """Work and energy: for every constraint and every nonideal law its force, power and work, and an audit.

        Forces are those that act: the reaction of each constraint, and the force C of each law at its own place.

        The run is integrated once more, at its own steps, so that the work is as accurate as the motion.

        Raises
        ------
        InputError    if the run was read from a file, obeys another mechanics than d'Alembert's, or has one time only

        Examples
        --------
        >>> import dalembert as da
        >>> x, y = da.coordinates("x y")
        >>> floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(0.5))
        >>> block = da.System((x, y), [[2, 0], [0, 2]], (0, -20), floor)
        >>> run = da.simulate(block, (0, 0), (4, 0), [0, 0.4])
        >>> print(run.ledger())
        Work and energy from t = 0 to 0.4
                                     kind         work  largest power
        applied forces               applied         0              0
        floor                        reaction        0              0
        floor: Coulomb               law           -12             40
        ideal constraint force       split           0              0
        nonideal constraint force    split         -12             40
        kinetic energy               change        -12
        energy change less all work  audit     ...
        Coulomb of `floor` takes `x`, `y` for the Cartesian coordinates of one particle.
        """
        if self.ledger_source is None:
            raise InputError(
                "a ledger needs a run that `da.simulate` has just returned; this one was read from a file, or obeys "
                "another mechanics than d'Alembert's. Simulate it again."
            )
        if len(self) < 2:
            raise InputError(f"a ledger needs a run of at least two times; this one has {len(self)}.")
        return self.ledger_source(self)

    def plot(self, units: Mapping[Any, str] | None = None) -> Figure:
        """Plot the motion against time: coordinates, constraint forces (ideal and nonideal), violations, inputs.

        Inputs of actuators and errors of servo constraints have axes if there are some.

        ``units`` maps names to units for the labels: a coordinate, a constraint (the unit of its violation), an
        actuator, a servo (the unit of its error), ``"t"``, ``"force"``, or ``"force theta"`` for the force on one
        coordinate. Each unit has an axis of its own.
        The figure is not shown; call ``.savefig(path)`` on it or show it with matplotlib.

        Raises
        ------
        InputError    if ``units`` names something that the run does not have
        """
        from dalembert.figures.trajectory_figures import overview

        return overview(self, units)

    def plot_phase(self, *names: Any, units: Mapping[Any, str] | None = None) -> Figure:
        """Plot velocity against coordinate, for the named coordinates or all; a circle marks the start.

        Raises
        ------
        InputError    if a name is not a coordinate's, or ``units`` names something that the run does not have
        """
        from dalembert.figures.trajectory_figures import phase

        return phase(self, names, units)

    def plot_path(self, horizontal: Any, vertical: Any, units: Mapping[Any, str] | None = None) -> Figure:
        """Plot the path with equal scales; a circle marks the start.

        ``horizontal`` and ``vertical`` are names of coordinates or arrays (T,), so that polar coordinates are drawn by
        ``run.plot_path(run["r"] * np.cos(run["theta"]), run["r"] * np.sin(run["theta"]))``. The units of arrays
        are those of ``"horizontal"`` and ``"vertical"`` in ``units``.

        Raises
        ------
        InputError    if a name is not a coordinate's, an array has not T values, or ``units`` names something else
        """
        from dalembert.figures.trajectory_figures import path

        return path(self, horizontal, vertical, units)

    def animate(
        self,
        path: str | Path,
        points: Mapping[str, tuple[Any, Any]] | None = None,
        links: Sequence[tuple[str, str]] = (),
        fps: float = 25,
        trace: float | None = None,
    ) -> Path:
        """Write an animation of moving points: a GIF, or an HTML page that holds all its frames; the path is returned.

        It runs in real time, t in seconds, but has at most 300 frames: a longer motion is shown faster. Frames are at
        equal times, by linear interpolation between the times of the run.

        Parameters
        ----------
        path      ends in ``.gif`` or ``.html``
        points    name to (horizontal, vertical), each the name of a coordinate, a number for a point that stays, or an
                  array (T,). Left out: coordinates whose names pair up, as (x, y), (x1, y1), or (x, z) without y
        links     pairs of names of points, joined by lines
        fps       frames per second, at most 50; rounded so that each is shown for a multiple of 10 ms, as a GIF needs
        trace     length of the trace of a moving point, in the unit of t; left out: its whole path

        Raises
        ------
        InputError    if the path has another ending or no folder, no points can be guessed, a point or a link is
                      wrong, a number is not positive, or the run has fewer than two times
        """
        from dalembert.figures.animation import write_animation

        return write_animation(self, Path(path), points, links, fps, trace)


def _called(data: xr.Dataset, kind: str) -> dict[str, Floats]:
    """Return the variables ``kind(name)`` of a dataset by name."""
    prefix = f"{kind}("
    return {str(key)[len(prefix) : -1]: data[key].values for key in data if str(key).startswith(prefix)}
