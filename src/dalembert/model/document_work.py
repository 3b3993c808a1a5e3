# SPDX-License-Identifier: BSD-3-Clause
"""The number of values of a document and the work of its expressions, by which files are limited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import sympy as sp

from dalembert.errors import ExpressionError, ModelError
from dalembert.model.document import DocumentEntry, DocumentError
from dalembert.model.document_budget import Budget
from dalembert.model.expression_nodes import Parsed
from dalembert.model.expression_parser import parse, parse_equation, parse_inequality
from dalembert.model.expression_work import MOST_VALUES_OF_FILE
from dalembert.model.signal import SignalData, signal_data
from dalembert.model.symbols import t


def require_few_values(document: Mapping[str, Any]) -> None:
    """Raise an error that names the first value beyond the limit, at the key of its table."""
    count, waiting = 0, [DocumentEntry(document)]
    while waiting:
        entry = waiting.pop()
        if not isinstance(entry.value, (Mapping, list)):
            continue
        count += len(entry.value)
        if count > MOST_VALUES_OF_FILE:
            raise entry.error(
                f"a file must have at most {MOST_VALUES_OF_FILE} values; it has more. Write recorded data to CSV files "
                "beside it, or state the model in Python."
            )
        inner = entry.table().values() if isinstance(entry.value, Mapping) else entry.list()
        waiting += reversed([own for own in inner if isinstance(own.value, (Mapping, list))])


def require_readable(document: Mapping[str, Any]) -> None:
    """Raise an error for a document that is to be written, if a file with it were refused for its size or work."""
    try:
        require_few_values(document)
    except DocumentError as error:
        raise ModelError([error.problem]) from None
    budget, names = Budget(), _AnyNames(document.get("signals", ()), document.get("parameters", ()))
    for text in _texts(document):
        problem = budget.taken(_parsed(text, names))
        if problem:
            raise ModelError([problem])
    for part in (*document.get("constraints", ()), *document.get("servos", ())):
        for text in _texts([part.get(key) for key in ("equation", "inequality", "requirement")]):
            problem = budget.taken_to_derive(_parsed(text, names).expression)
            if problem:
                raise ModelError([f"{problem} This is `{part['name']}`."])


class _AnyNames(dict[str, Any]):
    """Names for a parser: all are known, as functions of time unless they are signals or parameters."""

    def __init__(self, signals: Iterable[str], parameters: Iterable[str]):
        dict.__init__(self, dict.fromkeys(signals, _SIGNAL) | {name: sp.Symbol(name) for name in parameters})

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        self[name] = sp.Function(name)(t)
        return self[name]


_SIGNAL = signal_data(SignalData("signal", np.array([0.0, 1.0]), np.array([0.0, 1.0]), "linear", "", 0))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list, tuple)):
        for own in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(own)


def _parsed(text: str, names: Mapping[str, Any]) -> Parsed:
    """Return a text as an equation or an expression; one that is neither, such as a title, has no work."""
    for parser in (parse_equation, parse_inequality, parse):
        try:
            return parser(text, names)
        except (ExpressionError, ModelError):
            continue
    return Parsed(sp.S.Zero, 0)
