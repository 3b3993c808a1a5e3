# SPDX-License-Identifier: BSD-3-Clause
"""The section of ``docs/performance.md`` about how cost grows, from the measured rows."""

from __future__ import annotations

import textwrap

from benchmarks.document_sections import replace_section
from benchmarks.scaling.record import Row, complete, read, rows_of
from benchmarks.timing import table

SHOWN = (2, 4, 6, 8, 10, 12, 14, 20, 40, 60, 120, 200)
"""Sizes in the tables; all are in the data."""

PROGRAMS = ("machine code", "JAX", "NumPy pinv")


def write() -> None:
    """Write what has been measured."""
    if complete():
        paragraphs = [*_machines(), *_size(), *_derivatives(), *_members()]
        replace_section("scaling", "\n\n".join(map(_wrapped, paragraphs)))


def _wrapped(paragraph: str) -> str:
    return paragraph if paragraph[0] in "|#!" else textwrap.fill(paragraph, 120, break_long_words=False)


def _machines() -> list[str]:
    said = [
        f"{name} ({facts['system']}, Python {facts['python']}, JAX {facts['versions']['jax']}, {facts['measured']}"
        + (f", busy with other things, load {facts['load']}: trust ratios only)" if facts["load"] > 1 else ")")
        for name, facts in read()["machines"].items()
    ]
    return [
        f"`python -m benchmarks.scaling` measures and writes this section; all rows are in "
        f"[`benchmarks/data/scaling.json`](../benchmarks/data/scaling.json). {'; '.join(said)}."
    ]


def _size() -> list[str]:
    return [
        "### Cost against size",
        "![Time of one acceleration and of two seconds of motion against the number of coordinates of a planar "
        "chain](figures/scaling-size.png)",
        "One acceleration of a chain of point masses, µs, and its error relative to the largest acceleration, "
        "against elimination in extended precision:",
        _table(rows_of("acceleration"), 1e6, PROGRAMS),
        "Two seconds of motion, rtol 1e-7, projection included, ms; in brackets the first time, which derives and "
        "compiles, s, and the error of the last positions in m, against SciPy's integrator at rtol 1e-13:",
        _table(rows_of("simulation"), 1e3, PROGRAMS[:2], first=True),
        _largest(rows_of("simulation")),
    ]


def _largest(rows: list[Row]) -> str:
    """Return whether machine code stops being the quickest at some size, the first time or later."""
    measured = [row for row in rows if "seconds" in row]
    ours = {row["n"]: row for row in measured if row["program"] == "machine code"}
    lost = [
        f"from n = {min(n)} on {when}"
        for quantity, when in (("seconds", "once compiled"), ("first_call", "the first time"))
        if (n := [row["n"] for row in measured if row["n"] in ours and row[quantity] < ours[row["n"]][quantity]])
    ]
    last = ours[max(ours)]
    grows = f"What grows is its first run, which derives and compiles: {last['first_call']:.1f} s at n = {last['n']}."
    if lost:
        return f"The compiled integrator is overtaken {' and '.join(lost)}. {grows}"
    return f"The compiled integrator is the fastest at every size, once compiled and the first time. {grows}"


def _derivatives() -> list[str]:
    return [
        "### Derivatives",
        "Derivatives of the last positions by gravity, backwards through `da.flow`: ms, in brackets s the first time "
        "and the error in s², against t q̇ / 2g of the reference, which chains that start at rest obey:",
        _table(rows_of("derivative"), 1e3, PROGRAMS[1:2], first=True),
    ]


def _members() -> list[str]:
    rows = sorted(rows_of("members"), key=lambda row: (row["device"], row["n"], row["program"], row["members"]))
    counts = {1, 256, 2**16, 2**20, 2**22}
    shown = [row for row in rows if row["members"] in counts or row["program"] != "da.simulate_ensemble"]
    body = [
        [
            row["device"].upper(),
            str(row["n"]),
            f"`{row['program']}`" if " " not in row["program"] else "`da.simulate` in a loop",
            f"{row['members']:,}".replace(",", " "),
            _number(row["per_member"] * 1e6),
            f"{row['error']:.0e}",
        ]
        for row in shown
    ]
    return [
        "### Cost against the number of members",
        "![Time per member against the number of members of an ensemble](figures/scaling-members.png)",
        "Half a second of chains that start at angles of their own, default tolerances; the error of the last "
        "positions, m, is the largest of five members:",
        table(["device", "n", "program", "members", "µs per member", "error"], body),
    ]


def _table(rows: list[Row], scale: float, programs: tuple[str, ...], *, first: bool = False) -> str:
    """Time, that of the first call if asked for, and error, by size and program."""
    found = {(row["program"], row["n"]): row for row in rows}

    def entry(program: str, n: int) -> str:
        row = found.get((program, n), {})
        if "seconds" not in row:
            return "–"
        detail = f"{row['first_call']:.1f}, {row['error']:.0e}" if first else f"{row['error']:.0e}"
        return f"{_number(row['seconds'] * scale)} ({detail})"

    sizes = [n for n in SHOWN if any("seconds" in found.get((program, n), {}) for program in programs)]
    head = ["n", *(program.replace("pinv", "`pinv`") for program in programs)]
    return table(head, [[str(n), *(entry(program, n) for program in programs)] for n in sizes])


def _number(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"
