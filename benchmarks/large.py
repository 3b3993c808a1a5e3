# SPDX-License-Identifier: BSD-3-Clause
"""Large systems: time to state, to first answer, per acceleration and per simulated second, and memory.

``python -m benchmarks.large`` measures all cases and writes the table and the figure of ``docs/large.md``; with ``net``
it measures one kind again and keeps the other rows, and with ``net 50`` it prints one case.

Every case runs in a process of its own, so that memory and first calls are its own. All times are CPU seconds, which
depend less on other processes. ``pip install qdldl`` adds the column of
QDLDL, which factors the same matrix and solves with it.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from benchmarks.document import replace_section
from benchmarks.large_systems import Case, bodies, chain, net, truss
from benchmarks.large_timing import best, in_cpu_time
from benchmarks.timing import short, table
from dalembert.lowering.large_system import compiled

KINDS = {"chain": chain, "net": net, "truss": truss, "bodies": bodies}
SIZES = {
    "chain": [200, 400, 1000, 10_000, 100_000],
    "net": [20, 50, 100, 224],
    "truss": [100, 1000, 10_000],
    "bodies": [40, 100, 1000],
}
MOST_SIMULATED, SPAN = 6000, 0.1
"""Largest number of constraints of systems that are simulated, and for how many seconds."""

DATA = Path(__file__).parent / "large.json"
DOCS = Path(__file__).parents[1] / "docs"

REGULARISATION = 1e-6
"""Added to the diagonal for QDLDL, which refuses the singular matrix of redundant constraints."""


def measure(kind: str, size: int, *, simulates: bool) -> dict[str, Any]:
    """Measure one case."""
    stating, case = in_cpu_time(lambda: KINDS[kind](size))
    first, answer = in_cpu_time(lambda: da.motion(case.system, case.q, case.qd))
    found = {
        "kind": kind,
        "size": size,
        "coordinates": len(case.q),
        "constraints": len(answer.multipliers),
        "rank": int(answer.rank),
        "state": stating,
        "first": stating + first,
        "residual": float(answer.residual),
        **_accelerations(case),
    }
    if simulates and found["constraints"] <= MOST_SIMULATED:
        found |= _simulation(case, SPAN)
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return found


def evaluation(case: Case) -> Callable[[], None] | None:
    """Return a function that computes the acceleration at one state; None for systems in straight-line code."""
    from dalembert.integration.sparse_motion import acceleration

    templates = case.system.templates
    if templates is None:
        return None
    dynamics = compiled(templates)
    code, numbers = dynamics.code, dynamics.numbers(templates.values(None))

    # off the start: there many entries of S are zero by symmetry, and QDLDL would not see them
    q = case.q + 0.1 * np.random.default_rng(0).normal(size=len(case.q))

    def accelerate() -> None:
        code.evaluate(q, case.qd, 0.0, numbers)
        code.factor()
        acceleration(dynamics, None)

    return accelerate


def _accelerations(case: Case) -> dict[str, float]:
    """Seconds for one acceleration, and for QDLDL's factors and solution of the same matrix."""
    accelerate, templates = evaluation(case), case.system.templates
    if accelerate is None or templates is None:
        return {}
    code = compiled(templates).code
    found = {"acceleration": best(accelerate), "factor": best(code.factor), "entries": code.elimination.entries}
    if find_spec("qdldl"):
        found["qdldl"] = _qdldl(code)
    if len(case.q) == 2 * code.m and code.mass.is_diagonal:
        found["thomas"] = _thomas(code)
    return found


def _qdldl(code: Any) -> float:
    import qdldl
    from scipy.sparse import csc_matrix

    half = code.half
    values = code.terms[half.places] * np.sqrt(code.mass.weights[half.columns])
    B = csc_matrix((values, (half.rows, half.columns)), shape=(code.m, code.n))
    S = csc_matrix(B @ B.T)
    if code.elimination.left_out.any():
        S.setdiag(S.diagonal() * (1 + REGULARISATION))
    right = code.rhs
    solver = qdldl.Solver(S)

    def solve() -> None:
        solver.update(S)
        solver.solve(right)

    return best(solve)


def _thomas(code: Any) -> float:
    from scipy.linalg.lapack import dptsv

    S = (code.A.multiply(code.mass.weights) @ code.A.T).tocsr()
    diagonal, beside, right = S.diagonal(), S.diagonal(1), code.rhs
    return best(lambda: dptsv(diagonal, beside, right))


