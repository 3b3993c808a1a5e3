"""Most of the time of these tests is compiling: programs are optimised little, kept between runs, and shared."""

import os
from collections.abc import Iterator
from pathlib import Path

# Read when JAX is imported. What is computed stays the same; `make demo` and `make bench` run what users run.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

import jax
import pytest
from hypothesis import settings

CACHE = Path(__file__).parent.parent / ".jax_cache"

jax.config.update("jax_compilation_cache_dir", str(CACHE))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # small programs are many: they take seconds too
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

# The same examples in every run: a failure is one of the code, and can be repeated. `make fuzz` looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


MAPS = Path("/proc/self/maps")


@pytest.fixture(autouse=True, scope="module")
def _forget_compiled_programs() -> Iterator[None]:
    """Every program of JAX's takes some ten memory maps, and Linux gives a process 65530 before it lets it crash."""
    yield
    if MAPS.exists() and MAPS.read_text().count("\n") > 30_000:
        jax.clear_caches()
