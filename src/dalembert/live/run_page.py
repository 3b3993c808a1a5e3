# SPDX-License-Identifier: BSD-3-Clause
"""`run.page`: a live page that begins with the numbers of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.common.array_types import Floats
from dalembert.integration.method import Method

if TYPE_CHECKING:
    from dalembert.control.controller import Controller

PageSource = Callable[..., Path]


def page_source(
    system: Any,
    method: Method,
    start: tuple[Floats, Floats],
    times: tuple[float, float],
    p: tuple[Any, ...],
    *,
    allow_violation: bool,
    control: Controller | None,
) -> PageSource:
    """Return the function behind ``Trajectory.page``.

    ``method`` has the tolerances that the user gave, ``times`` are the first and the last one.
    """

    def write(path: str | Path, points: Any, links: Any, title: str | None, about: str, ranges: Any, view: Any) -> Path:
        from dalembert.live.experiment import Experiment, require_live, require_sliding
        from dalembert.live.html import write_live_page
        from dalembert.live.scene import scene_of_points

        require_live(system, method, control)
        (q0, qd0), numbers = start, tuple(float(value) for value in p)
        experiment = Experiment(system, method, q0, qd0, float(times[0]), float(times[1]), numbers, allow_violation)
        require_sliding(experiment)
        scene = scene_of_points(system, points, links, view)
        return write_live_page(experiment, scene, path, title=title, about=about, ranges=ranges)

    return write
