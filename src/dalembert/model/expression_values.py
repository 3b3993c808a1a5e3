# SPDX-License-Identifier: BSD-3-Clause
"""Numerical values of a system's expressions in NumPy, for those needed outside the compiled program."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.model import graph
from dalembert.model.numeric_function import numeric_function
from dalembert.model.symbols import plain_multiplier, plain_reaction
from dalembert.model.system import System


@lru_cache(maxsize=256)
def expression_values(
    system: System, expressions: tuple[Any, ...], further: tuple[str, ...] = ()
) -> Callable[..., Floats]:
    """Return expressions as a function of (t, y, parameters, multipliers, reactions), for one time or many.

    The values have shape (…, expressions) for times of shape (…) and states of shape (…, 2n). ``further`` are names of
    parameters that the system does not have.
    """
    names = (*system.parameter_names, *further)
    symbols = system.symbols
    lam = [plain_multiplier(name) for name in system.constraint_names]
    parameters = [sp.Symbol(name, real=True) for name in names]
    actual = [plain_reaction(name) for name in system.constraint_names]
    arguments = [symbols.time, *symbols.q, *symbols.qd, *parameters, *lam, *actual]
    plain = [symbols.plain(e) for e in expressions]
    # SciPy has the special functions, and takes a while to be imported
    special = any(kind.__module__.startswith("sympy.functions.special") for e in plain for kind in graph.facts(e).kinds)
    compute = numeric_function(arguments, plain, "scipy" if special else "numpy")

    def values(
        t: Any, y: Floats, p: dict[str, float], multipliers: Floats | None = None, reactions: Floats | None = None
    ) -> Floats:
        shape = np.shape(t)
        none = [np.zeros(shape)] * len(lam)
        forces = [none if given is None else _columns(given)[: len(lam)] for given in (multipliers, reactions)]
        # as numbers of NumPy: dividing by zero is infinite then, and no `ZeroDivisionError` of Python
        numbers = np.array([p[name] for name in names], float)
        found = compute(np.asarray(t, float)[()], *_columns(y), *numbers, *forces[0], *forces[1])
        # one state is evaluated thousands of times in a run with contacts: no array is made for each entry
        result = np.empty((*shape, len(found)))
        for i, entry in enumerate(found):
            result[..., i] = entry
        return result

    return values


def _columns(values: Floats) -> Floats:
    """Return an array with its last axis as the first."""
    return values.T if values.ndim <= 2 else np.moveaxis(values, -1, 0)
