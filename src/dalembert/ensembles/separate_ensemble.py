# SPDX-License-Identifier: BSD-3-Clause
"""Preparation of ensembles whose members are simulated separately: which they are, and their members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from dalembert.analysis.ledger_entries import Entry, entries_of
from dalembert.common.array_types import Floats
from dalembert.control.controlled_plant import is_integrated_with_plant, under_control
from dalembert.control.controller import Controller
from dalembert.ensembles.consistent_starts import consistent_starts
from dalembert.ensembles.design_members import Ensemble, as_dataset, is_design, laid_out, members_with
from dalembert.ensembles.ensemble_layout import EnsembleLayout
from dalembert.ensembles.ensemble_outputs import OutputChoice
from dalembert.ensembles.ledger_outputs import LEDGER, member_entries
from dalembert.ensembles.member_events import refuse_stopping_events
from dalembert.ensembles.members import Members
from dalembert.ensembles.separate_members import SeparateStudy
from dalembert.errors import InputError
from dalembert.hybrid.moreau_jean import MoreauJean
from dalembert.lowering.build import build
from dalembert.model.active_system import active_system, all_permanent, starting_system
from dalembert.model.event import Event, further_parameters
from dalembert.model.function_system import FunctionSystem
from dalembert.model.input_values import as_numbers
from dalembert.model.large_statement import LargeStatement
from dalembert.model.ordering import by_name
from dalembert.model.system import System
from dalembert.runs.event_run import checked_events
from dalembert.runs.stepped_run import refuse_other_methods
from dalembert.settings import AnySystem, method_of
from dalembert.verbs import consistent_state


def sized_for(system: FunctionSystem, q0: Any, parameters: Any) -> FunctionSystem:
    """Return a system of functions with names for its coordinates and parameters, from the arguments of an ensemble."""
    count = len(q0) if isinstance(q0, Mapping) else int(np.atleast_1d(as_numbers(q0, "q0")).shape[-1])
    coordinates = system.sized(count, ()).coordinate_names
    states = {"member", *coordinates, *(f"{name}'" for name in coordinates)}
    given = (
        map(str, as_dataset(parameters).variables)
        if is_design(parameters)
        else by_name({} if parameters is None else parameters, "parameters", "parameter")[0] or ()
    )
    return system.sized(count, [name for name in given if name not in states])


def _is_large(system: AnySystem) -> bool:
    return isinstance(system, System) and system.is_large


def _statement(system: AnySystem) -> LargeStatement | None:
    return system.statement if isinstance(system, System) else None


def reason_to_separate(system: AnySystem, arguments: Mapping[str, Any]) -> str:
    """Return for what members must be simulated separately by ``da.simulate``; empty if for nothing."""
    control = arguments["control"]
    sampled = isinstance(control, Controller) and not is_integrated_with_plant(control)
    reasons = [f"`{name}`" for name in ("solver", "formulation") if arguments[name] is not None]
    reasons += ["`allow_violation`"] if arguments["allow_violation"] else []
    reasons += ["a sampled or adaptive `control`"] if sampled else []
    if not isinstance(system, System):
        reasons.append("a `da.FunctionSystem`")
    elif system.is_large:
        reasons.append(f"a system of {len(system.coordinate_names)} coordinates stated by arrays")
    return " and ".join(reasons)


def checked_arguments(system: AnySystem, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``da.simulate``, or raise an error if they are wrong for all members."""
    given = dict(arguments)
    method = ("formulation", "drift", "solver", "rtol", "atol", "step", "max_steps", "max_step")
    if isinstance(given["solver"], MoreauJean):
        others = ("formulation", "step", "max_step", "events", "control", "drift")
        refuse_other_methods(*(given[name] for name in others))
        return given
    checked = method_of(*(given[name] for name in method))
    if not _is_large(system) and (given["events"] or not all_permanent(system)):
        _, given["events"] = checked_events(system, given["events"], checked, given["control"])
    return given


def separate_members(
    system: AnySystem, start: tuple[Any, Any], t0: float, parameters: Any, arguments: Mapping[str, Any]
) -> tuple[Members, EnsembleLayout, dict[str, Any], tuple[str, ...], str]:
    """Return members, layout, parameters that are arrays, the names of the others, and a note on the starts."""
    if is_design(parameters):
        parameters = as_dataset(parameters)
    names, parameters = _parameter_names(system, parameters, arguments)
    fixed, parameters = _array_parameters(system, parameters)
    names = tuple(name for name in names if name not in fixed)
    members, layout, moved = laid_out(system.coordinate_names, names, *start, parameters)
    if not moved or arguments["allow_violation"]:
        return members, layout, fixed, names, ""
    if not _is_large(system):
        dynamics = build(starting_system(system) if isinstance(system, System) else system)
        started, note = consistent_starts(dynamics, members_with(members, names, dynamics.parameters), t0)
        return replace(members, q=started.q, qd=started.qd), layout, fixed, names, note
    return _on_constraints(system, members, names, fixed, t0), layout, fixed, names, ""


