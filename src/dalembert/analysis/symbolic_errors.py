# SPDX-License-Identifier: BSD-3-Clause
"""Models that symbols or numbers cannot follow, refused in words."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from dalembert.analysis.bounded import budget
from dalembert.errors import DalembertError, ModelError

P = ParamSpec("P")
T = TypeVar("T")


def in_words(verb: Callable[P, T]) -> Callable[P, T]:
    """A verb that takes a bounded time for symbols, and says so where SymPy or mpmath cannot follow a model."""

    @wraps(verb)
    def careful(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            with budget():
                return verb(*args, **kwargs)
        except DalembertError:
            raise
        except Exception as trouble:
            if not _about_symbols(trouble):
                raise
            unprintable = re.search(r"_print_(\w+)", str(trouble))
            said = str(trouble).strip().splitlines() or [type(trouble).__name__]
            what = said[-1].strip() if unprintable is None else unprintable[1]
            raise ModelError(
                [
                    f"`da.{verb.__name__}` needs functions whose derivatives SymPy can follow and compute; it stopped "
                    f"at {what!r}. Write steps, jumps and special functions in another way, or leave them out."
                ]
            ) from None

    return careful


def _about_symbols(trouble: Exception) -> bool:
    """Whether an exception comes from SymPy, mpmath or a function that they made."""
    frames = traceback.extract_tb(trouble.__traceback__)
    made = ("lambdifygenerated", f"{os.sep}sympy{os.sep}", f"{os.sep}mpmath{os.sep}")
    return isinstance(trouble, RecursionError) or any(part in frames[-1].filename for part in made)
