"""The numbers of live pages beside those of `da.simulate`."""

from typing import Any

import numpy as np

import dalembert as da
from dalembert.gallery.definition import Case
from dalembert.mechanisms.drawing import drawing_of

ENDS_EARLY = {"incline": "the contact plane comes to rest", "four-bars": "no longer well conditioned"}
"""The cases whose page stops before the last time, and why."""

LARGEST_DIFFERENCE = 1e-9
"""Of states and forces from those of `da.simulate`, relative to the largest: rounding that a motion amplifies. The
pendulum over 1000 s has 1e-10, all others less than 3e-11."""


def _few(run: da.Trajectory) -> np.ndarray:
    """Places of up to 40 times along a run."""
    return np.unique(np.linspace(0, len(run) - 1, 40).astype(int))


def few_times(run: da.Trajectory) -> np.ndarray:
    return run.t[_few(run)]


def assert_numbers_of(name: str, run: da.Trajectory, model: dict[str, Any], found: dict[str, Any]) -> None:
    """That a page of a case has found the states, forces, energies and points of a run at `few_times`."""
    if name in ENDS_EARLY:
        assert ENDS_EARLY[name] in found["notes"][0]
    else:
        assert found["notes"] == [] and found["reached"] == run.t[-1]
        assert abs(found["steps"] - run.statistics["steps"]) <= 1e-4 * run.statistics["steps"] + 1
    at = _few(run)[: len(found["samples"])]
    assert len(at) > 2
    states, n = np.array([sample["y"] for sample in found["samples"]]), run.q.shape[1]
    outputs = np.array([sample["outputs"] for sample in found["samples"]])
    computed = {"q": states[:, :n], "qd": states[:, n:]}
    for part, own in (("idealForce", "ideal_force"), ("nonidealForce", "nonideal_force"), ("energy", "energy")):
        if getattr(run, own) is not None:
            computed[own] = outputs[:, slice(*model["outputs"][part])]
    for own, values in computed.items():
        expected = getattr(run, own).reshape(len(run), -1)
        scale = np.maximum(np.abs(expected).max(axis=0), 1e-3 * np.abs(expected).max() + 1e-6)
        if own == "energy":  # kinetic and potential energy may cancel
            scale = np.maximum(scale, (run.qd**2).max())
        assert (np.abs(values - expected[at]) / scale).max() < LARGEST_DIFFERENCE, own
    drawn = expected_points(da.gallery.case(name), run)
    if drawn is not None:
        points = outputs[:, slice(*model["outputs"]["points"])]
        assert np.nanmax(np.abs(points - drawn[at])) < LARGEST_DIFFERENCE * np.nanmax(np.abs(drawn))
    violation = outputs[:, slice(*model["outputs"]["violation"])]
    assert np.abs(violation).max(initial=0.0) <= np.abs(run.violation).max(initial=0.0) + 1e-9


def expected_points(case: Case, run: da.Trajectory) -> np.ndarray | None:
    """Positions (T, d · points) along a run, by NumPy; None if a case has no points of its own.

    Those of curves and surfaces are NaN: pages show more of them than a run visits.
    """
    if case.mechanism is not None:
        points = drawing_of(case.mechanism, run).points
        return np.concatenate([p * np.nan if name.startswith("line ") else p for name, p in points.items()], axis=1)
    if case.points is None:
        return None
    return np.stack([np.broadcast_to(part, len(run)) for place in case.points(run).values() for part in place], axis=1)
