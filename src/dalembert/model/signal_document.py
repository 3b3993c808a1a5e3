# SPDX-License-Identifier: BSD-3-Clause
"""Signals as entries of a document: their numbers in arrays, or in a CSV file beside the model file."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dalembert.common.names import quoted
from dalembert.model.document import DocumentEntry, Scope
from dalembert.model.expression_text import name_text
from dalembert.model.signal import EXTENSIONS, INTERPOLATIONS, Signal, signal

MOST_IN_FILE = 1000
"""Largest number of times of a signal that is written into the model file; more are written to a CSV file beside it."""

LARGEST_CSV = 50_000_000
"""Number of bytes of a CSV file at most."""

_KEYS = ("times", "values", "kind", "extend", "file")


def read_signals(entry: DocumentEntry, scope: Scope) -> None:
    """Declare the signals of a document in a scope."""
    for name, own in entry.table().items():
        if name in scope.names:
            raise own.error(f"a signal must have a name of its own; `{name}` is declared already.")
        with own.places():
            name_text(name)
        scope.names[name] = _read(name, own, scope)


def _read(name: str, entry: DocumentEntry, scope: Scope) -> Any:
    table = entry.table(_KEYS)
    given: dict[str, Any] = {"name": name}
    if "kind" in table:
        given["kind"] = table["kind"].text(list(INTERPOLATIONS))
    if "extend" in table:
        given["extend"] = table["extend"].text(EXTENSIONS)
    if "file" in table:
        times, values = _columns(table, scope)
    else:
        entry.table(_KEYS, required=("times", "values"))
        times, values = table["times"].numbers(), table["values"].numbers()
    with entry.places():
        return signal(times, values, **given).args[0]


def _columns(table: Mapping[str, DocumentEntry], scope: Scope) -> tuple[list[float], list[float]]:
    """Return two columns of a CSV file: those named by ``times`` and ``values``, or the first and the second one."""
    entry = table["file"]
    path = entry.text()
    if scope.folder is None:
        raise entry.error("a model in a text must hold its signals itself; got the name of a `file`.")
    if Path(path).name != path:
        raise entry.error(f"`file` must name a file in the folder of the model file; got `{path[:60]}`.")
    source = scope.folder / path
    # `Path.is_file` raises an error for names that are too long
    if not os.path.isfile(source) or source.stat().st_size > LARGEST_CSV:
        raise entry.error(f"`file` must name a file of at most {LARGEST_CSV} bytes; there is no such `{path[:60]}`.")
    try:
        with source.open(encoding="utf-8-sig", newline="") as lines:
            header, *rows = [row for row in csv.reader(lines) if row]
    except (ValueError, csv.Error):
        raise entry.error(f"`{path}` must be a CSV file with the names of its columns in the first line.") from None
    chosen = [_column(table[key], header) if key in table else place for place, key in enumerate(("times", "values"))]
    try:
        found = [[float(row[k]) for row in rows] for k in chosen]
    except (ValueError, IndexError) as error:
        raise entry.error(f"`{path}` must hold numbers in two columns or more: {error}.") from None
    return found[0], found[1]


def _column(entry: DocumentEntry, header: list[str]) -> int:
    name = entry.text()
    if name not in header:
        raise entry.error(f"{entry.label} must name a column of the file, one of {quoted(header)}; got `{name[:60]}`.")
    return header.index(name)


def write_signals(signals: Iterable[Signal]) -> dict[str, Any]:
    """Return the signals of a system as tables by name."""
    tables: dict[str, Any] = {}
    for node in signals:
        data = node.data
        table = {"times": data.places.tolist(), "values": data.values.tolist(), "kind": data.kind}
        tables[data.name] = table | ({"extend": data.extend} if data.extend else {})
    return tables


def with_csv_files(document: Mapping[str, Any], target: Path) -> tuple[dict[str, Any], dict[Path, str]]:
    """Return a document in which long signals are in CSV files beside the model file, and the texts of these files."""
    signals: dict[str, Any] = {}
    texts: dict[Path, str] = {}
    for name, table in document.get("signals", {}).items():
        signals[name] = table
        if len(table["times"]) <= MOST_IN_FILE:
            continue
        path = target.with_name(f"{target.stem}_{''.join(c if c.isalnum() else '_' for c in name)}.csv")
        lines = [f"{x!r},{value!r}" for x, value in zip(table["times"], table["values"], strict=True)]
        texts[path] = "\n".join(["time,value", *lines, ""])
        rest = {key: own for key, own in table.items() if key not in ("times", "values")}
        signals[name] = {"file": path.name, **rest}
    return {**document, "signals": signals} if signals else dict(document), texts
