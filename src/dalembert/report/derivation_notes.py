# SPDX-License-Identifier: BSD-3-Clause
"""The opening sentence of a derivation, and its notes on what the formulas assume or leave out."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.model import graph
from dalembert.model.friction import Friction
from dalembert.model.ordering import quoted
from dalembert.model.system import System
from dalembert.report.closed_form import ClosedForm, SymbolicTerms
from dalembert.report.numeric_probes import Probes

PRODUCTS = "The expanded formulas are too long to be read; they are given as products of matrices."
"""Note on results that are not expanded."""


def opening(system: System) -> str:
    n, m = len(system.coordinates), len(system.constraints)
    constraints = f"{m} constraint{'' if m == 1 else 's'}" if m else "no constraints"
    servos = f", controlled to meet {quoted(servo.name for servo in system.servos)}" if system.servos else ""
    return f"A mechanical system with {n} coordinate{'' if n == 1 else 's'} and {constraints}{servos}."


def notes_of(
    system: System, probed: Probes, kept: Sequence[int], terms: SymbolicTerms, result: ClosedForm
) -> tuple[str, ...]:
    names = system.constraint_names
    # the reader must know which constraints do not appear in the formulas
    dropped = [name for i, name in enumerate(names) if i not in kept]
    notes: list[str] = []
    if dropped:
        used = quoted(names[i] for i in kept) or "none"
        reason = "as a consequence of these" if probed.consistent else "as dependent on these at random states"
        notes.append(f"Constraints used: {used}. Left out, {reason}: {quoted(dropped)}.")
    if names and not probed.consistent:
        values = ", with random values of the parameters" if system.parameter_names else ""
        notes.append(
            f"No state was found that satisfies all constraints{values}; independence was tested at random states."
        )
    if terms.saddle:
        notes.append(
            "The mass matrix or A M⁻¹ Aᵀ is singular: acceleration and multipliers follow from one linear system."
        )
    if any(isinstance(placed.law, Friction) for placed in system.laws):
        notes.append("Friction is written for sliding surfaces: the sliding velocity is not zero.")
    if any(placed.actual for placed in system.laws):
        notes.append(
            "Friction acts across all constraints here: it does not change the normal force of the ideal problem."
        )
    if any(symbol in graph.free_symbols(*terms.C) for symbol in terms.multiplier_symbols):
        notes.append("In C, λ with a constraint's name denotes its multiplier in the ideal problem.")
    if any(placed.law.scaled for placed in system.laws):
        notes.append("A law is given as z = M^(-1/2) C, with the symmetric square root of the mass matrix.")
    if not result.expanded:
        notes.append(PRODUCTS)
    return tuple(notes)
