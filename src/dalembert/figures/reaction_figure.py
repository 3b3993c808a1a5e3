# SPDX-License-Identifier: BSD-3-Clause
"""Forces and torques of the reactions of joints against time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.figures.style import COLOURS, LINE_STYLES, blank_figure, plain_axis, with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def sizes(t: Floats, reactions: Mapping[str, tuple[Floats, Floats]], units: Mapping[str, str] | None) -> Figure:
    """Plot forces and torques (T,) of joints by name; the axis of torques is left out if all of them are zero."""
    unit = {str(key): str(value) for key, value in (units or {}).items()}
    unknown = [name for name in unit if name not in ("t", "force", "torque")]
    if unknown:
        raise InputError(f"`units` must name `t`, `force` or `torque`; got `{unknown[0]}`.")
    titles = ["force", "torque"] if any(torque.any() for _, torque in reactions.values()) else ["force"]
    figure = blank_figure(7.2, 0.6 + 2.2 * len(titles))
    axes = figure.subplots(len(titles), 1, sharex=True, squeeze=False)[:, 0]
    for kind, (axis, title) in enumerate(zip(axes, titles, strict=True)):
        for k, (name, both) in enumerate(reactions.items()):
            style = {"color": COLOURS[k % len(COLOURS)], "linestyle": LINE_STYLES[k % len(LINE_STYLES)]}
            axis.plot(t, both[kind], linewidth=1.4, label=name, **style)
        axis.set_ylabel(with_unit(title, unit.get(title)))
        axis.margins(x=0)
        plain_axis(axis)
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    axes[-1].set_xlabel(with_unit("time t", unit.get("t")))
    figure.align_ylabels(list(axes))
    return figure
