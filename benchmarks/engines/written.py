# SPDX-License-Identifier: BSD-3-Clause
"""The straight-line programs of a problem as Python text, for whoever compiles Python.

The elimination is in them, zeros left out: a sparse factorisation of fixed pattern.
"""

from __future__ import annotations

from typing import Any

from benchmarks.peers.ours import system_of
from benchmarks.peers.problems import Problem
from dalembert.lowering.build import build
from dalembert.lowering.programs import Programs
from dalembert.native.assembly import needed
from dalembert.native.tape import Program, Value

SIGNS = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}


def programs(problem: Problem) -> tuple[Program, Program]:
    """q̈, without word on whether to trust it, and the state after a projection."""
    source = build(system_of(problem)).native.source
    recorded = Programs(source, range(len(source.levels)), None)
    tape, outputs = recorded.acceleration()
    return Program(tape, outputs[:-1]), recorded.projection(2)


def text(program: Program, library: str) -> tuple[list[str], list[str]]:
    """Lines of Python, and the names of the outputs; functions are those of a module of a given name."""

    def name(a: Any) -> str:
        return f"a{a.line}" if isinstance(a, Value) else repr(a if isinstance(a, bool) else float(a))

    lines = []
    for line in needed(program):
        operation, arguments = program.tape.lines[line]
        if operation == "input":
            array, place = arguments
            lines.append(f"a{line} = t" if array == "t" else f"a{line} = {array}[{place}]")
            continue
        a = [name(x) for x in arguments]
        done = f"{a[0]} {SIGNS[operation]} {a[1]}" if operation in SIGNS else f"{library}.{operation}({', '.join(a)})"
        lines.append(f"a{line} = {done}")
    return lines, [name(x) for x in program.outputs]
