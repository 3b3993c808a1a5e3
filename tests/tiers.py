"""Processor time of every test, and the tests that are left to ``make test-slow`` because they take long.

``make test`` must answer within minutes. Which tests take long is measured, not guessed: ``make test-times`` runs all
of them and writes those above `LIMIT` to ``slow_tests.txt``. A test that is not listed there belongs to ``make test``,
unless it is marked in the source because it guards against something rare. ``.ci/run`` runs both.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

LIMIT = 0.8
"""Seconds of processor time, those of subprocesses included, above which a test is left to ``make test-slow``."""

RECORD = Path(__file__).parent / "slow_tests.txt"
PROPERTY = "processor_time"


def processor_time() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def recorded() -> set[str]:
    """Names of the tests that were measured to take long."""
    lines = RECORD.read_text(encoding="utf-8").splitlines() if RECORD.exists() else []
    return {line.split(" ", 1)[1] for line in lines}


def mark_slow(items: list[pytest.Item]) -> None:
    """Mark the tests of the record as slow."""
    slow = recorded()
    for item in items:
        if item.nodeid in slow:
            item.add_marker(pytest.mark.slow)


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
        slow = sorted((name, spent) for name, spent in self.times.items() if spent > LIMIT)
        RECORD.write_text("".join(f"{spent:.1f} {name}\n" for name, spent in slow), encoding="utf-8")
