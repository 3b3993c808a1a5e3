# SPDX-License-Identifier: BSD-3-Clause
"""`da.page`: an HTML file that runs a system or a mechanism in a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.common.target_path import target_path
from dalembert.control.controlled_plant import controlled
from dalembert.control.controller import Controller
from dalembert.errors import InputError, SimulationError
from dalembert.figures.view import checked_view
from dalembert.integration.drift import Drift, Projection
from dalembert.integration.start_states import require_start
from dalembert.integration.trajectory import Trajectory
from dalembert.live.experiment import USE_SIMULATE, Experiment, require_live, require_sliding
from dalembert.live.html import write_live_page
from dalembert.live.scene import USUAL_VIEW, Scene, scene_of_points
from dalembert.mechanisms.joint import Joint
from dalembert.mechanisms.layout import layout_of, scene_of_layout
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.visited_states import VisitedStates
from dalembert.model.event import Event
from dalembert.model.input_values import time_values
from dalembert.model.signal_ranges import require_in_range
from dalembert.settings import AnySystem, method_of, prepared
from dalembert.verbs import simulate

ROOM_FOR_OTHER_MOTIONS = 0.6
"""By how much more of a curve a page shows than its first motion visits, since sliders change the motion."""

VISITED_TIMES = 100
"""Number of times of the first motion by which a page chooses how much of a curve it shows."""


def page(
    system: AnySystem | Mechanism,
    q0: Any,
    qd0: Any,
    times: Any,
    path: str | Path,
    *,
    parameters: Any = None,
    points: Mapping[str, Sequence[Any]] | None = None,
    links: Sequence[tuple[str, str]] = (),
    ranges: Mapping[str, tuple[float, float]] | None = None,
    title: str | None = None,
    about: str = "",
    view: tuple[float, float] = USUAL_VIEW,
    rtol: float = 1e-9,
    atol: float | None = None,
    drift: Drift | None = Projection(),
    max_step: float | None = None,
    allow_violation: bool = False,
    control: Controller | None = None,
    events: Sequence[Event] = (),
) -> Path:
    """Write a page that runs a system in the browser, with sliders for all its numbers, and return its path.

    The page is one file that works offline. It computes the motion with the machine code of ``da.simulate``, compiled
    to WebAssembly: the numbers agree with those of ``da.simulate`` to rounding. It shows the motion, plots of
    coordinates, constraint forces, energy and violations, and the work of the forces. Where the compiled integrator
    would hand over to the general one, at a singular position or where a contact comes to rest, the page stops and
    says why.

    Parameters
    ----------
    system             a ``da.System``, or a ``da.Mechanism``, which is then drawn with its bodies and joints
    q0, qd0            the start that the page begins with; after a change the page moves the start onto the constraints
    times              first and last time of the motion; times in between are not used
    path               ends in ``.html``
    parameters         a value for every constant of the model
    points             name to two or three numbers, names of coordinates, or expressions of coordinates and
                       parameters. Left out: coordinates whose names pair up, as (x, y) or (x1, y1, z1)
    links              pairs of names of points, joined by lines
    ranges             name of a parameter or coordinate, ``"x'"`` for a velocity or ``"t"`` for the last time, to the
                       ends of its slider. Left out: half to twice the value, or −1 to 1 about zero
    title, about       heading of the page and a sentence below it
    view               azimuth and elevation in degrees from which a motion in space is seen at first
    rtol, atol, drift, max_step, allow_violation, control    as for ``da.simulate``
    events             must be empty: a page does not compute events

    Raises
    ------
    InputError    missing, unknown, misshapen or non-finite numbers; events; a system that the compiled integrator
                  cannot run, such as a ``da.FunctionSystem``, a sampled controller, or a function that cannot be
                  compiled; a page of more than 1.5 MB
    StateError    a start that does not satisfy the constraints

    Examples
    --------
    >>> import tempfile
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> l = da.parameters("l")
    >>> rod = da.Constraint(x**2 + y**2 - l**2, name="rod")
    >>> pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -9.81), rod)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = da.page(
    ...         pendulum, (1, 0), (0, 0), (0, 10), f"{folder}/pendulum.html", parameters={"l": 1},
    ...         points={"pivot": (0, 0), "bob": (x, y)}, links=[("pivot", "bob")], ranges={"l": (0.1, 3)},
    ...     )
    ...     print(path.name)
    pendulum.html
    """
    target_path(path, (".html",))
    if events:
        raise InputError(
            f"a live page must be of a system whose constraints hold all the time, without `events`. {USE_SIMULATE}"
        )
    _require_drawable(system, points, links)
    plain: Any = system.system if isinstance(system, Mechanism) else system
    experiment = _experiment(
        plain,
        (q0, qd0, times),
        parameters,
        method=method_of(None, drift, None, rtol, atol, None, 1, max_step),
        allow_violation=allow_violation,
        control=control,
    )
    if isinstance(system, Mechanism):
        scene = _scene_of_mechanism(system, experiment, view)
    else:
        scene = scene_of_points(experiment.system, points, links, view)
    return write_live_page(experiment, scene, path, title=title, about=about, ranges=ranges)


def _require_drawable(system: Any, points: Any, links: Any) -> None:
    """Raise an error if points are given for a mechanism."""
    if isinstance(system, Mechanism) and (points is not None or links):
        raise InputError(
            "`points` and `links` must be left out for a `da.Mechanism`, which is drawn with its bodies and joints. "
            "Pass its `.system` to draw points."
        )


def _scene_of_mechanism(mechanism: Mechanism, experiment: Experiment, view: Any) -> Scene:
    """Return the drawing of a mechanism, with its curves and surfaces as far as the motion of the page needs them."""
    checked_view(view)
    parameters = dict(zip(experiment.dynamics.parameters, experiment.p, strict=True))
    q, t = experiment.q0[None, :], np.array([experiment.t0])
    if any(isinstance(joint, Joint) and joint.has_guides for joint in mechanism.joints):
        run = _motion_of(experiment, parameters)
        q, t = run.q, run.t
    visited = VisitedStates(q, t, parameters, margin=ROOM_FOR_OTHER_MOTIONS, symbolic=True)
    return scene_of_layout(mechanism, layout_of(mechanism, visited), view)


def _motion_of(experiment: Experiment, parameters: Mapping[str, float]) -> Trajectory:
    """Return the motion with which a page begins, as far as it goes; the page says where it ends."""
    times = np.linspace(experiment.t0, experiment.t1, VISITED_TIMES)
    try:
        return simulate(
            *(experiment.system, experiment.q0, experiment.qd0, times),
            parameters=parameters,
            drift=experiment.method.drift,
            allow_violation=experiment.allow_violation,
            progress=False,
        )
    except SimulationError as end:
        return end.trajectory


def _experiment(
    system: Any,
    motion: tuple[Any, Any, Any],
    parameters: Any,
    *,
    method: Any,
    allow_violation: bool,
    control: Controller | None,
) -> Experiment:
    """Return what the page runs, from the arguments of the user."""
    require_live(system, method, control)
    q0, qd0, times = motion
    if control is not None:
        plant = controlled(system, control, q0, qd0, parameters)
        system, q0, qd0, parameters = plant.system, plant.q0, plant.qd0, plant.parameters
    dynamics, q0, qd0, p = prepared(system, q0, qd0, parameters, ("q0", "qd0"))
    span = time_values(times, "times", increasing=True)
    require_in_range(system, span)
    projected = method.drift.projections > 0
    require_start(dynamics, q0, qd0, span[0], p, allow_violation=allow_violation, projected=projected)
    numbers = tuple(float(value) for value in p)
    experiment = Experiment(system, method, q0, qd0, float(span[0]), float(span[-1]), numbers, allow_violation)
    require_sliding(experiment)
    return experiment
