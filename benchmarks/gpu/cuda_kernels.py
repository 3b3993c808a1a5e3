# SPDX-License-Identifier: BSD-3-Clause
"""The kernels of ``kernels.cu``: built on the spot, called by ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.gpu.gpu_problems import DISC, NUMBERS, Problem

SOURCE = Path(__file__).parent / "kernels.cu"
ENTRIES = {
    "double pendulum": ("pendulum", (NUMBERS["g"], NUMBERS["l"])),
    "four-bar": ("four_bar", ()),
    "rolling disc": ("disc", (4 * DISC["g"] / (5 * DISC["r"]), DISC["r"])),
}
CHOICES = ("64 threads", "128 threads", "256 threads", "128 threads, 80 registers", "128 threads, 128 registers")
METHODS = ("order 5", "order 8")
NVCC = ("nvcc", "-O3", "-arch=sm_90", "-std=c++17", "--expt-relaxed-constexpr", "--shared", "-Xcompiler", "-fPIC")
HOST = ("g++", "-x", "c++", "-std=c++17", "-O2", "-march=native", "-Wno-unknown-pragmas", "-shared", "-fPIC")


@cache
def library(compiler: tuple[str, ...] = NVCC) -> ctypes.CDLL:
    """The kernels for the GPU, or by ``HOST`` the same arithmetic as plain C++ on one core."""
    program = shutil.which(compiler[0]) or shutil.which(compiler[0], path="/usr/local/cuda/bin")
    if program is None:
        raise RuntimeError(f"{compiler[0]} is not there to build {SOURCE.name}")
    out = Path(tempfile.mkdtemp(prefix="kernels-")) / "kernels.so"
    subprocess.run([program, *compiler[1:], str(SOURCE), "-o", str(out)], check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(out))


def run(
    problem: Problem, q: np.ndarray, qd: np.ndarray, *, projected=False, choice=0, repeats=1, compiler=NVCC
) -> tuple[np.ndarray, np.ndarray, float]:
    """q and qd at the end, each (n, count), and the shortest time in seconds of some launches."""
    steps = (ctypes.c_int(problem.steps), ctypes.c_double(problem.h))
    return _call("", problem, q, qd, steps, projected, choice, repeats, compiler)


def run_adaptive(
    problem: Problem, q: np.ndarray, qd: np.ndarray, rtol, atol, *, projected=False, choice=0, repeats=1, compiler=NVCC
) -> tuple[np.ndarray, np.ndarray, float]:
    """The same with adaptive steps, by one of ``METHODS``."""
    numbers = tuple(ctypes.c_double(x) for x in (problem.end, rtol, atol))
    return _call("_adaptive", problem, q, qd, numbers, projected, choice, repeats, compiler)


def _call(kind, problem, q, qd, numbers, projected, choice, repeats, compiler):
    name, parameters = ENTRIES[problem.name]
    y = np.concatenate([q, qd])
    p = np.array([*parameters, *[0.0] * (4 - len(parameters))])
    ms = np.full(repeats, np.nan, np.float32)
    function = getattr(library(compiler), name + kind)
    states = (_place(y), ctypes.c_long(y.shape[1]))
    failed = function(int(projected), choice, *states, *numbers, _place(p), repeats, _place(ms))
    if failed:
        raise RuntimeError(f"CUDA error {failed}")
    return y[: problem.n], y[problem.n :], float(ms.min()) / 1e3


def _place(values: np.ndarray) -> ctypes.c_void_p:
    return values.ctypes.data_as(ctypes.c_void_p)
