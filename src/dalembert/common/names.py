# SPDX-License-Identifier: BSD-3-Clause
"""Names of coordinates, parameters and constraints, as keys and in messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def name_of(key: Any) -> str:
    """Return the name of a symbol or of a coordinate such as x(t), with primes for its time derivatives.

    A string is its own name.
    """
    if type(key).__name__ == "Derivative":  # SymPy's, which this layer does not import
        return name_of(key.expr) + "'" * key.derivative_count
    name = getattr(key, "name", None)
    return name if isinstance(name, str) else str(key)


def members(names: Sequence[str], array: str) -> list[int]:
    """Return the places of the names of an array, ``x[0]``, ``x[1]`` and so on.

    >>> members(["x[0]", "y", "x[1]"], "x")
    [0, 2]
    """
    start = f"{array}["
    return [i for i, name in enumerate(names) if name.startswith(start) and name[len(start) : -1].isdecimal()]


LISTED_NAMES = 8
"""Names that the text of an object lists."""


def listed(names: Iterable[str], what: str = "") -> str:
    """Return names as the text of an object shows them, after what they are; empty if there are none.

    >>> listed("abcdefghij", "bodies")
    'bodies a, b, c, d, e, f, g, h and 2 more'
    """
    every = list(names)
    more = f" and {len(every) - LISTED_NAMES} more" if len(every) > LISTED_NAMES else ""
    return f"{what} {', '.join(every[:LISTED_NAMES])}{more}".strip() if every else ""


def summary(heading: str, *parts: str) -> str:
    """Return the text of an object in one line: a heading and the parts that are not empty.

    >>> summary("System of x", "", "parameters g")
    '<System of x: parameters g>'
    """
    given = "; ".join(part for part in parts if part)
    return f"<{heading}: {given}>" if given else f"<{heading}>"


LONGEST_SHOWN = 120
"""Most characters of a text that a message repeats."""


def shortened(text: str) -> str:
    """Return a text as messages show it: all of it, or its beginning.

    >>> len(shortened("9" * 1000))
    121
    """
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


MOST_QUOTED = 50
"""Most names that a message lists: large systems have many."""


def quoted(names: Iterable[str]) -> str:
    """Return names as messages show them.

    >>> quoted(["x", "y"])
    '`x`, `y`'
    """
    every = list(names)
    more = f" and {len(every) - MOST_QUOTED} more" if len(every) > MOST_QUOTED else ""
    return ", ".join(f"`{shortened(name)}`" for name in every[:MOST_QUOTED]) + more


def quoted_arrays(names: Iterable[str]) -> str:
    """Return names as messages show them, consecutive ones of an array by the first and the last one.

    >>> quoted_arrays(["x[0]", "x[1]", "x[2]", "x[7]", "y"])
    '`x[0]` … `x[2]`, `x[7]`, `y`'
    """
    found: list[list[str]] = []
    for name in names:
        array, _, place = name.partition("[")
        number = place[:-1]
        if found and number.isdecimal() and found[-1][-1] == f"{array}[{int(number) - 1}]":
            found[-1].append(name)
        else:
            found.append([name])
    shown = [quoted(own) if len(own) < 3 else f"`{own[0]}` … `{own[-1]}`" for own in found]
    more = f" and {len(shown) - MOST_QUOTED} more" if len(shown) > MOST_QUOTED else ""
    return ", ".join(shown[:MOST_QUOTED]) + more


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which takes an s unless the number is one.

    >>> counted(1, "step"), counted(2, "step")
    ('1 step', '2 steps')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")


def rate_unit(unit: str | None, time: str | None, order: int = 1) -> str | None:
    """Return the unit of a time derivative; None if one of the units is not known.

    >>> rate_unit("m", "s", 2), rate_unit("m/s", "s")
    ('m/s^2', '(m/s)/s')
    """
    if not unit or not time:
        return None
    below = time if order == 1 else f"{time}^{order}"
    return f"{unit}/{below}" if unit.isalnum() else f"({unit})/{below}"


def column_unit(column: str, units: Mapping[str, str]) -> str | None:
    """Return the unit of a column of a table of a run: x, x', ideal_force(x) and so on; None if it is not known."""
    if column in units:
        return units[column]
    name = column.rstrip("'")
    if name != column:
        return rate_unit(units.get(name), units.get("t"), len(column) - len(name))
    kind, _, inside = column.removesuffix(")").partition("(")
    if kind in ("ideal_force", "nonideal_force", "input_force"):
        return units.get(f"force {inside}", units.get("force"))
    return units.get(inside) if kind in ("input", "violation", "error") else None


def ledger_units(units: Mapping[str, str]) -> dict[str, str]:
    """Return the units of time, energy and power that units of coordinates and forces imply; none if they do not.

    >>> ledger_units({"t": "s", "x": "m", "force x": "N"})
    {'t': 's', 'energy': 'J', 'power': 'W'}
    """
    known = {key: units[key] for key in ("t", "energy", "power") if key in units}
    forces = [
        (units.get(key.removeprefix("force ")), force) for key, force in units.items() if key.startswith("force ")
    ]
    joules = forces and all(pair in (("m", "N"), ("rad", "N m")) for pair in forces)
    return ({"t": "s", "energy": "J", "power": "W"} if joules and units.get("t") == "s" else {}) | known
