# SPDX-License-Identifier: BSD-3-Clause
"""Entries of a document that describes a model, such as a TOML file: each knows its place, for messages."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import sympy as sp

from dalembert.common.names import quoted
from dalembert.errors import DalembertError, ExpressionError, InputError, ModelError
from dalembert.model.document_budget import Budget
from dalembert.model.expression_nodes import Parsed
from dalembert.model.expression_parser import parse, parse_constant, parse_equation, parse_inequality
from dalembert.model.expression_text import expression_text
from dalembert.model.expression_work import TOO_MUCH_DERIVED
from dalembert.model.expressions import as_expression
from dalembert.model.work_limit import WorkLimitReached

EntryPath = tuple[str | int, ...]
"""Keys and numbers of entries that lead from the top of a document to a value."""

EXACT_INTEGER = 2**53
"""Whole numbers from here on are written as text, since float64 does not hold all of them."""


class DocumentError(DalembertError, ValueError):
    """An entry of a document is wrong: a sentence, the path to the entry, and the offset in its text."""

    def __init__(self, problem: str, path: EntryPath, offset: int | None = None):
        self.problem, self.path, self.offset = problem, path, offset
        ValueError.__init__(self, problem)


@dataclass(frozen=True)
class DocumentEntry:
    """A value of a document and the path to it; the entries of a document share one budget."""

    value: Any
    path: EntryPath = ()
    budget: Budget = field(default_factory=Budget, compare=False, repr=False)

    @property
    def label(self) -> str:
        """The entry in messages: its innermost key."""
        return next((f"`{key}`" for key in reversed(self.path) if isinstance(key, str)), "the file")

    def error(self, problem: str, offset: int | None = None) -> DocumentError:
        return DocumentError(problem, self.path, offset)

    def expected(self, what: str) -> DocumentError:
        shown = "a table" if isinstance(self.value, Mapping) else repr(self.value)
        return self.error(f"{self.label} must be {what}; got {shown[:60]}.")

    def table(self, known: Sequence[str] | None = None, required: Sequence[str] = ()) -> dict[str, DocumentEntry]:
        """Return the entries of a table; keys outside of ``known`` raise an error with the most similar known one."""
        if not isinstance(self.value, Mapping):
            raise self.expected("a table")
        given: Mapping[str, Any] = self.value
        found = {key: DocumentEntry(value, (*self.path, key), self.budget) for key, value in given.items()}
        allowed = frozenset(known or ())
        for key, entry in found.items():
            if known is not None and key not in allowed:
                near = difflib.get_close_matches(key[:100], known, n=1)
                hint = f"Did you mean `{near[0]}`?" if near else f"Known are: {quoted(known)}."
                raise entry.error(f"unknown key `{key[:100]}`. {hint}")
        missing = [key for key in required if key not in found]
        if missing:
            where = "the file" if not self.path else self.label
            raise self.error(f"{where} must give {quoted(missing)}; there is none.")
        return found

    def list(self) -> list[DocumentEntry]:
        if not isinstance(self.value, list):
            tables = isinstance(self.value, Mapping) and f"; write `[[{self.path[-1]!s}]]` above each table"
            raise self.expected(f"an array{tables or ''}")
        values: list[Any] = self.value
        return [DocumentEntry(value, (*self.path, k), self.budget) for k, value in enumerate(values)]

    def one_or_more(self) -> list[DocumentEntry]:
        """Return the entries of an array, or the value itself."""
        return self.list() if isinstance(self.value, list) else [self]

    def text(self, choices: Sequence[str] | None = None) -> str:
        if not isinstance(self.value, str) or not self.value:
            raise self.expected("a text that is not empty")
        if choices is not None and self.value not in choices:
            near = difflib.get_close_matches(self.value[:100], choices, n=1)
            hint = f"Did you mean `{near[0]}`?" if near else f"Known are: {quoted(choices)}."
            raise self.error(f"{self.label} must be one of those known; got `{self.value[:100]}`. {hint}", 0)
        return self.value

    def boolean(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.expected("true or false")
        return self.value

    def number(self) -> float:
        """Return a finite number, from a number or a text such as "pi/4"; whole numbers stay whole."""
        if isinstance(self.value, str):
            return self.parsed(parse_constant).constant
        whole = isinstance(self.value, int) and not isinstance(self.value, bool)
        if not (whole or isinstance(self.value, float)):
            raise self.expected("a number")
        try:
            finite = math.isfinite(self.value)
        except OverflowError:
            finite = False
        if not finite:
            raise self.error(f"{self.label} must be a finite number, below 1e308.")
        return self.value

    def numbers(self) -> list[float]:
        return [entry.number() for entry in self.list()]

    def parsed(self, parse: Callable[[str], Parsed]) -> Parsed:
        """Return the parsed text of an entry, whose work and parts are taken from the budget of the document."""
        with self.places():
            part = parse(self.value)
        problem = self.budget.taken(part)
        if problem:
            raise self.error(problem)
        return part

    @contextmanager
    def places(self) -> Generator[None]:
        """Give errors inside of the block the place of this entry."""
        try:
            yield
        except ExpressionError as error:
            raise self.error(error.problem, error.offset) from None
        except (ModelError, InputError) as error:
            problems = error.problems if isinstance(error, ModelError) else (str(error),)
            raise self.error(sentences(problems)) from None
        except WorkLimitReached:
            raise self.error(TOO_MUCH_DERIVED) from None


def sentences(problems: Sequence[str]) -> str:
    """Return problems one after the other; the first follows the place in the file, the others begin sentences."""
    return " ".join(problem if k == 0 else problem[:1].upper() + problem[1:] for k, problem in enumerate(problems))


@dataclass
class Scope:
    """The names that the expressions of a document may use.

    names             coordinates, parameters and definitions by name
    bodies, joints    of a mechanism, by name
    folder            that of the file, None for a text
    arrays            of coordinates and of parameters, by name
    """

    names: dict[str, Any] = field(default_factory=dict[str, Any])
    bodies: dict[str, Any] = field(default_factory=dict[str, Any])
    joints: dict[str, Any] = field(default_factory=dict[str, Any])
    folder: Path | None = None
    arrays: dict[str, Any] = field(default_factory=dict[str, Any])

    def parsed(self, entry: DocumentEntry, parser: Callable[..., Parsed] = parse) -> Parsed:
        """Return a parsed expression; a number stands for itself."""
        if not isinstance(entry.value, str):
            number = entry.number()
            return Parsed(sp.Integer(number) if isinstance(number, int) else sp.Float(number), 1, float(number))
        return entry.parsed(lambda text: parser(text, self.names))


class FieldKind(NamedTuple):
    """A kind of values: functions that read and write one in a document, and its name in the schema of files."""

    read: Callable[[DocumentEntry, Scope], Any]
    write: Callable[[Any], Any]
    shape: str


def read_expression(entry: DocumentEntry, scope: Scope) -> Any:
    """Return a number as it is, and the expression of a text."""
    return scope.parsed(entry).expression if isinstance(entry.value, str) else entry.number()


def read_expressions(entry: DocumentEntry, scope: Scope) -> Any:
    return [read_expression(own, scope) for own in entry.list()]


def read_nested(entry: DocumentEntry, scope: Scope) -> Any:
    """Return an expression, or arrays of arrays of expressions."""
    if isinstance(entry.value, list):
        if len(entry.path) > 12:
            raise entry.error(f"{entry.label} must not hold arrays nested that deep.")
        return [read_nested(own, scope) for own in entry.list()]
    return read_expression(entry, scope)


def read_equation(entry: DocumentEntry, scope: Scope) -> Any:
    """Return left minus right of an equation."""
    entry.text()
    return _derivable(entry, scope.parsed(entry, parse_equation).expression)


def read_inequality(entry: DocumentEntry, scope: Scope) -> Any:
    """Return the inequality ``expression >= 0``."""
    entry.text()
    return sp.Ge(_derivable(entry, scope.parsed(entry, parse_inequality).expression), 0, evaluate=False)


def _derivable(entry: DocumentEntry, expression: Any) -> Any:
    """Return the expression of a constraint; raise an error if its derivatives exceed the budget."""
    problem = entry.budget.taken_to_derive(expression)
    if problem:
        raise entry.error(problem)
    return expression


def write_expression(value: Any) -> Any:
    """Return a number for a number that float64 holds, and text for any other expression."""
    expression = as_expression(value, "a value in a file")
    if expression.is_Integer and abs(expression) < EXACT_INTEGER:
        return int(expression)
    return float(expression) if expression.is_Float else expression_text(expression)


def write_nested(value: Any) -> Any:
    if isinstance(value, sp.MatrixBase):
        value = [value.row(i).flat() for i in range(value.rows)] if value.cols > 1 else value.flat()
    return [write_nested(own) for own in value] if isinstance(value, (tuple, list)) else write_expression(value)


def read_several(entry: DocumentEntry, scope: Scope) -> tuple[Any, ...]:
    """Return one expression or several as a tuple."""
    return tuple(read_expression(own, scope) for own in entry.one_or_more())


def write_several(value: Any) -> Any:
    """Return several expressions as an array, and one as itself."""
    entries = (
        [write_expression(own) for own in value] if isinstance(value, (tuple, list)) else [write_expression(value)]
    )
    return entries if len(entries) > 1 else entries[0]


EXPRESSION = FieldKind(read_expression, write_expression, "expression")
NESTED = FieldKind(read_nested, write_nested, "nested")
SEVERAL = FieldKind(read_several, write_several, "several")
TEXT = FieldKind(lambda entry, scope: entry.text(), str, "text")
BOOLEAN = FieldKind(lambda entry, scope: entry.boolean(), bool, "boolean")
NUMBER = FieldKind(lambda entry, scope: entry.number(), float, "expression")
NUMBERS = FieldKind(lambda entry, scope: entry.numbers(), lambda value: [float(own) for own in value], "vector")

Fields = Mapping[str, FieldKind]
"""The fields of a class that a document holds."""


def read_object(entry: DocumentEntry, scope: Scope, kinds: Mapping[str, tuple[Any, Fields]]) -> Any:
    """Return the object that a table with its ``type`` describes."""
    own = entry.table(required=("type",))
    make, known = kinds[own["type"].text(list(kinds))]
    table = entry.table(["type", *known])
    values = {key: known[key].read(table[key], scope) for key in known if key in table}
    missing = [one.name for one in fields(make) if one.name in known and one.name not in values and _is_required(one)]
    if missing:
        raise entry.error(f"a {make.__name__} must be given {quoted(missing)}; there is none.")
    with entry.places():
        return make(**values)


def write_object(value: Any, kinds: Mapping[str, tuple[Any, Fields]]) -> dict[str, Any]:
    """Return the table of an object, without fields that have their default value."""
    name = type(value).__name__
    if name not in kinds:
        raise ModelError([f"a model file can hold {quoted(kinds)}; got a `{name}`."])
    default = {one.name: one.default for one in fields(value)}
    given = {key: (getattr(value, key), kind) for key, kind in kinds[name][1].items()}
    written = {key: kind.write(own) for key, (own, kind) in given.items() if not _same(own, default[key])}
    return {"type": name, **written}


def _is_required(one: Any) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _same(value: Any, default: Any) -> bool:
    """Return whether a value is the default of its field."""
    if value is None or default is None:
        return value is default
    value = tuple(value.flat()) if isinstance(value, sp.MatrixBase) else value
    return type(value) is type(default) and bool(value == default)
