"""Signs and powers of two that are taken out of recorded operations change no bit of the results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from dalembert.native.exact_factors import is_exact
from dalembert.native.tape import Program, Tape, Value, computed, needed

CONSTANTS = (-4.0, -2.0, -1.0, -0.5, 0.25, 1.0, 2.0, 3.0, -0.1, 1.7)
BINARY, UNARY = ("fadd", "fsub", "fmul", "fdiv"), ("fabs", "sqrt", "sin", "cos", "tanh", "atan")
INPUTS = 3
"""Numbers of moderate size, so that nothing overflows or underflows."""
NUMBERS = st.floats(0.3, 3).flatmap(lambda x: st.sampled_from((x, -x)))
STEPS = st.lists(
    st.tuples(
        st.sampled_from((*BINARY, *UNARY, "select", "constant")), st.integers(0, 40), st.integers(0, 40), st.booleans()
    ),
    min_size=1,
    max_size=30,
)


def value_of(program: Program, y: list[float]) -> float:
    """Evaluate the only output of a program line by line."""
    values: dict[int, Any] = {}
    read = lambda a: values[a.line] if isinstance(a, Value) else a  # noqa: E731
    for line in needed(program):
        name, arguments = program.tape.lines[line]
        values[line] = y[arguments[1]] if name == "input" else computed(name, *map(read, arguments))
    return float(read(program.outputs[0]))


def followed(steps: list[Any], inputs: list[Any], do: Callable[..., Any]) -> Any:
    """Apply random operations to values of earlier ones."""
    found = list(inputs)
    for name, i, j, turned in steps:
        a, b = found[i % len(found)], found[j % len(found)]
        if name == "constant":
            c = CONSTANTS[i % len(CONSTANTS)]
            found.append(do(BINARY[j % 4], *((c, a) if turned else (a, c))))
        elif name == "select":
            found.append(do("select", do("<", a, b), a, do("fmul", -1.0, a) if turned else b))
        else:
            found.append(do(name, *((a, b) if name in BINARY else (a,))))
    return found[-1]


@given(STEPS, st.lists(NUMBERS, min_size=INPUTS, max_size=INPUTS))
def test_results_are_the_same_to_the_last_bit(steps, y):
    tape = Tape()
    recorded = followed(steps, [tape.input("y", k) for k in range(INPUTS)], tape.record)
    expected = followed(steps, list(y), computed)
    found = value_of(Program(tape, [recorded]), y)
    if 1e-100 < abs(expected) < 1e100:  # else an intermediate result may have left the normal numbers
        assert found == expected
    elif math.isnan(expected):
        assert math.isnan(found) or not math.isfinite(found)


@pytest.fixture
def xyz():
    tape = Tape()
    return tape, *(tape.input("y", k) for k in range(3))


def operations(tape: Tape, *outputs: Any) -> list[str]:
    lines = needed(Program(tape, list(outputs)))
    return [tape.lines[line].name for line in lines if tape.lines[line].name != "input"]


def test_a_difference_and_its_negative_are_one_operation(xyz):
    tape, x, y, z = xyz
    assert (x - y) is -(y - x)
    assert operations(tape, (x - y) * z + (y - x) * (y - x)) == ["fsub", "fmul", "fmul", "fadd"]


def test_factors_of_a_row_cancel(xyz):
    """The acceleration along a gradient (2x, 2y) is that along (x, y)."""
    _, x, y, z = xyz

    def along(a, b):
        return a * (a * z / (a * a + b * b))

    assert along(2 * x, 2 * y) is along(x, y)


def test_a_factor_that_a_sum_needs_is_fused_with_it(xyz):
    tape, x, y, z = xyz
    assert operations(tape, z + (2 * x) * y) == ["fmul", "fmul", "fadd"]
    assert operations(tape, 1.0 - 2 * x) == ["fmul", "fsub"]


def test_comparisons_leave_out_common_factors(xyz):
    tape, x, y, _ = xyz
    assert tape.record("<", 4 * x, 4 * y) is tape.record("<", x, y)
    found = tape.lines[tape.record("<", 0.0004 * x, 4 * y).line]
    assert found.arguments[1] is y and tape.lines[found.arguments[0].line].arguments == (0.0001, x)


def test_products_with_zero_remain(xyz):
    """They test whether a value is finite."""
    tape, x, *_ = xyz
    assert operations(tape, tape.record("fmul", 0.0, -x)) == ["fmul", "fmul"]


@pytest.mark.parametrize(("number", "expected"), [(2.0, True), (-0.125, True), (1, True), (3.0, False), (0.0, False)])
def test_powers_of_two(number, expected):
    assert is_exact(number) is expected
