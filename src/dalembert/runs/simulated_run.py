# SPDX-License-Identifier: BSD-3-Clause
"""The source of a simulated run: its ledger, its motion at other times, and expressions along it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from dalembert.analysis.quadrature import integrated_again
from dalembert.common.array_types import Floats, vector_of
from dalembert.common.extras import require
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import DalembertError, InputError, SimulationError
from dalembert.integration.control_outputs import with_control
from dalembert.integration.method import Method
from dalembert.integration.motion_data import MotionData
from dalembert.integration.path import Path
from dalembert.integration.path_outputs import outputs_along
from dalembert.integration.run import first_invalid, suited_to
from dalembert.integration.run_source import kinetic_energies
from dalembert.integration.start_states import terms_at
from dalembert.integration.time_segments import settled_times
from dalembert.integration.trajectory import Trajectory
from dalembert.integration.trajectory_dataset import PER_CONSTRAINT, PER_COORDINATE, PER_TIME
from dalembert.live.run_page import PageSource
from dalembert.lowering.build import build
from dalembert.lowering.expressions_along import values_along
from dalembert.model.input_values import scalar_value, time_values
from dalembert.model.symbols import StateSymbols, t
from dalembert.model.system import System

if TYPE_CHECKING:
    from dalembert.analysis.ledger import Ledger
    from dalembert.control.controller import Controller
    from dalembert.control.sampled import SampledSimulation
    from dalembert.stick_slip.simulation import StickSlipSimulation

ALONG_TIME = ("t", *PER_COORDINATE, *PER_CONSTRAINT, *PER_TIME)
CONTROL = ("inputs", "input_force", "servo_error", "estimated_bound")
"""The fields of a trajectory that differ from time to time."""


def symbols_of(system: Any, dynamics: Dynamics) -> StateSymbols:
    """Return the symbols of a system; those of a system of functions are made from its names."""
    if isinstance(system, System):
        return system.symbols
    functions: list[Any] = [sp.Function(name) for name in dynamics.coordinates]
    return StateSymbols(tuple(function(t) for function in functions))


def text_of_system(system: System) -> str:
    """Return a system as the text of a model file, or an empty one if it cannot be written."""
    from dalembert.model.system_document import system_document
    from dalembert.model.value_document import document_text, value_entries

    try:
        return document_text(system_document(system) | value_entries(system, None, None, None, None))
    except DalembertError:
        return ""


@dataclass(eq=False)
class SimulatedRun:
    """The system, method and segments of a simulated run; an implementation of ``RunSource``.

    p             values of the parameters of the dynamics
    symbols       those of the system, for expressions
    control       the controller of the plant, or None
    stick_slip    segments of a motion with contacts that can stick, or None
    sampled       intervals of a motion under a sampled controller, or None
    write_page    the function behind ``Trajectory.page``
    system        the system, for the parts of its applied force; None for one of functions
    begin         the first time that was asked for, and the one at which the motion was started: see ``settled_run``
    paths         the steps of runs that were integrated once more, by start and times; the last one is kept
    """

    dynamics: Dynamics
    method: Method
    p: Any
    symbols: StateSymbols
    control: Controller | None
    stick_slip: StickSlipSimulation | None
    sampled: SampledSimulation | None
    write_page: PageSource
    system: System | None = None
    begin: tuple[float, float] | None = None
    paths: dict[bytes, Path] = field(default_factory=dict[bytes, Path])

    def model_text(self) -> str:
        """Return the system as the text of a model file, or an empty one if it cannot be written."""
        return "" if self.system is None else text_of_system(self.system)

    @property
    def _estimates_bound(self) -> bool:
        """Whether the last coordinate of the dynamics is the integral of an adaptive bound."""
        return self.control is not None and self.control.adaptive is not None and self.control.period is None

    def with_control(self, run: Trajectory) -> Trajectory:
        """Return a trajectory with inputs and errors: those of the system's servos, or of a controller."""
        if self.control is None:
            return with_control(self.dynamics, run, self.p)
        from dalembert.control.controlled_plant import with_controlled

        return with_controlled(self.dynamics, run, self.p, self.control)

    def complete(self, run: Trajectory, asked: Floats, times: Floats, notes: Iterable[str] = ()) -> Trajectory:
        """Return a run computed at settled times with inputs, errors and further notes, at the times asked for."""
        found, t = self.with_control(run), run.t
        if asked is not times:
            count = min(len(found), int(np.searchsorted(times, t[-1], side="right")))
            t = np.concatenate([asked[:count], t[count:]])
        return found.replaced(t=t, notes=(*found.notes, *notes), source=self)

    def _settled(self, run: Any) -> Any:
        """Return a run at the times at which its motion was computed: see ``settled_times``."""
        return replace(run, t=self._settled_times(run.t))

    def _settled_times(self, t: Floats) -> Floats:
        found = settled_times(self.dynamics, self.p, t)
        return found if self.begin is None else np.where(t == self.begin[0], self.begin[1], found)

    def at(self, run: Trajectory, times: Any) -> Trajectory:
        """Return the motion at one time, or at increasing ones, within those of the run."""
        asked = times_within(run, times)
        if np.isin(asked, run.t).all():
            return run.taken(np.searchsorted(run.t, asked))
        run, wanted = self._settled(run), self._settled_times(asked)
        if self.sampled is not None:
            found = self.sampled.at(wanted)
        elif self.stick_slip is not None:
            found = self.stick_slip.trajectory(wanted)
        else:
            found = self._smooth(run, wanted)
        found = replace(self.with_control(found), t=asked)
        return replace(run, **{name: getattr(found, name) for name in (*ALONG_TIME, *CONTROL)})

    def _smooth(self, run: Trajectory, times: Floats) -> Trajectory:
        """Return the motion without inputs and errors, by one step each from the steps of the run."""
        suited = suited_to(self.dynamics, self.method.formulation)
        found = outputs_along(suited, self.method, self._path(run, run.t), times, self.p)
        if not found["accurate"].all():
            # the step around such a time has missed a change of the forces: see ``followed``
            path = self._path(run, np.union1d(run.t, times))
            found = outputs_along(suited, self.method, path, times, self.p)
        del found["accurate"]
        nothing: dict[str, Any] = {"inputs": {}, "input_force": None, "servo_error": {}, "estimated_bound": None}
        moved = replace(run, t=times, coordinates=self.dynamics.coordinates, **found, **nothing)
        invalid = first_invalid(moved, self.method)
        if invalid is not None:
            raise SimulationError(
                f"the forces must be finite and the constraints compatible at all requested times; at t = "
                f"{times[invalid]:.6g} they are not. Choose other times, or end the motion before.",
                float(times[invalid]),
                run,
            )
        return moved

    def _path(self, run: Trajectory, times: Floats) -> Path:
        start = self._states(run)[0]
        key = start.tobytes() + times.tobytes()
        if key not in self.paths:
            self.paths.clear()
            self.paths[key] = integrated_again(self.dynamics, self.method, self.p, start, times)
        return self.paths[key]

    def _states(self, run: MotionData) -> Floats:
        """Return the states (T, 2n) of the dynamics, with the bound that an adaptive controller estimates."""
        if not self._estimates_bound:
            return np.concatenate([run.q, run.qd], axis=1)
        assert run.estimated_bound is not None
        return np.concatenate([run.q, np.zeros((len(run), 1)), run.qd, run.estimated_bound[:, None]], axis=1)

    def steps(self, run: Trajectory) -> Floats:
        """Return the times of the integration steps, from the first time of the run to its last."""
        if self.sampled is not None:
            times = self.sampled.step_times
        elif self.stick_slip is not None:
            times = self.stick_slip.step_times
        else:
            times = self._path(run, self._settled(run).t).t
        return times[(times >= run.t[0]) & (times <= run.t[-1])]

    def pieces(self, run: Trajectory) -> list[Trajectory]:
        """Return the consecutive parts of a run with constant parameters, which events may change; each has its own."""
        if self.stick_slip is None or not self.stick_slip.changed:
            return [run]
        found = self.stick_slip.parameters_at(self._settled(run).t)
        bounds = [0, *(k for k in range(1, len(found)) if found[k] != found[k - 1]), len(found)]
        return [replace(run.taken(slice(a, b)), parameters=found[a]) for a, b in pairwise(bounds)]

    def _parameters_along(self, times: Floats) -> Floats:
        """Return the parameters of the dynamics (T, p) at times."""
        if self.stick_slip is None or not self.stick_slip.changed:
            return np.broadcast_to(vector_of(self.p), (len(times), len(self.p)))
        found = self.stick_slip.parameters_at(times)
        return np.array([[own[name] for name in self.dynamics.parameters] for own in found])

    def mass_and_rows(self, run: MotionData) -> tuple[Floats, Floats]:
        """Return M (T, n, n) and A (T, m, n) along the run."""
        run = self._settled(run)
        states, n, p = self._states(run), len(run.coordinates), self._parameters_along(run.t)
        native = self.dynamics.machine_code
        if native is not None:
            M, _, A, *_ = native.terms_of_many(states, run.t, p)
        else:
            states_at = zip(*np.split(states, 2, axis=1), run.t, p, strict=True)
            terms = [terms_at(self.dynamics, q, qd, t, tuple(own)) for q, qd, t, own in states_at]
            M, A = (np.stack([np.asarray(getattr(one, name)) for one in terms]) for name in ("M", "A"))
        return M[:, :n, :n], A[:, :, :n]

    def kinetic_energy(self, run: MotionData) -> Floats:
        """Return ½ q̇ᵀM q̇ (T,) along the run."""
        return kinetic_energies(self.mass_and_rows(run)[0], run.qd)

    def row_of(self, run: MotionData, i: int) -> Floats:
        """Return row i of A (T, n) along the run."""
        return self.mass_and_rows(run)[1][:, i]

    def requirement_gradients(self, run: MotionData) -> Floats:
        """Return the gradients A₂ (T, k, n) of the requirements that the inputs meet."""
        model, p, places = self.dynamics, self.p, np.arange(len(run.coordinates))
        if self.control is not None:  # the requirements of the controller, at its own parameters
            model, p = build(self.control.system), self.control.values
            places = np.array([run.coordinates.index(name) for name in self.control.coordinates])
        native = model.machine_code
        assert native is not None
        y = np.concatenate([run.q[:, places], run.qd[:, places]], axis=1)
        found = native.requirement_gradients(y, run.t, p)
        whole = np.zeros((*found.shape[:2], len(run.coordinates)))
        whole[:, :, places] = found
        return whole

    def values(self, run: Trajectory, expression: Any) -> Floats:
        """Return the values (T, …) of an expression, or of nested sequences of expressions, along the run."""
        pieces = self.pieces(run)
        return np.concatenate([values_along(self._settled(piece), self.symbols, expression) for piece in pieces])

    def ledger(self, run: Trajectory) -> Ledger:
        """Return the work and energy of all forces."""
        if self._estimates_bound:
            raise InputError(
                "a ledger must be of a run under a controller without an adaptive bound, or under a sampled one; this "
                "run has a continuous adaptive controller. Pass a `period`."
            )
        require("jax")
        from dalembert.runs.simulated_ledger import simulated_ledger

        ledger = simulated_ledger(self, self._settled(run))
        return replace(ledger, t=run.t)


def times_within(run: Trajectory, times: Any) -> Floats:
    """Return increasing times, or raise an error if one is not within a run."""
    single = np.size(times) == 1
    wanted = np.ravel(scalar_value(np.ravel(times)[0], "t")) if single else time_values(times, "t", increasing=True)
    if not len(run) or wanted[0] < run.t[0] or wanted[-1] > run.t[-1]:
        span = f"from {run.t[0]:.6g} to {run.t[-1]:.6g}" if len(run) else "empty"
        outside = wanted[-1] if len(run) and wanted[0] >= run.t[0] else wanted[0]
        raise InputError(f"`t` must be within the run, which is {span}; got {outside:.6g}. Simulate a longer motion.")
    return wanted
