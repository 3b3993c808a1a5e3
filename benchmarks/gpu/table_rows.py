# SPDX-License-Identifier: BSD-3-Clause
"""Rows as text."""

from __future__ import annotations

from typing import Any

LIMIT, TEXTBOOK = "CUDA by hand", "textbook, vmap"
KIND = ("projected", "adaptive")


def share(row: dict[str, Any], rows: list[dict[str, Any]], of: str = LIMIT) -> float | None:
    """Of the rate of another way, for as many members, by the same kind of steps and cure of drift."""
    same = [
        other["rate"]
        for other in rows
        if other["program"] == of and "rate" in other and _same(row, other, "problem", "members", *KIND)
    ]
    return row["rate"] / max(same) if same else None


def share_of_kernel(row: dict[str, Any], rows: list[dict[str, Any]]) -> float | None:
    """Of the rate of the kernel alone, for a whole call."""
    detail = row.get("detail", "")
    kernels = [
        other["rate"]
        for other in rows
        if other.get("detail") == detail.replace("whole call", "kernel")
        and "rate" in other
        and _same(row, other, "program", "problem", "members", *KIND)
    ]
    return row["rate"] / max(kernels) if kernels and "whole call" in detail else None


def _same(one: dict[str, Any], other: dict[str, Any], *keys: str) -> bool:
    return all((one.get(key) or False) == (other.get(key) or False) for key in keys)


def line(row: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    begin = f"{row['problem']:16s} {row['program']:15s} {row['members']:8d}"
    if "failed" in row:
        return f"{begin}  failed: {row['failed']}"
    return f"{begin}  {'  '.join(_cells(row, rows))}"


def _cells(row: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    part, times, own = share(row, rows), share(row, rows, TEXTBOOK), share_of_kernel(row, rows)
    return [
        row.get("detail", "") + (", projected" if row.get("projected") else ""),
        f"{row['rate']:.2e} {'motions' if row.get('adaptive') else 'steps'}/s",
        "" if own is None else f"{100 * own:.3g} %",
        "" if part is None else f"{100 * part:.3g} %",
        "" if times is None else f"{times:.3g} ×",
        "" if "rounding" not in row else f"{row['rounding']:.0e}",
        f"{row['error']:.0e}",
    ]


def fastest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of the rows that differ in nothing but the choice of blocks, the fastest."""
    kept: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        kind = row.get("detail") if row["program"] == "dalembert" else None
        key = (row["problem"], row["program"], row["members"], kind, *(row.get(k, False) for k in KIND))
        if "rate" in row and (key not in kept or row["rate"] > kept[key]["rate"]):
            kept[key] = row
    return list(kept.values())


def markdown(outputs: dict[str, Any]) -> str:
    """Return the largest ensemble that every program ran, then the growth of two rates with the size."""
    rows = fastest(outputs["rows"])
    versions = ", ".join(f"{name} {version}" for name, version in outputs["versions"].items())
    head = f"Measured {outputs['date']} on {outputs['gpu']}, Python {outputs['python']}, {versions}."
    parts = [head, _main_table(rows), _growth(rows)]
    failed = [
        f"- {r['problem']} {r['program']} {r['members']}: {r['failed']}" for r in outputs["rows"] if "failed" in r
    ]
    if failed:
        parts.append("Not measured:\n\n" + "\n".join(failed))
    return "\n\n".join(part for part in parts if part)


def _main_table(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    lines = [
        "| problem | by | members | | rate | of its kernel | of CUDA by hand | of the textbook | off the same steps "
        "| off the motion |",
        "|---|---|--:|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        usual = [r["members"] for r in rows if _same(r, row, "problem", "program") and r["members"] <= 2**20]
        if row["members"] == max(usual, default=0):
            cells = [row["problem"], row["program"], f"{row['members']:,}".replace(",", " "), *_cells(row, rows)]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _growth(rows: list[dict[str, Any]]) -> str:
    ways = [name for name in (LIMIT, "dalembert") if any(row["program"] == name for row in rows)]
    kept = [r for r in rows if r["problem"] == "double pendulum" and not any(map(r.get, KIND)) and r["program"] in ways]
    lines = ["| double pendulums | " + " | ".join(ways) + " |", "|--:|" + "--:|" * len(ways)]
    for members in sorted({row["members"] for row in kept}):
        best = [
            max((r["rate"] for r in kept if r["program"] == w and r["members"] == members), default=None) for w in ways
        ]
        cells = ["" if rate is None else f"{rate:.2e}" for rate in best]
        lines.append(f"| {members:,}".replace(",", " ") + " | " + " | ".join(cells) + " |")
    return "\n".join(lines) if kept else ""
