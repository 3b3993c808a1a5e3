# SPDX-License-Identifier: BSD-3-Clause
"""The kernels by hand that our rates on a GPU are compared with: their arithmetic, built as plain C++."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.gpu import cuda_kernels, reference
from benchmarks.gpu.__main__ import judged
from benchmarks.gpu.gpu_problems import problems
from benchmarks.gpu.table_rows import share, share_of_kernel

import dalembert as da

BY_HAND = [problem for problem in problems() if problem.by_hand]


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("problem", BY_HAND, ids=lambda problem: problem.name)
def test_kernels_by_hand_take_the_same_steps_as_numpy(problem, projected):
    short = replace(problem, steps=3)
    q, qd, _ = cuda_kernels.run(short, *short.starts(2), projected=projected, compiler=cuda_kernels.HOST)
    expected = reference.same_steps(problem.name, 1, 3, projected)
    np.testing.assert_allclose([q[:, 1], qd[:, 1]], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("problem", BY_HAND, ids=lambda problem: problem.name)
def test_members_start_on_their_constraints(problem):
    q, qd = problem.start(5)
    *_, position, velocity = reference.terms(problem)(q, qd)
    assert np.abs([position, velocity]).max() < 1e-14


@pytest.mark.parametrize("problem", problems(), ids=lambda problem: problem.name)
def test_machine_code_declines_no_member(problem):
    q, qd = problem.starts(20)
    for settings in ({"step": problem.h}, {"rtol": 1e-8}):
        many = da.simulate_ensemble(problem.system, q.T, qd.T, [0, 0.1], parameters=problem.numbers, **settings)
        assert many.attrs["handed_over"] == 0


@pytest.mark.parametrize(("off", "measured"), [(0.0, True), (1e-8, False)])
def test_no_rate_is_reported_for_a_program_that_takes_other_steps(off, measured):
    end = reference.same_steps("rolling disc", 0, 2, False) + off
    row = {"program": "XLA", "problem": "rolling disc", "members": 8, "steps": 2, "seconds": 1.0, "checked": [0]}
    found = judged({**row, "ends": [end.tolist()]})
    assert (("rate" in found), ("failed" in found)) == (measured, not measured)


def test_a_share_is_taken_of_the_same_problem_crowd_and_kind():
    row = {"program": "dalembert", "problem": "four-bar", "members": 8, "rate": 2.0, "projected": True}
    others = [
        {**row, "program": "CUDA by hand", "rate": 4.0},
        {**row, "program": "CUDA by hand", "rate": 40.0, "adaptive": True},
    ]
    assert share(row, [row, *others]) == 0.5


def test_a_whole_call_is_compared_with_its_own_kernel():
    row = {"program": "dalembert", "problem": "four-bar", "members": 8, "rate": 2.0, "detail": "adaptive, whole call"}
    others = [{**row, "detail": "adaptive, kernel", "rate": 8.0}, {**row, "detail": "kernel", "rate": 4.0}]
    assert share_of_kernel(row, [row, *others]) == 0.25
    assert share_of_kernel(others[0], [row, *others]) is None
