# SPDX-License-Identifier: BSD-3-Clause
"""The table of a printed ledger: one row for each entry, then the energies and the audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dalembert.analysis.ledger import Ledger

PRINTED_ZERO = 1e-13
"""Values below this fraction of the largest are printed as zero: sums over the steps of a run leave ten times
``ROUNDING``."""


def table_rows(ledger: Ledger) -> list[tuple[str, ...]]:
    """Return name, kind, work and largest power of each entry of a ledger, then the energies and the audit."""
    # rounding errors of the work are relative to the energies exchanged
    scale, largest = max(np.abs(ledger.work).max(), ledger.kinetic.max()), np.abs(ledger.power).max(axis=0)
    # if no force does work, all powers are rounding errors of the energies exchanged during the run
    power = max(largest.max(), scale / (ledger.t[-1] - ledger.t[0]) if ledger.t[-1] > ledger.t[0] else 0.0)
    rows = [
        (entry.name, entry.kind, _shown(ledger.work[-1, i], scale), _shown(largest[i], power))
        for i, entry in enumerate(ledger.entries)
    ]
    if any(entry.kind == "law" for entry in ledger.entries):
        parts = {
            "ideal": (ledger.ideal_work, ledger.ideal_power),
            "nonideal": (ledger.nonideal_work, ledger.nonideal_power),
        }
        rows += [
            (f"{part} constraint force", "split", _shown(work[-1], scale), _shown(np.abs(rate).max(), power))
            for part, (work, rate) in parts.items()
        ]
    energies = {"kinetic energy": ledger.kinetic}
    energies |= {} if ledger.potential is None else {"potential energy": ledger.potential}
    # a single one is the potential energy itself
    if len(ledger.potentials) > 1:
        energies |= {f"potential energy of {name}": energy for name, energy in ledger.potentials.items()}
    rows += [(name, "change", _shown(e[-1] - e[0], scale), "") for name, e in energies.items()]
    # the audit is never shown as zero: its order of magnitude is the information
    rows.append(("energy change less all work", "audit", f"{ledger.audit[-1]:.1e}", ""))
    return rows


def _shown(value: float, scale: float) -> str:
    """Format a number; it is zero if it is a rounding error of numbers of the given scale."""
    return "0" if abs(value) <= PRINTED_ZERO * scale else f"{value:.6g}"
