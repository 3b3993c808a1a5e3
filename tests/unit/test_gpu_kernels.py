# SPDX-License-Identifier: BSD-3-Clause
"""The kernels by hand that our rates on a GPU are compared with: their arithmetic, built as plain C++."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.gpu import cuda, reference
from benchmarks.gpu.problems import problems


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("problem", problems(), ids=lambda problem: problem.name)
def test_kernels_by_hand_take_the_same_steps_as_numpy(problem, projected):
    short = replace(problem, steps=3)
    q, qd, _ = cuda.run(short, *short.starts(2), projected=projected, compiler=cuda.HOST)
    expected = reference.same_steps(problem.name, 1, 3, projected)
    np.testing.assert_allclose([q[:, 1], qd[:, 1]], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("problem", problems(), ids=lambda problem: problem.name)
def test_members_start_on_their_constraints(problem):
    q, qd = problem.start(5)
    *_, position, velocity = reference.terms(problem)(q, qd)
    assert np.abs([position, velocity]).max() < 1e-14
