# SPDX-License-Identifier: BSD-3-Clause
"""Cost against the number of members: half a second of chains that start at angles of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

import dalembert as da
from benchmarks.chains import NUMBERS, chain, exact_positions
from benchmarks.scaling.record import Row
from benchmarks.timing import best, timed

END = 0.5
MOST = {2: 2**22, 5: 2**20, 20: 2**16}
"""Most members, by links: a large chain takes longer, and a million of them show nothing that fewer do not."""

ALONE = 20
"""Members that are simulated one by one, for comparison."""

COMPARED = 5
"""Members whose error is found."""


def starts(links: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Chains stretched out at angles spread evenly, in no order, at rest: q and qd (count, n)."""
    angles = 0.1 + 2.7 * ((np.arange(count) + 0.5) * (5**0.5 - 1) / 2 % 1)
    rod = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    q = np.concatenate([rod * (k + 1) for k in range(links)], axis=1)
    return q, np.zeros_like(q)


def members_on(device: str = "cpu", **how: Any) -> list[Row]:
    """Ensembles of 1 to 2²² members; ``how`` goes to ``da.simulate_ensemble``, as does a device other than the CPU."""
    if device != "cpu":
        how = {"device": device} | how
    rows: list[Row] = []
    for links, most in MOST.items():
        if device == "cpu":
            rows.append(_one_by_one(links))
        count = 1
        while count <= most:
            rows.append(_ensemble(links, count, how))
            count *= 4
    return rows


def _ensemble(links: int, count: int, how: dict[str, Any]) -> Row:
    system, (q, qd) = chain(links), starts(links, count)

    def whole() -> Any:
        return da.simulate_ensemble(system, q, qd, [0.0, END], parameters=NUMBERS, keep="end", progress=False, **how)

    first, many = timed(whole)
    # what takes long is not repeated: the ensemble of one member has compiled everything before
    seconds = first if first > 2 and count > 1 else min(timed(whole)[0] for _ in range(5))
    failed = int((many["reason"].values != "").sum())
    ends = many["q"].values[:, -1]
    some = np.unique(np.linspace(0, count - 1, COMPARED).astype(int))
    error = max(np.abs(ends[k] - exact_positions(q[k], qd[k], END)).max() for k in some)
    return _row("da.simulate_ensemble", links, count, seconds, first, float(error)) | {
        "in_machine_code": many.attrs["seconds"],
        "failed": failed,
        "how": how,
    }


def _one_by_one(links: int) -> Row:
    system, (q, qd) = chain(links), starts(links, ALONE)

    def whole() -> np.ndarray:
        return np.array(
            [da.simulate(system, *start, [0.0, END], parameters=NUMBERS).q[-1] for start in zip(q, qd, strict=True)]
        )

    first, ends = timed(whole)
    error = max(np.abs(ends[k] - exact_positions(q[k], qd[k], END)).max() for k in range(COMPARED))
    return _row("da.simulate in a loop", links, ALONE, best(whole, repeats=3), first, float(error))


def _row(program: str, links: int, count: int, seconds: float, first: float, error: float) -> Row:
    each = seconds / count
    print(f"{program:22s} n = {2 * links:3d}  {count:8d} members  {each * 1e6:9.2f} µs each, error {error:.0e}")
    size: Row = {"program": program, "links": links, "n": 2 * links, "members": count}
    return size | {"seconds": seconds, "per_member": each, "first_call": first, "error": error}
