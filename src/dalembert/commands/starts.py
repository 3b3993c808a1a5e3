# SPDX-License-Identifier: BSD-3-Clause
"""Starts of the command line: the nearest one on the constraints, and advice for one that violates them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dalembert.commands.command_arguments import RunArguments
from dalembert.common.names import quoted
from dalembert.errors import InputError
from dalembert.integration.start_states import NAMES_CONFLICTS, OR_ALLOW_IT, START_NEARBY
from dalembert.verbs import consistent_state

if TYPE_CHECKING:
    from dalembert.gallery.definition import Case

_OPTIONS = {
    START_NEARBY: "`dalembert run --project` starts from the nearest state that does, and prints it",
    OR_ALLOW_IT: ", or, if the violation is meant, write `allow_violation = true` in `[simulate]` of a model file",
    NAMES_CONFLICTS: "`dalembert check` names them",
}
"""Advice for Python, and for the command line instead."""


def option_advice(message: str) -> str:
    """Return a message about a start with advice for the command line."""
    for python, option in _OPTIONS.items():
        message = message.replace(python, option)
    return message


def require_start(case: Case, q0: Any, qd0: Any, times: Any) -> None:
    """Raise an error for what a model file does not hold of a start and times, and the command does not give."""
    values = sorted({*case.system.parameter_names} - {*case.parameters})
    if case.mechanism is not None and values and not (len(q0) and len(qd0)):
        raise InputError(
            f"a mechanism must have a value for every parameter to be assembled; missing: {quoted(values)}. "
            "Give them in the file, or pass `--set`."
        )
    missing = [name for name, value in (("q0", q0), ("qd0", qd0), ("times", times)) if not len(value)]
    if missing:
        raise InputError(
            f"a run must have an initial state and times; the file has no {quoted(missing)}. Give them in its table "
            f"`[simulate]`, or pass {quoted(f'--{name}' for name in missing)}."
        )


def projected_start(case: Case, given: RunArguments) -> dict[str, Any]:
    """Return the state on the constraints nearest to the start that is asked for, as arguments of ``simulate``."""
    times = case.times if given.times is None else given.times
    q0, qd0 = consistent_state(
        case.system,
        given.start.get("q0", case.q0),
        given.start.get("qd0", case.qd0),
        float(times[0]) if len(times) else 0.0,
        parameters={**case.parameters, **given.parameters},
    )
    return {"q0": q0, "qd0": qd0}


def start_text(case: Case, start: Mapping[str, Any]) -> str:
    """Return a start as the options that give it: `--q0 x=1.0,y=0.0 --qd0 x=0.0,y=0.0`."""
    names = case.system.coordinate_names
    options = {
        key: ",".join(f"{name}={float(v)!r}" for name, v in zip(names, start[key], strict=True)) for key in start
    }
    return " ".join(f"--{key} {text}" for key, text in options.items())
