# SPDX-License-Identifier: BSD-3-Clause
"""The members of an ensemble and their layout, from a design or from arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.conservation import conserved_members
from dalembert.common.array_types import Floats
from dalembert.control.controlled_plant import controlled_members
from dalembert.control.controller import Controller
from dalembert.ensembles.consistent_starts import consistent_starts
from dalembert.ensembles.designs import refuse_dimension_name
from dalembert.ensembles.ensemble_layout import EnsembleLayout, label_of, numbered
from dalembert.ensembles.members import Members, columns_of, member_labels, members_of
from dalembert.errors import InputError
from dalembert.integration.method import Method
from dalembert.lowering.build import build
from dalembert.model.active_system import starting_system
from dalembert.model.input_values import as_numbers, state_values
from dalembert.model.ordering import by_name, name_problems, unknown_names
from dalembert.model.system import System

if TYPE_CHECKING:
    import xarray as xr


def is_design(given: Any) -> bool:
    """Return whether an argument is an xarray Dataset or a pandas DataFrame."""
    package, kind = type(given).__module__.partition(".")[0], type(given).__name__
    return (package, kind) in (("xarray", "Dataset"), ("pandas", "DataFrame"))


@dataclass(frozen=True)
class Ensemble:
    """The members of an ensemble, their layout, and a note on their starts."""

    members: Members
    layout: EnsembleLayout
    note: str

    @property
    def reference(self) -> Members:
        """The first member with finite numbers; the first one if there is none."""
        first = 0 if self.members.subset(slice(0, 1)).finite[0] else int(np.argmax(self.members.finite))
        one = self.members.subset(slice(first, first + 1))
        return Members(*(np.ascontiguousarray(part) for part in (one.q, one.qd, one.p)))


def prepared_ensemble(
    system: System,
    q0: Any,
    qd0: Any,
    times: Floats,
    parameters: Any,
    method: Method,
    control: Controller | None,
    further: tuple[str, ...] = (),
) -> tuple[System, Ensemble]:
    """Return a system with its controller and first integrals, and the members described by a design or by arrays.

    ``further`` are names of parameters that only events have; they come after those of the system.
    """
    if is_design(parameters):
        parameters = as_dataset(parameters)
    if control is not None and is_design(parameters):
        names = {str(name): name for name in parameters.variables}
        system, used = controlled_members(system, control, names)
        parameters = parameters.drop_vars([name for name in names if name not in used])
    elif control is not None:
        system, parameters = controlled_members(system, control, parameters)
    names = (*system.parameter_names, *further)
    members, layout, moved = laid_out(system.coordinate_names, names, q0, qd0, parameters)
    note, t0 = "", float(times[0])
    if moved:
        dynamics = build(starting_system(system))
        own = members_with(members, names, dynamics.parameters)
        started, note = consistent_starts(dynamics, own, t0)
        members = replace(members, q=started.q, qd=started.qd)
    if method.drift.integrals:
        system, p = conserved_members(system, method, t0, members.y, members.p)
        members = replace(members, p=p)
    return system, Ensemble(members, layout, note)


def members_with(members: Members, names: Sequence[str], chosen: Sequence[str]) -> Members:
    """Return the members with some of their parameters, whose names these are."""
    if tuple(names) == tuple(chosen):
        return members
    return replace(members, p=members.p[[names.index(name) for name in chosen]])


def laid_out(
    coordinates: Sequence[str], names: Sequence[str], q0: Any, qd0: Any, parameters: Any
) -> tuple[Members, EnsembleLayout, bool]:
    """Return the members of an ensemble, their layout, and whether a design varies their starts.

    ``names`` are those of the parameters.
    """
    if is_design(parameters):
        return _of_design(coordinates, q0, qd0, parameters, names)
    members = members_of(coordinates, names, q0, qd0, parameters)
    columns = columns_of(names, {} if parameters is None else parameters, "parameters", "parameter")
    swept = {name: column for name, column in zip(names, columns, strict=True) if column.ndim}
    return members, numbered(len(members), swept, member_labels(q0, qd0, parameters)), False


def _of_design(
    names: Sequence[str], q0: Any, qd0: Any, design: xr.Dataset, parameters: Sequence[str]
) -> tuple[Members, EnsembleLayout, bool]:
    refuse_dimension_name(parameters)
    values = _values(names, design, parameters)
    own = [name for name in values if name in parameters]
    problems = name_problems(parameters, own, "parameters", "parameter")
    if problems:
        raise InputError(" ".join(problems))
    sizes = {str(name): size for name, size in design.sizes.items()}
    spread = {name: _spread(value, sizes) for name, value in values.items()}
    states = np.concatenate([state_values(names, q0, "q0"), state_values(names, qd0, "qd0")])
    starts = dict(zip((*names, *(f"{name}'" for name in names)), states, strict=True))
    count = prod(sizes.values())
    y = _table([spread.get(name, number) for name, number in starts.items()], count)
    p = _table([spread[name] for name in parameters], count)
    labels = {label_of(name): (tuple(map(label_of, value.dims)), value.values) for name, value in values.items()}
    for name in _texts(design):
        labels[label_of(name)] = tuple(label_of(str(dim)) for dim in design[name].dims), design[name].values
    labels |= {"member": (("member",), design["member"].values)} if "member" in sizes else {}
    layout = EnsembleLayout({label_of(name): size for name, size in sizes.items()}, labels)
    return Members.at_states(y, p), layout, any(name in values for name in starts)


def as_dataset(given: Any) -> xr.Dataset:
    """Return a design as a dataset with at least one dimension; the rows of a table are members."""
    design = given
    if type(given).__name__ == "DataFrame":
        columns, problems = by_name(given, "parameters", "parameter")
        if problems:
            raise InputError(" ".join(problems))
        refuse_dimension_name(columns or ())
        design = given.to_xarray()
        if given.index.nlevels == 1:
            design = design.rename({next(iter(design.sizes)): "member"})
    if not design.sizes or not all(design.sizes.values()):
        raise InputError("a design must have at least one member; this one has none.")
    return design


def _values(names: Sequence[str], design: xr.Dataset, parameters: Sequence[str]) -> dict[str, Any]:
    """Return the quantities of a design by name, in the order of the design."""
    known = (*parameters, *names, *(f"{name}'" for name in names))
    left_out = {"member"} | {*_texts(design)} - {*known}
    found = {str(name): design[name] for name in (*design.coords, *design.data_vars) if str(name) not in left_out}
    unknown = unknown_names(known, found, "parameters", "parameter")
    if unknown:
        raise InputError(" ".join(unknown))
    return found


def _texts(design: xr.Dataset) -> list[str]:
    """Return the names of the coordinates of a design that are texts or dates: they are labels, not quantities."""
    return [str(name) for name, values in design.coords.items() if name != "member" and values.dtype.kind in "OSUMm"]


def _spread(value: Any, sizes: Mapping[str, int]) -> Any:
    """Return the values of a quantity for all members; a number if it is the same for all."""
    array = value.transpose(*(dim for dim in sizes if dim in value.dims))
    numbers = as_numbers(array.values, str(value.name))
    if not array.dims:
        return float(numbers)
    lengths = [sizes[dim] if dim in array.dims else 1 for dim in sizes]
    return np.broadcast_to(numbers.reshape(lengths), tuple(sizes.values())).ravel()


def _table(rows: Sequence[Any], count: int) -> Floats:
    """Return the values of all members, one row per quantity."""
    table = np.empty((len(rows), count))
    for line, row in zip(table, rows, strict=True):
        line[:] = row
    return table
