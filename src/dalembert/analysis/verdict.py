# SPDX-License-Identifier: BSD-3-Clause
"""What was found about a question: facts to compute with, and a report to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dalembert.levels import Level


@dataclass(frozen=True)
class Finding:
    """One sentence about one thing; ``trouble`` if the question is ill posed because of it."""

    about: str
    message: str
    trouble: bool = False


class Conflict(NamedTuple):
    """Constraints that cannot be met together, though any of them can be met without the rest."""

    level: Level
    names: tuple[str, ...]


class FreeData(NamedTuple):
    """How many initial data may be chosen: as the constraints were stated, and with the hidden ones."""

    stated: int
    actual: int


@dataclass(frozen=True)
class Verdict:
    """Whether a question of constrained motion is well posed, and all that was found on the way.

    findings              sentences, those that spoil the question marked as trouble
    violations            how far the state misses each constraint it violates, by (name, level)
    mass_matrix           "positive definite", "indefinite", "singular", "negative definite" or "not symmetric"
    rank, rank_gap        of the constraint rows
    degrees_of_freedom    in velocity: coordinates less rank
    redundant             for each redundant constraint, of which others it is a combination, with coefficients
    conflicts             smallest sets of constraints that cannot be met together, at each level
    unique_multipliers    by constraint name
    hidden_constraints    SymPy expressions that must vanish although nobody said so
    free_data             free initial data; None where they were not counted
    saddle_determinant    det [[0, A], [Aᵀ, M]] in symbols, where it is small; None otherwise
    """

    findings: tuple[Finding, ...]
    violations: Mapping[tuple[str, Level], float]
    mass_matrix: str
    rank: int
    rank_gap: float
    degrees_of_freedom: int
    redundant: Mapping[str, Mapping[str, float]]
    conflicts: tuple[Conflict, ...]
    unique_multipliers: Mapping[str, bool]
    hidden_constraints: tuple[Any, ...]
    free_data: FreeData | None
    saddle_determinant: Any

    @property
    def well_posed(self) -> bool:
        return not any(finding.trouble for finding in self.findings)

    def __str__(self) -> str:
        heading = "The question is well posed." if self.well_posed else "The question is ILL POSED."
        width = max((len(finding.about) for finding in self.findings), default=0)
        ordered = sorted(self.findings, key=lambda finding: not finding.trouble)
        lines = [f"{'!' if f.trouble else ' '} {f.about:<{width}}  {f.message}" for f in ordered]
        return "\n".join([heading, *lines])
