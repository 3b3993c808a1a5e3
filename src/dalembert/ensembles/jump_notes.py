# SPDX-License-Identifier: BSD-3-Clause
"""Notes on the members of an ensemble whose prescribed velocities jump."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dalembert.common.names import counted

MARK = "a prescribed velocity jumps"
"""Part of the note of a single run on such a jump."""

MOST_MEMBERS = 3
"""Members whose notes are repeated."""


def notes_on_jumps(notes: Sequence[str]) -> tuple[str, ...]:
    """Return those of the notes of a single run that are on jumps of prescribed velocities."""
    return tuple(note for note in notes if MARK in note)


def note_of_all(jumps: Mapping[int, Sequence[str]]) -> str:
    """Return one note for an ensemble, from those of its members by number; empty without any."""
    if not jumps:
        return ""
    shown = [f"Member {k}: {' '.join(jumps[k])}" for k in sorted(jumps)[:MOST_MEMBERS]]
    more = len(jumps) - len(shown)
    return " ".join(shown) + (f" The same holds for {counted(more, 'more member')}." if more else "")
