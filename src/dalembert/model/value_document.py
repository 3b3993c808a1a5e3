# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of a model as entries of a document: parameters with their units, the start, times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from sympy import Symbol
from sympy.core.facts import InconsistentAssumptions

from dalembert.common.target_path import target_path
from dalembert.common.toml_text import toml_text
from dalembert.errors import InputError, ModelError
from dalembert.model.array_document import numbers_entry, read_numbers
from dalembert.model.declared_names import require_known
from dalembert.model.document import DocumentEntry
from dalembert.model.document_texts import require_writable
from dalembert.model.document_work import require_readable
from dalembert.model.expression_work import LARGEST_FILE
from dalembert.model.input_values import as_numbers, named_values, state_values, time_values
from dalembert.model.ordering import by_name, name_of, unknown_names
from dalembert.model.signal_document import with_csv_files
from dalembert.model.symbol_arrays import CoordinateArray
from dalembert.model.symbols import free_parameters
from dalembert.model.system_expressions import terms_of

FORMAT = 1
"""Version of the format of model files."""

PARAMETER_KEYS = ("value", "unit", "assumptions", "count")

ASSUMPTIONS = (
    *("real", "positive", "negative", "nonnegative", "nonpositive", "nonzero", "zero", "finite", "integer"),
    *("extended_real", "rational", "irrational", "algebraic", "transcendental", "complex", "commutative", "even"),
    *("odd", "prime", "composite", "noninteger", "infinite", "imaginary", "hermitian", "antihermitian"),
    *("extended_positive", "extended_negative", "extended_nonnegative", "extended_nonpositive", "extended_nonzero"),
)
"""Properties of symbols that SymPy knows."""

MOST_BY_NAME = 6
"""Number of coordinates up to which a start is written by name."""

MOST_OUTPUT_TIMES = 10_000_000
"""Largest number of times in a file."""

ORDER = (
    *("format", "title", "about", "source", "coordinates", "parameters", "signals", "definitions", "mass_matrix"),
    *("applied_force", "lagrangian", "nonideal", "bodies", "extra_coordinates", "joints", "forces", "constraints"),
    *("actuators", "servos", "coefficients"),
    *("simulate", "units", "checks", "drawing"),
)
"""All keys of a model file, in the order in which they are written."""


def save_document(path: str | Path, document: Mapping[str, Any]) -> Path:
    """Write a document to a TOML file."""
    target = target_path(path, (".toml",))
    require_writable(document)
    rest, texts = with_csv_files(document, target)
    require_readable(rest)
    whole = {"format": FORMAT, **rest}
    texts[target] = toml_text({key: whole[key] for key in ORDER if key in whole})
    if (size := len(texts[target].encode())) > LARGEST_FILE:
        raise ModelError([f"the text of a model file must have at most {LARGEST_FILE} bytes; got {size}."])
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return target


def document_text(document: Mapping[str, Any]) -> str:
    """Return a document as the text of one TOML file, with all recorded data in it."""
    require_writable(document)
    whole = {"format": FORMAT, **document}
    return toml_text({key: whole[key] for key in ORDER if key in whole})


