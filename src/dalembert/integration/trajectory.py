# SPDX-License-Identifier: BSD-3-Clause
"""The result of a simulation: states, forces and violations over time, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.notebook_html import block, figure_or_nothing, paragraph
from dalembert.errors import InputError
from dalembert.integration.input_split import InputForceSplit, input_force_split
from dalembert.integration.motion_figures import MotionFigures
from dalembert.integration.trajectory_dataset import PER_CONSTRAINT, PER_COORDINATE, PER_TIME, dataset_of, fields_of
from dalembert.integration.trajectory_files import read, write
from dalembert.integration.unwrapping import unwrapped

if TYPE_CHECKING:
    import xarray as xr

    from dalembert.analysis.ledger import Ledger


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(MotionFigures):
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
    events                                in order of time: t, name, kind such as "slips" or "impact", and the states
                                          before and after it
    source                                the system that it is a motion of, compiled; None for a run from a pickle, and
                                          for one from a file until it is needed
    inputs                                u (T,) of each actuator, by its name
    input_force (T, n)                    the generalised force of all actuators, or None; M q̈ = Q + Qᶜ + this force
    servo_error                           error (T,) of each servo constraint, by its name; (T, k) for k requirements
    saturation                            (actuator, start, end): intervals in which an input is at its limit
    estimated_bound                       α (T,) of an adaptive controller, or None; see ``da.AdaptiveBound``
    model                                 of a run from a file: its system as the text of a model file, from which
                                          ``da.reproduce(run)`` simulates it again; empty if it could not be written
    theory                                "d'Alembert", or the name of another mechanics, such as "vakonomic", which is
                                          then shown everywhere; there multipliers and forces are that theory's

    Accelerations, forces and multipliers are those of the equation that was integrated: with the stabilising terms of
    ``da.Baumgarte`` where that is the drift cure.

    ``run["x"]`` is the history of a coordinate, ``run["x'"]`` of its velocity, ``run["x''"]`` of its acceleration, and
    ``run["rod"]`` that of the multiplier of a constraint; ``run.reaction("rod")`` is its actual reaction, which
    nonideal laws change. ``run.force("rod")`` is the force of a constraint, ``run.at(t)`` the motion at other times,
    and ``run.evaluate(expression)`` the value of anything else.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "source": None}  # compiled programs cannot be pickled

    def force(self, name: Any) -> Floats:
        """Return the force (T, n) of a constraint: row i of A times its reaction, Aᵢᵀ · ``reactions[:, i]``.

        It is the force that the constraint exerts along its own direction, as it acts: with the change of the reaction
        by nonideal laws, and without their forces C. The forces of all constraints together are Qᶜ − C, which is the
        ``ideal_force`` of a system without nonideal laws. The ledger lists the same forces with their work.

        Raises
        ------
        InputError    if there is no such constraint, the run was read from a file, or it obeys another mechanics

        Examples
        --------
        >>> import dalembert as da
        >>> x, y = da.coordinates("x y")
        >>> rod = da.Constraint(x**2 + y**2 - 1, name="rod")
        >>> pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -10), rod)
        >>> print(da.simulate(pendulum, (0, -1), (2, 0), [0, 1]).force("rod")[0, 1])
        14.0
        """
        i = self.constraint_column(name)
        if self.mark:
            raise InputError(
                f"the force of one constraint is defined by d'Alembert's principle; this run is {self.mark}."
            )
        return self.require_source("`run.force`").row_of(self, i) * self.reactions[:, i, None]

    def at(self, t: Any) -> Trajectory:
        """Return the motion at other times: one time, or increasing ones, within those of the run.

        Each state is reached by one step from the last step of the integration before it, as those of the run itself
        are, and is as accurate; nothing is interpolated. The run is integrated once more at the first call, since a
        trajectory does not keep its steps. Notes, events and statistics are those of the run.

        Raises
        ------
        InputError    if a time is not within the run, times do not increase, or the run was read from a file

        Examples
        --------
        >>> import dalembert as da
        >>> x = da.coordinates("x")
        >>> run = da.simulate(da.System((x,), [[1]], (-x,)), (1,), (0,), [0, 10])
        >>> print(run.at([1, 2, 3])["x"].round(6))
        [ 0.540302 -0.416147 -0.989992]
        """
        return self.require_source("`run.at`").at(self, t)

    def split_input_force(self) -> InputForceSplit:
        """Return the force of all inputs, ``input_force``, as the sum of an ideal and a nonideal part, each (T, n).

        The ideal part is the force that nature would exert to the same effect on the requirements, in the metric of
        the masses and within the physical constraints. The nonideal part has no effect on them at their own level: it
        is the price of acting only where actuators act.

        Raises
        ------
        InputError    if the run has no inputs, or was read from a file

        Examples
        --------
        >>> import dalembert as da
        >>> x, y = da.coordinates("x y")
        >>> servo = da.Servo("sum", x + y - 1, by=da.Actuator("push", x), settle=1)
        >>> run = da.simulate(da.System((x, y), [[1, 0], [0, 1]], (0, 0), servos=servo), (0, 0), (0, 0), [0, 1])
        >>> ideal, nonideal = run.split_input_force()
        >>> print(ideal[0], nonideal[0])
        [0.5 0.5] [ 0.5 -0.5]
        """
        source = self.require_source("`run.split_input_force`")
        if self.input_force is None:
            raise InputError("a run must have inputs for their force to be split; this one has none.")
        return input_force_split(*source.mass_and_rows(self), source.requirement_gradients(self), self.input_force)

    def evaluate(self, expression: Any, t: Any = None, *, unwrap: bool = False) -> Floats:
        """Return the values of an expression along the run, at its times or at others; NaN where it is not defined.

        Parameters
        ----------
        expression    a SymPy expression of coordinates, velocities, accelerations, ``da.t``, parameters,
                      ``da.multiplier``, ``da.reaction`` and ``da.ideal_force``; or a matrix or nested sequence of
                      expressions, whose shape follows the axis of time. A column of k expressions, such as
                      ``body.at(1, 0).position``, has the shape (T, k). ``body.position``, ``velocity``,
                      ``spin``, and ``angle`` or ``orientation``, which hold the start of a body, are the quantities
                      along the run
        t             one time, or increasing ones, within those of the run; by default the times of the run. For one
                      time, the values have no axis of time
        unwrap        whether to add whole turns to an angle between −π and π, as that of a hinge in space, so that it
                      is continuous. Turns are counted along the steps of the integration, whatever the times are

        Raises
        ------
        InputError    if the expression has other symbols or is constant, a time is not within the run, an angle
                      changes too fast to count its turns, or the run was read from a file

        Examples
        --------
        >>> import dalembert as da
        >>> x = da.coordinates("x")
        >>> run = da.simulate(da.System((x,), [[1]], (-x,)), (1,), (0,), [0, 10])
        >>> run.evaluate((x, x**2 + x.diff(da.t)**2), t=[1, 2]).round(6)
        array([[ 0.540302,  1.      ],
               [-0.416147,  1.      ]])
        """
        source = self.require_source("`run.evaluate`")
        if t is None:
            return unwrapped(source, self, expression, self.t) if unwrap else source.values(self, expression)
        moved = self.at(t)
        values = unwrapped(source, self, expression, moved.t) if unwrap else source.values(moved, expression)
        return values if np.ndim(t) else values[0]

    def __repr__(self) -> str:
        return "\n".join([f"<{self.summary()}>", *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        from dalembert.figures.trajectory_figures import overview

        picture = figure_or_nothing(lambda: overview(self), "the motion against time")
        return block(paragraph(self.summary()), picture, *(paragraph(f"Note: {note}") for note in self.notes))

    def to_xarray(self) -> xr.Dataset:
        """Return the trajectory as a labelled dataset with dimensions time, coordinate and constraint."""
        return dataset_of(self)

    @classmethod
    def from_xarray(cls, data: xr.Dataset) -> Trajectory:
        """Return the trajectory in a dataset that ``to_xarray`` returned."""
        return cls(**fields_of(data))

    def save(self, path: str | Path, *, units: Mapping[Any, str] | None = None) -> None:
        """Write the trajectory to a file, in the format of its ending.

        ``.nc`` is NetCDF and ``.zarr`` a Zarr folder, which ``load`` reads; ``.csv`` and ``.parquet`` are tables.
        ``pip install 'dalembert[files]'`` installs the packages for Parquet and Zarr.

        The columns of the table are t, then for every coordinate x, x', x'' and its constraint forces, and for every
        constraint its multiplier, reaction and violation. An existing file is replaced only once the new one is
        complete. ``units``, as for ``plot``, become attributes of arrays in NetCDF and Zarr, and of columns in Parquet.

        Raises
        ------
        InputError             if the path has another ending, or no folder, or ``units`` name something else
        ModuleNotFoundError    if the package for the format is not installed
        """
        write(self, path, units)

    @classmethod
    def load(cls, path: str | Path) -> Trajectory:
        """Read a trajectory that ``save`` wrote as NetCDF or Zarr.

        ``ledger``, ``at``, ``evaluate``, ``force`` and ``page`` need the system: at their first call it is read from
        the file, and the run is simulated again and compared. If it had a drift cure, solver, step or controller other
        than the default, pass it to ``da.reproduce(run, ...)``, which returns a run that has its system. A system that
        cannot be written as a model file is not in the file; pass it, ``da.reproduce(system, run)``.

        Raises
        ------
        InputError    if there is no such file, it holds something else, or it is damaged
        """
        return read(path, cls.from_xarray)

    def until(self, count: int) -> Trajectory:
        """Return the first ``count`` times of the trajectory."""
        return self.taken(slice(count))

    def taken(self, places: Any) -> Trajectory:
        """Return the trajectory at some of its times, given by a slice or by indices in increasing order."""
        cut: dict[str, Any] = {}
        for name in ("t", *PER_COORDINATE, *PER_CONSTRAINT, *PER_TIME, "input_force", "estimated_bound"):
            values = getattr(self, name)
            cut[name] = None if values is None else values[places]
        for name in ("inputs", "servo_error"):
            cut[name] = {key: values[places] for key, values in getattr(self, name).items()}
        return replace(self, **cut)

    def ledger(self) -> Ledger:
        """Work and energy: for every constraint and every nonideal law its force, power and work, and an audit.

        Forces are those that act: the reaction of each constraint, and the force C of each law at its own place.

        The run is integrated once more, at its own steps, so that the work is as accurate as the motion.

        Raises
        ------
        InputError    if the run was read from a file, obeys another mechanics than d'Alembert's, has one time only, or
                      is of a continuous adaptive controller

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
        source = self.require_source("a ledger")
        if len(self) < 2:
            raise InputError(f"a ledger needs a run of at least two times; this one has {len(self)}.")
        return source.ledger(self)
