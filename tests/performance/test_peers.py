# SPDX-License-Identifier: BSD-3-Clause
"""The problems that programs are compared on: their references, and how the tables choose."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.peers.measure import quickest
from benchmarks.peers.ours import runs
from benchmarks.peers.planar import planar
from benchmarks.peers.problems import problem


@pytest.mark.parametrize("name", ["double-pendulum", "four-bar", "rolling-disc"])
def test_the_library_ends_where_other_coordinates_do(name: str) -> None:
    task = problem(name)
    assert task.error(runs(task)["rtol=1e-10"]()) < 1e-9


@pytest.mark.parametrize("name", ["double-pendulum", "four-bar", "andrews"])
def test_links_on_hinges_start_where_the_coordinates_do(name: str) -> None:
    task = problem(name)
    mechanism = planar(task)
    assert np.allclose(mechanism.seen(mechanism.start[0]), task.seen(np.array(task.q0)), atol=1e-14)


def test_the_quickest_setting_is_one_that_is_accurate_enough() -> None:
    found = {
        "settings": [
            {"setting": "loose", "seconds": 1.0, "error": 1e-3},
            {"setting": "tight", "seconds": 3.0, "error": 1e-9},
            {"setting": "tighter", "seconds": 2.0, "error": 1e-7},
            {"setting": "broken", "failed": "no"},
        ]
    }
    best = quickest(found, 1e-6)
    assert best is not None and best["setting"] == "tighter"
    assert quickest(found, 1e-10) is None
