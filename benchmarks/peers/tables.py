# SPDX-License-Identifier: BSD-3-Clause
"""Tables from what was measured: shortest time among the settings that reached an accuracy, and the error they had."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.measure import Peer, quickest
from benchmarks.peers.problems import PROBLEMS, problem
from benchmarks.timing import short, table

PEERS = {
    "ours": Peer("`da.simulate`, whole call", "peers.ours"),
    "ours-inside": Peer("the integration inside it", "peers.ours", "inner_runs"),
    "numba": Peer("numba, by hand", "peers.numba_hand"),
    "heyoka": Peer("heyoka", "peers.heyoka_taylor"),
    "diffrax": Peer("JAX and diffrax, by hand", "peers.jax_diffrax"),
    "sympy": Peer("SymPy, `lambdify`, SciPy", "peers.sympy_lambdify"),
    "scipy": Peer("SciPy with `pinv`", "peers.scipy_pinv"),
    "sundials": Peer("SUNDIALS IDA", "peers.sundials"),
    "mujoco": Peer("MuJoCo", "peers.mujoco_model"),
    "exudyn": Peer("Exudyn", "peers.exudyn_model"),
    "pinocchio": Peer("Pinocchio, SciPy", "peers.pinocchio_model"),
}
TARGETS = (1e-4, 1e-6, 1e-8)
OURS = ("ours", "ours-inside")
LIMITS = ("numba", "heyoka")
"""The better of these is what others are compared with."""


def section(known: dict[str, Any]) -> str:
    machine = known["machine"]
    head = (
        "Each cell is the time of one motion on one core, in milliseconds, without compiling, for the fastest "
        "setting whose largest error of the final positions is below 1e-4, 1e-6 or 1e-8. Brackets hold the ratio "
        'to the better of numba and heyoka, and the error that was reached. The column "compiling" includes '
        "derivation but not imports; it belongs to the setting for 1e-8, or to the most accurate one.\n\n"
        "The exact final positions are known to 1e-12, from other coordinates or, for Andrews' mechanism, from a "
        "computation in 80 bits. The whole call of `da.simulate` checks its input and the initial state, keeps "
        "the motion on its constraints, and reports forces, multipliers and violations at both times; the "
        'integration inside it does what the loops of the others do, and projects. "numba, by hand" is a loop '
        "written for that one problem, without checks and without projection. Programs with bodies on joints "
        "(MuJoCo, Exudyn's tree, Pinocchio) have fewer coordinates. "
        f"`python -m benchmarks.peers`, {machine['date']}, {machine['processor']}, {machine['cores']} cores, Python "
        f"{machine['python']}, {machine['load']:.1f} other processes running: ratios of two and more are meaningful, "
        "milliseconds are not."
    )
    names = [name for name in PROBLEMS if name in known["found"]]
    parts = [_problem(name, known["found"][name]) for name in names]
    return "\n\n".join([head, _in_short({name: known["found"][name] for name in names}), *parts, _versions(known)])


def _in_short(found: dict[str, Any]) -> str:
    """Ratios alone: ours, and the best of all others but the two that they are ratios to."""
    rows = []
    for name, its in found.items():
        row = [problem(name).title.rsplit(",", 1)[0]]
        for target in TARGETS[1:]:
            limit = _limit(its, target)
            ours = [quickest(its.get(key, {}), target) for key in OURS]
            row += [f"×{short(s['seconds'] / limit)}" if s and limit else "–" for s in ours]
            others = {key: s for key in its if key not in (*OURS, *LIMITS) and (s := quickest(its[key], target))}
            best = min(others, key=lambda key: others[key]["seconds"], default=None)
            ratio = f"×{short(others[best]['seconds'] / limit)}, {PEERS[best].title}" if best and limit else "–"
            row.append(ratio)
        rows.append(row)
    columns = [f"{part}, {target:.0e}" for target in TARGETS[1:] for part in ("whole call", "integration", "next best")]
    return "Times over the better of numba by hand and heyoka:\n\n" + table(["", *columns], rows)


def _problem(name: str, found: dict[str, Any]) -> str:
    limits = [_limit(found, target) for target in TARGETS]
    rows, remarks = [], []
    for peer in (peer for peer in PEERS if peer in found):
        its = found[peer]
        if "cannot" in its or not any("error" in s for s in its["settings"]):
            reason = its.get("cannot") or its["ending"] or its["settings"][0].get("failed", "no answer")
            remarks.append(f"- {PEERS[peer].title}: {reason}.")
            continue
        cells = [_cell(quickest(its, target), limit) for target, limit in zip(TARGETS, limits, strict=True)]
        shown = quickest(its, TARGETS[-1]) or _most_accurate(its)
        if cells[-1] == "–":
            cells[-1] = f"– (reached {shown['error']:.0e})"
        rows.append([PEERS[peer].title, *cells, f"{shown['compile']:.2f}", shown["setting"]])
    head = ["", *(f"{target:.0e}" for target in TARGETS), "compiling, s", "setting"]
    return "\n\n".join(filter(None, [f"### {problem(name).title}", table(head, rows), "\n".join(remarks)]))


def _limit(found: dict[str, Any], target: float) -> float | None:
    times = [best["seconds"] for peer in LIMITS if (best := quickest(found.get(peer, {}), target))]
    return min(times) if times else None


def _most_accurate(found: dict[str, Any]) -> dict[str, Any]:
    return min((s for s in found["settings"] if "error" in s), key=lambda s: s["error"])


def _cell(best: dict[str, Any] | None, limit: float | None) -> str:
    if best is None:
        return "–"
    ratio = f"×{short(best['seconds'] / limit)}, " if limit else ""
    return f"{short(best['seconds'] * 1e3)} ({ratio}{best['error']:.0e})"


def _versions(known: dict[str, Any]) -> str:
    every: dict[str, str] = {}
    for peers in known["found"].values():
        for found in peers.values():
            every |= found.get("versions", {})
    return "Versions: " + ", ".join(f"{name} {number}" for name, number in sorted(every.items())) + "."
