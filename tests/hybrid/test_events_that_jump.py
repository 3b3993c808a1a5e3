"""Events of expressions that jump, and of expressions that an event's own change of state moves away from zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da

t = da.t
x, y = da.coordinates("x y")
FREE = da.System((x,), [[1]], (0,))
"""x = t, from x = 0 with the velocity 1."""


def hook(pull: Any) -> da.System:
    """A mass of weight 10 that hangs on a hook; the reaction is 10 − pull."""
    return da.System((y,), [[1]], (-10 + pull,), da.Constraint(y, name="hook"))


def times_of(system: da.System, expression: Any, direction: int = 0, qd0: Any = (1,), **given: Any) -> list[float]:
    event = da.Event(expression, name="e", direction=direction, **given)
    return [found.t for found in da.simulate(system, (0,), qd0, [0, 1.5], events=[event]).events]


@pytest.mark.parametrize("s", [t, x], ids=str)
@pytest.mark.parametrize(("direction", "expected"), [(0, [0.3, 1.0]), (-1, [0.3]), (1, [1.0])])
def test_every_jump_through_zero_is_an_event(s: Any, direction: int, expected: list[float]) -> None:
    steps = sp.Piecewise((1, s < 0.3), (-1, s < 1), (1, True))
    np.testing.assert_allclose(times_of(FREE, steps, direction), expected, atol=1e-9)


@pytest.mark.parametrize("s", [t, x], ids=str)
def test_signs_of_a_wave(s: Any) -> None:
    zeros = (np.arange(1, 5) * np.pi - 0.1) / 10
    np.testing.assert_allclose(times_of(FREE, sp.sign(sp.sin(10 * s + 0.1))), zeros, atol=1e-9)
    np.testing.assert_allclose(times_of(FREE, sp.sign(sp.sin(10 * s + 0.1)), 1), zeros[1::2], atol=1e-9)


def test_a_jump_to_values_of_any_size() -> None:
    steps = sp.Piecewise((1e-3, t < 0.3), (-1e6, t < 0.6), (2e-5, t < 0.9), (-1, True))
    np.testing.assert_allclose(times_of(FREE, steps), [0.3, 0.6, 0.9], atol=1e-12)


def test_a_jump_on_top_of_a_motion() -> None:
    """x − 0.2 − 0.6 H(t − 0.5): it passes zero at 0.2, jumps back at 0.5, and passes zero again at 0.8."""
    saw = x - sp.Rational(1, 5) - sp.Piecewise((0, t < 0.5), (sp.Rational(3, 5), True))
    np.testing.assert_allclose(times_of(FREE, saw), [0.2, 0.5, 0.8], atol=1e-9)
    np.testing.assert_allclose(times_of(FREE, saw, 1), [0.2, 0.8], atol=1e-9)


def test_reactions_under_a_stepped_load() -> None:
    load = sp.Piecewise((0, t < 0.3), (60, t < 0.35), (0, t < 0.6), (60, True))
    over = da.reaction("hook") - 50
    np.testing.assert_allclose(times_of(hook(-load), over, 1, (0,)), [0.3, 0.6], atol=1e-9)
    np.testing.assert_allclose(times_of(hook(-load), over, -1, (0,)), [0.35], atol=1e-9)


@pytest.mark.parametrize(("direction", "expected"), [(0, [0.3, 0.35]), (-1, [0.3]), (1, [0.35])])
def test_reactions_under_a_load_that_first_drops(direction: int, expected: list[float]) -> None:
    pull = sp.Piecewise((0, t < 0.3), (60, t < 0.35), (0, True))
    np.testing.assert_allclose(times_of(hook(pull), da.reaction("hook") - 5, direction, (0,)), expected, atol=1e-9)


def test_an_event_that_sets_its_own_expression_back_occurs_again() -> None:
    """v = t/0.4, set back to zero whenever it reaches one."""
    pushed = da.System((x,), [[1]], (sp.Rational(5, 2),))
    found = times_of(pushed, x.diff(t) - 1, qd0=(0,), then=da.Change({x.diff(t): 0}))
    np.testing.assert_allclose(found, [0.4, 0.8, 1.2], atol=1e-9)


def test_an_expression_that_stays_at_its_zero_does_not_occur_again() -> None:
    found = times_of(FREE, x - sp.Rational(1, 3), then=da.Change({x.diff(t): 0}))
    np.testing.assert_allclose(found, [1 / 3], atol=1e-9)
