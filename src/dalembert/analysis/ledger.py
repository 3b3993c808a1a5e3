# SPDX-License-Identifier: BSD-3-Clause
"""A ledger of work and energy: every force of a run with its power and work, and the audit that they add up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.array_types import Floats
from dalembert.errors import InputError
from dalembert.table import aligned

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


class Entry(NamedTuple):
    """One line of a ledger: its name, what kind of force it is, and whose (empty if no single constraint's).

    kind    "applied", "reaction" of a constraint, "law" for what a nonideal law does, or "compromise" for what
            contradictory equations leave over
    """

    name: str
    kind: str
    constraint: str


@dataclass(frozen=True, eq=False)
class Ledger:
    """Work and energy along a run, at its T times, by e entries: applied forces, each constraint, each nonideal law.

    t (T,)
    entries                  e of them
    coordinates              names of the n coordinates
    force (T, e, n)          generalised forces as they act: Q; λ ∂φ/∂q of each constraint, with λ its actual reaction
                             (``run.reactions``); C of each law. They add up to M q̈
    power, work (T, e)       of these, work from the first time on. That of the applied forces is what the potential
                             energy does not account for. A constraint at rest does none, a drive its force times its
                             rate
    split_power, split_work (T, e)    the same by the split of Udwadia and Kalaba: λ ∂φ/∂q with λ of the ideal problem
                             (``run.multipliers``), and the nonideal constraint force that follows from each law, which
                             is C without what the constraints take up
    kinetic (T,)             ½ q̇ᵀM q̇
    potential (T,)           the rest of the energy q̇·∂L/∂q̇ − L, or None when no Lagrangian is known
    audit (T,)               change of energy less all work: zero but for the error of the integration
    turnover                 how much energy has changed hands: all work without regard to sign, and all rises and falls
                             of the kinetic energy
    rtol, atol               tolerances of the run
    notes                    what a reader should know, one sentence each

    ``ledger["wire"]`` is the work (T,) of an entry. ``print(ledger)`` shows a table. ``ideal_work``, ``nonideal_work``
    and the like are sums of the split over all constraints and all laws: the work of Qᶜᵢ and Qᶜₙᵢ.
    """

    t: Floats
    entries: tuple[Entry, ...]
    coordinates: tuple[str, ...]
    force: Floats
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
        """The largest entry of the audit over rtol · turnover + atol: how many tolerances the books are off.

        The tolerances are those of single steps, whose errors add up while energy goes to and fro.
        """
        return float(np.abs(self.audit).max() / (self.rtol * self.turnover + self.atol))

    def __getitem__(self, name: str) -> Floats:
        if name not in self.names:
            known = ", ".join(f"`{known}`" for known in self.names)
            raise InputError(f"`{name}` must be an entry of the ledger; it has {known}.")
        return self.work[:, self.names.index(name)]

    def to_xarray(self) -> xr.Dataset:
        """The ledger as a labelled dataset with dimensions time, entry and coordinate."""
        import xarray as xr

        variables: dict[str, Any] = {
            "force": (("time", "entry", "coordinate"), self.force),
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
        """A figure of the powers, stacked above and below zero, with their sum, and of the audit beneath.

        ``units`` maps ``"t"``, ``"power"`` and ``"energy"`` to units for the labels.

        Raises
        ------
        InputError    if ``units`` names something else
        """
        from dalembert.figures.ledger_figure import stacked_powers

        return stacked_powers(self, units)

    def __str__(self) -> str:
        """The table: work over the whole run and largest power of each entry, then the energies and the audit.

        Where there are laws, the same by the split into ideal and nonideal constraint force stands below the entries:
        the two sum up to the reactions and laws.
        """
        scale, largest = max(np.abs(self.work).max(), self.kinetic.max()), np.abs(self.power).max(axis=0)
        # where no force does work, all powers are rounding: of energies that go to and fro in the time of the run
        power = max(largest.max(), scale / (self.t[-1] - self.t[0]) if self.t[-1] > self.t[0] else 0.0)
        rows = [
            (entry.name, entry.kind, _shown(self.work[-1, i], scale), _shown(largest[i], power))
            for i, entry in enumerate(self.entries)
        ]
        if any(entry.kind == "law" for entry in self.entries):
            parts = {
                "ideal": (self.ideal_work, self.ideal_power),
                "nonideal": (self.nonideal_work, self.nonideal_power),
            }
            rows += [
                (f"{part} constraint force", "split", _shown(work[-1], scale), _shown(np.abs(rate).max(), power))
                for part, (work, rate) in parts.items()
            ]
        energies = {"kinetic energy": self.kinetic}
        energies |= {} if self.potential is None else {"potential energy": self.potential}
        rows += [(name, "change", _shown(e[-1] - e[0], scale), "") for name, e in energies.items()]
        rows.append(("energy change less all work", "audit", f"{self.audit[-1]:.1e}", ""))
        span = f"Work and energy from t = {self.t[0]:g} to {self.t[-1]:g}"
        return "\n".join([span, *aligned([("", "kind", "work", "largest power"), *rows], words=2), *self.notes])


def _shown(value: float, scale: float) -> str:
    """A number, or zero if it is the rounding of numbers of that scale."""
    return "0" if abs(value) <= 1e-13 * scale else f"{value:.6g}"
