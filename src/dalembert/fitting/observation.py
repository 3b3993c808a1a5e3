# SPDX-License-Identifier: BSD-3-Clause
"""What was measured of one motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError
from dalembert.model.input_values import column_values, named_values, time_values
from dalembert.model.ordering import name_of, quoted


@dataclass(frozen=True, eq=False)
class Observation:
    """Some coordinates of one motion, measured at some times.

    Parameters
    ----------
    times         increasing, the first one being the time of the start
    values        by coordinate: one number per time, NaN where nothing was seen
    q0, qd0       the state at the first time, known or roughly known; it need not satisfy the constraints exactly
    parameters    values that hold for this motion alone
    free_start    whether the start is to be found as well; ``q0`` and ``qd0`` are then a first guess

    Raises
    ------
    InputError    if the numbers do not fit, or nothing was seen at all

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
            raise InputError(f"`values` must map coordinates to what was seen of them; got {self.values!r}.")
        values = {name_of(key): column_values(column, f"values[{name_of(key)}]") for key, column in self.values.items()}
        for name, column in values.items():
            if column.shape != times.shape:
                raise InputError(
                    f"`values` must hold one number per time ({len(times)}); `{name}` has shape {column.shape}. "
                    f"Put NaN where nothing was seen."
                )
        if not any(np.isfinite(column).any() for column in values.values()):
            raise InputError("`values` must hold something that was seen; all of it is NaN.")
        parameters = named_values(self.parameters, "parameters")
        for name, value in (("times", times), ("values", values), ("parameters", parameters)):
            object.__setattr__(self, name, value)

    @property
    def seen(self) -> dict[str, NDArray[np.bool_]]:
        return {name: np.isfinite(column) for name, column in self.values.items()}

    @property
    def count(self) -> int:
        """How many numbers were seen."""
        return int(sum(mask.sum() for mask in self.seen.values()))

    def require_known(self, coordinates: tuple[str, ...], parameters: tuple[str, ...]) -> None:
        """Raise if something was seen, or is known of it, that the system does not have."""
        foreign = [name for name in self.parameters if name not in parameters]
        if foreign:
            raise InputError(
                f"`parameters` of an observation must be of the system ({quoted(parameters)}); got {quoted(foreign)}."
            )
        unknown = [name for name in self.values if name not in coordinates]
        if unknown:
            raise InputError(
                f"`values` must be of coordinates of the system ({quoted(coordinates)}); it has {quoted(unknown)}."
            )
