"""Symbolic work with a time limit: it ends, in any thread, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import threading
import time

import mpmath
import pytest
import sympy as sp

from dalembert.analysis.bounded import SymbolicLimitError, bounded, budget, short
from helpers import PATIENCE


def endless() -> None:
    while True:
        with contextlib.suppress(Exception):  # as SymPy does
            sum(range(100))


def test_work_that_ends_is_returned() -> None:
    x = sp.Symbol("x")
    assert bounded(lambda: sp.factor(x**2 - 1)) == (x - 1) * (x + 1)


def test_endless_work_ends_and_the_precision_is_restored() -> None:
    def precise() -> None:
        mpmath.mp.dps = 77
        endless()

    before = mpmath.mp.prec
    with pytest.raises(SymbolicLimitError, match=r"it would take longer than 0\.1 s"):
        bounded(precise, 0.1)
    assert mpmath.mp.prec == before and gc.isenabled()
    for _ in range(100):  # and nothing is raised later
        sum(range(10_000))
    time.sleep(0.2)


def test_a_hard_factorization_ends() -> None:
    x = sp.symbols("x:5")
    product = sp.expand((sum(x) + sp.Rational(53, 100)) ** 4 * (x[0] - x[1] * x[2] + 3) ** 4 + 1)
    with pytest.raises(SymbolicLimitError):
        bounded(lambda: sp.factor(product), 0.1)


def test_other_threads_have_the_same_limit() -> None:
    said: list[str] = []

    def work() -> None:
        try:
            bounded(endless, 0.1)
        except SymbolicLimitError as trouble:
            said.append(str(trouble))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert said == ["it would take longer than 0.1 s"] * 3


def test_a_limit_within_a_limit() -> None:
    ends: list[str] = []

    def outer() -> None:
        for _ in range(2):
            try:
                bounded(endless, 0.1)
            except SymbolicLimitError as trouble:
                ends.append(str(trouble))
        endless()

    with pytest.raises(SymbolicLimitError, match=r"longer than 0\.4 s"):
        bounded(outer, 0.4)
    assert len(ends) == 2


def test_a_budget_is_shared() -> None:
    with budget(0.1):
        with pytest.raises(SymbolicLimitError, match="longer than"):
            bounded(endless)
        with pytest.raises(SymbolicLimitError, match="the time for symbolic work is used up"):
            bounded(lambda: 1)
    assert bounded(lambda: 1) == 1


def test_errors_of_sympy_are_a_reason() -> None:
    x = sp.Symbol("x")
    with pytest.raises(SymbolicLimitError, match=r"SymPy fails \(PolynomialError\)"):
        bounded(lambda: sp.Poly(1 / x + sp.sin(x), x))


def test_size_is_a_reason() -> None:
    x = sp.Symbol("x")
    short(3, x + 1)
    with pytest.raises(SymbolicLimitError, match="more than 3 operations"):
        short(3, sp.sin(x) + x**2 + 1)


def test_interrupts_pass_through_and_end_the_watch() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    count = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        bounded(interrupted, 0.05)
    start = time.process_time()
    while time.process_time() < start + 0.2:
        sum(range(1000))
    time.sleep(0.3)
    assert threading.active_count() <= count


def test_a_profiler_or_a_debugger_may_run_beside() -> None:
    """In another process, since CPython would wait forever."""
    program = """
import cProfile
from dalembert.analysis.bounded import bounded
with cProfile.Profile():
    for _ in range(3):
        bounded(lambda: sum(range(10)))
        (lambda: None)()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE)
