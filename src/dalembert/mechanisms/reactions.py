# SPDX-License-Identifier: BSD-3-Clause
"""Reactions of joints: the force and torque of each joint over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.notebook_html import block, figure_or_nothing, paragraph, table
from dalembert.errors import InputError
from dalembert.model.ordering import quoted
from dalembert.numerics.tolerances import EXACT

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Reaction:
    """The reaction of a joint on its second body at the second point, at T times; the first body has the opposite one.

    Gears are an exception: torques in proportion to the rates act on the wheels, and the balance acts on the carrier.
    The torque or force of a motor is not part of the reaction of its joint: like a drive, a motor has its own entry.

    force (T, d)
    torque (T,) in the plane, (T, 3) in space
    unique (T,)    whether the motion determines them: redundant joints share their forces in more than one way, and
                   then these are those of the shortest multipliers
    """

    force: Floats
    torque: Floats
    unique: NDArray[np.bool_]

    def __repr__(self) -> str:
        sizes = f"force up to {_longest(self.force):.4g}, torque up to {_longest(self.torque):.4g}"
        return f"<Reaction at {len(self.force)} times: {sizes}{'' if self.unique.all() else '; not unique'}>"


@dataclass(frozen=True, eq=False)
class Reactions(Mapping[str, Reaction]):
    """The reactions of all joints, drives and motors along a trajectory, by name: ``reactions["crank pin"].force``.

    A reaction acts on the second body of its joint, at the second point; the first body has the opposite one. It has

    force (T, d)              in world axes, or in those of the second body after ``reactions(run, axes="body")``
    torque (T,) or (T, 3)     about the second point: a number in the plane, a vector in space
    unique (T,)               whether the motion determines them: redundant joints share their forces in more than one
                              way, and then these are those of the shortest multipliers
    """

    t: Floats
    by_name: dict[str, Reaction]

    def __getitem__(self, name: str) -> Reaction:
        if name not in self.by_name:
            raise InputError(f"`{name}` must be a joint of the mechanism; it has {quoted(self.by_name)}.")
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    def __repr__(self) -> str:
        width = max(map(len, self.by_name), default=0)
        lines = [
            f"  {name:{width}}  force {force:>10}  torque {torque:>10}{shared and f'  ({shared})'}"
            for name, force, torque, shared in self._largest()
        ]
        return "\n".join([self._span, *lines])

    def _repr_html_(self) -> str:
        rows = table(("joint", "force", "torque", ""), self._largest())
        picture = figure_or_nothing(self.plot, "the reactions against time")
        return block(paragraph(self._span, strong=True), rows, picture)

    @property
    def _span(self) -> str:
        return f"Largest reactions from t = {self.t[0]:g} to {self.t[-1]:g}"

    @property
    def _sizes_by_name(self) -> dict[str, tuple[float, float]]:
        """The largest force and the largest torque of every joint."""
        return {name: (_longest(r.force), _longest(r.torque)) for name, r in self.by_name.items()}

    @property
    def _rounding(self) -> float:
        """The size of forces and torques that are rounding errors of the others, and count as zero."""
        return EXACT * max((size for pair in self._sizes_by_name.values() for size in pair), default=0.0)

    def _largest(self) -> list[tuple[str, str, str, str]]:
        """Return name, largest force, largest torque, and "not unique" where that is so, of every joint."""
        largest, rounding = self._sizes_by_name, self._rounding
        rows: list[tuple[str, str, str, str]] = []
        for name, sizes in largest.items():
            force, torque = (f"{size if size > rounding else 0.0:.4g}" for size in sizes)
            rows.append((name, force, torque, "" if self.by_name[name].unique.all() else "not unique"))
        return rows

    def plot(self, *names: str, units: Mapping[str, str] | None = None) -> Figure:
        """Plot the force and the torque of the named joints, or of all, against time.

        Forces, and torques in space, are shown by their size, torques in the plane with their sign; if all torques are
        rounding errors, they are left out. ``units`` maps ``"t"``, ``"force"`` and ``"torque"`` to units of the labels.

        Raises
        ------
        InputError    if a name is not a joint's, or ``units`` names something else
        """
        from dalembert.figures.reaction_figure import sizes

        chosen, rounding = {name: self[name] for name in names or self.by_name}, self._rounding
        torques = {name: r.torque if r.torque.ndim == 1 else _sizes(r.torque) for name, r in chosen.items()}
        torques = {name: np.where(np.abs(torque) > rounding, torque, 0.0) for name, torque in torques.items()}
        return sizes(self.t, {name: (_sizes(r.force), torques[name]) for name, r in chosen.items()}, units)

    def to_xarray(self) -> xr.Dataset:
        """Return the reactions as a labelled dataset with dimensions time, joint and axis."""
        import xarray as xr

        parts = list(self.by_name.values())
        force = np.stack([part.force for part in parts], axis=1)
        torque = np.stack([part.torque for part in parts], axis=1)
        about = ("time", "joint", "axis")
        return xr.Dataset(
            {
                "force": (about, force),
                "torque": (about[: torque.ndim], torque),
                "unique": (("time", "joint"), np.stack([part.unique for part in parts], axis=1)),
            },
            {"time": self.t, "joint": list(self.by_name), "axis": list("xyz"[: force.shape[2]])},
        )


def _longest(vectors: Floats) -> float:
    """Return the greatest length of vectors (T, d), or the greatest absolute value of numbers (T,)."""
    return float(_sizes(vectors).max(initial=0.0))


def _sizes(vectors: Floats) -> Floats:
    """Return the lengths (T,) of vectors (T, d), or the absolute values of numbers (T,)."""
    return np.linalg.norm(vectors.reshape(len(vectors), -1), axis=1)
