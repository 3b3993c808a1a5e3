# SPDX-License-Identifier: BSD-3-Clause
"""Numerical values of a system's expressions in NumPy, for those needed outside the compiled program."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from dalembert.array_types import Floats
from dalembert.model.numeric_function import numeric_function
from dalembert.model.symbols import plain_multiplier
from dalembert.model.system import System


@lru_cache(maxsize=256)
def expression_values(
    system: System, expressions: tuple[Any, ...], further: tuple[str, ...] = ()
) -> Callable[..., Floats]:
    """Return expressions as a function of (t, y, parameters, multipliers), for one time or many.

    The values have shape (…, expressions) for times of shape (…) and states of shape (…, 2n). ``further`` are names of
    parameters that the system does not have.
    """
    names = (*system.parameter_names, *further)
    symbols = system.symbols
    lam = [plain_multiplier(name) for name in system.constraint_names]
    parameters = [sp.Symbol(name, real=True) for name in names]
    arguments = [symbols.time, *symbols.q, *symbols.qd, *parameters, *lam]
    compute = numeric_function(arguments, [symbols.plain(e) for e in expressions], "numpy")

    def values(t: Any, y: Floats, p: dict[str, float], multipliers: Floats | None = None) -> Floats:
        shape = np.shape(t)
        reactions = np.zeros((*shape, len(lam))) if multipliers is None else multipliers[..., : len(lam)]
        numbers = (p[name] for name in names)
        found = compute(t, *np.moveaxis(y, -1, 0), *numbers, *np.moveaxis(reactions, -1, 0))
        return np.stack([np.broadcast_to(np.asarray(entry, float), shape) for entry in found], axis=-1)

    return values
