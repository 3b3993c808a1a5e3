# SPDX-License-Identifier: BSD-3-Clause
"""The expressions of nonideal laws, compiled natively."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dalembert.lowering.batch_program import BatchProgram
from dalembert.lowering.law_functions import LawFunctions, law_terms
from dalembert.lowering.programs import Programs
from dalembert.lowering.source import Source


def compiled_laws(source: Source) -> LawFunctions | None:
    """Return the functions of the nonideal laws of a system at one state; None if it has none."""
    laws = source.laws
    if laws is None:
        return None
    run = BatchProgram(Programs.of_all_rows(source).laws(), 2 * len(laws.components[0]))
    zeros = (0.0,) * (len(laws.components[0]) + 2 * len(laws.multipliers))

    def evaluate(q: Any, qd: Any, t: Any, p: Any, *forces: Any) -> Any:
        further = zeros if not forces or forces[0] is None else [x for part in forces for x in part]
        y, p = np.array([*q, *qd], float), np.array([*p, *further], float)
        return _nest(law_terms(source), iter(run(y[None], np.array([float(t)]), p[None])[0].tolist()))

    # the three parts of ``law_terms``
    return LawFunctions(laws, *(lambda *inputs, k=k: evaluate(*inputs)[k] for k in range(3)))


def _nest(nested: Any, values: Iterator[float]) -> Any:
    """Return values in the nested tuples of their expressions."""
    return tuple(_nest(item, values) for item in nested) if isinstance(nested, (tuple, list)) else next(values)
