# SPDX-License-Identifier: BSD-3-Clause
"""Large systems: time to state, to first answer, per acceleration and per simulated second, and memory.

``python -m benchmarks.large`` prints the table; ``python -m benchmarks.large net 50`` measures one case.

Every case runs in a process of its own, so that memory and first calls are its own. ``pip install qdldl`` adds the
column of QDLDL, which factors the same matrix and solves with it.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np

import dalembert as da
from benchmarks.large_systems import Case, bodies, chain, net, truss
from benchmarks.timing import best, short, table, timed
from dalembert.lowering.large_system import compiled

KINDS = {"chain": chain, "net": net, "truss": truss, "bodies": bodies}
SIZES = {
    "chain": [200, 400, 1000, 10_000, 100_000],
    "net": [20, 50, 100, 224],
    "truss": [100, 1000, 10_000],
    "bodies": [40, 100, 1000, 10_000],
}
MANY, SPANS = 30_000, (0.5, 0.02)
"""Simulated seconds of systems of up to so many constraints, and of larger ones."""

REGULARISATION = 1e-6
"""Added to the diagonal for QDLDL, which refuses the singular matrix of redundant constraints."""


def measure(kind: str, size: int, *, simulates: bool) -> dict[str, Any]:
    """Measure one case."""
    stating, case = timed(lambda: KINDS[kind](size))
    first, answer = timed(lambda: da.motion(case.system, case.q, case.qd))
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
    if simulates:
        found |= _simulation(case, SPANS[found["constraints"] > MANY])
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return found


def _accelerations(case: Case) -> dict[str, float]:
    """Seconds for one acceleration, and for QDLDL's factors and solution of the same matrix."""
    from dalembert.integration.sparse_motion import acceleration

    templates = case.system.templates
    if templates is None:
        return {}
    dynamics = compiled(templates)
    code, numbers = dynamics.code, dynamics.numbers(templates.values(None))

    # off the start: there many entries of S are zero by symmetry, and QDLDL would not see them
    q = case.q + 0.1 * np.random.default_rng(0).normal(size=len(case.q))

    def accelerate() -> None:
        code.evaluate(q, case.qd, 0.0, numbers)
        code.factor()
        acceleration(dynamics, None)

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
    seconds, run = timed(lambda: da.simulate(case.system, case.q, case.qd, [0.0, span], rtol=1e-6))
    lengths = float(np.abs(run.violation).max())
    return {"simulated": seconds / span, "steps": run.statistics["steps"], "violation": lengths}


def report(cases: list[dict[str, Any]]) -> str:
    """Return all measurements as a table, with the slopes of times against the number of constraints."""
    head = ["case", "constraints", "rank", "state", "first answer", "acceleration", "QDLDL alone", "Thomas (LAPACK)"]
    head += ["per simulated second", "violation", "memory"]
    rows = [
        [
            f"{c['kind']} {c['size']}",
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
    return "\n\n".join([table(head, rows), *(_slopes(kind, cases) for kind in KINDS)])


def _slopes(kind: str, cases: list[dict[str, Any]]) -> str:
    own = [c for c in cases if c["kind"] == kind and "acceleration" in c]
    if len(own) < 2:
        return ""
    sizes = np.log([c["constraints"] for c in own])
    slopes = {k: np.polyfit(sizes, np.log([c[k] for c in own]), 1)[0] for k in ("first", "acceleration")}
    return f"{kind}: first answer ~ size^{slopes['first']:.2f}, acceleration ~ size^{slopes['acceleration']:.2f}."


def main() -> None:
    if len(sys.argv) > 2:
        kind, size = sys.argv[1], int(sys.argv[2])
        print(json.dumps(measure(kind, size, simulates="--no-run" not in sys.argv)))
        return
    cases: list[dict[str, Any]] = []
    for kind, sizes in SIZES.items():
        for size in sizes if len(sys.argv) < 2 or kind in sys.argv else []:
            command = [sys.executable, "-m", "benchmarks.large", kind, str(size)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{kind} {size} failed: {done.stderr[-500:]}", file=sys.stderr)
                continue
            cases.append(json.loads(done.stdout))
            print(json.dumps(cases[-1]), file=sys.stderr)
    print(report(cases))


if __name__ == "__main__":
    main()