def _simulation(case: Case, span: float) -> dict[str, float]:
    seconds, run = in_cpu_time(lambda: da.simulate(case.system, case.q, case.qd, [0.0, span], rtol=1e-6))
    lengths = float(np.abs(run.violation).max())
    return {"simulated": seconds / span, "steps": run.statistics["steps"], "violation": lengths}


def report(cases: list[dict[str, Any]]) -> str:
    """Return all measurements as a table, with the slopes of times against the number of constraints."""
    head = ["case", "constraints", "rank", "state", "first answer", "acceleration", "QDLDL alone", "Thomas (LAPACK)"]
    head += ["per simulated second", "violation", "memory"]
    rows = [
        [
            f"{c['kind']} {c['size']}" + ("²" if c["kind"] == "net" else ""),
            f"{c['constraints']}",
            f"{c['rank']}",
            f"{short(c['state'])} s",
            f"{short(c['first'])} s",
            *(f"{short(1e3 * c[k])} ms" if k in c else "–" for k in ("acceleration", "qdldl", "thomas")),
            f"{short(c['simulated'])} s" if "simulated" in c else "–",
            f"{c['violation']:.0e}" if "violation" in c else "–",
            f"{c['memory']:.0f} MB",
        ]
        for c in cases
    ]
    fitted = " ".join(_slopes(kind, cases) for kind in KINDS)
    return f"{table(head, rows)}\n\nFitted between the two largest sizes: {fitted}\n\n{FIGURE}"


FIGURE = (
    "![CPU seconds to the first answer, and of one acceleration, against the number of constraints](figures/large.png)"
)


def _slopes(kind: str, cases: list[dict[str, Any]]) -> str:
    own = [c for c in cases if c["kind"] == kind and "acceleration" in c][-2:]
    if len(own) < 2:
        return ""
    sizes = np.log([c["constraints"] for c in own])
    slopes = {k: np.polyfit(sizes, np.log([c[k] for c in own]), 1)[0] for k in ("first", "acceleration")}
    return f"{kind}: first answer ~ size^{slopes['first']:.2f}, acceleration ~ size^{slopes['acceleration']:.2f}."


def draw(cases: list[dict[str, Any]]) -> None:
    """Draw first answers and accelerations against the number of constraints."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.8, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    colours = dict(zip(KINDS, ("#0072B2", "#009E73", "#D55E00", "#CC79A7"), strict=True))
    for axes, key, what in (
        (panels[0], "first", "first answer, CPU s"),
        (panels[1], "acceleration", "acceleration, s"),
    ):
        for kind, colour in colours.items():
            own = [(c["constraints"], c[key]) for c in cases if c["kind"] == kind and key in c]
            axes.loglog(*zip(*own, strict=True), "o-", color=colour, label=kind, markersize=4)
        if key == "acceleration":
            for kind, colour in colours.items():
                own = [(c["constraints"], c["qdldl"]) for c in cases if c["kind"] == kind and "qdldl" in c]
                axes.loglog(*zip(*own, strict=True), "x:", color=colour, markersize=5) if own else None
            axes.plot([], [], "kx:", label="QDLDL alone")
        axes.set_xlabel("constraints")
        axes.set_ylabel(what)
        axes.grid(color="#e6e6e6", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    figure.savefig(DOCS / "figures" / "large.png", dpi=110)


def write(cases: list[dict[str, Any]]) -> None:
    """Keep the measurements, and write the table and the figure of the documentation."""
    order = {(kind, size): i for i, (kind, size) in enumerate((k, s) for k, sizes in SIZES.items() for s in sizes)}
    cases.sort(key=lambda c: order.get((c["kind"], c["size"]), len(order)))
    DATA.write_text("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n", encoding="utf-8")
    replace_section("large", report(cases), DOCS / "large.md")
    draw(cases)


def main() -> None:
    if len(sys.argv) > 2:
        kind, size = sys.argv[1], int(sys.argv[2])
        print(json.dumps(measure(kind, size, simulates="--no-run" not in sys.argv)))
        return
    known = json.loads(DATA.read_text()) if DATA.exists() else []
    cases = {(c["kind"], c["size"]): c for c in known}
    for kind, sizes in SIZES.items():
        for size in sizes if len(sys.argv) < 2 or kind in sys.argv else []:
            command = [sys.executable, "-m", "benchmarks.large", kind, str(size)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{kind} {size} failed: {done.stderr[-500:]}", file=sys.stderr)
                continue
            cases[kind, size] = json.loads(done.stdout)
            print(done.stdout.strip(), file=sys.stderr)
            write(list(cases.values()))


if __name__ == "__main__":
    main()
