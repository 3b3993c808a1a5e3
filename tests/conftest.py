"""Compiled programs are kept between runs and shared between workers: most of the time of these tests is compiling."""

from pathlib import Path

import jax

CACHE = Path(__file__).parent.parent / ".jax_cache"

jax.config.update("jax_compilation_cache_dir", str(CACHE))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