def _parameter_names(system: AnySystem, parameters: Any, arguments: Mapping[str, Any]) -> tuple[tuple[str, ...], Any]:
    """Return the names of the parameters of members, and the given ones without those that only own servos need."""
    control, own = arguments["control"], system.parameter_names
    if (statement := _statement(system)) is not None:
        own = tuple(statement.parameters)
    elif arguments["events"]:
        own = (*own, *further_parameters(system, _listed(arguments["events"])))
    if control is None:
        return own, parameters
    needed = under_control(system, control)[1]
    unused = {*own} - {*needed}
    if is_design(parameters):
        return needed, parameters.drop_vars([name for name in parameters.variables if str(name) in unused])
    named, problems = by_name({} if parameters is None else parameters, "parameters", "parameter")
    if named is None or problems:
        return needed, parameters
    return needed, {name: value for name, value in named.items() if name not in unused}


def _listed(events: Any) -> Sequence[Event]:
    return events if isinstance(events, (tuple, list)) else (events,)


def _array_parameters(system: AnySystem, parameters: Any) -> tuple[dict[str, Any], Any]:
    """Return the values of parameters that are arrays of a large statement, and the other parameters."""
    statement = _statement(system)
    sizes = {} if statement is None else statement.parameters
    if not any(sizes.values()):
        return {}, parameters
    named = {str(name): parameters[name] for name in parameters.variables} if is_design(parameters) else None
    named = by_name(parameters, "parameters", "parameter")[0] if named is None else named
    arrays = {
        name: np.asarray(value)
        for name, value in (named or {}).items()
        if sizes.get(name) and np.shape(value) == (sizes[name],)
    }
    if is_design(parameters):
        return arrays, parameters.drop_vars([*arrays])
    return arrays, named if named is None else {name: value for name, value in named.items() if name not in arrays}


def _on_constraints(system: AnySystem, members: Members, names: Sequence[str], fixed: Any, t0: float) -> Members:
    """Return members of a large system at the nearest states that satisfy its constraints."""
    starts: list[Floats] = []
    for k in range(len(members)):
        values = {**fixed, **dict(zip(names, map(float, members.p[:, k]), strict=True))}
        starts.append(
            np.concatenate(consistent_state(system, members.q[:, k], members.qd[:, k], t0, parameters=values))
        )
    return Members.at_states(np.ascontiguousarray(np.array(starts).T), members.p)


def separate_entries(system: AnySystem, arguments: Mapping[str, Any]) -> tuple[Entry, ...]:
    """Return the entries of the ledgers of members."""
    if _is_large(system) or isinstance(arguments["solver"], MoreauJean):
        unfit = "a large system" if _is_large(system) else "`da.MoreauJean`"
        raise InputError(
            f'"{LEDGER}" in `outputs` is not available for ensembles with {unfit}; call `da.simulate(...).ledger()` '
            f"for each member."
        )
    if not isinstance(system, System):
        dynamics = build(system)
        return tuple(entries_of(dynamics.constraints, dynamics.laws, dynamics.actuators))
    if arguments["control"] is not None:
        system = under_control(system, arguments["control"])[0]
    return member_entries(system, build(active_system(system)), _listed(arguments["events"]))


def refuse_gpu(device: str, precision: str, why: str) -> None:
    """Raise an error for a GPU, on which no member can be simulated separately."""
    if device == "gpu" or precision == "single":
        raise InputError(
            f'members with {why} must run on a CPU in double precision; got `device="{device}"` and '
            f'`precision="{precision}"`. Leave these out.'
        )


def separate_study(
    system: AnySystem,
    start: tuple[Any, Any],
    times: Floats,
    parameters: Any,
    arguments: Mapping[str, Any],
    why: str,
    keep: Literal["times", "end", "summary"],
    outputs: OutputChoice,
    quantiles: tuple[float, ...],
) -> tuple[SeparateStudy, Ensemble]:
    """Return the study of an ensemble whose members are simulated separately, and its members.

    ``start`` are ``q0`` and ``qd0`` as they were given.
    """
    checked = checked_arguments(system, arguments)
    if keep == "summary":
        refuse_stopping_events(_listed(checked["events"]))
    entries = separate_entries(system, checked) if outputs.ledger else ()
    members, layout, fixed, names, note = separate_members(system, start, float(times[0]), parameters, checked)
    switches = bool(checked["events"]) or (not _is_large(system) and not all_permanent(system))
    rows = system.constraint_names if isinstance(system, System) else build(system).constraints
    what = times, keep, outputs, quantiles, len(members), entries, switches
    study = SeparateStudy(system, rows, checked, why, fixed, names, *what)
    return study, Ensemble(members, layout, note)
