"""Most of the time of these tests is compiling: programs are optimised little, kept between runs, and shared."""

import gc
import os
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

# Read when JAX is imported. What is computed stays the same; `make demo` and `make bench` run what users run. Fusion
# emitters take more than half of the time of compiling; older versions of XLA end a process at a flag they do not know.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0"
    + " --xla_cpu_use_fusion_emitters=false" * (tuple(map(int, version("jaxlib").split(".")[:2])) >= (0, 10)),
)

# Read when SymPy is imported. Tests of one case come one after the other, and the usual cache of a thousand results
# is too small for them.
os.environ["SYMPY_CACHE_SIZE"] = "50000"

import jax
import pytest
import sympy  # noqa: F401, its cache must have been created before the variable is deleted
from hypothesis import settings

import dalembert as da
import machine_code_cache
import tiers
from dalembert.lowering.build import build
from dalembert.native import assembly

del os.environ["SYMPY_CACHE_SIZE"]  # processes that tests start are those of users

gc.disable()  # until all tests are collected: what modules define stays

AS_FOR_USERS = assembly.PASSES, assembly.SELECTION
OPTIMISED = (
    "tests/native/",
    "tests/gallery/test_gallery.py",
    "tests/laws/test_fuzz.py",
    "tests/ensembles/",
    "tests/runs/test_large_parity.py",
    "tests/export/test_c_file.py",
)
"""Where tests compare numbers of machine code with others: the slow ones run with code as users have it.

LLVM takes twice as long for it as for code that is not optimised, with which all other tests run."""

assembly.PASSES = assembly.SELECTION = 0
assembly.object_code = machine_code_cache.kept(assembly.object_code)

da.gallery.case = cache(da.gallery.case)  # cases are immutable, and each is used by some twenty tests

CACHE = Path(__file__).parent.parent / ".jax_cache"

jax.config.update("jax_compilation_cache_dir", str(CACHE))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # small programs are many: they take seconds too
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)

# The same examples in every run: a failure is one of the code, and can be repeated. `make fuzz` looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-times", action="store_true", help="write the tests that take long to tests/slow_tests.txt"
    )
    parser.addoption("--turn", type=int, help="of the slow tests with parameters, run those of this turn")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--record-times"):
        config.pluginmanager.register(tiers.Stopwatch())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of one case of the gallery come one after the other: what was compiled for one serves the next."""
    tiers.mark_slow(items)
    if config.getoption("--turn") is not None:
        left_out = set(tiers.others_turn(items, config.getoption("--turn")))
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]
    cases = {name: place for place, name in enumerate(da.gallery.names())}

    def place(item: pytest.Item) -> tuple[bool, int]:
        case = getattr(item, "callspec", None) and item.callspec.params.get("name")
        return _is_optimised(item), cases.get(case, -1)

    items.sort(key=place)


def _is_optimised(item: pytest.Item) -> bool:
    return item.nodeid.startswith(OPTIMISED) and item.get_closest_marker("slow") is not None


def pytest_runtest_setup(item: pytest.Item) -> None:
    wanted = AS_FOR_USERS if _is_optimised(item) else (0, 0)
    if wanted != (assembly.PASSES, assembly.SELECTION):
        assembly.PASSES, assembly.SELECTION = wanted
        build.cache_clear()  # what was compiled at the other level


def pytest_collection_finish() -> None:
    """Python's collector goes through all objects of SymPy and JAX again and again: for a seventh of the time."""
    gc.collect()
    gc.freeze()  # what there is now stays until the end
    gc.enable()
    gc.set_threshold(50_000, 20, 20)


MAPS = Path("/proc/self/maps")


@pytest.fixture(autouse=True, scope="module")
def _forget_compiled_programs() -> Iterator[None]:
    """Every program of JAX's takes some ten memory maps, and Linux gives a process 65530 before it lets it crash."""
    yield
    if MAPS.exists() and MAPS.read_text().count("\n") > 30_000:
        jax.clear_caches()
