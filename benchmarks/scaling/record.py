# SPDX-License-Identifier: BSD-3-Clause
"""Measured rows as data: each says what was measured, by which program, on which machine and device."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data" / "scaling.json"

LOAD = os.getloadavg()[0]
"""The load of the machine by other processes before anything was measured."""

Row = dict[str, Any]


def read() -> dict[str, Any]:
    """``machines`` by name, and ``rows``."""
    return json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {"machines": {}, "rows": []}


def rows_of(kind: str, device: str | None = None) -> list[Row]:
    """The rows of one kind that were measured."""
    return [row for row in read()["rows"] if row["kind"] == kind and device in (None, row["device"])]


def complete() -> bool:
    """Return whether there is something of every kind, to be drawn and described."""
    return all(map(rows_of, ("acceleration", "simulation", "derivative", "members")))


def keep(kind: str, device: str, rows: list[Row]) -> None:
    """Put rows in place of those of the same kind and device."""
    whole = read()
    name, facts = machine(device)
    others = [row for row in whole["rows"] if (row["kind"], row["device"]) != (kind, device)]
    whole["rows"] = others + [{"kind": kind, "device": device, "machine": name, **_rounded(row)} for row in rows]
    used = {row["machine"] for row in whole["rows"]}
    whole["machines"] = {key: value for key, value in (whole["machines"] | {name: facts}).items() if key in used}
    DATA.parent.mkdir(exist_ok=True)
    lines = ",\n".join(f"  {json.dumps(row)}" for row in whole["rows"])  # a row a line: differences can be read
    head = json.dumps(whole["machines"], indent=1)
    DATA.write_text(f'{{"machines": {head},\n "rows": [\n{lines}\n]}}\n', encoding="utf-8")


def _rounded(row: Row) -> Row:
    """Digits beyond the fourth are the weather's."""
    return {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in row.items()}


def machine(device: str) -> tuple[str, dict[str, Any]]:
    """The name of what runs it, and what else matters."""
    packages = ("numpy", "scipy", "sympy", "jax", "diffrax", "llvmlite")
    facts = {
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
        "measured": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "load": round(LOAD, 2),
    }
    if device == "cpu":
        return f"{_processor()}, {os.cpu_count()} cores", facts
    asked = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()[0], facts


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
