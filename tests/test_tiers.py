"""The tiers of the tests: within `TURNS` turns every slow test is run, and the record of times is kept by file."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tiers

SLOW = ["tests/a.py::test_once", *(f"tests/a.py::test_law[{case}]" for case in range(40))]
QUICK = ["tests/a.py::test_quick", "tests/a.py::test_quick_law[3]"]


def items() -> list[Any]:
    def item(name: str) -> Any:
        return SimpleNamespace(nodeid=name, get_closest_marker=lambda _: name in SLOW or None)

    return [item(name) for name in SLOW + QUICK]


def run_in(turn: int) -> list[str]:
    left_out = [item.nodeid for item in tiers.others_turn(items(), turn)]
    return [item.nodeid for item in items() if item.nodeid not in left_out]


def test_examples_take_turns_and_all_other_tests_run_in_each() -> None:
    chosen = [run_in(turn) for turn in range(832, 832 + tiers.TURNS)]
    always = {SLOW[0], *QUICK}
    assert all(always <= set(names) for names in chosen)
    examples = [name for names in chosen for name in names if name not in always]
    assert sorted(examples) == sorted(SLOW[1:])  # each once
    assert all(len(names) < len(SLOW) for names in chosen)


def test_tests_of_one_case_have_the_same_turn() -> None:
    assert tiers.turn_of("tests/a.py::test_one[bicycle]") == tiers.turn_of("tests/b.py::test_other[bicycle]")
    assert tiers.turn_of("docs/large.md::large.md") is None


def test_times_that_were_not_measured_again_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "a.py").touch()
    monkeypatch.setattr(tiers, "RECORD", folder / "slow_tests.txt")
    before = {"tests/a.py::test_fast_now": 2.0, "tests/a.py::test_other[1 2]": 3.0, "tests/gone.py::test": 4.0}
    tiers.write_record(before)
    tiers.write_record(tiers.recorded() | {"tests/a.py::test_fast_now": 0.1, "tests/a.py::test_new": 1.26})
    assert tiers.recorded() == {"tests/a.py::test_other[1 2]": 3.0, "tests/a.py::test_new": 1.3}


def test_every_record_is_of_a_test_that_exists() -> None:
    """By the name of its function: a record of a test that was renamed says nothing."""
    root = tiers.RECORD.parents[1]
    for name in tiers.recorded():
        file, function = name.split("[")[0].split("::", 1)
        assert (root / file).exists(), name
        if file.startswith("tests/"):
            assert f"def {function.split('::')[-1]}(" in (root / file).read_text(encoding="utf-8"), name
