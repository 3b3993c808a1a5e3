# SPDX-License-Identifier: BSD-3-Clause
"""Accelerations, forces, multipliers and energies at many states with parameters of their own, in machine code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.integration.native_steps import at_own_level, shortest_multipliers
from dalembert.lowering.batch_program import BatchProgram
from dalembert.lowering.native_system import NativeSystem
from dalembert.lowering.programs import Programs
from dalembert.native.protocol import Rates
from dalembert.native.tape import OutputLengths


class OutputsOfMany:
    """The outputs of a system for a selection of constraint rows; see ``Programs`` for the arguments."""

    def __init__(self, native: NativeSystem, rows: Sequence[int], rates: Rates, *, refined: bool):
        programs = Programs(native.source, rows, rates, refined=refined)
        self.levels, self.n = native.source.levels, programs.n
        self.left_out = len(programs.rows) < programs.m
        outputs, lengths = programs.outputs()
        self._outputs = BatchProgram(outputs, 2 * self.n)
        ends = [*accumulate(lengths, initial=0)]
        self._places = {name: slice(*place) for name, place in zip(OutputLengths._fields, pairwise(ends), strict=True)}

    def __call__(self, y: Floats, t: Floats, p: Floats) -> tuple[dict[str, Floats], NDArray[np.bool_]]:
        """Return outputs at k states y (k, 2n), times (k,) and parameters (k, …), by the names of ``Trajectory``.

        The second result tells which of them are well conditioned.
        """
        with np.errstate(all="ignore"):  # states after a failure are not finite
            values = self._outputs(y, t, p)
            parts, valid = {name: values[:, place] for name, place in self._places.items()}, values[:, -1] == 1.0
            names = ("acceleration", "ideal_force", "nonideal_force", "multipliers", "reactions")
            found = {name: parts[name] for name in names}
            if self.left_out:
                self._shortest(parts, found, valid)
            found["violation"] = at_own_level(self.levels, parts["position"], parts["velocity"], parts["residual"])
        if parts["energy"].size:
            found["energy"] = parts["energy"][:, 0]
        return found, valid

    def _shortest(self, parts: dict[str, Floats], found: dict[str, Floats], valid: NDArray[np.bool_]) -> None:
        """Replace multipliers and reactions by the shortest ones, which use all rows."""
        A = parts["constraint_matrix"].reshape(len(valid), -1, self.n)
        # a pseudoinverse of a matrix with NaN raises an error for all members
        inverse = shortest_multipliers(np.where(valid[:, None, None], A, 0.0))
        # multipliers exert the nonideal force without C, which the laws give
        reaction = parts["ideal_force"] + parts["nonideal_force"] - parts["nonideal_c"]
        found["multipliers"] = np.einsum("kmn,kn->km", inverse, parts["ideal_force"])
        found["reactions"] = np.einsum("kmn,kn->km", inverse, reaction)


@lru_cache(maxsize=16)
def outputs_of_many(native: NativeSystem, rows: tuple[int, ...], rates: Rates, refined: bool) -> OutputsOfMany:
    """Return the outputs of a system, compiled once for each selection of rows."""
    return OutputsOfMany(native, rows, rates, refined=refined)
