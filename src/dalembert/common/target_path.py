# SPDX-License-Identifier: BSD-3-Clause
"""Paths of files to be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dalembert.errors import InputError


def target_path(path: Any, endings: Sequence[str] | Mapping[str, str], argument: str = "path") -> Path:
    """Return the path of a file or folder to be written, which has one of the endings and is in an existing folder.

    ``endings`` may have explanations, which a message lists with them.
    """
    if not isinstance(path, (str, Path)):
        raise InputError(f"`{argument}` must be text or a `Path`; got {path!r:.80}.")
    target = Path(path)
    if target.suffix.lower() not in endings:
        known = [f"{end} ({endings[end]})" if isinstance(endings, Mapping) else end for end in endings]
        raise InputError(f"`{argument}` must end in {', '.join(known)}; got `{target}`.")
    if not target.parent.is_dir():
        raise InputError(f"`{argument}` must name a file in a folder that exists; there is no `{target.parent}`.")
    return target
