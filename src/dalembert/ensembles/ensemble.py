# SPDX-License-Identifier: BSD-3-Clause
"""Simulation of ensembles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dalembert.common.dask_client import client_in_use
from dalembert.common.extras import require
from dalembert.control.controller import Controller
from dalembert.ensembles.design_members import prepared_ensemble
from dalembert.ensembles.ensemble_layout import refuse_taken_names
from dalembert.ensembles.ensemble_outputs import output_choice
from dalembert.ensembles.ledger_outputs import LEDGER, refuse_names_of_ledger
from dalembert.ensembles.member_events import refuse_stopping_events
from dalembert.ensembles.separate_ensemble import reason_to_separate, refuse_gpu, separate_study, sized_for
from dalembert.ensembles.single_precision import refuse_single
from dalembert.ensembles.store import checked_store
from dalembert.ensembles.study import Study
from dalembert.ensembles.study_results import study_results
from dalembert.equation.formulation import Formulation
from dalembert.errors import InputError
from dalembert.integration.drift import Drift, Projection
from dalembert.model.active_system import all_permanent
from dalembert.model.event import Event, further_parameters
from dalembert.model.function_system import FunctionSystem
from dalembert.model.input_values import time_values
from dalembert.model.signal_ranges import require_in_range
from dalembert.model.system import System
from dalembert.runs.event_run import checked_events
from dalembert.settings import AnySystem, method_of, require_system

if TYPE_CHECKING:
    import xarray as xr


def simulate_ensemble(
    system: AnySystem,
    q0: Any,
    qd0: Any,
    times: Any,
    *,
    parameters: Any = None,
    rtol: float = 1e-9,
    atol: float | None = None,
    step: float | None = None,
    max_step: float | None = None,
    drift: Drift | None = Projection(),
    solver: Any = None,
    formulation: Formulation | None = None,
    max_steps: int = 1_000_000,
    allow_violation: bool = False,
    outputs: Any = ("q", "qd"),
    keep: Literal["times", "end", "summary"] = "times",
    quantiles: Sequence[float] = (0.05, 0.5, 0.95),
    device: Literal["cpu", "gpu"] = "cpu",
    precision: Literal["double", "single"] = "double",
    control: Controller | None = None,
    events: Any = (),
    store: str | Path | None = None,
    client: Any = None,
    progress: bool | None = None,
) -> xr.Dataset:
    """Simulate an ensemble: one system with many initial states or parameters, on all cores or on a GPU.

    Each ensemble member takes its own adaptive steps and is projected onto the constraints after each step, as by
    ``da.simulate``. A member that fails is marked with the reason and does not affect the others. Members whose
    contacts under dry friction stick and slip along lines go from transition to transition in compiled code, and so do
    those with events, or with contacts that open and close; with friction in a plane, with fixed steps or on a GPU, a
    member whose contact comes to rest is simulated separately.

    With a ``solver`` or a ``formulation``, ``allow_violation``, a sampled or an adaptive controller, a large system or
    a ``da.FunctionSystem``, members are simulated one after another by ``da.simulate``, here or by the workers of a
    cluster.

    Parameters
    ----------
    q0, qd0       (n,) for all members or (N, n), one row for each; or mappings by coordinate
    parameters    numbers for all members or arrays (N,), by name; or a design: ``da.grid``, ``da.latin``, ``da.sobol``
                  or ``da.scatter``, an xarray Dataset or a pandas DataFrame. The quantities of a design may also be
                  coordinates and velocities, "x" and "x'"; initial states are then moved onto the constraints
    times         increasing times, the same for all
    rtol, atol, drift, solver, formulation, max_step, max_steps, allow_violation    as for ``da.simulate``
    step          a fixed step instead: each span between two times is divided into equal steps no longer than this. If
                  the compiled integrator hands a member over to the general one, that one uses this step from the start
    outputs       "q", "qd", "acceleration", "ideal_force", "nonideal_force", "multipliers", "reactions", "violation",
                  "energy", "ledger", and SymPy expressions of the motion; or a mapping that names them. "ledger" stands
                  for the variables of ``run.ledger()``: work up to each output by entry, audit, and others
    keep          "times": outputs at all times; "end": at the last one; "summary": mean, variance and quantiles over
                  the members, at all times, with memory that does not grow with their number
    quantiles     for a summary: exact for up to 10 000 members, from a random sample of about this size otherwise
    device        "gpu": one thread for each member on an NVIDIA GPU, with the same compiled code and therefore the same
                  results
    precision     "single": the members are integrated in single precision, on a GPU only, with `rtol` of at least
                  1.2e-6 or a fixed step; initial states are checked, and outputs are computed, in double precision
    control       a ``da.controller`` that drives the actuators of all members
    events        ``da.Event`` objects, which are located in the motion of every member and may end or change it
    store         the path of a Zarr store, ending in .zarr, to which results are written in blocks of members; a call
                  that was interrupted continues with the blocks that are missing
    client        a client of Dask (``dask.distributed.Client``), whose workers simulate the blocks; inside ``with
                  client:`` it need not be passed
    progress      True or False to force the progress bar; by default it appears on a terminal after two seconds

    Returns
    -------
    Dataset       the outputs by member, time and coordinate, NaN where a member failed, and ``reason`` by member,
                  empty where it did not; or ``mean_q``, ``variance_q``, ``quantile_q`` and so on, and ``failed``, how
                  many. Instead of ``member``, a grid has one dimension for each quantity that varies.
                  With events, or with contacts that open and close, also ``event_time``, ``event_name`` and
                  ``event_kind`` by member and event, filled up with NaN and empty texts, ``event_count`` and
                  ``end_time`` by member, except in a summary; outputs are NaN after an event that stops a member, and
                  with "end" they are those at the event.
                  With servos or a controller also ``input(name)`` of each actuator and ``error(name)`` of each servo,
                  by member and time, except in a summary.
                  ``attrs["seconds"]`` is the time in compiled code, ``attrs["handed_over"]`` the number of members that
                  the compiled integrator handed over to the general one: each of them takes as long as a single run;
                  ``attrs["notes"]`` reports which members these were, how many initial states were projected onto the
                  constraints, inputs at their limits, members whose prescribed velocities jump, and if the constraints
                  lose rank along the motions of members, of which up to 32 are examined from output to output.
                  In single precision ``attrs["single_precision_error"]`` is the largest difference from double
                  precision in 64 members, which are simulated on the CPU as well, relative to their largest position or
                  velocity; the notes have it by coordinate

    Raises
    ------
    InputError    missing or unknown names, wrong shapes, arrays of different lengths, no array of members; with
                  "gpu", no GPU, a system that cannot be compiled, one with events or contacts, or ledgers; with
                  "summary", events that stop members
    ModelError    events that do not belong to the system

    Examples
    --------
    >>> import numpy as np
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    >>> pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -da.parameters("g")), rod)
    >>> many = da.simulate_ensemble(pendulum, (1, 0), (0, 0), [0, 1], parameters={"g": np.linspace(9, 10, 3)})
    >>> print(many["q"].sel(coordinate="x", time=1).values.round(4))
    [-0.9689 -0.9809 -0.9889]
    """
    require_system(system)
    if isinstance(system, FunctionSystem):
        system = sized_for(system, q0, parameters)
    if keep not in ("times", "end", "summary"):
        raise InputError(f'`keep` must be "times", "end" or "summary"; got {keep!r}.')
    if device not in ("cpu", "gpu"):
        raise InputError(f'`device` must be "cpu" or "gpu"; got {device!r}.')
    if precision not in ("double", "single"):
        raise InputError(f'`precision` must be "double" or "single"; got {precision!r}.')
    levels, target = _quantile_levels(quantiles), None if store is None else checked_store(store)
    times = time_values(times, "times", increasing=True)
    require_in_range(system, times)
    choice = output_choice(system, outputs)
    if choice.ledger:
        _refuse_for_ledger(device)
    arguments: dict[str, Any] = {"drift": drift, "solver": solver, "formulation": formulation, "control": control}
    arguments |= {"rtol": rtol, "atol": atol, "step": step, "max_steps": max_steps, "max_step": max_step}
    arguments |= {"allow_violation": allow_violation, "events": () if events in ((), []) else events}
    why = reason_to_separate(system, arguments)
    if not isinstance(system, System) or why:
        refuse_gpu(device, precision, why)
        study, ensemble = separate_study(system, (q0, qd0), times, parameters, arguments, why, keep, choice, levels)
    else:
        method = method_of(None, drift, None, rtol, atol, step, max_steps, max_step)
        further: tuple[str, ...] = ()
        if arguments["events"] or not all_permanent(system):
            system, events = checked_events(system, events, method, control)
            _refuse_for_events(events, keep, device)
            further = further_parameters(system, events)
        system, ensemble = prepared_ensemble(system, q0, qd0, times, parameters, method, control, further)
        study = Study(
            system,
            method,
            times,
            keep,
            choice,
            levels,
            device == "gpu",
            control,
            ensemble.reference,
            len(ensemble.members),
            events=tuple(events),
            single=precision == "single",
        )
        if study.single:
            refuse_single(system, method, device, ensemble.reference)
    if choice.ledger:
        refuse_names_of_ledger([*ensemble.layout.sizes, *ensemble.layout.labels])
    if keep != "summary":
        refuse_taken_names([*choice.of_motion, *choice.expressions], ensemble.layout)
    return study_results(study, ensemble, target, client_in_use(client), progress, device)


def _refuse_for_events(events: Sequence[Event], keep: str, device: str) -> None:
    """Raise an error for what events, and contacts that open and close, do not go together with in an ensemble."""
    if device == "gpu":
        raise InputError(
            'members with events, or with contacts that open and close, must run on a CPU; got `device="gpu"`. Use '
            '`device="cpu"`.'
        )
    if keep == "summary":
        refuse_stopping_events(events)


def _refuse_for_ledger(device: str) -> None:
    """Raise an error for what the ledgers of members do not go together with."""
    require("jax")
    if device == "gpu":
        raise InputError(
            f'"{LEDGER}" in `outputs` needs members that run on a CPU; got `device="gpu"`. Use `device="cpu"`, or '
            f"leave out the ledger."
        )


def _quantile_levels(quantiles: Any) -> tuple[float, ...]:
    try:
        levels = tuple(float(q) for q in quantiles)
    except (TypeError, ValueError):
        levels = (np.nan,)
    if not all(0 <= level <= 1 for level in levels):
        raise InputError(f"`quantiles` must be numbers from 0 to 1; got {quantiles!r}.")
    return levels
