# SPDX-License-Identifier: BSD-3-Clause
"""Keyword arguments that one function passes on to another."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from dalembert.common.names import quoted
from dalembert.errors import InputError


def require_keywords(given: Iterable[str], function: Callable[..., Any], name: str) -> None:
    """Raise an error if keyword arguments that are passed on to a function, called ``name``, are none of its own."""
    known = [own.name for own in inspect.signature(function).parameters.values() if own.kind is own.KEYWORD_ONLY]
    for keyword in given:
        if keyword not in known:
            nearest = difflib.get_close_matches(keyword, known, n=1)
            hint = f"Did you mean `{nearest[0]}`?" if nearest else f"They are: {quoted(known)}."
            raise InputError(f"further arguments must be keyword arguments of `{name}`; got `{keyword}`. {hint}")
