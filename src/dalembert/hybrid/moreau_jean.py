# SPDX-License-Identifier: BSD-3-Clause
"""The arguments of Moreau's and Jean's time-stepping scheme."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.errors import InputError


@dataclass(frozen=True)
class MoreauJean:
    """The time-stepping scheme of Moreau and Jean, for many contacts: ``solver=da.MoreauJean(step=1e-3)``.

    Impacts are not located: all contacts that would be penetrated within a step receive one impulse, such that the
    velocities at its end satisfy Newton's law of restitution and Coulomb's law of friction, as ``impact="moreau"``.
    The error is of first order in the step, and of second order while no contact opens or closes and θ = 1/2. Bodies
    penetrate one another by up to a step's motion, which ``run.violation`` reports.

    Parameters
    ----------
    step          h, the size of all steps
    theta         θ from 1/2 to 1: q₊ = q + h ((1 − θ) v + θ v₊). Forces are those at q + h (1 − θ) v
    tolerance     largest residual of the impulses, relative to the velocities
    max_sweeps    most iterations for the impulses of one step; if they do not suffice, a note of the run says so

    Raises
    ------
    InputError    if an argument is out of its range

    Examples
    --------
    >>> import sympy as sp
    >>> import dalembert as da
    >>> y = da.coordinates("y")
    >>> floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=0)
    >>> ball = da.System((y,), [[1]], (-10,), floor)
    >>> run = da.simulate(ball, (5,), (0,), [0, 2], solver=da.MoreauJean(step=1e-3))
    >>> bool(abs(run.q[-1, 0]) < 0.01)
    True
    """

    step: float
    theta: float = 0.5
    tolerance: float = 1e-10
    max_sweeps: int = 10_000

    def __post_init__(self) -> None:
        for name in ("step", "tolerance"):
            value = getattr(self, name)
            if not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
                raise InputError(f"`{name}` must be a positive number; got {value!r}.")
        # below one half the θ-method is not A-stable
        if not isinstance(self.theta, (int, float, np.number)) or not 0.5 <= self.theta <= 1:
            raise InputError(f"`theta` must be from 0.5 to 1; got {self.theta!r}.")
        if not isinstance(self.max_sweeps, (int, np.integer)) or self.max_sweeps < 1:
            raise InputError(f"`max_sweeps` must be a whole number, at least 1; got {self.max_sweeps!r}.")
