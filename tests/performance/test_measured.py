"""Committed measurements: no time without its error, its machine and its device."""

import json
from pathlib import Path

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
        assert "seconds" in row or "skipped" in row, row
