# SPDX-License-Identifier: BSD-3-Clause
"""The outputs of an ensemble: states, forces, multipliers, energies and expressions, for all members at once.

Ledgers are computed by ``member_ledgers``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.ensembles.ensemble_layout import RESERVED
from dalembert.ensembles.ledger_outputs import LEDGER, OF_ENTRIES, refuse_names_of_ledger
from dalembert.ensembles.members import Members
from dalembert.ensembles.stick_slip_outputs import OutputPhases
from dalembert.ensembles.switched_outputs import SwitchedPhases
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import InputError
from dalembert.integration.method import Method
from dalembert.integration.native_steps import cure_of
from dalembert.integration.path_outputs import outputs_at
from dalembert.integration.row_selection import is_refined, rows_for
from dalembert.lowering.build import build
from dalembert.lowering.expressions_along import ArrayStates, values_along
from dalembert.lowering.native_system import NativeSystem
from dalembert.lowering.outputs_of_many import OutputsOfMany, outputs_of_many
from dalembert.model import graph
from dalembert.model.ordering import quoted
from dalembert.model.symbols import ideal_force, multiplier, reaction
from dalembert.model.system import System
from dalembert.runs.simulated_run import symbols_of
from dalembert.settings import AnySystem

OF_STATES = ("q", "qd")
OF_COORDINATES = ("acceleration", "ideal_force", "nonideal_force")
OF_CONSTRAINTS = ("multipliers", "reactions", "violation")
KNOWN_OUTPUTS = (*OF_STATES, *OF_COORDINATES, *OF_CONSTRAINTS, "energy", LEDGER)

STATES_AT_ONCE = 2**16
"""States that are evaluated at once, to bound the memory for their outputs."""


@dataclass(frozen=True)
class OutputChoice:
    """The outputs that are kept: some of ``KNOWN_OUTPUTS``, and expressions by name."""

    names: tuple[str, ...]
    expressions: Mapping[str, Any]

    @property
    def needs_forces(self) -> bool:
        """Whether the states alone do not give all outputs."""
        return bool({*self.names} - {*OF_STATES, LEDGER}) or any(map(_has_forces, self.expressions.values()))

    @property
    def ledger(self) -> bool:
        """Whether the ledgers of members are kept."""
        return LEDGER in self.names

    @property
    def of_motion(self) -> tuple[str, ...]:
        """The names of outputs that follow from the motion at the time of the output alone."""
        return tuple(name for name in self.names if name != LEDGER)

    @property
    def all_dims(self) -> set[str]:
        """The dimensions of all outputs after those of the ensemble."""
        found = {"time", *(dim for name in self.of_motion for dim in self.dims(name, 1))}
        return found | {"entry"} if self.ledger else found

    def dims(self, name: str, axes: int) -> tuple[str, ...]:
        """Return the dimensions of an output after those of the ensemble; ``axes`` is their number."""
        if name in (*OF_STATES, *OF_COORDINATES):
            return "time", "coordinate"
        if name in OF_CONSTRAINTS:
            return "time", "constraint"
        if self.ledger and name in OF_ENTRIES:
            return "time", "entry"
        return ("time",) if axes == 1 else ("time", f"requirement of {name[len('error(') : -1]}")


def _has_forces(expression: Any) -> bool:
    second = any(node.derivative_count > 1 for node in graph.atoms(expression, sp.Derivative))
    return second or graph.has_kind(expression, ideal_force, multiplier, reaction)


def output_choice(system: AnySystem, given: Any) -> OutputChoice:
    """Return the outputs of the argument ``outputs``: names, expressions, or a mapping from names to either."""
    entries = given.items() if isinstance(given, Mapping) else [(None, one) for one in _listed(given)]
    names: list[str] = []
    expressions: dict[str, Any] = {}
    for label, entry in entries:
        if isinstance(entry, str):
            names.append(_checked_name(system, entry))
            if label not in (None, entry):
                raise InputError(
                    f"`{entry}` in `outputs` must keep its name; got `{label}` for it. Write it as "
                    f"{{{entry!r}: {entry!r}}}, and rename the variable of the result."
                )
            continue
        expression = sp.sympify(entry, strict=True) if isinstance(entry, (int, float)) else entry
        if not isinstance(expression, sp.Expr):
            raise InputError(f"`outputs` must hold names or expressions; got {entry!r}.")
        name = _readable(system, expression) if label is None else str(label)
        if name in (*KNOWN_OUTPUTS, *RESERVED):
            raise InputError(f"an expression in `outputs` must have a name of its own; got `{name}`.")
        expressions[name] = expression
    if not names and not expressions:
        raise InputError("`outputs` must hold at least one output; got none.")
    if LEDGER in names:
        refuse_names_of_ledger([*expressions])
    return OutputChoice(tuple(dict.fromkeys(names)), expressions)


def _readable(system: AnySystem, expression: Any) -> str:
    if isinstance(system, System) and system.is_large:
        return str(expression)
    return symbols_of(system, build(system)).readable(expression)


def _has_constraints(system: AnySystem) -> bool:
    return bool(system.constraint_names if isinstance(system, System) else system.constraints)


def _listed(given: Any) -> list[Any]:
    return [*given] if isinstance(given, (tuple, list)) else [given]


def _checked_name(system: AnySystem, name: str) -> str:
    if name not in KNOWN_OUTPUTS:
        raise InputError(f"`outputs` must be expressions, or among {quoted(KNOWN_OUTPUTS)}; got `{name}`.")
    if name == "energy" and system.lagrangian is None:
        raise InputError(
            '"energy" in `outputs` needs a system with a Lagrangian; this one has none. State it with '
            "`da.System.from_lagrangian`."
        )
    if name in OF_CONSTRAINTS and not _has_constraints(system):
        raise InputError(f"`{name}` in `outputs` needs a system with constraints; this one has none.")
    return name


class EnsembleOutputs:
    """Evaluates the outputs of members at their states, by machine code for all of them if possible.

    reference     a member with finite numbers, which selects independent constraint rows
    parameters    the names of the parameters of members
    """

    def __init__(
        self,
        system: System,
        dynamics: Dynamics,
        method: Method,
        choice: OutputChoice,
        reference: Members,
        parameters: tuple[str, ...],
    ):
        self.system, self.dynamics, self.method, self.choice = system, dynamics, method, choice
        self.reference, self.parameters = reference, parameters

    def __call__(
        self, members: Members, times: Floats, y: Floats, phases: OutputPhases | SwitchedPhases | None = None
    ) -> dict[str, Floats]:
        """Return the outputs (N, T, …) by name, from states y (N, T, 2n); NaN where states are.

        Under dry friction forces depend on the ``phases`` of the outputs.
        """
        if not self.choice.needs_forces and not self.choice.expressions:
            n = y.shape[2] // 2
            parts = {"q": y[:, :, :n], "qd": y[:, :, n:]}
            return {name: parts[name] for name in self.choice.of_motion}
        step = max(STATES_AT_ONCE // len(times), 1)
        found: list[dict[str, Floats]] = []
        for first in range(0, len(y), step):
            own = slice(first, first + step)
            phases_of_part = None if phases is None else phases.subset(own)
            found.append(self._evaluated(members.subset(own), times, y[own], phases_of_part))
        return {name: np.concatenate([part[name] for part in found]) for name in found[0]}

    def _evaluated(
        self, members: Members, times: Floats, y: Floats, phases: OutputPhases | SwitchedPhases | None
    ) -> dict[str, Floats]:
        N, T = y.shape[:2]
        states, t, p = y.reshape(N * T, -1), np.tile(times, N), np.repeat(members.p.T, T, axis=0)
        finite = np.isfinite(states).all(axis=1)
        n, m = states.shape[1] // 2, len(self.dynamics.constraints)
        found: dict[str, Any] = {"q": states[:, :n], "qd": states[:, n:]}
        # if no member has been simulated, nothing is known but the shapes
        missing = dict.fromkeys(OF_COORDINATES, (n,)) | dict.fromkeys(OF_CONSTRAINTS, (m,)) | {"energy": ()}
        if self.choice.needs_forces:
            found |= self._forces(states, t, p, finite) if phases is None else phases.forces(states, t, p)
            found |= {name: np.full((N * T, *shape), np.nan) for name, shape in missing.items() if name not in found}
        empty = {"acceleration": n, "ideal_force": n, "multipliers": m, "reactions": m}
        fields = {name: found.get(name, np.zeros((N * T, size))) for name, size in empty.items()}
        if isinstance(phases, SwitchedPhases):
            p = phases.p.reshape(N * T, -1)  # events may have changed them
        named = dict(zip(self.parameters, p.T, strict=True))
        view = ArrayStates(t, found["q"], found["qd"], **fields, parameters=named, **self._names)
        kept = {name: found[name] for name in self.choice.of_motion}
        for name, expression in self.choice.expressions.items():
            with np.errstate(all="ignore"):  # states after a failure are not finite
                values = values_along(view, self.system.symbols, expression)
            kept[name] = np.where(finite, values, np.nan)
        return {name: values.reshape(N, T, *values.shape[1:]) for name, values in kept.items()}

    def require_expressions(self, t: float) -> None:
        """Raise an error for an expression that cannot be evaluated along the motions, before these are simulated."""
        n, m = len(self.dynamics.coordinates), len(self.dynamics.constraints)
        zero = {"acceleration": np.zeros((1, n)), "ideal_force": np.zeros((1, n))}
        zero |= {"multipliers": np.zeros((1, m)), "reactions": np.zeros((1, m))}
        q, qd = self.reference.q[:, :1].T, self.reference.qd[:, :1].T
        named = dict(zip(self.parameters, self.reference.p[:, :1], strict=True))
        view = ArrayStates(np.array([t]), q, qd, **zero, parameters=named, **self._names)
        for name, expression in self.choice.expressions.items():
            try:
                with np.errstate(all="ignore"):
                    values_along(view, self.system.symbols, expression)
            except InputError as error:
                raise InputError(str(error).replace("`expression`", f"`{name}` in `outputs`")) from None

    @property
    def _names(self) -> dict[str, Any]:
        return {"coordinates": self.dynamics.coordinates, "constraints": self.dynamics.constraints}

    def _forces(self, y: Floats, t: Floats, p: Floats, finite: Any) -> dict[str, Any]:
        """Return forces and energies at all states; by single evaluations where machine code is not accurate."""
        found, valid = {}, np.zeros(len(y), bool)
        compiled = self._compiled(t[0])
        if compiled is not None:
            found, valid = compiled(y, t, p)
        for k in np.flatnonzero(finite & ~valid):
            own = slice(k, k + 1)
            alone = outputs_at(self.dynamics, self.method, None, t[own], y[own].copy(), t[own], tuple(p[k]))
            for name in (*OF_COORDINATES, *OF_CONSTRAINTS, "energy"):
                if alone[name] is not None:
                    found.setdefault(name, np.full((len(y), *alone[name].shape[1:]), np.nan))[k] = alone[name][0]
        for values in found.values():
            values[~finite] = np.nan
        return found

    def _compiled(self, t0: float) -> OutputsOfMany | None:
        dynamics, y, p = self.dynamics, self.reference.state(0), self.reference.p[:, 0].copy()
        if dynamics.machine_code is None or not self.method.formulation.uses_engine:
            return None
        rows = rows_for(dynamics, y, t0, p)
        rates = cure_of(self.method.drift, dynamics.levels)[1]
        return outputs_of_many(
            cast("NativeSystem", dynamics.machine_code), rows, rates, is_refined(dynamics, rows, y, t0, p)
        )
