# SPDX-License-Identifier: BSD-3-Clause
"""The work that the expressions of a document may take, and the derivatives of its constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dalembert.model.derived_work import work_of_constraint
from dalembert.model.expression_nodes import Parsed
from dalembert.model.expression_work import (
    MOST_DERIVED_LATER,
    MOST_INDEXED_ELEMENTS,
    MOST_PARTS_OF_FILE,
    MOST_WORK_OF_FILE,
    TOO_MANY_COPIES,
    TOO_MUCH_DERIVED_LATER,
    TOO_MUCH_IN_FILE,
)


@dataclass
class Budget:
    """Limits for further entries: the work and the parts of expressions, derivatives, and elements of index sets."""

    work: int = MOST_WORK_OF_FILE
    parts: int = MOST_PARTS_OF_FILE
    derived: int = MOST_DERIVED_LATER
    elements: int = MOST_INDEXED_ELEMENTS

    def taken(self, part: Parsed) -> str:
        """Take a parsed text from the budget; return the problem if that is exceeded, else nothing."""
        self.work -= part.work
        self.parts -= part.size
        if self.work < 0:
            return TOO_MUCH_IN_FILE
        return f"the expressions of a file must have at most {MOST_PARTS_OF_FILE} parts in all." * (self.parts < 0)

    def taken_by_copies(self, elements: int) -> str:
        """Take elements of index sets from the budget; return the problem if that is exceeded, else nothing."""
        self.elements -= elements
        return TOO_MANY_COPIES * (self.elements < 0)

    def taken_to_derive(self, expression: Any, *, without: int = 0) -> str:
        """Take the derivatives of a constraint from the budget, some work left out; return the problem, or nothing."""
        self.derived -= max(0, work_of_constraint(expression, self.derived + without) - without)
        return TOO_MUCH_DERIVED_LATER * (self.derived < 0)
