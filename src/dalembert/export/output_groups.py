# SPDX-License-Identifier: BSD-3-Clause
"""Groups of outputs of an exported model: quantities of one kind that follow one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dalembert.native.tape import Program, Tape


class OutputGroup(NamedTuple):
    """Outputs that follow one another: the kind, and their names as in the tables of ``run.save``."""

    kind: str
    names: tuple[str, ...]


Part = tuple[OutputGroup, Sequence[Any]]
"""Outputs and their recorded values."""


def part(kind: str, pattern: str, names: Sequence[str], values: Sequence[Any]) -> Part:
    """Return outputs whose names are made from those of coordinates or constraints."""
    return OutputGroup(kind, tuple(pattern.format(name) for name in names)), values


def program_of(tape: Tape, parts: Sequence[Part], valid: Any) -> tuple[Program, tuple[OutputGroup, ...]]:
    """Return the program of some outputs, whose last one is their validity, and their groups."""
    values = [value for _, own in parts for value in own]
    return Program(tape, [*values, valid]), tuple(group for group, _ in parts if group.names)
