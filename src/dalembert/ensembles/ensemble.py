# SPDX-License-Identifier: BSD-3-Clause
"""Simulation of ensembles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dalembert.analysis.conservation import conserved_members, refuse_changing_members
from dalembert.control.controlled_plant import controlled_members
from dalembert.control.controller import Controller
from dalembert.ensembles.ensemble_bifurcations import Bifurcations
from dalembert.ensembles.ensemble_control import EnsembleControl
from dalembert.ensembles.members import members_of
from dalembert.ensembles.projected_starts import ProjectedStarts
from dalembert.ensembles.runner import EnsembleRunner
from dalembert.ensembles.summary import Summary
from dalembert.errors import InputError
from dalembert.integration.drift import Drift, Projection
from dalembert.integration.progress import Progress
from dalembert.lowering.build import build
from dalembert.model.input_values import time_values
from dalembert.model.signal_ranges import require_in_range
from dalembert.model.system import System, kind_of_object
from dalembert.settings import method_of

if TYPE_CHECKING:
    import xarray as xr


def simulate_ensemble(
    system: System,
    q0: Any,
    qd0: Any,
    times: Any,
    *,
    parameters: Any = None,
    rtol: float = 1e-9,
    atol: float | None = None,
    step: float | None = None,
    max_step: float | None = None,
    drift: Drift | None = Projection(),
    max_steps: int = 1_000_000,
    keep: Literal["times", "end", "summary"] = "times",
    quantiles: Sequence[float] = (0.05, 0.5, 0.95),
    device: Literal["cpu", "gpu"] = "cpu",
    control: Controller | None = None,
    progress: bool | None = None,
) -> xr.Dataset:
    """Simulate an ensemble: one system with many initial states or parameters, on all cores or on a GPU.

    Each ensemble member takes its own adaptive steps and is projected onto the constraints after each step, as by
    ``da.simulate``. A member that fails is marked with the reason and does not affect the others. A member whose
    contacts under dry friction come to rest, or reverse, is simulated separately, as by ``da.simulate``; all others are
    integrated in compiled code.

    There is no ``solver`` and no ``formulation`` to choose: ensembles use the default ones of ``da.simulate``, that is
    the Dormand–Prince method of order 8 for adaptive steps, and the Runge–Kutta method of order 4 for fixed steps.

    Parameters
    ----------
    q0, qd0       (n,) for all members or (N, n), one row for each; or mappings by coordinate
    parameters    numbers for all members or arrays (N,), by name
    times         increasing times, the same for all
    rtol, atol, drift, max_step, max_steps    as for ``da.simulate``
    step          a fixed step instead: each span between two times is divided into equal steps no longer than this. If
                  the compiled integrator hands a member over to the general one, that one uses this step from the start
    keep          "times": states at all times; "end": at the last one; "summary": mean, variance and quantiles over the
                  members, at all times, with memory that does not grow with their number
    quantiles     for a summary: exact for up to 10 000 members, from a random sample of this size otherwise
    device        "gpu": one thread for each member on an NVIDIA GPU, with the same compiled code and therefore the same
                  results
    control       a continuous ``da.controller`` that drives the actuators of all members
    progress      True or False to force the progress bar; by default it appears on a terminal after two seconds

    Returns
    -------
    Dataset       ``q`` and ``qd`` by member, time and coordinate, NaN where a member failed, and ``reason`` by member,
                  empty where it did not; or ``mean``, ``variance`` and ``quantile`` of both, and ``failed``, how many.
                  With servos or a controller also ``input(name)`` of each actuator and ``error(name)`` of each servo,
                  by member and time, except in a summary.
                  ``attrs["seconds"]`` is the time in compiled code, ``attrs["handed_over"]`` the number of members that
                  the compiled integrator handed over to the general one: each of them takes as long as a single run;
                  ``attrs["notes"]`` reports how many starts were projected onto the constraints, inputs at their
                  limits, and if the constraints lose rank along the motions of members, of which up to 32 are examined
                  from output to output

    Raises
    ------
    InputError    missing or unknown names, wrong shapes, arrays of different lengths, no array of members; with
                  "gpu", no GPU, or a system that cannot be compiled

    Examples
    --------
    >>> import numpy as np
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    >>> pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -da.parameters("g")), rod)
    >>> many = da.simulate_ensemble(pendulum, (1, 0), (0, 0), [0, 1], parameters={"g": np.linspace(9, 10, 3)})
    >>> print(many["q"].sel(coordinate="x", time=1).values.round(4))
    [-0.9689 -0.9809 -0.9889]
    """
    if not isinstance(system, System):
        raise InputError(f"`system` must be a `da.System`; got {kind_of_object(system)}.")
    if keep not in ("times", "end", "summary"):
        raise InputError(f'`keep` must be "times", "end" or "summary"; got {keep!r}.')
    if device not in ("cpu", "gpu"):
        raise InputError(f'`device` must be "cpu" or "gpu"; got {device!r}.')
    levels = _quantile_levels(quantiles)
    times = time_values(times, "times", increasing=True)
    require_in_range(system, times)
    method = method_of(None, drift, None, rtol, atol, step, max_steps, max_step)
    if control is not None:
        system, parameters = controlled_members(system, control, parameters)
    members = members_of(system.coordinate_names, system.parameter_names, q0, qd0, parameters)
    if method.drift.integrals:
        system, p = conserved_members(system, method, float(times[0]), members.y, members.p)
        members = replace(members, p=p)
    dynamics = build(system)
    summary = Summary(levels) if keep == "summary" else None
    states: list[Any] = []
    reasons: list[Any] = []
    # in chunks, so that memory is bounded and progress is shown
    runner = EnsembleRunner(system, method, times, every=keep != "end", on_gpu=device == "gpu")
    # a member under dry friction cannot be integrated again without its transitions between sticking and sliding
    bifurcations = Bifurcations(dynamics, method, times, 0 if runner.contacts else len(members))
    starts = ProjectedStarts(dynamics, method, float(times[0]))
    inputs = EnsembleControl(system, control, times)
    with Progress(0, len(members), progress, "members") as bar:
        for first in range(0, len(members), runner.chunk_size):
            selection = slice(first, first + runner.chunk_size)
            chunk = runner(members.subset(selection))
            reasons.append(chunk.reasons)
            if dynamics.integrals:
                after = chunk.y[:, 1:] if keep != "end" else chunk.y
                refuse_changing_members(dynamics, times[-after.shape[1] :], after, members.subset(selection).p, first)
            bifurcations.examine(first, members.subset(selection), chunk.y, chunk.reasons != "")
            starts.examine(members.subset(selection), chunk.reasons != "")
            inputs.examine(first, members.subset(selection), chunk.y, keep=summary is None)
            if summary is None:
                states.append(chunk.y)
            else:
                # a failed member has no states after its failure, which would bias the later means
                summary.add(chunk.y[chunk.reasons == ""])
            bar.show(min(first + runner.chunk_size, len(members)))
    kept = times if keep != "end" else times[-1:]
    if summary is not None:
        found = _summary_dataset(summary, dynamics.coordinates, kept, np.concatenate(reasons))
    else:
        found = _dataset(_joined(states), dynamics.coordinates, kept, _joined(reasons))
        found = found.assign(inputs.variables)
    notes = " ".join(note for note in (starts.note, bifurcations.note, *inputs.notes) if note)
    return found.assign_attrs(device=device, seconds=runner.seconds, handed_over=runner.handed_over, notes=notes)


def _joined(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _quantile_levels(quantiles: Any) -> tuple[float, ...]:
    try:
        levels = tuple(float(q) for q in quantiles)
    except (TypeError, ValueError):
        levels = (np.nan,)
    if not all(0 <= level <= 1 for level in levels):
        raise InputError(f"`quantiles` must be numbers from 0 to 1; got {quantiles!r}.")
    return levels


def _dataset(y: Any, coordinates: tuple[str, ...], times: Any, reasons: Any) -> xr.Dataset:
    import xarray as xr

    n, about = len(coordinates), ("member", "time", "coordinate")
    return xr.Dataset(
        {"q": (about, y[:, :, :n]), "qd": (about, y[:, :, n:]), "reason": (("member",), reasons)},
        {"member": np.arange(len(y)), "time": times, "coordinate": list(coordinates)},
    )


def _summary_dataset(summary: Summary, coordinates: tuple[str, ...], times: Any, reasons: Any) -> xr.Dataset:
    import xarray as xr

    n, about = len(coordinates), ("time", "coordinate")
    # means over no members would be NaN without a reason
    if not summary.count:
        raise InputError(f"no member could be simulated, so there is no summary; the first failed because {reasons[0]}")
    parts: dict[str, Any] = {}
    for name, selection in (("q", slice(0, n)), ("qd", slice(n, 2 * n))):
        parts[f"mean_{name}"] = (about, summary.mean[:, selection])
        parts[f"variance_{name}"] = (about, summary.variance[:, selection])
        if summary.quantiles:
            parts[f"quantile_{name}"] = (("quantile", *about), summary.quantile_values()[:, :, selection])
    labels: dict[str, Any] = {"time": times, "coordinate": list(coordinates)}
    if summary.quantiles:
        labels["quantile"] = list(summary.quantiles)
    failed = int((reasons != "").sum())
    return xr.Dataset(parts, labels, {"members": len(reasons), "failed": failed})
