"""What was measured and committed: no time without its error, its machine and its device; switches at the crossings."""

import json
from pathlib import Path

import pytest
from benchmarks.scaling.sizes import crossing, thousand

from dalembert.lowering import build

DATA = Path(__file__).parents[2] / "benchmarks" / "data" / "scaling.json"
ROWS = json.loads(DATA.read_text(encoding="utf-8"))["rows"]


def test_every_row_carries_its_error_and_its_machine() -> None:
    machines = json.loads(DATA.read_text(encoding="utf-8"))["machines"]
    measured = [row for row in ROWS if "seconds" in row]
    allowed = {"acceleration": 1e-14, "simulation": 1e-6, "derivative": 1e-6, "members": 1e-8}
    assert {row["kind"] for row in measured} == {*allowed}
    for row in measured:
        assert row["error"] <= allowed[row["kind"]], row
        assert row["machine"] in machines and row["device"] in ("cpu", "gpu"), row
    for row in ROWS:
        assert "seconds" in row or "skipped" in row or row["kind"] == "switch", row


@pytest.mark.parametrize(
    ("kind", "limit"), [("simulation", build.STRAIGHT_LINE_LIMIT), ("derivative", build.DIFFERENTIATED_LIMIT)]
)
def test_the_switches_sit_where_a_thousand_runs_cost_the_same(kind: str, limit: int) -> None:
    (switch,) = (row for row in ROWS if row["kind"] == "switch" and row["of"] == kind)
    assert switch["operations"] == limit, "measure anew: python -m benchmarks.scaling"
    rows = [row for row in ROWS if row["kind"] == kind]
    found = crossing(rows, thousand)
    assert found is not None and switch["n"] <= found <= switch["n"] + 2
