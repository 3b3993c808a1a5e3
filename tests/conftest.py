"""Most of the time of these tests is compiling: programs are optimised little, kept between runs, and shared."""

import os
from pathlib import Path

# Read when JAX is imported. What is computed stays the same; `make demo` and `make bench` run what users run.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

import jax

CACHE = Path(__file__).parent.parent / ".jax_cache"

jax.config.update("jax_compilation_cache_dir", str(CACHE))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
