"""Processor time of every test, the tests that are left to ``make test-slow``, and those of them that take turns.

``make test`` must answer within minutes. Which tests take long is measured, not guessed: ``make test-times`` runs all
of them and writes those above `LIMIT` to ``slow_tests.txt``. A test that is not listed there belongs to ``make test``,
unless it is marked in the source because it guards against something rare.

``.ci/run`` runs ``make test`` and ``make test-slow TURN=k``: all slow tests without parameters, and of those with
parameters, which prove one law on many examples, the ones whose turn it is. ``make test-all`` runs every test.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from zlib import crc32

import pytest

LIMIT = 0.8
"""Seconds of processor time, those of subprocesses included, above which a test is left to ``make test-slow``."""

TURNS = 4
"""A slow test with parameters is run by one of so many successive turns of ``make test-slow TURN=k``."""

RECORD = Path(__file__).parent / "slow_tests.txt"
PROPERTY = "processor_time"


def processor_time() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def recorded() -> dict[str, float]:
    """Names of the tests that were measured to take long, with their seconds."""
    lines = RECORD.read_text(encoding="utf-8").splitlines() if RECORD.exists() else []
    pairs = (line.split(" ", 1) for line in lines)
    return {name: float(spent) for spent, name in pairs}


def mark_slow(items: list[pytest.Item]) -> None:
    """Mark the tests of the record as slow."""
    slow = recorded()
    for item in items:
        if item.nodeid in slow:
            item.add_marker(pytest.mark.slow)


def turn_of(name: str) -> int | None:
    """Return the turn in which a slow test is run, or None if it is run in each.

    The turn follows from the parameters alone: tests of one case share what is compiled for it, and a test keeps its
    turn when others are added.
    """
    _, bracket, parameters = name.partition("[")
    return crc32(parameters.encode()) % TURNS if bracket else None


def others_turn(items: list[pytest.Item], turn: int) -> list[pytest.Item]:
    """Return the slow tests that are left out because it is not their turn."""
    slow = (item for item in items if item.get_closest_marker("slow"))
    return [item for item in slow if turn_of(item.nodeid) not in (None, turn % TURNS)]


class Stopwatch:
    """A plugin that measures tests in every worker, and writes the record when the run ends."""

    def __init__(self) -> None:
        self.began = 0.0
        self.times: dict[str, float] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self.began = processor_time()  # before fixtures: what is compiled for them counts too

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append((PROPERTY, processor_time() - self.began))  # pytest-xdist sends them along
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self.times[report.nodeid] = dict(report.user_properties)[PROPERTY]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the record, in the process that has the reports of all workers."""
        if hasattr(session.config, "workerinput"):
            return
        write_record(recorded() | self.times)


def write_record(times: dict[str, float]) -> None:
    """Write the tests above the limit; tests that were not measured now keep their times while their file exists."""
    root = RECORD.parents[1]
    slow = sorted(
        (name, spent) for name, spent in times.items() if spent >= LIMIT and (root / name.split("::")[0]).exists()
    )
    RECORD.write_text("".join(f"{spent:.1f} {name}\n" for name, spent in slow), encoding="utf-8")
