# SPDX-License-Identifier: BSD-3-Clause
"""The entries of a ledger: constraints, laws and applied forces, with the groups and joints they belong to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Entry(NamedTuple):
    """One entry of a ledger: its name, its kind, and its constraint (empty if it does not belong to a single one).

    kind    "applied", "reaction" of a constraint, "law" for a nonideal force law, "input" of an actuator,
            "compromise" for the residual of contradictory equations, or "event" for a change of the motion by a
            ``da.Event``
    """

    name: str
    kind: str
    constraint: str


ALL_APPLIED = "applied forces"
"""The entry of all applied forces, where they are not distinguished."""


def entries_of(
    constraints: Sequence[str], laws: Sequence[tuple[str, str]], actuators: Sequence[str] = ()
) -> list[Entry]:
    """Return the entries of a ledger: applied forces, constraints, laws and inputs of actuators."""
    entries = [Entry(ALL_APPLIED, "applied", "")]
    entries += [Entry(name, "reaction", name) for name in constraints]
    # the law of a joint acts on the whole joint, not on the row `joint: x` that carries it
    labels = [f"{constraint.split(': ')[0]}: {law}" if constraint else law for constraint, law in laws]
    seen: Counter[str] = Counter()
    for label, (constraint, _) in zip(labels, laws, strict=True):
        seen[label] += 1
        numbered = label if seen[label] == 1 else f"{label} ({seen[label]})"
        entries.append(Entry(numbered, "law", constraint))
    return [*entries, *(Entry(name, "input", "") for name in actuators)]


def group_of(entry: Entry) -> tuple[str, str]:
    """Return kind and name of the group of an entry: that of `rod[3]` is `rod`, that of `pin7: x` is `pin*: x`."""
    return entry.kind, re.sub(r"\d+", "*", re.sub(r"\[\d+\]", "", entry.name))


def joint_of(entry: Entry) -> tuple[str, str]:
    """Return kind and name of an entry; those of the reactions `pin: x` and `pin: y` are those of the joint `pin`."""
    return entry.kind, entry.name.split(": ")[0] if entry.kind == "reaction" else entry.name
