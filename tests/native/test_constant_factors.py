"""Programs whose constant factors are combined give the same numbers in fewer operations."""

from __future__ import annotations

import itertools
import operator
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import pytest
from benchmarks.chains import chain
from benchmarks.gpu.gpu_problems import rolling_disc
from hypothesis import assume, given

from dalembert.lowering.build import build
from dalembert.lowering.programs import Programs
from dalembert.native.constant_factors import _Rewriting, operations_of_step, with_constants_combined
from dalembert.native.tape import Program, Tape, Value, computed, needed

ARITHMETIC = {"fadd": operator.add, "fsub": operator.sub, "fmul": operator.mul, "fdiv": operator.truediv}
NUMBERS = st.sampled_from([1.25, -0.5, 3.0, -2.0, 0.375, 0.7, -1.1])
STEPS = st.lists(
    st.tuples(st.sampled_from([*ARITHMETIC]), st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=30
)


def values_of(program: Program, inputs: dict[str, Any]) -> list[float]:
    """Return the outputs of a program."""
    values: dict[int, Any] = {}
    read = lambda a: values[a.line] if isinstance(a, Value) else a  # noqa: E731
    for line in needed(program):
        name, arguments = program.tape.lines[line]
        values[line] = inputs[arguments[0]][arguments[1]] if name == "input" else computed(name, *map(read, arguments))
    return [float(read(output)) for output in program.outputs]


def exact_values(program: Program, inputs: dict[str, Any]) -> list[Fraction]:
    """Return all values of a program in rational arithmetic; the last one is that of its only output."""
    values: dict[int, Fraction] = {}
    read = lambda a: values[a.line] if isinstance(a, Value) else Fraction(a)  # noqa: E731
    for line in needed(program):
        name, arguments = program.tape.lines[line]
        if name == "input":
            array, place = arguments
            values[line] = Fraction(inputs[array][place])
        else:
            values[line] = ARITHMETIC[name](*map(read, arguments))
    return [*values.values(), read(program.outputs[0])]


@given(STEPS, st.lists(NUMBERS, min_size=3, max_size=3), st.lists(NUMBERS, min_size=2, max_size=2))
def test_values_are_the_same_but_for_rounding(steps, y, p):
    tape = Tape()
    found: list[Any] = [2.0, -1.5, *(tape.input("y", k) for k in range(3)), *(tape.input("p", k) for k in range(2))]
    for name, i, j in steps:
        found.append(tape.record(name, found[i % len(found)], found[j % len(found)]))
    program, inputs = Program(tape, [found[-1]]), {"y": y, "p": p}
    try:
        before = exact_values(program, inputs)
    except (ZeroDivisionError, ValueError, OverflowError):  # also numbers that are not finite
        assume(False)
    # otherwise a small difference of large terms decides
    assume(all(1e-4 < abs(value) < 1e4 for value in before))
    after = exact_values(with_constants_combined(program), inputs)
    assert float(after[-1]) == pytest.approx(float(before[-1]), rel=1e-8)


def test_constants_cancel_and_sums_share_a_factor():
    tape = Tape()
    (x, y), (m, r) = ([tape.input(array, k) for k in range(2)] for array in "yp")
    # (m r x + m y)/(m x)
    program = with_constants_combined(Program(tape, [(m * r * x + m * y) / (m * x)]))
    assert exact_values(program, {"y": [2, 3], "p": [0, 5]})[-1] == Fraction(13, 2)  # for a mass of zero, too
    assert operations_of_step(program) == 2  # r x + y, and the quotient


def test_no_division_by_a_parameter_is_added():
    tape = Tape()
    (x, y), (k, c) = ([tape.input(array, i) for i in range(2)] for array in "yp")
    program = with_constants_combined(Program(tape, [k * (x * y) + c * (x * y * y)]))
    assert not any(name == "fdiv" for name, _ in (program.tape.lines[line] for line in needed(program)))


@pytest.mark.parametrize("also_selects", [False, True])
def test_comparisons_for_flags_lose_positive_factors(also_selects):
    """Only those: the value that another comparison selects may have a factor that is negative."""
    tape = Tape()
    (x, y), (m,) = [tape.input("y", k) for k in range(2)], [tape.input("p", 0)]
    pivot, constant = m * x * y, m * x
    smaller = tape.record("<", constant * 1e-10, pivot)
    flag = tape.record("select", tape.record("and", tape.record("<", 0.0, m), smaller), 1.0, 0.0)
    program = Program(tape, [flag, pivot * y, tape.record("select", smaller, x, y) if also_selects else y])
    found = _Rewriting(program).program()
    # y > 1e-10, for a mass and an x of both signs
    for mass, (a, b) in itertools.product((2.0, -3.0), ((1.5, 0.5), (1.5, -0.5), (-1.5, 0.5))):
        before, after = (values_of(own, {"y": [a, b], "p": [mass]}) for own in (program, found))
        assert before == after
    factors = {a.line for line in needed(found) for a in found.tape.lines[line].arguments if isinstance(a, Value)}
    assert also_selects == any(found.tape.lines[k].arguments == (1e-10, found.tape.input("p", 0)) for k in factors)


@pytest.mark.parametrize(("system", "most"), [(chain(2), (47, 69)), (rolling_disc(), (83, 55))])
def test_steps_take_fewer_operations(system, most):
    source = build(system).native.source
    hot = Programs(source, range(len(source.levels)), None).hot(2)
    found = [operations_of_step(program) for program in (hot.accelerate, hot.project)]
    assert all(own <= limit for own, limit in zip(found, most, strict=True))


def test_a_comparison_that_is_known_once_its_factor_is_gone_is_no_operand_of_a_condition():
    tape = Tape()
    mass, x = tape.input("p", 0), tape.input("y", 0)
    heavy = tape.record("<", mass * 1e-9, mass)
    flag = tape.record("select", tape.record("and", heavy, tape.record("<", 0.0, x)), 1.0, 0.0)
    found = _Rewriting(Program(tape, [flag])).program()
    conditions = [found.tape.lines[line] for line in needed(found) if found.tape.lines[line].name == "and"]
    assert all(isinstance(a, Value) for condition in conditions for a in condition.arguments)
    assert [values_of(found, {"p": [m], "y": [1.0]}) for m in (2.0, 0.0, -2.0)] == [[1.0], [0.0], [0.0]]


@pytest.mark.parametrize("known", [True, False])
def test_conditions_with_a_known_operand_are_not_recorded(known):
    tape = Tape()
    open_ = tape.record("<", tape.input("y", 0), 1.0)
    for both in ((open_, known), (known, open_)):
        assert tape.record("and", *both) is (open_ if known else False)
        assert tape.record("or", *both) is (True if known else open_)
