# SPDX-License-Identifier: BSD-3-Clause
"""Where compiled programs are kept, so that the second run of a program is quick from the start."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any


def keep_compiled_programs() -> None:
    """Let JAX, which must be imported, keep compiled programs in the user's cache folder.

    Unless another place, or none, was chosen already.
    """
    config: Any = sys.modules["jax"].config  # its options are attributes that no stub knows
    if config.jax_compilation_cache_dir is not None or not config.jax_enable_compilation_cache:
        return
    folder = user_cache() / "dalembert" / "jax"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a home that cannot be written to is no reason not to compute
        return
    config.update("jax_compilation_cache_dir", str(folder))
    config.update("jax_persistent_cache_min_compile_time_secs", 0.2)


def user_cache() -> Path:
    """The folder for what can be made anew, by the custom of the operating system."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local")).expanduser()
    if sys.platform == "darwin":
        return Path("~/Library/Caches").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
