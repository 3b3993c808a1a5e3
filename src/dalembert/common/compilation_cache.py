# SPDX-License-Identifier: BSD-3-Clause
"""JAX's persistent compilation cache, which saves the second run of a program its compilations."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any


def keep_compiled_programs() -> None:
    """Let JAX, which must be imported, keep compiled programs in the user's cache folder.

    A cache folder that was set before, or a disabled cache, is left as it is.
    """
    config: Any = sys.modules["jax"].config  # its stubs do not declare the options
    if config.jax_compilation_cache_dir is not None or not config.jax_enable_compilation_cache:
        return
    folder = user_cache() / "dalembert" / "jax"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # without a writable home folder there is no cache, but everything else works
        return
    config.update("jax_compilation_cache_dir", str(folder))
    config.update("jax_persistent_cache_min_compile_time_secs", 0.2)


def user_cache() -> Path:
    """Return the user's cache folder by the convention of the operating system."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local")).expanduser()
    if sys.platform == "darwin":
        return Path("~/Library/Caches").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
