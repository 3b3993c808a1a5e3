# SPDX-License-Identifier: BSD-3-Clause
"""One table of all ways to simulate many members on a GPU, written as JSON and into the documentation."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.document_sections import replace_section
from benchmarks.gpu import reference
from benchmarks.gpu.gpu_problems import named
from benchmarks.gpu.table_rows import line, markdown
from benchmarks.gpu.worker import MARK, WAYS

DATA = Path(__file__).parents[1] / "data"
WRONG, FAR_OFF = 1e-9, 1e-2
"""No rate is given for a way that ends so far off the same steps, or so far off the motion."""


def rows_of(program: str, seconds: float, rehearse: bool) -> Iterator[dict[str, Any]]:
    """Return the output of a worker, within a time limit."""
    command = [sys.executable, "-m", "benchmarks.gpu.worker", program, *(["rehearse"] if rehearse else [])]
    environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "PYTHONUNBUFFERED": "1"}
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    stop = threading.Timer(seconds, worker.kill)
    stop.start()
    said: list[str] = []
    assert worker.stdout is not None
    for text in worker.stdout:
        if text.startswith(MARK):
            yield json.loads(text[len(MARK) :])
        else:
            said.append(text)
    stop.cancel()
    if worker.wait():
        cut = f"stopped after {seconds:.0f} s" if worker.returncode == -9 else "".join(said)[-1000:]
        yield {"program": program, "problem": "", "members": 0, "failed": cut}


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its rate, in steps or motions per second, and its errors in place of the ends of its members."""
    if "failed" in row:
        return row
    ends, steps = np.array(row.pop("ends")), row["steps"]
    found = list(zip(row.pop("checked"), ends, strict=True))
    row["rate"] = (1 if row.get("adaptive") else steps) * row["members"] / row["seconds"]
    row["error"] = max(float(np.abs(end - reference.converged(row["problem"], i, steps)).max()) for i, end in found)
    if named(row["problem"]).by_hand and not (row.get("adaptive") or row.get("other_steps")):
        row["rounding"] = max(
            float(np.abs(end - reference.same_steps(row["problem"], i, steps, row.get("projected", False))).max())
            for i, end in found
        )
    if row.get("rounding", 0.0) > WRONG or not row["error"] < FAR_OFF:
        row["failed"] = f"off the same steps by {row.get('rounding')}, off the motion by {row['error']}"
        del row["rate"]
    return row


def about() -> dict[str, Any]:
    """The machine and the versions."""
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        gpu = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        gpu = "none"
    versions = {}
    for name in ("jax", "jaxlib", "numpy", "mujoco", "mujoco-mjx", "llvmlite"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = getattr(sys.modules.get(name), "__version__", "not there")
    return {"gpu": gpu, "python": sys.version.split()[0], "versions": versions, "date": time.strftime("%Y-%m-%d")}


def measured(programs: list[str], budget: float, limit: float, rehearse: bool) -> dict[str, Any]:
    """Everything, each way in a process of its own, one after the other."""
    began, rows, machine = time.perf_counter(), [], about()
    print(machine, flush=True)
    for way in programs:
        left = budget - (time.perf_counter() - began)
        if left < 15:
            print(f"{way}: no time left", flush=True)
            continue
        for row in rows_of(way, min(left, limit), rehearse):
            rows.append(judged(row))
            print(f"{time.perf_counter() - began:5.0f} s  {line(rows[-1], rows)}", flush=True)
    return {**machine, "rows": rows}


def write(outputs: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gpu.json").write_text(json.dumps(outputs, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--output", type=Path, help="folder for gpu.json alone, where the documentation is not at hand")
    parser.add_argument("--from", type=Path, dest="source", help="a gpu.json measured elsewhere: only write it down")
    parser.add_argument("--only", nargs="+", default=list(WAYS), choices=list(WAYS), metavar="WAY", help=str([*WAYS]))
    parser.add_argument("--budget", type=float, default=300.0, help="seconds for all")
    parser.add_argument("--limit", type=float, default=90.0, help="seconds for one way")
    parser.add_argument("--rehearse", action="store_true", help="small, and on a CPU: only to try the table out")
    asked = parser.parse_args()
    if asked.source:
        outputs = json.loads(asked.source.read_text(encoding="utf-8"))
    else:
        outputs = measured(asked.only, asked.budget, asked.limit, asked.rehearse)
    print(markdown(outputs))
    if asked.output:
        write(outputs, asked.output)
    elif not asked.rehearse:
        write(outputs, DATA)
        replace_section("gpu", markdown(outputs))


if __name__ == "__main__":
    main()
