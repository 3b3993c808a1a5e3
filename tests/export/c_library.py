"""An exported C file, compiled and called through ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")

MOST_OPTIMISED = 60_000
"""Size in bytes of the largest file that is compiled with optimisation."""

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler `cc` was found")


def arrays(*given: Any) -> list[Any]:
    return [np.ascontiguousarray(own, float) for own in given]


class CLibrary:
    """The functions of an exported file, on NumPy arrays."""

    def __init__(self, file: Path, optimise: str | None = None):
        library = file.with_suffix(".so")
        # for half a megabyte of straight-line code a compiler takes twenty times as long where it optimises
        optimise = optimise or ("-O1" if file.stat().st_size < MOST_OPTIMISED else "-O0")
        command = ["cc", *STRICT, optimise, "-shared", "-fPIC", "-o", str(library), str(file), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]
        self.name, self.library = file.stem, ctypes.CDLL(str(library))
        self.size = library.stat().st_size

    def _call(self, verb: str, *arguments: Any) -> int:
        function = getattr(self.library, f"{self.name}_{verb}")
        kinds = {float: ctypes.c_double, int: ctypes.c_int}
        given = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments]
        function.argtypes = [kinds.get(type(a), ctypes.c_void_p) for a in arguments]
        return function(*given)

    def at(self, verb: str, count: int, y: Any, t: float, p: Any) -> tuple[np.ndarray, int]:
        """The outputs of a function at a state, and its validity."""
        y, p = arrays(y, p)
        out = np.full(count, np.nan)
        return out, self._call(verb, y, float(t), p, out)

    def step(self, y: Any, t: float, h: float, p: Any) -> tuple[np.ndarray, int]:
        y, p = np.array(y, float), *arrays(p)
        return y, self._call("step", y, float(t), float(h), p)

    def integrate(self, y: Any, t: float, end: float, p: Any, rtol: float, atol: Any, most: int = 100000):
        y, now, h, p, atol = np.array(y, float), np.array([t]), np.zeros(1), *arrays(p, atol)
        valid = self._call("integrate", y, now, float(end), h, p, float(rtol), atol, most)
        return y, float(now[0]), valid

    def step_to_switch(self, y: Any, t: float, h: float, p: Any) -> tuple[np.ndarray, float, int, int]:
        """State and time after a step or at the end of the mode, what ends it, and the validity."""
        y, now, p, ended = np.array(y, float), np.array([t]), *arrays(p), np.zeros(1, np.int32)
        valid = self._call("step_to_switch", y, now, float(h), p, ended)
        return y, float(now[0]), int(ended[0]), valid

    def integrate_to_switch(self, y: Any, t: float, end: float, p: Any, rtol: float, atol: Any, most: int = 100000):
        """The same with adaptive steps up to a time."""
        y, now, h, p, atol = np.array(y, float), np.array([t]), np.zeros(1), *arrays(p, atol)
        ended = np.zeros(1, np.int32)
        valid = self._call("integrate_to_switch", y, now, float(end), h, p, float(rtol), atol, most, ended)
        return y, float(now[0]), int(ended[0]), valid

    def start(self, states: int, parameters: int) -> tuple[float, np.ndarray, np.ndarray]:
        t, y, p = np.zeros(1), np.zeros(states), np.zeros(parameters)
        self._call("start", t, y, p)
        return float(t[0]), y, p
