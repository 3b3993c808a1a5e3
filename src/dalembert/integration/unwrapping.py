# SPDX-License-Identifier: BSD-3-Clause
"""Angles that are known up to whole turns, made continuous along a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.integration.run_source import RunSource

LARGEST_CHANGE = np.pi / 2
"""Largest change of an angle between two states at which it is clear how many turns lie between them. The steps of an
integrator divide a turn into several, and each step is halved here."""


def unwrapped(source: RunSource, run: Any, expression: Any, times: Floats) -> Floats:
    """Return an angle at some times of a run, with whole turns added so that it is continuous from the start on.

    The turns are counted along the steps of the integration, so that the times may be far apart.
    """
    steps = np.unique(np.concatenate([source.steps(run), run.t[[0, -1]]]))
    fine = np.unique(np.concatenate([steps, (steps[1:] + steps[:-1]) / 2, times]))
    # at all fine times, not only at the requested ones, between which there may be whole turns
    angles = np.unwrap(source.values(source.at(run, fine), expression), axis=0)
    changes = np.abs(np.diff(angles, axis=0)).max(axis=tuple(range(1, angles.ndim)))
    if (changes > LARGEST_CHANGE).any():
        k = int(np.argmax(changes > LARGEST_CHANGE))
        raise InputError(
            f"an angle must change by less than a quarter of a turn in half a step, so that its turns can be counted; "
            f"near t = {fine[k]:.6g} it changes by {changes[k]:.3g} rad. Simulate with a smaller `max_step`, or leave "
            f"out `unwrap` if the expression is no angle."
        )
    return angles[np.searchsorted(fine, times)]
