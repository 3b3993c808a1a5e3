# SPDX-License-Identifier: BSD-3-Clause
"""The commented model file to begin with, and the JSON schema of model files for editors."""

from __future__ import annotations

from importlib.resources import files


def template(name: str) -> str:
    """Return the text of a model file with comments; ``name`` is the name of the file in them."""
    return _resource("template.toml").replace("NAME", name)


def schema() -> str:
    """Return the JSON schema of model files."""
    return _resource("schema.json")


def _resource(name: str) -> str:
    return files("dalembert.files").joinpath(name).read_text(encoding="utf-8")
