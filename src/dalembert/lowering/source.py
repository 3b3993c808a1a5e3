# SPDX-License-Identifier: BSD-3-Clause
"""A symbolic system in the form that programs are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.model.standard_form import StandardForm


@dataclass(frozen=True)
class Source:
    """A system as expressions: what every program is made of.

    form            M, Q, A, b and the residuals, in plain symbols
    parameters      symbols, in the order of their values
    levels          of the constraints
    law, scaled     C and z as n expressions each, or None
    energy          an expression, or None
    """

    form: StandardForm
    parameters: tuple[sp.Symbol, ...]
    levels: tuple[str, ...]
    law: tuple[Any, ...] | None
    scaled: tuple[Any, ...] | None
    energy: Any
