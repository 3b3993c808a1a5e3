# SPDX-License-Identifier: BSD-3-Clause
"""Layers of a controller that compensate for what its model does not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dalembert.errors import ModelError
from dalembert.model.expressions import as_expression
from dalembert.model.representation import representation


@dataclass(frozen=True, repr=False)
class BoundedUncertainty:
    """A robust layer for an uncertainty of known bound.

    For a requirement of order r with settling rate ω, let z = (d/dt + ω)ʳ⁻¹ β. The nominal control makes ż + ω z = 0;
    on the plant ż + ω z = δ, where δ is the effect of everything that the model does not know. This layer adds
    −ρ z/‖z‖, and −ρ z/ε where ‖z‖ < ε. If ‖δ‖ ≤ ρ, then ‖z‖ falls below ε and stays there, and ‖β‖ ends below ε/ωʳ⁻¹.

    Parameters
    ----------
    rho        the bound ρ on ‖δ‖, an acceleration of the requirement: a number or an expression of q, q̇, t
    epsilon    the thickness ε of the boundary layer, in the unit of z

    Raises
    ------
    ModelError    if a number is not positive

    Examples
    --------
    >>> import dalembert as da
    >>> da.BoundedUncertainty(rho=2.0, epsilon=1e-3).epsilon
    0.00100000000000000
    """

    rho: Any
    epsilon: Any

    def __repr__(self) -> str:
        return representation(self)

    def __post_init__(self) -> None:
        _convert(self, "rho", "epsilon")


@dataclass(frozen=True, repr=False)
class AdaptiveBound:
    """A robust layer whose bound is estimated: like ``da.BoundedUncertainty``, with ρ = α and α̇ = k₁‖z‖ − k₂ α.

    The leakage k₂ lets the bound decrease again. The estimate starts from ``start``.

    Parameters
    ----------
    growth, leakage    k₁ and k₂
    epsilon            the thickness ε of the boundary layer
    start              α at the start

    Raises
    ------
    ModelError    if a number is not positive, or ``start`` is negative

    Examples
    --------
    >>> import dalembert as da
    >>> da.AdaptiveBound(growth=100.0, leakage=0.1, epsilon=1e-3).start
    0
    """

    growth: Any
    leakage: Any
    epsilon: Any
    start: Any = 0

    def __repr__(self) -> str:
        return representation(self)

    def __post_init__(self) -> None:
        _convert(self, "growth", "leakage", "epsilon")
        start = as_expression(self.start, "`start` of AdaptiveBound")
        if not (start.is_number and start >= 0):
            raise ModelError([f"`start` of AdaptiveBound must be a number, zero or positive; got {start}."])
        object.__setattr__(self, "start", start)


def _convert(layer: Any, *names: str) -> None:
    """Convert the fields of a layer to expressions; raise an error for a number that is not positive."""
    for name in names:
        where = f"`{name}` of {type(layer).__name__}"
        value = as_expression(getattr(layer, name), where)
        if value.is_number and not value > 0:
            raise ModelError([f"{where} must be positive; got {value}."])
        object.__setattr__(layer, name, value)
