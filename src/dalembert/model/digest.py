# SPDX-License-Identifier: BSD-3-Clause
"""A digest of a statement: a text that is the same in every process, and differs if anything that was stated does.

Python's hashes differ from process to process, and printed expressions leave out the numbers of signals, the code of
functions, and everything of long expressions but their size.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import sympy as sp

from dalembert.common.python_function import PythonFunction
from dalembert.model import graph
from dalembert.model.data_function import DataAtom
from dalembert.model.system import System

UNORDERED = (sp.Add, sp.Mul)
"""Operations whose arguments SymPy may order in another way in another process."""


def digest(stated: Any) -> str:
    """Return the digest of expressions, systems, laws, settings, numbers, and collections of these."""
    if isinstance(stated, sp.MatrixBase):
        return _of_parts("matrix", [str(stated.shape), *(_of_expression(entry) for entry in stated.flat())])
    if isinstance(stated, sp.Basic):
        return _of_expression(stated)
    if isinstance(stated, np.ndarray):
        if stated.dtype == object:
            return _of_parts(str(stated.shape), map(digest, stated.flat))
        return _of_parts(f"{stated.shape} {stated.dtype}", [np.ascontiguousarray(stated).tobytes().hex()])
    if isinstance(stated, PythonFunction):
        return _of_parts(stated.name, [str(stated.orders), digest(stated.function)])
    if is_dataclass(stated) and not isinstance(stated, type):
        return _of_parts(type(stated).__name__, [f"{name} {digest(value)}" for name, value in _fields(stated)])
    if isinstance(stated, Mapping):
        return _of_parts("mapping", sorted(f"{digest(key)} {digest(value)}" for key, value in stated.items()))
    if isinstance(stated, Set):
        return _of_parts("set", sorted(map(digest, stated)))
    if isinstance(stated, Sequence) and not isinstance(stated, (str, bytes)):
        return _of_parts("sequence", map(digest, stated))
    if callable(stated) and not isinstance(stated, type):
        return _of_function(stated)
    return _of_parts(type(stated).__name__, [repr(stated)])


def _of_parts(kind: str, parts: Any) -> str:
    return blake2b("\n".join([kind, *parts]).encode(), digest_size=16).hexdigest()


def _fields(stated: Any) -> list[tuple[str, Any]]:
    """Return the fields that were stated, by name: a large system is not expanded."""
    if isinstance(stated, System) and stated.is_large:
        return [("statement", stated.statement)]
    return [(one.name, getattr(stated, one.name)) for one in fields(stated) if one.compare]


def _of_expression(expression: Any) -> str:
    """Return the digest of an expression, each of whose different parts is visited once."""
    found: list[str] = []
    for node, parts in graph.Graph([expression]):
        below = [found[i] for i in parts]
        if isinstance(node, DataAtom):
            own = digest(node.data)
        elif parts:
            own = ""
            below = sorted(below) if isinstance(node, UNORDERED) else below
        else:
            own = str(node)
        found.append(_of_parts(type(node).__name__, [own, *below]))
    return found[-1]


def _of_function(function: Any) -> str:
    """Return the digest of a function by its name, its code and the values that it has enclosed."""
    inner = inspect.unwrap(function)
    name = f"{getattr(inner, '__module__', '')}.{getattr(inner, '__qualname__', type(inner).__name__)}"
    if not isinstance(inner, types.FunctionType):
        return _of_parts("function", [name])
    enclosed = [digest(cell.cell_contents) for cell in inner.__closure__ or ()]
    return _of_parts("function", [name, *_of_code(inner.__code__), digest(inner.__defaults__), *enclosed])


def _of_code(code: types.CodeType) -> list[str]:
    """Return texts of a function's instructions, constants and names."""
    texts = [code.co_code.hex(), " ".join(code.co_names)]
    for constant in code.co_consts:
        texts += _of_code(constant) if isinstance(constant, types.CodeType) else [repr(constant)]
    return texts
