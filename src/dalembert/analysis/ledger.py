# SPDX-License-Identifier: BSD-3-Clause
"""The energy ledger of a run: power and work of applied forces, constraints and laws, and the audit of the energy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.ledger_entries import ALL_APPLIED, Entry, group_of, joint_of
from dalembert.analysis.ledger_table import table_rows
from dalembert.common.array_types import Floats
from dalembert.common.notebook_html import block, paragraph, table
from dalembert.common.table import aligned
from dalembert.errors import InputError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


HEAD = ("", "kind", "work", "largest power")
"""The heads of the columns of a printed ledger."""


MOST_PRINTED_ENTRIES = 100
"""Entries of a ledger that are printed and drawn one by one; those of larger systems are summed by groups."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """Work and energy along a run, at its T times, by e entries: applied forces, each constraint, each nonideal law.

    The forces of a mechanism, and those that were given to a system by name, have an entry each; otherwise all applied
    forces are one entry. Forces with a potential energy do no other work and have none, but ``potentials``.

    t (T,)
    entries                  e of them
    coordinates              names of the n coordinates
    force (T, e, n)          generalised forces as they act: Q; λ ∂φ/∂q of each constraint, with λ its actual reaction
                             (``run.reactions``); C of each law. They add up to M q̈. For a large system a tuple of T
                             sparse matrices (e, n)
    power, work (T, e)       power and work of these forces; work is counted from the first time. The work of
                             conservative applied forces is part of the potential energy and not listed here. A
                             constraint that does not depend on time does no work; the power of a drive is its force
                             times its rate
    split_power, split_work (T, e)    the same by the split of Udwadia and Kalaba: λ ∂φ/∂q with λ of the ideal problem
                             (``run.multipliers``), and the nonideal constraint force that follows from each law, which
                             is C without the part balanced by the constraints
    kinetic (T,)             ½ q̇ᵀM q̇
    potential (T,)           the rest of the energy q̇·∂L/∂q̇ − L, or None when no Lagrangian is known
    audit (T,)               change of energy less all work: zero up to the error of the integration
    turnover                 total energy exchanged: the integral of the absolute powers, and the total variation of the
                             kinetic energy
    rtol, atol               tolerances of the run
    notes                    remarks on the ledger, one sentence each
    potentials               the potential energies (T,) of named forces, such as springs, by name

    ``ledger["wire"]`` is the work (T,) of an entry and ``ledger.power_of("wire")`` its power,
    ``ledger["applied forces"]`` the work of all applied forces; the name of a joint, a drive or a group of constraints
    gives the sum over its constraints, without its laws, which are entries such as ``"pin: Coulomb"``.
    ``print(ledger)`` shows a table, in which the many entries of a large system are summed by groups;
    ``ledger.to_text`` adds units. ``ideal_work``, ``nonideal_work`` and the like are sums of the split over all
    constraints and all laws: the work of Qᶜᵢ and Qᶜₙᵢ.
    """

    t: Floats
    entries: tuple[Entry, ...]
    coordinates: tuple[str, ...]
    force: Any
    power: Floats
    work: Floats
    split_power: Floats
    split_work: Floats
    kinetic: Floats
    potential: Floats | None
    audit: Floats
    turnover: float
    rtol: float
    atol: float
    notes: tuple[str, ...] = ()
    potentials: Mapping[str, Floats] = field(default_factory=dict[str, Floats])

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(entry.name for entry in self.entries)

    @property
    def ideal_power(self) -> Floats:
        """Power (T,) of the ideal constraint force Qᶜᵢ."""
        return self._of_kind(self.split_power, "reaction")

    @property
    def ideal_work(self) -> Floats:
        """Work (T,) of the ideal constraint force Qᶜᵢ."""
        return self._of_kind(self.split_work, "reaction")

    @property
    def nonideal_power(self) -> Floats:
        """Power (T,) of the nonideal constraint force Qᶜₙᵢ."""
        return self._of_kind(self.split_power, "law")

    @property
    def nonideal_work(self) -> Floats:
        """Work (T,) of the nonideal constraint force Qᶜₙᵢ."""
        return self._of_kind(self.split_work, "law")

    def _of_kind(self, values: Floats, kind: str) -> Floats:
        return values[:, [entry.kind == kind for entry in self.entries]].sum(axis=1)

    @property
    def energy(self) -> Floats:
        """Kinetic plus potential energy (T,); kinetic alone when no Lagrangian is known."""
        return self.kinetic if self.potential is None else self.kinetic + self.potential

    @property
    def closure(self) -> float:
        """The largest entry of the audit divided by rtol · turnover + atol: the energy error in units of the tolerance.

        The tolerances apply to single steps, whose errors accumulate while energy is exchanged.
        """
        return float(np.abs(self.audit).max() / (self.rtol * self.turnover + self.atol))

    def __getitem__(self, name: str) -> Floats:
        return self._entry(self.work, name)

    def power_of(self, name: str) -> Floats:
        """Return the power (T,) of an entry, or of a joint or a group, by the names that ``ledger[name]`` takes.

        Raises
        ------
        InputError    if the ledger has no such entry
        """
        return self._entry(self.power, name)

    def _entry(self, values: Floats, name: str) -> Floats:
        """Return the column of an entry, or the sum of those of a joint or a group."""
        if name in self.names:
            return values[:, self.names.index(name)]
        if name == ALL_APPLIED:
            return self._of_kind(values, "applied")
        # equations of a joint are called `pin: x`, copies of a constraint `rod[0]`
        parts = (f"{name}: ", f"{name}[")
        of_joint = [entry.kind == "reaction" and entry.name.startswith(parts) for entry in self.entries]
        if not any(of_joint):
            known = ", ".join(f"`{known}`" for known in self.by_group().names)
            raise InputError(f"`{name}` must be an entry of the ledger; it has {known}.")
        return values[:, of_joint].sum(axis=1)

    def by_group(self) -> Ledger:
        """Return the ledger itself or, if it has many entries, one of sums over groups such as `rod[0]`, `rod[1]`."""
        return self if len(self.entries) <= MOST_PRINTED_ENTRIES else self._summed(group_of, " ({})")

    def by_joint(self) -> Ledger:
        """Return the ledger with one entry for the reaction of each joint of a mechanism, the sum of its equations."""
        found = self._summed(joint_of, "")
        # the forces of single entries are kept wherever nothing was summed
        return self if len(found.entries) == len(self.entries) else found

    def _summed(self, key: Callable[[Entry], tuple[str, str]], suffix: str) -> Ledger:
        """Return a ledger of sums over the entries whose kind and name are the same; ``suffix`` takes their number."""
        groups: dict[tuple[str, str], int] = {}
        places = np.array([groups.setdefault(key(entry), len(groups)) for entry in self.entries])
        sizes = np.bincount(places)
        entries = tuple(
            Entry(f"{name}{suffix.format(size)}" if size > 1 else name, kind, "")
            for (kind, name), size in zip(groups, sizes, strict=True)
        )
        summed = {
            name: np.stack([np.bincount(places, values) for values in getattr(self, name)])
            for name in ("power", "work", "split_power", "split_work")
        }
        return replace(self, entries=entries, force=(), **summed)

    def to_xarray(self) -> xr.Dataset:
        """Return the ledger as a labelled dataset with dimensions time, entry and coordinate.

        The forces of a large system are left out, because most of them are zero.
        """
        import xarray as xr

        whole: dict[str, Any] = {"force": (("time", "entry", "coordinate"), self.force)}
        variables: dict[str, Any] = (whole if isinstance(self.force, np.ndarray) else {}) | {
            "power": (("time", "entry"), self.power),
            "work": (("time", "entry"), self.work),
            "split_power": (("time", "entry"), self.split_power),
            "split_work": (("time", "entry"), self.split_work),
            "kinetic": (("time",), self.kinetic),
            "audit": (("time",), self.audit),
        }
        if self.potential is not None:
            variables["potential"] = (("time",), self.potential)
        labels: dict[str, Any] = {"time": self.t, "entry": list(self.names), "coordinate": list(self.coordinates)}
        labels["kind"] = (("entry",), [entry.kind for entry in self.entries])
        labels["constraint"] = (("entry",), [entry.constraint for entry in self.entries])
        return xr.Dataset(variables, labels, {"rtol": self.rtol, "atol": self.atol, "notes": json.dumps(self.notes)})

    def plot(self, units: Mapping[Any, str] | None = None) -> Figure:
        """Plot the powers, stacked above and below zero, with their sum, and the audit below them.

        ``units`` maps ``"t"``, ``"power"`` and ``"energy"`` to units for the labels.

        Raises
        ------
        InputError    if ``units`` names something else
        """
        from dalembert.figures.ledger_figure import stacked_powers

        return stacked_powers(self.by_group(), checked_units(units))

    def __str__(self) -> str:
        """Return the span of time, the table of ``rows``, and the notes."""
        return self.to_text()

    def to_text(self, units: Mapping[Any, str] | None = None) -> str:
        """Return what ``print`` shows, with units: that of the time, and those of work and power in their columns.

        ``units`` maps ``"t"``, ``"power"`` and ``"energy"`` to units, such as ``{"energy": "J", "power": "W"}``. All
        energies are in the unit of the work.

        Raises
        ------
        InputError    if ``units`` names something else
        """
        unit = checked_units(units)
        measured = {"work": unit.get("energy"), "largest power": unit.get("power")}
        head = tuple(f"{name} / {measured[name]}" if measured.get(name) else name for name in HEAD)
        span = " ".join(filter(None, [self._span, unit.get("t")]))
        return "\n".join([span, *aligned([head, *self.rows()], words=2), *self.notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        notes = (paragraph(note) for note in self.notes)
        return block(paragraph(self._span, strong=True), table(HEAD, self.rows(), words=2), *notes)

    @property
    def _span(self) -> str:
        return f"Work and energy from t = {self.t[0]:g} to {self.t[-1]:g}"

    def rows(self) -> list[tuple[str, ...]]:
        """Return a table: work over the whole run and largest power of each entry, then the energies and the audit.

        The equations of a joint are one row, and so are groups of many entries.
        If there are nonideal laws, the work of the ideal and the nonideal constraint force follows the entries; the two
        add up to the work of reactions and laws.
        """
        if len(self.entries) > MOST_PRINTED_ENTRIES:
            return self.by_group().rows()
        if len(self.by_joint().entries) < len(self.entries):
            return self.by_joint().rows()
        return table_rows(self)


KNOWN_UNITS = ("t", "power", "energy")


def checked_units(units: Mapping[Any, str] | None) -> dict[str, str]:
    """Return units of a ledger by name; raise an error for one that it does not have."""
    given = {str(key): str(value) for key, value in (units or {}).items()}
    unknown = [name for name in given if name not in KNOWN_UNITS]
    if unknown:
        raise InputError(f"`units` must name `t`, `power` or `energy`; got `{unknown[0]}`.")
    return given


CLOSURE_LIMIT = 1e3
"""Tolerances by which energy and work may differ before the ledger says so. The errors of single steps add up over a
run, and an ordinary run stays well below this."""


def inaccurate_work(ledger: Ledger, error: float) -> list[str]:
    """Return a note if the estimated error of the works, which may cancel in their sum, exceeds ``CLOSURE_LIMIT``."""
    if error <= CLOSURE_LIMIT * (ledger.rtol * ledger.turnover + ledger.atol):
        return []
    return [
        f"The works of single entries may be off by {error:.1e}: their powers vary faster than the motion, from which "
        f"the steps are chosen. Pass a smaller `max_step`."
    ]
