# SPDX-License-Identifier: BSD-3-Clause
"""Files that commands write: their endings and folders, and the format of a derivation by the ending."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from dalembert.common.target_path import target_path
from dalembert.errors import InputError


class DerivationFormat(StrEnum):
    """The formats of a derivation."""

    latex = "latex"
    markdown = "markdown"
    html = "html"


DERIVATION_FORMATS = {".md": DerivationFormat.markdown, ".tex": DerivationFormat.latex, ".html": DerivationFormat.html}
"""The format of a derivation by the ending of its file."""


def derivation_format(option: DerivationFormat | None, output: Path | None) -> DerivationFormat:
    """Return the requested format, from the option or from the file ending."""
    if output is None:
        return option or DerivationFormat.markdown
    require_target(output, "--output", tuple(DERIVATION_FORMATS))
    by_ending = DERIVATION_FORMATS[output.suffix.lower()]
    if option not in (None, by_ending):
        raise InputError(
            f"`--format` must agree with the file extension; got {option} and `{output}`. Leave `--format` out."
        )
    return by_ending


def endings_text(endings: Iterable[str]) -> str:
    """Return endings of files without their dots, as alternatives in a sentence."""
    *others, last = (ending.removeprefix(".") for ending in endings)
    return f"{', '.join(others)} or {last}"


def require_target(path: Path | None, option: str, known: tuple[str, ...]) -> None:
    """Raise an error unless a file to be written has a known ending and an existing folder."""
    if path is not None:
        target_path(path, known, option)
