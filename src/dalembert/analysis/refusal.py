# SPDX-License-Identifier: BSD-3-Clause
"""Models that symbols or numbers cannot follow, refused in words."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from sympy.printing.codeprinter import PrintMethodNotImplementedError

from dalembert.errors import ModelError

P = ParamSpec("P")
T = TypeVar("T")


def in_words(verb: Callable[P, T]) -> Callable[P, T]:
    """A verb that says so where SymPy cannot differentiate, compute or see through what a model is made of."""

    @wraps(verb)
    def careful(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return verb(*args, **kwargs)
        except (PrintMethodNotImplementedError, RecursionError) as trouble:
            what = str(trouble).splitlines()[-1].strip() or type(trouble).__name__
            raise ModelError(
                [
                    f"`da.{verb.__name__}` needs functions whose derivatives SymPy can follow and compute; it stopped "
                    f"at {what!r}. Write steps, jumps and special functions in another way, or leave them out."
                ]
            ) from None

    return careful
