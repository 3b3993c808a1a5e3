# SPDX-License-Identifier: BSD-3-Clause
"""The commented model file to begin with."""

from __future__ import annotations

from importlib.resources import files


def template(name: str) -> str:
    """Return the text of a model file with comments; ``name`` is the name of the file in them."""
    text = files("dalembert.files").joinpath("template.toml").read_text(encoding="utf-8")
    return text.replace("NAME", name)
