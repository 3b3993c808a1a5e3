"""Most of the time of these tests is compiling: programs are optimised little, kept between runs, and shared."""

import os
from collections.abc import Iterator
from pathlib import Path

# Read when JAX is imported. What is computed stays the same; `make demo` and `make bench` run what users run.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

import jax
import pytest

CACHE = Path(__file__).parent.parent / ".jax_cache"

jax.config.update("jax_compilation_cache_dir", str(CACHE))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


MAPS = Path("/proc/self/maps")


@pytest.fixture(autouse=True, scope="module")
def _forget_compiled_programs() -> Iterator[None]:
    """Every program of JAX's takes some ten memory maps, and Linux gives a process 65530 before it lets it crash."""
    yield
    if MAPS.exists() and MAPS.read_text().count("\n") > 30_000:
        jax.clear_caches()
