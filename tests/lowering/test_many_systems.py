"""Many different systems in one process: what is compiled for one goes with it."""

import gc
import inspect
from collections.abc import Callable
from pathlib import Path

import diffrax
import numpy as np
import pytest
import sympy as sp
from llvmlite import ir

import dalembert as da
from dalembert.integration import compiled
from dalembert.lowering.build import build
from dalembert.native import assembly
from dalembert.native.assembly import STRAIGHT_LINE, MachineCode
from many_systems import memory

MAPS = Path("/proc/self/maps")
x, y = da.coordinates("x y")


def pendulum(k: int) -> da.System:
    """Pendulums that differ by one constant."""
    rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    return da.System((x, y), sp.eye(2), (0, -9.81 - k / 1024), rod, nonideal=da.Viscous(0.1))


START = ((1, 0), (0, 0))
WAYS: dict[str, tuple[Callable[[da.System], object], int]] = {
    "simulate": (lambda s: da.simulate(s, *START, [0, 0.1]), 20),
    "ensemble": (lambda s: da.simulate_ensemble(s, np.ones((3, 1)) * START[0], START[1], [0, 0.1]), 10),
    "ledger": (lambda s: da.simulate(s, *START, [0, 0.1]).ledger(), 10),
    "motion": (lambda s: da.motion(s, *START), 10),
    "diffrax": (lambda s: compute_by_diffrax(s), 3),
}


def compute_by_diffrax(system: da.System) -> np.ndarray:
    return da.simulate(system, *START, [0, 0.1], solver=diffrax.Tsit5()).q


def maps() -> int:
    build.cache_clear()
    gc.collect()
    return MAPS.read_text().count("\n")


@pytest.mark.slow
@pytest.mark.skipif(not MAPS.exists(), reason="memory maps are counted as Linux shows them")
@pytest.mark.parametrize("way", WAYS)
def test_memory_maps_do_not_grow(way: str) -> None:
    """Linux gives a process 65 530; a program of JAX's takes ten and more, a system took up to 500 of them for good."""
    compute, count = WAYS[way]
    for k in range(2):
        compute(pendulum(1000 + k))
    before = maps()
    for k in range(count):
        compute(pendulum(k))
    assert maps() - before <= count  # less than one for each system


@pytest.mark.skipif(not MAPS.exists(), reason="memory maps are counted as Linux shows them")
def test_programs_of_other_systems_are_dropped_at_many_memory_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty systems by two solvers of diffrax would take all maps of a process, though only 64 systems are kept."""
    monkeypatch.setattr(compiled, "MOST_MAPS", 0)
    first, second = pendulum(1), pendulum(2)
    before = compute_by_diffrax(first)
    assert build(first).programs
    compute_by_diffrax(second)
    assert build(second).programs and not build(first).programs
    assert np.array_equal(compute_by_diffrax(first), before)  # compiled again


@pytest.mark.skipif(not MAPS.exists(), reason="resident memory is read as Linux shows it")
def test_compiling_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """llvmlite keeps LLVM's passes, 60 kB for every module, unless they are freed."""
    rounds = 150
    monkeypatch.setattr(assembly, "object_code", inspect.unwrap(assembly.object_code))  # without the cache of the tests
    monkeypatch.setattr(assembly, "PASSES", 1)  # at level 0 there are hardly any

    def compile_nothing() -> None:
        module = ir.Module()
        function = ir.Function(module, STRAIGHT_LINE, "nothing")
        ir.IRBuilder(function.append_basic_block()).ret_void()
        MachineCode(module)

    for _ in range(30):
        compile_nothing()
    before = memory(0).megabytes
    for _ in range(rounds):
        compile_nothing()
    assert memory(rounds).megabytes - before < 0.02 * rounds
