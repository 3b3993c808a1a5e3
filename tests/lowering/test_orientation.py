# SPDX-License-Identifier: BSD-3-Clause
"""The compiled test that constraint rows keep their orientation, compared with eigenvalues and determinants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.integration.step_monitor import interpolated, orientation_changes
from dalembert.lowering.build import build
from dalembert.native.protocol import NativeDynamics

x, y, z = da.coordinates("x y z")
k = da.parameters("k")


def system(*residuals: Any) -> NativeDynamics:
    rows = [da.Constraint(residual, name=f"row {i}") for i, residual in enumerate(residuals)]
    native = build(da.System((x, y, z), sp.eye(3), (0, 0, 0), rows)).native
    assert native is not None
    return native


def states(distance: float, count: int = 400) -> tuple[Any, Any]:
    """Random states about one state, at some distance, and times."""
    rng = np.random.default_rng(5)
    return 0.5 + distance * rng.normal(size=(count, 6)), np.cumsum(rng.uniform(size=count))


def kept_steps(native: NativeDynamics, rows: tuple[int, ...], at: Any, t: Any, p: Any) -> Any:
    """Return whether the rows clearly keep their orientation from each state to the next."""
    return ~np.isin(np.arange(len(t) - 1), native.orientation_test(rows)(at, t, p, np.inf, 1))


@pytest.mark.parametrize("rows", [(0,), (1, 0), (0, 1, 2)])
@pytest.mark.parametrize("distance", [0.03, 0.3, 3.0])
def test_the_test_passes_where_the_symmetric_part_is_positive_definite(rows: tuple[int, ...], distance: float) -> None:
    native = system(x**2 + k * y**2 - 1, x * y + z - sp.sin(da.t) * y, sp.cos(x) + z**2 + y)
    (at, t), p = states(distance), np.array([0.7])
    A = native.rows_of_many(at, t, p)[:, list(rows)]
    products = A[:-1] @ A[1:].transpose(0, 2, 1)
    lengths = np.sqrt(np.einsum("kii->ki", A[:-1] @ A[:-1].transpose(0, 2, 1)))
    products = products / lengths[:, :, None] / lengths[:, None, :]
    least = np.linalg.eigvalsh(products + products.transpose(0, 2, 1))[:, 0]
    kept = kept_steps(native, rows, at, t, p)
    assert not kept[least < 0].any()
    assert kept[least > 0.1].all()  # by far more than ``CLEARLY_INDEPENDENT``
    assert kept.any()
    assert not kept.all() or distance < 1
    assert not orientation_changes(A)[kept].any()


def test_states_that_are_not_numbers_do_not_pass() -> None:
    native = system(x**2 + y**2 - k)
    at = np.array([[1.0, 0, 0, 0, 0, 0], [np.nan, 0, 0, 0, 0, 0], [1.0, 0, 0, 0, 0, 0], [1.0, 0, 0, 0, 0, 0]])
    assert kept_steps(native, (0,), at, np.arange(4.0), np.array([1.0])).tolist() == [False, False, True]


def test_constant_rows_keep_their_orientation() -> None:
    native = system(x + k, y**2 + z)
    at, t = states(1.0)
    assert kept_steps(native, (0,), at, t, np.array([1.0])).all()
    assert not native.constant_rows
    assert system(x + k, y - z).constant_rows


@pytest.mark.parametrize("parts", [1, 2, 5, 8])
def test_long_steps_are_examined_inside(parts: int) -> None:
    """The steps that are uncertain inside are those between two states of the interpolated motion."""
    rows = (0, 1, 2)
    native = system(x**2 + k * y**2 - 1, x * y + z - sp.sin(da.t) * y, sp.cos(x) + z**2 + y)
    (at, t), p = states(0.6, count=200), np.array([0.7])
    steps = np.arange(len(t) - 1)
    times, inside = interpolated(t, at, steps, parts)
    alone = [kept_steps(native, rows, y, s, p).all() for y, s in zip(inside, times, strict=True)]
    long = np.diff(t) > 0.4
    expected = kept_steps(native, rows, at, t, p) & (~long | np.array(alone))
    found = native.orientation_test(rows)(at, t, p, 0.4, parts)
    assert found.tolist() == steps[~expected].tolist()
    assert 0 < len(found) < len(steps)
