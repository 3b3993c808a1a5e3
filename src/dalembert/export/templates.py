# SPDX-License-Identifier: BSD-3-Clause
"""The files of this folder that exports are made from."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any


def template(file: str, values: Mapping[str, Any]) -> str:
    """Return a file of this folder with its placeholders, such as ``@NAME@``, replaced."""
    text = files("dalembert.export").joinpath(file).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    return text
