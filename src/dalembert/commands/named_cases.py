# SPDX-License-Identifier: BSD-3-Clause
"""The case that an argument of a command names: one of the gallery, or a model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dalembert import gallery

if TYPE_CHECKING:
    from dalembert.files.model import ModelFile
    from dalembert.gallery.definition import Case


def is_file(name: str) -> bool:
    """Return whether a name is that of a model file, and not of a case of the gallery."""
    return any(character in name for character in "./\\")


def named_case(name: str, changed: Mapping[str, float] | None = None) -> Case:
    """Return a case of the gallery, or a model file as a case, with some parameters changed."""
    if not is_file(name):
        return gallery.case(name)
    # imported here: most commands are about cases of the gallery
    from dalembert.files.load import load
    from dalembert.gallery.file_case import case_of

    model = load(name)
    return case_of(replace(model, parameters={**model.parameters, **(changed or {})}), Path(name).stem)


def named_model(name: str) -> ModelFile:
    """Return a model file, or a case of the gallery as a model, without its checks and pictures."""
    if is_file(name):
        from dalembert.files.load import load

        return load(name)
    from dalembert.gallery.file_case import model_of

    return model_of(gallery.case(name))
