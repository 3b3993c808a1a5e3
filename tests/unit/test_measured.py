"""What was measured and committed: no time without its error, its machine and its device."""

import json
from pathlib import Path

DATA = Path(__file__).parents[2] / "benchmarks" / "data" / "scaling.json"


def test_every_row_carries_its_error_and_its_machine() -> None:
    whole = json.loads(DATA.read_text(encoding="utf-8"))
    measured = [row for row in whole["rows"] if "seconds" in row]
    assert {row["kind"] for row in measured} == {"acceleration", "simulation", "members"}
    allowed = {"acceleration": 1e-14, "simulation": 1e-6, "members": 1e-8}
    for row in measured:
        assert row["error"] <= allowed[row["kind"]], row
        assert row["machine"] in whole["machines"] and row["device"] in ("cpu", "gpu"), row
    for row in whole["rows"]:
        assert "seconds" in row or "skipped" in row or row["kind"] == "switch", row
