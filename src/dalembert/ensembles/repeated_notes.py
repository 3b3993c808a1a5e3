# SPDX-License-Identifier: BSD-3-Clause
"""Notes on single members that an ensemble repeats: prescribed velocities that jump, steps too long for friction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dalembert.common.names import counted
from dalembert.integration.coarse_steps import PASSES_OVER

MARKS = ("a prescribed velocity jumps", PASSES_OVER)
"""Parts of the notes of a single run that are repeated."""

MOST_MEMBERS = 3
"""Members whose notes are repeated."""


def notes_to_repeat(notes: Sequence[str]) -> tuple[str, ...]:
    """Return those of the notes of a single run that an ensemble repeats."""
    return tuple(note for note in notes if any(mark in note for mark in MARKS))


def note_of_all(member_notes: Mapping[int, Sequence[str]]) -> str:
    """Return one note for an ensemble, from those of its members by number; empty without any."""
    if not member_notes:
        return ""
    shown = [f"Member {k}: {' '.join(member_notes[k])}" for k in sorted(member_notes)[:MOST_MEMBERS]]
    more = len(member_notes) - len(shown)
    return " ".join(shown) + (f" The same holds for {counted(more, 'more member')}." if more else "")
