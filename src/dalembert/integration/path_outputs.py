# SPDX-License-Identifier: BSD-3-Clause
"""The motion at the requested times: each state is reached by one step from the last step before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.extras import require
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.method import Method
from dalembert.integration.native_steps import NativeSteps, by_coordinates, native_steps
from dalembert.integration.path import Path
from dalembert.integration.state_answer import answers_by_numpy, numpy_outputs


def outputs_along(
    dynamics: Dynamics, method: Method, path: Path, times: Floats, p: Any, *, states_only: bool = False
) -> dict[str, Any]:
    """Return the motion at any times along a path, by the names of ``Trajectory``; of states only, q and qd."""
    before = path.t.searchsorted(times, side="right") - 1  # "right": at the time of a step no further step is needed
    t0, y0 = path.t[before], path.y[before]
    for crossing in path.crossings:
        within = (times > crossing.start) & (times < crossing.end)
        t0[within], y0[within] = times[within], crossing.states(times[within])
    found = outputs_at(dynamics, method, path.native, t0, y0, times, p, states_only=states_only)
    for crossing in path.crossings:
        within = (times > crossing.start) & (times < crossing.end)
        if crossing.outputs is not None and within.any() and not states_only:
            for name, values in crossing.outputs(times[within]).items():
                found[name][within] = values
    return found


def outputs_at(
    dynamics: Dynamics,
    method: Method,
    native: NativeSteps | None,
    t0: Floats,
    y0: Floats,
    times: Floats,
    p: Any,
    *,
    states_only: bool = False,
) -> dict[str, Any]:
    """Return the motion at times reached by one step each from states at t0; no step is taken where the times agree."""
    if native is None:
        native = native_steps(dynamics, method, p)
    if native is None:
        found, valid = dict[str, Any](), np.zeros(len(times), bool)
    else:
        found, valid = native.sample(t0, y0, times, states_only=states_only)
    if valid is not None:
        found = _with_missing(dynamics, method, found, ~valid, (t0, y0, times), p, states_only)
    return {"energy": None} | found


def _with_missing(
    dynamics: Dynamics,
    method: Method,
    found: dict[str, Any],
    missing: Any,
    at: tuple[Floats, Floats, Floats],
    p: Any,
    states_only: bool,
) -> dict[str, Any]:
    """Return the outputs with those that machine code does not give, by NumPy where no step is needed, else by JAX."""
    t0, y0, times = at
    # a single state needs no step, so that NumPy can evaluate it without JAX
    here = missing & (times == t0)
    if found and here.any() and answers_by_numpy(dynamics):
        others = by_coordinates(y0[here]) if states_only else numpy_outputs(dynamics, method, times[here], y0[here], p)
        found |= {name: _filled(found[name], here, values) for name, values in others.items()}
        missing = missing & ~here
    if missing.any():
        # as in ``integrate``: import diffrax only if it is needed
        require("diffrax")
        from dalembert.integration.sampling import sample

        general = sample(dynamics, method, t0[missing], y0[missing], times[missing], p, states_only=states_only)
        found = {name: _filled(found.get(name), missing, values) for name, values in general.items()}
    return found


def _filled(values: Any, places: Any, others: Any) -> Any:
    """Replace some values by others; without values, return the others."""
    if values is None:
        return others
    values[places] = others
    return values
