# SPDX-License-Identifier: BSD-3-Clause
"""The exceptions of dalembert.

Every message states what must hold, what was found, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dalembert.integration.trajectory import Trajectory


class DalembertError(Exception):
    """Base class of all errors that dalembert raises."""


class ModelError(DalembertError, ValueError):
    """The model is contradictory or incomplete; the message lists every problem, not only the first.

    Attributes
    ----------
    problems : tuple of str    one sentence each
    """

    def __init__(self, problems: Sequence[str]):
        self.problems = tuple(problems)
        count = len(self.problems)
        title = "The model has a problem:" if count == 1 else f"The model has {count} problems:"
        ValueError.__init__(self, "\n".join([title, *(f"  - {problem}" for problem in self.problems)]))

    def __reduce__(self) -> Any:
        return ModelError, (self.problems,)


class InputError(DalembertError, ValueError):
    """An argument is missing, unknown, of the wrong shape or not finite."""


class ExpressionError(DalembertError, ValueError):
    """A text is not an expression of the grammar.

    Attributes
    ----------
    problem : str         the message without the place
    offset : int          number of characters before the place of the mistake
    line, column : int    the place in the text, counted from one
    """

    def __init__(self, problem: str, text: str, offset: int):
        self.problem, self.text, self.offset = problem, text, offset
        before = text[:offset]
        self.line, self.column = before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
        place = f"line {self.line}, column {self.column}" if "\n" in text else f"column {self.column}"
        ValueError.__init__(self, f"{place}: {problem}")

    def __reduce__(self) -> Any:
        return ExpressionError, (self.problem, self.text, self.offset)


class FileError(InputError):
    """A model file cannot be read; the message begins with file, line and column.

    Attributes
    ----------
    path : str            the file
    line, column : int    the place in it, counted from one
    """

    def __init__(self, problem: str, path: str, line: int, column: int):
        self.problem, self.path, self.line, self.column = problem, path, line, column
        ValueError.__init__(self, f"{path}:{line}:{column}: {problem}")

    def __reduce__(self) -> Any:
        return FileError, (self.problem, self.path, self.line, self.column)


class MassMatrixError(DalembertError, ValueError):
    """The chosen formulation cannot use this mass matrix."""


class ConstraintError(DalembertError, ValueError):
    """The constraints admit no acceleration, or the chosen formulation cannot use them."""


WHERE_NOT_FINITE = (
    "Look for a division by zero, a root of a negative number, or an exponential or a power that overflows."
)
"""Advice on terms of the equation of motion that are infinite or not a number."""


def undetermined(names: str) -> str:
    """Return the message for a law that needs multipliers that redundant constraints leave undetermined."""
    return (
        f"the normal force of a nonideal law must be determined; the multiplier of {names} is not unique, since the "
        f"constraint is redundant with others. Leave the redundant ones out, or write the law with "
        f"`da.ideal_force`, which is unique."
    )


class StateError(DalembertError, ValueError):
    """The state does not satisfy the constraints, and perhaps no state nearby does."""


class PainleveError(DalembertError, ValueError):
    """Friction by the actual reaction has no solution, or several: Painlevé's paradox.

    Attributes
    ----------
    constraint : str                   the constraint with the friction
    critical_mu : float                the critical coefficient of friction at this state
    state : dict                       q, qd and t
    trajectory : Trajectory or None    the motion so far, if it happened in a simulation
    """

    def __init__(
        self,
        message: str,
        constraint: str,
        critical_mu: float,
        state: dict[str, Any],
        trajectory: Trajectory | None = None,
    ):
        self.constraint = constraint
        self.critical_mu = critical_mu
        self.state = state
        self.trajectory = trajectory
        ValueError.__init__(self, message)

    def __reduce__(self) -> Any:
        return PainleveError, (str(self), self.constraint, self.critical_mu, self.state, self.trajectory)


class SimulationError(DalembertError, RuntimeError):
    """The motion could not be continued.

    Attributes
    ----------
    time : float               last time reached
    trajectory : Trajectory    the motion up to there, at the requested times that were reached and the last one
    """

    def __init__(self, message: str, time: float, trajectory: Trajectory):
        self.time = time
        self.trajectory = trajectory
        RuntimeError.__init__(self, message)

    def __reduce__(self) -> Any:
        return SimulationError, (str(self), self.time, self.trajectory)


class DeviceError(DalembertError, RuntimeError):
    """A GPU, JAX or a C compiler cannot be used, or a call of it failed."""
