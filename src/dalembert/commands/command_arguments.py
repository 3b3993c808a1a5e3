# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of the command line: numbers, starts and times as text, which the parser of expressions reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.common.names import shortened
from dalembert.errors import ExpressionError, InputError
from dalembert.model.expression_parser import parse_number
from dalembert.model.value_document import MOST_OUTPUT_TIMES


@dataclass(frozen=True)
class RunArguments:
    """The arguments of ``dalembert run``."""

    parameters: Mapping[str, float]
    start: Mapping[str, Any]
    times: Any
    plot: Path | None
    animate: Path | None
    save: Path | None
    ledger: bool
    project: bool = False

    @property
    def changed(self) -> bool:
        """Whether the motion differs from that of the case."""
        return bool(self.parameters or self.start) or self.times is not None


def assignment(text: str, option: str, example: str = "a0=0.2") -> tuple[str, float]:
    """Return name and value of a text such as ``a0=0.2``."""
    name, equals, value = text.partition("=")
    try:
        if not (equals and name.strip()):
            raise ValueError
        return name.strip(), parse_number(value)
    except ValueError as error:
        reason = f" {error}" if isinstance(error, ExpressionError) else ""
        raise InputError(f"`{option}` must look like {example}; got `{shortened(text)}`.{reason}") from None


def state_of(text: str, option: str) -> Any:
    """Return numbers by name from ``x=1,y=0``, or in order from ``1,0``."""
    parts = text.split(",")
    if "=" in text:
        return dict(assignment(part, option, "x=1,y=0 or 1,0") for part in parts)
    try:
        return [parse_number(part) for part in parts]
    except ExpressionError as error:
        raise InputError(f"`{option}` must look like x=1,y=0 or 1,0; got `{shortened(text)}`. {error}") from None


def times_of(text: str) -> Any:
    """Return times from ``0:10:101`` or ``0,1,2``."""
    try:
        return sequence_of(text)
    except ValueError:
        raise InputError(f"`--times` must look like 0:10:101 or 0,1,2; got `{shortened(text)}`.") from None


def sequence_of(text: str) -> Any:
    """Return numbers from ``0:10:101`` or ``0,1,2``, or raise a ValueError."""
    if ":" not in text:
        return np.array([parse_number(part) for part in text.split(",")])
    start, end, count = text.split(":")
    points = parse_number(count)
    if not points.is_integer() or not 2 <= points <= MOST_OUTPUT_TIMES:
        raise ValueError
    return np.linspace(parse_number(start), parse_number(end), int(points))
