# SPDX-License-Identifier: BSD-3-Clause
"""`da.reproduce`: a run from a file, simulated again and compared with what the file holds."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.keywords import require_keywords
from dalembert.common.names import quoted
from dalembert.errors import InputError, StateError
from dalembert.hybrid.moreau_jean import MoreauJean
from dalembert.integration.drift import Drift, Projection
from dalembert.integration.run_source import RunSource, saved_run_sources
from dalembert.integration.trajectory import Trajectory

if TYPE_CHECKING:
    from dalembert.verbs import AnySystem

AGREEMENT = 1e3
"""Tolerances by which a reproduced motion may differ: another processor rounds differently, and errors of steps add up.
On the same processor there is no difference."""


def reproduce(
    system: AnySystem | Trajectory, run: Trajectory | None = None, *, drift: Drift | None = Projection(), **options: Any
) -> Trajectory:
    """Simulate a saved run again, check that the motion is the same, and return it together with its system.

    A run from a file or a pickle has no compiled system. The run that is returned has one, for its ledger, its motion
    at other times, and values of expressions. ``da.reproduce(run)`` uses the system that is in the file of a run, if it
    could be written there; a run from ``da.Trajectory.load`` does so by itself when its system is first needed, with
    the default options. ``da.reproduce(system, run)`` uses a system of yours.

    Parameters
    ----------
    system     the system of the run; it may be left out if the file of the run holds it
    run        a trajectory from ``da.Trajectory.load``; its initial state, times, parameters and tolerances are used
    drift      the drift cure of the run
    options    ``solver``, ``formulation``, ``step``, ``max_step``, ``control`` and ``events``, as they were passed to
               ``da.simulate``; a ``da.MoreauJean`` is taken from the run

    Raises
    ------
    InputError    if the run is not a motion of this system with these options: names, method or states differ; if an
                  option is not one of ``da.simulate``; or if no system is given and the run does not hold one

    Examples
    --------
    >>> import pickle
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> system = da.System((x,), [[1]], (-x,))
    >>> saved = pickle.loads(pickle.dumps(da.simulate(system, (1,), (0,), [0, 10])))
    >>> print(da.reproduce(system, saved).at(1.0)["x"].round(6))
    [0.540302]
    """
    from dalembert.verbs import simulate  # imported here: a run that is only read does not need it

    require_keywords(options, simulate, "da.simulate")
    if isinstance(system, Trajectory):
        system, run = _stored_system(system), system
    run = _reproducible(run)
    method = {"drift": drift, "rtol": run.statistics["rtol"]} if "rtol" in run.statistics else _time_steps(run)
    given: dict[str, Any] = {"parameters": run.parameters, **method, **options}
    found = _simulated(system, run, given)
    # tolerances that were given did not follow the scales of the initial state
    if run.statistics.get("atol") not in (None, found.statistics.get("atol")):
        found = _simulated(system, run, {**given, "atol": run.statistics["atol"]})
    _require_same(run, found)
    return found


def _time_steps(run: Trajectory) -> dict[str, Any]:
    """Return the solver of a run by fixed time steps, as an option of ``da.simulate``."""
    return {"solver": MoreauJean(**{field.name: run.statistics[field.name] for field in fields(MoreauJean)})}


def _simulated(system: AnySystem, run: Trajectory, options: dict[str, Any]) -> Trajectory:
    """Return the motion from the start of a run, which may violate the constraints if that of the run did."""
    from dalembert.verbs import simulate  # imported here: a run that is only read does not need it

    try:
        return simulate(system, run.q[0], run.qd[0], run.t, **options)
    except StateError:
        relaxed: dict[str, Any] = {**options, "allow_violation": True}
        return simulate(system, run.q[0], run.qd[0], run.t, **relaxed)


def _stored_system(run: Trajectory) -> AnySystem:
    """Return the system that the file of a run holds."""
    if not run.model:
        raise InputError(
            "`run` must hold its system to be simulated again without it; this one does not: it is not from a file "
            "that `run.save` wrote, or its system cannot be written as a model file. Call `da.reproduce(system, run)`."
        )
    from dalembert.files.load import loads  # imported here: a run that is only read does not need it

    return loads(run.model, "the model in the file of the run").system


def _source(run: Any) -> RunSource:
    """Return the compiled system of a run from a file."""
    return reproduce(run).require_source("a reproduced run")


saved_run_sources.append(_source)


def _reproducible(run: Any) -> Trajectory:
    """Return a run that can be simulated again."""
    if not isinstance(run, Trajectory):
        raise InputError(f"`run` must be a trajectory; got {run!r}.")
    if run.mark:
        raise InputError(
            f"`run` must be a motion by d'Alembert's principle to be simulated again; it is {run.mark}. Call the "
            f"`simulate` of its own equations."
        )
    if len(run) < 2:
        raise InputError(f"`run` must have at least two times to be simulated again; it has {len(run)}.")
    return run


def _require_same(run: Trajectory, found: Trajectory) -> None:
    """Raise an error unless two runs have the same names, the same method and the same states."""
    if (run.coordinates, run.constraints) != (found.coordinates, found.constraints):
        raise InputError(
            f"`system` must be that of the run, with the coordinates {quoted(run.coordinates)} and the constraints "
            f"{quoted(run.constraints) or 'none'}; it has {quoted(found.coordinates)} and "
            f"{quoted(found.constraints) or 'none'}."
        )
    by_steps = ("solver", *(field.name for field in fields(MoreauJean)))
    for option in ("solver", "drift", "formulation") if "rtol" in run.statistics else by_steps:
        was, now = run.statistics[option], found.statistics.get(option)
        if was != now:
            raise InputError(
                f"`{option}` must be that of the run, {was}; got {now}. Pass the one it was simulated with."
            )
    before, after = ([event.name for event in one.events if event.kind == "event"] for one in (run, found))
    if before != after:
        raise InputError(
            f"`events` must be those of the run, in which {quoted(before) or 'none'} occurred; simulated again, "
            f"{quoted(after) or 'none'} did. Pass the events as the run had them."
        )
    for name, was, now in (("coordinates", run.q, found.q), ("velocities", run.qd, found.qd)):
        absolute, relative = (run.statistics.get(key, run.statistics.get("tolerance")) for key in ("atol", "rtol"))
        allowed = AGREEMENT * (absolute + relative * np.abs(was).max(axis=0))
        _require_close(run, name, was, now, allowed)


def _require_close(run: Trajectory, name: str, was: Floats, now: Floats, allowed: Floats) -> None:
    off = ~(np.abs(now - was) <= allowed)
    if off.any():
        k, i = map(int, np.argwhere(off)[0])
        raise InputError(
            f"`run` must be a motion of `system` with these options; simulated again, the {name} of "
            f"`{run.coordinates[i]}` differ by {abs(now[k, i] - was[k, i]):.1e} at t = {run.t[k]:.6g}. Pass `step`, "
            f"`max_step` and `control` as the run had them. A chaotic motion can be reproduced only on the same kind "
            f"of processor."
        )
