# SPDX-License-Identifier: BSD-3-Clause
"""The verdict of `da.check`: results to compute with, and a report to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.levels import Level
from dalembert.common.notebook_html import block, preformatted


@dataclass(frozen=True)
class Finding:
    """One sentence on one subject; ``trouble`` if it makes the problem ill posed."""

    about: str
    message: str
    trouble: bool = False


class Conflict(NamedTuple):
    """A minimal set of constraints that cannot be satisfied together: without any one of them, the others can."""

    level: Level
    names: tuple[str, ...]


class FreeData(NamedTuple):
    """Numbers of initial data that may be chosen: under the stated constraints, and under the hidden ones as well."""

    stated: int
    actual: int


@dataclass(frozen=True)
class ServoReport:
    """Findings on the servo constraints of a system; the other fields are those of ``Verdict``."""

    findings: tuple[Finding, ...] = ()
    relative_degree: Mapping[str, int] = field(default_factory=dict[str, int])
    internal_eigenvalues: NDArray[np.complex128] | None = None


@dataclass(frozen=True)
class Verdict:
    """The result of `da.check`: whether a problem of constrained motion is well posed, and the findings.

    findings              sentences; those that make the problem ill posed are marked as trouble
    violations            residuals of the violated constraints, by (name, level)
    mass_matrix           "positive definite", "indefinite", "singular", "negative definite" or "not symmetric"
    rank, rank_gap        of the constraint rows
    degrees_of_freedom    in velocity: coordinates less rank
    redundant             for each redundant constraint, the coefficients of the others of which it is a combination
    conflicts             minimal sets of constraints that cannot be satisfied together, by level
    unique_multipliers    by constraint name
    hidden_constraints    SymPy expressions that must vanish but were not stated
    free_data             free initial data; None if they were not computed
    saddle_determinant    det [[0, A], [Aᵀ, M]] as a SymPy expression if it is small, otherwise None
    relative_degree       of each requirement of the servo constraints, by its name
    internal_eigenvalues  of the motion that remains with all requirements met, near the steady state that the report
                          names; None if it was not linearised
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
    relative_degree: Mapping[str, int] = field(default_factory=dict[str, int])
    internal_eigenvalues: NDArray[np.complex128] | None = None

    @property
    def well_posed(self) -> bool:
        return not any(finding.trouble for finding in self.findings)

    def __str__(self) -> str:
        heading = "The question is well posed." if self.well_posed else "The question is ILL POSED."
        width = max((len(finding.about) for finding in self.findings), default=0)
        ordered = sorted(self.findings, key=lambda finding: not finding.trouble)
        lines = [f"{'!' if f.trouble else ' '} {f.about:<{width}}  {f.message}" for f in ordered]
        return "\n".join([heading, *lines])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return block(preformatted(str(self)))
