# SPDX-License-Identifier: BSD-3-Clause
"""The source of the inputs of a plant: a controller, or held inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.model.symbols import InternalSymbol

if TYPE_CHECKING:
    from dalembert.lowering.source import Source

ESTIMATED_BOUND = InternalSymbol("estimated bound")
"""The symbol of ρ in a control form if it is a state of the controller."""


@dataclass(frozen=True, eq=False)
class Feedback:
    """A controller as part of a plant.

    source        the controller's model, with servo constraints
    parameters    the values of its parameters
    places        for each of its coordinates the number in the plant
    directions    r tuples of n expressions in the plain symbols of the plant
    limits        r expressions in these symbols, or None
    adaptive      whether the plant's last coordinate is the integral of the bound that the controller estimates
    """

    source: Source
    parameters: tuple[float, ...]
    places: tuple[int, ...]
    directions: tuple[tuple[Any, ...], ...]
    limits: tuple[Any, ...]
    adaptive: bool


@dataclass(frozen=True, eq=False)
class Held:
    """Inputs that are parameters of a plant: names of the actuators, symbols, and directions as for ``Feedback``."""

    actuators: tuple[str, ...]
    symbols: tuple[Any, ...]
    directions: tuple[tuple[Any, ...], ...]
