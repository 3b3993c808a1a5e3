# SPDX-License-Identifier: BSD-3-Clause
"""The last states of the motions, in other coordinates than those that are measured and with more digits.

``python -m benchmarks.peers.reference_states`` prints them: two angles for the double pendulum, one for the four-bars,
Kane's equations for the disc, by a Taylor integrator in extended precision. Andrews' digits come with the gallery.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.problems import DISC_RADIUS, DISC_START, PROBLEMS, G, disc_axes, problem


def references() -> dict[str, list[float]]:
    """The ends by problem, in the order of ``Problem.reference``."""
    return {
        "double-pendulum": _double_pendulum(),
        "four-bar": _four_bars(1),
        "rolling-disc": _disc(),
        "forty-four-bars": _four_bars(40),
    }


def _integrated(equations: Any, start: Any, end: float) -> list[Any]:
    import heyoka as hy

    real = np.longdouble
    ta = hy.taylor_adaptive(equations, [real(x) for x in start], fp_type=real, tol=real(1e-19))
    ta.propagate_until(real(end))
    return list(ta.state)


def _double_pendulum() -> list[float]:
    """Angles a, b of the rods from the horizontal: M (ä, b̈) = f."""
    import heyoka as hy

    a, b, va, vb = hy.make_vars("a", "b", "va", "vb")
    c, s = hy.cos(a - b), hy.sin(a - b)
    f, h = -s * vb**2 - 2 * G * hy.cos(a), s * va**2 - G * hy.cos(b)
    det = 2 - c**2
    rates = [(a, va), (b, vb), (va, (f - c * h) / det), (vb, (2 * h - c * f) / det)]
    a, b, *_ = _integrated(rates, [0.0] * 4, 3.0)
    return [float(x) for x in (np.cos(a), np.sin(a), np.cos(a) + np.cos(b), np.sin(a) + np.sin(b))]


def _four_bars(loops: int) -> list[float]:
    """One angle from the vertical."""
    import heyoka as hy

    a, va = hy.make_vars("a", "va")
    real = np.longdouble
    pull = real(G) * (real(loops + 1) / 2 + loops) / (real(loops + 1) / 3 + loops)
    a, _ = _integrated([(a, va), (va, -pull * hy.sin(a))], [0.0, 3.0], 10.0)
    return [float(x) for i in range(loops + 1) for x in (i + np.sin(a), -np.cos(a))]


def _disc() -> list[float]:
    import heyoka as hy

    x, y, yaw, lean, u1, u2, u3 = hy.make_vars("x", "y", "yaw", "lean", "u1", "u2", "u3")
    r, tan = DISC_RADIUS, hy.sin(lean) / hy.cos(lean)
    ahead, aside, _ = disc_axes(yaw, lean, hy)
    rates = [
        (x, r * (u2 * ahead[0] - u1 * aside[0])),
        (y, r * (u2 * ahead[1] - u1 * aside[1])),
        (yaw, u3 / hy.cos(lean)),
        (lean, u1),
        (u1, (6 * u2 * u3 - u3**2 * tan) / 5 + 4 * G / (5 * r) * hy.sin(lean)),
        (u2, -2 / np.longdouble(3) * u1 * u3),
        (u3, u1 * (u3 * tan - 2 * u2)),
    ]
    (yaw0, lean0, _), spin = DISC_START
    up = disc_axes(yaw0, lean0, np)[2]
    x, y, yaw, lean, *_ = _integrated(rates, [r * up[0], r * up[1], yaw0, lean0, *spin], 5.0)
    return [float(c) for c in (x, y, r * np.cos(lean), *disc_axes(yaw, lean, np)[1])]


if __name__ == "__main__":
    for name, end in references().items():
        print(f"{name}: {end[: 2 if 'bar' in name else None]}, as given to {problem(name).error(end):.0e}")
    assert set(references()) == set(PROBLEMS) - {"andrews"}
