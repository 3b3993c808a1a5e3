# SPDX-License-Identifier: BSD-3-Clause
"""Output of the command line: text and tables, in the characters that the terminal has."""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dalembert.common.names import column_unit, counted

if TYPE_CHECKING:
    from dalembert.gallery.definition import Case
    from dalembert.integration.trajectory import Trajectory
    from dalembert.report.outcomes import Row


def console_of(*, stderr: bool = False) -> Console:
    """Return a console for tables and messages, which prints names and numbers as they are."""
    # without emoji, which Rich would put for `:end:` in `start:end:count`
    return Console(stderr=stderr, highlight=False, emoji=False)


def print_text(text: str) -> None:
    """Print plain text in the encoding of the terminal."""
    typer.echo(text, file=sys.stdout)  # explicit: by default click writes UTF-8 even to a terminal that is ASCII only


def checks_table() -> Table:
    """Return an empty table of checks."""
    table = Table("case", "check", "expected", "got", "pass")
    table.columns[0].no_wrap = True
    return table


def add_checks(table: Table, rows: tuple[Row, ...], name: str) -> None:
    """Add the checks of a case to a table."""
    for k, row in enumerate(rows):
        verdict = "[green]yes[/]" if row.passed else "[red]NO[/]"
        table.add_row("" if k else name, escape(row.what), row.expected, row.got, verdict)
    table.add_section()


MOST_LISTED = 100
"""Largest number of coordinates, constraints or values that are listed."""


def end_table(found: Trajectory, units: Mapping[str, str]) -> Table:
    """Return a table of the state at the end of a motion, with the units that are known."""
    steps, seconds = found.statistics["steps"], found.statistics["seconds"]
    took = f"{counted(steps, 'step')}, computed in {seconds:.1f} s"
    time = _measured(f"{found.t[-1]:g}", units.get("t"))
    table = Table("coordinate", "value", "velocity", title=f"At t = {time} ({took})")
    for k, name in enumerate(found.coordinates[:MOST_LISTED]):
        value = _measured(f"{found.q[-1, k]:.12g}", units.get(name))
        table.add_row(name, value, _measured(f"{found.qd[-1, k]:.12g}", column_unit(f"{name}'", units)))
    if len(found.coordinates) > MOST_LISTED:
        table.add_row(f"and {len(found.coordinates) - MOST_LISTED} more", "", "")
    return table


def _measured(value: str, unit: str | None) -> str:
    return value if unit is None else f"{value} {unit}"


def facts_table(case: Case) -> Table:
    """Return a table of the system, the numbers and the start of a case."""
    system = case.system
    facts = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    facts.add_row("coordinates", _cut(system.coordinate_names))
    facts.add_row("parameters", assignments(case.parameters, case.units) or "none")
    large = system.is_large
    constraints = system.constraint_names if large else [f"{c.name} ({c.level})" for c in system.constraints]
    facts.add_row("constraints", _cut(constraints) or "none")
    if system.servos:
        facts.add_row("servos", ", ".join(map(_servo_text, system.servos)))
    names, times, unit = system.coordinate_names, case.times, case.units.get
    facts.add_row("start", assignments(dict(zip(names, case.q0, strict=False)), case.units) or "none")
    rates = {name: rate for name in names if (rate := column_unit(f"{name}'", case.units))}
    facts.add_row("velocities", assignments(dict(zip(names, case.qd0, strict=False)), rates) or "none")
    last = _measured(f"{times[-1]:g}", unit("t")) if len(times) else ""
    facts.add_row("times", f"{times[0]:g} to {last}, {len(times)} of them" if len(times) else "none")
    facts.add_row("drift", "none" if case.drift is None else _shortest(case.drift))
    return facts


def _shortest(choice: Any) -> str:
    """Return the call that makes a dataclass, without the arguments that have their defaults."""
    given = (f"{field.name}={getattr(choice, field.name)!r}" for field in fields(choice) if field.init)
    usual = {f"{field.name}={field.default!r}" for field in fields(choice)}
    return f"{type(choice).__name__}({', '.join(text for text in given if text not in usual)})"


def _servo_text(servo: Any) -> str:
    by = "a force on every coordinate" if servo.by is None else " and ".join(actuator.name for actuator in servo.by)
    return f"{servo.name} ({servo.level}) by {by}"


def assignments(values: Any, units: Mapping[str, str] | None = None) -> str:
    """Return values by name as text, with their units if they are known: `a0 = 0.2, g = 9.81 m/s^2`."""
    known = units or {}
    texts = {name: f"{len(own)} values" if isinstance(own, tuple) else f"{own:g}" for name, own in dict(values).items()}
    return _cut([f"{name} = {_measured(text, known.get(name))}" for name, text in texts.items()])


def _cut(texts: Sequence[str]) -> str:
    """Return texts in a line; of those of a large system the first ones."""
    more = f", and {len(texts) - MOST_LISTED} more" if len(texts) > MOST_LISTED else ""
    return ", ".join(texts[:MOST_LISTED]) + more


_SPELLINGS = {
    "–": "-",
    "−": "-",
    "·": "*",
    "×": "x",
    "…": "...",
    "’": "'",
    "√": "sqrt ",
    "≤": "<=",
    "≥": ">=",
    "→": "->",
    "←": "<-",
    "≠": "!=",
    "≈": "~",
    "±": "+-",
    "‖": "||",
    "∂": "d",
    "∞": "inf",
    "°": " deg",
    "⁄": "/",
    "λ": "lambda",  # Unicode's own name of the letter is "lamda"
    "Λ": "Lambda",
    "′": "'",
    "″": "''",
    "\N{COMBINING DOT ABOVE}": "'",  # a derivative with respect to time, as the library itself writes it
    "\N{COMBINING DIAERESIS}": "''",
    **dict(zip("äöüëïøł", ("ae", "oe", "ue", "e", "i", "o", "l"), strict=True)),  # in the names of people
}
"""Replacements of characters that the encoding of a terminal does not have."""


def transliterate_output() -> None:
    """Replace characters that the encoding of the terminal does not have, instead of raising an error."""
    codecs.register_error("transliterate", _transliterate)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="transliterate")


def _transliterate(error: UnicodeError) -> tuple[str, int]:
    """Return the replacement of characters that the encoding of a terminal does not have, and where to continue."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object
    return "".join(_spelling(text[k], text[k - 1 : k]) for k in range(error.start, error.end)), error.end


def _spelling(character: str, before: str) -> str:
    """Return a character of a text in ASCII: `²` as `^2`, the dot of a velocity as `'`, Greek letters by name."""
    if character in _SPELLINGS:
        return _SPELLINGS[character]
    power = "^" if _is_raised(character) and not _is_raised(before) else ""
    parts = unicodedata.normalize("NFKD", character)
    return power + "".join(c if c.isascii() else _SPELLINGS.get(c) or _letter(c) for c in parts)


def _is_raised(character: str) -> bool:
    return bool(character) and unicodedata.decomposition(character).startswith("<super>")


def _letter(character: str) -> str:
    """Return the name of a Greek letter, an empty string for an accent, and a question mark for all others."""
    words = unicodedata.name(character, "").split()
    if words[:1] == ["GREEK"] and "LETTER" in words:
        name = words[words.index("LETTER") + 1].lower()
        return name.capitalize() if "CAPITAL" in words else name
    return "" if unicodedata.combining(character) else "?"