def value_entries(
    system: Any,
    parameters: Any,
    q0: Any,
    qd0: Any,
    times: Any,
    units: Mapping[str, str] | None = None,
    further: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the entries ``parameters``, ``simulate`` and ``units`` of a document, without those that are empty.

    ``further`` parameters are not those of the system, but of events.
    """
    stated = array_statement(system)
    own_names = system.parameter_names if stated is None else tuple(stated.parameters)
    given = values_by_name({} if parameters is None else parameters, stated)
    names, own = tuple(dict.fromkeys((*own_names, *sorted(further)))), dict(units or {})
    problems = unknown_names(names, given, "parameters", "parameter")
    if problems:
        raise InputError(" ".join(problems))
    entries: dict[str, Any] = {}
    if names:
        assumed = assumptions_of(system)
        sizes = {} if stated is None else stated.parameters
        written = {
            name: _parameter(given.get(name), own.pop(name, None), assumed.get(name), sizes.get(name, 0))
            for name in names
        }
        entries["parameters"] = written if any(value != {} for value in written.values()) else list(names)
    run = {
        key: _state(system.coordinate_names, value, key, stated)
        for key, value in (("q0", q0), ("qd0", qd0))
        if value is not None
    }
    run |= {} if times is None else {"times": times_entry(times)}
    return entries | ({"simulate": run} if run else {}) | ({"units": _units_of_arrays(system, own)} if own else {})


def named_arrays(system: Any) -> dict[str, Sequence[str]]:
    """Return the names with one unit in a file by a common name: elements of an array, and the forces along them."""
    stated = array_statement(system)
    arrays = {} if stated is None else stated.names_in_arrays
    return {**arrays, **{f"force {name}": [f"force {own}" for own in names] for name, names in arrays.items()}}


def _units_of_arrays(system: Any, units: dict[str, str]) -> dict[str, str]:
    """Return units by name, those of arrays whose elements have one unit by the name of the array."""
    for name, names in named_arrays(system).items():
        own = frozenset(names)
        if len({units.get(one) for one in names}) == 1 and names[0] in units:
            units = {name: units[names[0]]} | {key: unit for key, unit in units.items() if key not in own}
    return units


def array_statement(system: Any) -> Any:
    """Return the statement of a system by arrays, in which a file holds it; None for any other system."""
    stated = system.statement
    return stated if stated is not None and system.deferred is None and stated.is_given else None


def values_by_name(given: Any, stated: Any) -> dict[str, Any]:
    """Return numbers by name; those of arrays of parameters are arrays."""
    if stated is None:
        return named_values(given, "parameters")
    named, problems = by_name(given, "parameters", "parameter")
    if named is None or problems:
        return named_values(given, "parameters")  # with its error
    found: dict[str, Any] = {}
    for name, value in named.items():
        numbers, size = as_numbers(value, f"parameters[{name}]"), stated.parameters.get(name, 0)
        shape = (size,) if size else ()
        if numbers.shape not in (shape, ()):
            raise InputError(f"`parameters` must give `{name}` the shape {shape}; got {numbers.shape}.")
        found[name] = float(numbers) if numbers.shape == () else tuple(numbers.tolist())
    return found


def _parameter(value: Any, unit: str | None, assumptions: dict[str, bool] | None, size: int = 0) -> Any:
    if size:
        numbers: Any = {} if value is None else {"value": value if isinstance(value, float) else numbers_entry(value)}
        return {"count": size, **numbers} | ({} if unit is None else {"unit": unit})
    table: dict[str, Any] = {} if value is None else {"value": value}
    table |= {} if unit is None else {"unit": unit}
    table |= {"assumptions": assumptions} if assumptions else {}
    return table["value"] if list(table) == ["value"] else table


def assumptions_of(system: Any) -> dict[str, dict[str, bool]]:
    """Return the assumptions of the parameters of a system that were made with some, such as ``positive=True``."""
    symbols = free_parameters(terms_of(system))
    given = {symbol.name: symbol.__getnewargs_ex__()[1] for symbol in symbols}
    return {name: {key: own[key] for key in sorted(own)} for name, own in given.items() if own}


def assumptions_entry(system: Any) -> Any:
    """Return the names of the parameters of a system, with their assumptions if there are any."""
    assumed = assumptions_of(system)
    names = system.parameter_names
    return {name: _parameter(None, None, assumed.get(name)) for name in names} if assumed else list(names)


def read_assumptions(entry: DocumentEntry, name: str) -> dict[str, bool]:
    """Return the assumptions of one of the parameters of a document, with which its symbol is made."""
    if not isinstance(entry.value, Mapping) or not isinstance(entry.value[name], Mapping):
        return {}
    own = entry.table()[name].table(PARAMETER_KEYS)
    if "assumptions" not in own:
        return {}
    found = {key: value.boolean() for key, value in own["assumptions"].table(ASSUMPTIONS).items()}
    try:
        Symbol(name, **found)
    except InconsistentAssumptions:
        raise own["assumptions"].error(f"the assumptions of parameter `{name}` contradict one another.") from None
    return found


def _state(names: Sequence[str], given: Any, argument: str, stated: Any = None) -> Any:
    values = [float(value) for value in state_values(names, given, argument)]
    if stated is not None:
        rest, found = iter(values), dict[str, Any]()
        for piece in stated.pieces:
            own = [next(rest) for _ in range(len(piece))] if isinstance(piece, CoordinateArray) else next(rest)
            found[piece.name if isinstance(piece, CoordinateArray) else name_of(piece)] = (
                numbers_entry(own) if isinstance(own, list) else own
            )
        return found
    return dict(zip(names, values, strict=True)) if len(names) <= MOST_BY_NAME else values


def times_entry(given: Any) -> Any:
    """Return times as "start:end:count" if they are equally spaced, else as an array."""
    times = time_values(given, "times", increasing=True)
    first, last, count = float(times[0]), float(times[-1]), len(times)
    if count > 2 and np.array_equal(times, np.linspace(first, last, count)):
        return f"{first!r}:{last!r}:{count}"
    return [float(time) for time in times]


def read_parameters(
    entry: DocumentEntry | None, arrays: Mapping[str, Any] = MappingProxyType({})
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return values and units of parameters; those without a value or a unit are left out."""
    values: dict[str, Any] = {}
    units: dict[str, str] = {}
    if entry is None or isinstance(entry.value, list):
        return values, units
    for name, own in entry.table().items():
        size = arrays[name].size if name in arrays else 0
        if not isinstance(own.value, Mapping):
            values[name] = tuple(read_numbers(own, size)) if size else own.number()
            continue
        table = own.table(PARAMETER_KEYS if size else PARAMETER_KEYS[:-1])
        if "value" in table:
            values[name] = tuple(read_numbers(table["value"], size)) if size else table["value"].number()
        if "unit" in table:
            units[name] = table["unit"].text()
    return values, units


def read_times(entry: DocumentEntry) -> Any:
    """Return times from "start:end:count" or an array of numbers."""
    if not isinstance(entry.value, str):
        with entry.places():
            return time_values(entry.numbers(), "times", increasing=True)
    parts = [DocumentEntry(part, entry.path, entry.budget).number() for part in entry.value.split(":")]
    if len(parts) != 3 or not float(parts[2]).is_integer() or not 2 <= parts[2] <= MOST_OUTPUT_TIMES:
        raise entry.error('`times` must be an array of times, or "start:end:count" as in "0:10:101".')
    with entry.places():
        return time_values(np.linspace(parts[0], parts[1], int(parts[2])), "times", increasing=True)


def read_state(
    entry: DocumentEntry, names: Sequence[str], arrays: Mapping[str, Any] = MappingProxyType({})
) -> tuple[float, ...]:
    """Return numbers in the order of the coordinates, from an array or a table by name."""
    key = str(entry.path[-1])
    if isinstance(entry.value, Mapping) and arrays:
        known, given = frozenset(names), dict[str, float]()
        for name, own in entry.table().items():
            if name in arrays:
                given.update(zip(arrays[name].names, read_numbers(own, arrays[name].size), strict=True))
            elif name in known:
                given[name] = own.number()
            else:
                require_known(own, name, [*arrays, *names])
    elif isinstance(entry.value, Mapping):
        given: Any = {name: own.number() for name, own in entry.table(names).items()}
    else:
        given = entry.numbers()
    with entry.places():
        return tuple(float(value) for value in state_values(names, given, key))
