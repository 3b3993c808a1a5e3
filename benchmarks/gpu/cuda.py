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

from benchmarks.gpu.problems import DISC, NUMBERS, Problem

SOURCE = Path(__file__).parent / "kernels.cu"
ENTRIES = {
    "double pendulum": ("pendulum", (NUMBERS["g"], NUMBERS["l"])),
    "four-bar": ("four_bar", ()),
    "disc": ("disc", (4 * DISC["g"] / (5 * DISC["r"]), DISC["r"])),
}
CHOICES = ("64 threads", "128 threads", "256 threads", "128 threads, 80 registers", "128 threads, 128 registers")
NVCC = ("nvcc", "-O3", "-arch=sm_90", "--shared", "-Xcompiler", "-fPIC")
HOST = ("g++", "-x", "c++", "-O2", "-march=native", "-Wno-unknown-pragmas", "-shared", "-fPIC")


@cache
def library(compiler: tuple[str, ...] = NVCC) -> ctypes.CDLL:
    """The kernels for the GPU, or by ``HOST`` the same arithmetic as plain C++ on one core."""
    if shutil.which(compiler[0]) is None:
        raise RuntimeError(f"{compiler[0]} is not there to build {SOURCE.name}")
    out = Path(tempfile.mkdtemp(prefix="kernels-")) / "kernels.so"
    subprocess.run([*compiler, str(SOURCE), "-o", str(out)], check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(out))


def run(
    problem: Problem, q: np.ndarray, qd: np.ndarray, *, projected=False, choice=0, repeats=1, compiler=NVCC
) -> tuple[np.ndarray, np.ndarray, float]:
    """q and qd at the end, each (n, count), and the shortest time in seconds of some launches."""
    name, numbers = ENTRIES[problem.name]
    y = np.concatenate([q, qd])
    p = np.array([*numbers, *[0.0] * (4 - len(numbers))])
    ms = np.full(repeats, np.nan, np.float32)
    function = getattr(library(compiler), name)
    function.argtypes = [ctypes.c_int, ctypes.c_int, _array(y), ctypes.c_long, ctypes.c_int, ctypes.c_double]
    function.argtypes += [_array(p), ctypes.c_int, _array(ms)]
    failed = function(projected, choice, y, y.shape[1], problem.steps, problem.h, p, repeats, ms)
    if failed:
        raise RuntimeError(f"CUDA error {failed}" if failed > 0 else f"no choice {choice}")
    return y[: problem.n], y[problem.n :], float(ms.min()) / 1e3


def _array(value: np.ndarray) -> type:
    return np.ctypeslib.ndpointer(value.dtype, flags="C_CONTIGUOUS")
