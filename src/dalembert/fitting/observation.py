# SPDX-License-Identifier: BSD-3-Clause
"""`da.Observation`: the measurements of one motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.names import listed, summary
from dalembert.errors import InputError
from dalembert.model.input_values import column_values, named_values, require_labels_of_times, time_values
from dalembert.model.ordering import name_of, quoted


@dataclass(frozen=True, eq=False)
class Observation:
    """Measurements of some coordinates of one motion.

    Parameters
    ----------
    times         increasing; the first one is the time of the initial state
    values        by coordinate: one value per time, NaN where there is no measurement
    q0, qd0       the state at the first time; it need not satisfy the constraints exactly
    parameters    parameters of this motion only
    free_start    whether the initial state is estimated as well; ``q0`` and ``qd0`` are then a guess

    Raises
    ------
    InputError    if the shapes do not match, or there is no measurement at all

    Examples
    --------
    >>> import dalembert as da
    >>> seen = da.Observation([0, 0.5, 1.0], {"x": [0.0, 0.41, float("nan")]}, q0=(0, 0), qd0=(1, 0))
    >>> seen.count
    2
    """

    times: Any
    values: Any
    q0: Any
    qd0: Any
    parameters: Any = field(default_factory=dict[str, float])
    free_start: bool = False

    def __post_init__(self) -> None:
        times = time_values(self.times, "times", increasing=True)
        if not isinstance(self.values, Mapping) or not self.values:
            raise InputError(f"`values` must map coordinates to their measurements; got {self.values!r}.")
        require_labels_of_times(self.times, {f"values[{name_of(k)}]": v for k, v in self.values.items()})
        values = {name_of(key): column_values(column, f"values[{name_of(key)}]") for key, column in self.values.items()}
        for name, column in values.items():
            if column.shape != times.shape:
                raise InputError(
                    f"`values` must hold one number per time ({len(times)}); `{name}` has shape {column.shape}. "
                    f"Put NaN where there is no measurement."
                )
        if not any(np.isfinite(column).any() for column in values.values()):
            raise InputError("`values` must hold at least one measurement; all of it is NaN.")
        parameters = named_values(self.parameters, "parameters")
        for name, value in (("times", times), ("values", values), ("parameters", parameters)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        span = f"{len(self.times)} times, {self.times[0]:g} to {self.times[-1]:g}"
        return summary(f"Observation of {listed(self.values)}", f"{self.count} measured values", span)

    @property
    def measured(self) -> dict[str, NDArray[np.bool_]]:
        """Masks of the measured values, by coordinate."""
        return {name: np.isfinite(column) for name, column in self.values.items()}

    @property
    def count(self) -> int:
        """The number of measured values."""
        return int(sum(mask.sum() for mask in self.measured.values()))

    def sizes(self, names: Sequence[str], q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        """Return the sizes (n,) of coordinates and velocities, from a state at the start and the measurements."""
        largest = {name: np.nanmax(np.abs(column)) for name, column in self.values.items() if np.isfinite(column).any()}
        found = np.maximum(np.abs(q), [largest.get(name, 0.0) for name in names])
        found = np.where(found > 0, found, found.max() or 1.0)
        return found, np.maximum(np.abs(qd), found / float(self.times[-1] - self.times[0]))

    def require_known(self, coordinates: tuple[str, ...], parameters: tuple[str, ...]) -> None:
        """Raise if the observation has coordinates or parameters that the system does not have."""
        foreign = [name for name in self.parameters if name not in parameters]
        if foreign:
            raise InputError(
                f"`parameters` of an observation must name parameters of the system ({quoted(parameters)}); got "
                f"{quoted(foreign)}."
            )
        unknown = [name for name in self.values if name not in coordinates]
        if unknown:
            raise InputError(
                f"`values` must name coordinates of the system ({quoted(coordinates)}); it has {quoted(unknown)}."
            )
