# SPDX-License-Identifier: BSD-3-Clause
"""The figure of a ledger: powers stacked above and below zero, and the audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dalembert.figures.style import COLOURS, blank_figure, plain_axis, with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.analysis.ledger import Ledger

HATCHES = ("", "///", "...", "xxx")
VISIBLE_POWER = 1e-9
"""Entries with a power below this fraction of the largest are omitted: they would not be visible, and powers of ideal
constraints are of the order of the integration error."""


def stacked_powers(ledger: Ledger, unit: Mapping[str, str]) -> Figure:
    """Return the figure of a ledger; powers that never exceed rounding errors are left out."""
    figure = blank_figure(7.2, 5.0)
    powers, audit = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    shown = _visible_entries(ledger)
    above = np.zeros_like(ledger.t)
    below = np.zeros_like(ledger.t)
    for k, i in enumerate(shown):
        part = ledger.power[:, i]
        style = {"facecolor": COLOURS[k % len(COLOURS)], "alpha": 0.75, "linewidth": 0}
        style |= {"hatch": HATCHES[k // len(COLOURS) % len(HATCHES)]}
        up, down = np.maximum(part, 0), np.minimum(part, 0)
        powers.fill_between(ledger.t, above, above + up, label=_label(ledger, i), **style)
        powers.fill_between(ledger.t, below, below + down, **style)
        above, below = above + up, below + down
    powers.plot(ledger.t, ledger.power.sum(axis=1), color="black", linewidth=1.4, label="rate of energy")
    powers.axhline(0, color="0.4", linewidth=0.6)
    powers.set_ylabel(with_unit("power", unit.get("power")))
    powers.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    audit.plot(ledger.t, ledger.audit, color=COLOURS[1], linewidth=1.2)
    audit.set_ylabel(with_unit("audit", unit.get("energy")))
    audit.set_xlabel(with_unit("time t", unit.get("t")))
    for axis in (powers, audit):
        axis.margins(x=0)
        plain_axis(axis)
    figure.align_ylabels([powers, audit])
    return figure


def _visible_entries(ledger: Ledger) -> list[int]:
    """Return the indices of entries with a visible power."""
    largest = np.abs(ledger.power).max(axis=0)
    return [i for i, size in enumerate(largest) if size > VISIBLE_POWER * largest.max()]


def _label(ledger: Ledger, i: int) -> str:
    entry = ledger.entries[i]
    return f"{entry.name} (reaction)" if entry.kind == "reaction" else entry.name
