# SPDX-License-Identifier: BSD-3-Clause
"""Simulation of ensembles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dalembert.ensembles.ensemble_bifurcations import Bifurcations
from dalembert.ensembles.members import members_of
from dalembert.ensembles.runner import EnsembleRunner
from dalembert.ensembles.summary import Summary
from dalembert.errors import InputError
from dalembert.integration.drift import Drift, Projection
from dalembert.integration.progress import Progress
from dalembert.lowering.build import build
from dalembert.model.input_values import time_values
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
    progress: bool | None = None,
) -> xr.Dataset:
    """Simulate an ensemble: one system with many initial states or parameters, on all cores or on a GPU.

    Each ensemble member takes its own adaptive steps and is projected onto the constraints after each step, as by
    ``da.simulate``. A member that fails is marked with the reason and does not affect the others. A member whose
    contacts under dry friction come to rest, or reverse, is simulated separately, as by ``da.simulate``; all others are
    integrated in compiled code.

    Parameters
    ----------
    q0, qd0       (n,) for all members or (N, n), one row for each; or mappings by coordinate
    parameters    numbers for all members or arrays (N,), by name
    times         increasing times, the same for all
    rtol, atol, drift, max_step, max_steps    as for ``da.simulate``
    step          a fixed step instead, by Runge and Kutta's method of order 4: each span between two times is divided
                  into equal steps no longer than this. What machine code declines takes this step from the start on
    keep          "times": states at all times; "end": at the last one; "summary": mean, variance and quantiles over the
                  members, at all times, in a memory that does not grow with their number
    quantiles     for a summary: exact up to 10 000 members, from a random sample of so many beyond
    device        "gpu": one thread for each member on an NVIDIA GPU, by the same machine code and so with the
                  same numbers
    progress      True or False to force the progress bar; by itself it appears on a terminal after two seconds

    Returns
    -------
    Dataset       ``q`` and ``qd`` by member, time and coordinate, NaN where a member failed, and ``reason`` by member,
                  empty where it did not; or ``mean``, ``variance`` and ``quantile`` of both, and ``failed``, how many.
                  ``attrs["seconds"]`` is the time in machine code, ``attrs["declined"]`` the number of members that it
                  declined: each of them takes as long as a run of its own; ``attrs["notes"]`` tells if the constraints
                  lose rank on the way of members, of which up to 32 are examined from output to output

    Raises
    ------
    InputError    missing, unknown, misshapen numbers; arrays of different lengths; no array of members at all; no
                  GPU, or a system that has no machine code, with "gpu"

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
    asked = _shares(quantiles)
    times = time_values(times, "times", increasing=True)
    method = method_of(None, drift, None, rtol, atol, step, max_steps, max_step)
    dynamics = build(system)
    members = members_of(dynamics.coordinates, dynamics.parameters, q0, qd0, parameters)
    summary = Summary(asked) if keep == "summary" else None
    states: list[Any] = []
    reasons: list[Any] = []
    runner = EnsembleRunner(system, method, times, every=keep != "end", on_gpu=device == "gpu")
    bifurcations = Bifurcations(dynamics, method, times, 0 if runner.contacts else len(members))
    with Progress(0, len(members), progress, "members") as bar:
        for first in range(0, len(members), runner.most):
            mine = slice(first, first + runner.most)
            moved = runner(members.some(mine))
            reasons.append(moved.reasons)
            bifurcations.look(first, members.some(mine), moved.y, moved.reasons != "")
            if summary is None:
                states.append(moved.y)
            else:
                summary.add(moved.y[moved.reasons == ""])
            bar.show(min(first + runner.most, len(members)))
    kept = times if keep != "end" else times[-1:]
    if summary is not None:
        found = _summarised(summary, dynamics.coordinates, kept, np.concatenate(reasons))
    else:
        found = _dataset(_joined(states), dynamics.coordinates, kept, _joined(reasons))
    return found.assign_attrs(device=device, seconds=runner.seconds, declined=runner.declined, notes=bifurcations.note)


def _joined(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _shares(quantiles: Any) -> tuple[float, ...]:
    try:
        shares = tuple(float(q) for q in quantiles)
    except (TypeError, ValueError):
        shares = (np.nan,)
    if not all(0 <= share <= 1 for share in shares):
        raise InputError(f"`quantiles` must be numbers from 0 to 1; got {quantiles!r}.")
    return shares


def _dataset(y: Any, coordinates: tuple[str, ...], times: Any, reasons: Any) -> xr.Dataset:
    import xarray as xr

    n, about = len(coordinates), ("member", "time", "coordinate")
    return xr.Dataset(
        {"q": (about, y[:, :, :n]), "qd": (about, y[:, :, n:]), "reason": (("member",), reasons)},
        {"member": np.arange(len(y)), "time": times, "coordinate": list(coordinates)},
    )


def _summarised(summary: Summary, coordinates: tuple[str, ...], times: Any, reasons: Any) -> xr.Dataset:
    import xarray as xr

    n, about = len(coordinates), ("time", "coordinate")
    if not summary.count:
        raise InputError(f"no member could be simulated, so that there is nothing to sum up; the first: {reasons[0]}")
    parts: dict[str, Any] = {}
    for name, mine in (("q", slice(0, n)), ("qd", slice(n, 2 * n))):
        parts[f"mean_{name}"] = (about, summary.mean[:, mine])
        parts[f"variance_{name}"] = (about, summary.variance[:, mine])
        if summary.quantiles:
            parts[f"quantile_{name}"] = (("quantile", *about), summary.of_quantiles()[:, :, mine])
    labels: dict[str, Any] = {"time": times, "coordinate": list(coordinates)}
    if summary.quantiles:
        labels["quantile"] = list(summary.quantiles)
    failed = int((reasons != "").sum())
    return xr.Dataset(parts, labels, {"members": len(reasons), "failed": failed})
