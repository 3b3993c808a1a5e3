"""Signs that are taken out of recorded operations change no bit of the results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

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


def test_a_pivot_and_its_negative_are_one_operation(xyz):
    _, x, y, z = xyz
    assert -x * y - (-z) * z is -(x * y - z * z)
    assert 0 - (x + y) is -x - y


def test_functions_take_signs_out(xyz):
    tape, x, *_ = xyz
    assert tape.record("sin", -x) is -tape.record("sin", x)
    assert tape.record("cos", -x) is tape.record("cos", x)
    assert tape.record("fabs", -x) is tape.record("fabs", x)


def test_selections_take_equal_signs_out(xyz):
    tape, x, y, _ = xyz
    condition = tape.record("<", x, y)
    assert tape.record("select", condition, -x, -y) is -tape.record("select", condition, x, y)
    assert tape.record("select", condition, 0.0, -y) is -tape.record("select", condition, 0.0, y)
    assert operations(tape, tape.record("select", condition, x, -y)) == ["<", "fmul", "select"]


def test_products_with_zero_remain(xyz):
    """They test whether a value is finite."""
    tape, x, *_ = xyz
    assert operations(tape, tape.record("fmul", 0.0, x)) == ["fmul"]
