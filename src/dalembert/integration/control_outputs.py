# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of actuators and errors of servo constraints, at a state and along a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.dynamics import Dynamics, native_of
from dalembert.errors import ConstraintError
from dalembert.integration.trajectory import Trajectory
from dalembert.native.protocol import Control

INPUT_GROWTH, GROWTH_SAMPLES = 1e3, 100
"""Ratio of the last inputs to the usual ones of a run above which they are said to grow without bound, and the number
of times at which these are compared."""


def control_at(dynamics: Dynamics, q: Any, qd: Any, t: Any, p: Any) -> Control:
    """Return inputs and errors at one state, each with a leading axis of length one."""
    return native_of(dynamics).control(np.concatenate([q, qd])[None].astype(float), np.array([float(t)]), p)


def refuse_unmet(dynamics: Dynamics, q: Any, qd: Any, t: Any, p: Any) -> None:
    """Raise an error that names the servo constraints that no inputs can meet at a state."""
    reason = unmet(dynamics, q, qd, t, p)
    if reason:
        raise ConstraintError(reason)


def unmet(dynamics: Dynamics, q: Any, qd: Any, t: Any, p: Any) -> str:
    """Return a message on the servo constraints that no inputs can meet at a state; empty if there are none."""
    if not dynamics.actuators:
        return ""
    return reason_unmet(control_at(dynamics, q, qd, t, p), dynamics.servos, dynamics.actuators, float(t))


def reason_unmet(found: Control, servos: Mapping[str, Sequence[int]], actuators: Sequence[str], t: float) -> str:
    """Return a message on the servo constraints that no inputs can meet, from the control at one state."""
    # the compiled inputs are NaN wherever a condition fails; which one is found below, from the first cause to the last
    if np.isfinite(found.inputs).all():
        return ""
    if not np.isfinite(found.errors).all():
        names = [name for name, rows in servos.items() if not np.isfinite(found.errors[0, list(rows)]).all()]
        return (
            f"the requirement of servo {_quoted(names)} must be finite; at t = {t:.6g} it is not. Look for a "
            f"division by zero, a root or logarithm of a negative number, or a state that is not finite."
        )
    if not found.cost_margin[0, 0] > 1:
        return (
            f"`cost` of {_quoted(servos)} must be positive definite; at t = {t:.6g} it is not. Check "
            f"the values of its parameters."
        )
    infinite = {int(i) for i in np.flatnonzero(~np.isfinite(found.equations[0]))}
    if infinite:
        names = [name for name, rows in servos.items() if infinite & set(rows)]
        return (
            f"the requirement of servo {_quoted(names)} must have finite derivatives; at t = {t:.6g} one that "
            f"determines the inputs is not finite. Look for a root or a power whose derivative is infinite there, and "
            f"start the reference smoothly."
        )
    weak = {int(i) for i in np.flatnonzero(~(found.margins[0] > 1))}
    if not weak:  # all other conditions hold, and those of friction by reactions do not
        return (
            f"servo {_quoted(servos)} must be met by inputs of {_quoted(actuators)}, which change "
            f"the reactions and with them the friction; at t = {t:.6g} no inputs of least cost were found: "
            f"those computed for one sign of a normal force lead to the other sign. Reduce the coefficients of "
            f"friction, choose other actuators, or use a law of the velocity, such as `da.Viscous`."
        )
    names = [name for name, rows in servos.items() if weak & set(rows)]
    alone = sum(len(rows) for rows in servos.values()) == 1
    effect = (
        "have no effect on it, unlike at other states"
        if alone
        else "do not act on it independently of the other requirements"
    )
    return (
        f"servo {_quoted(names)} must be met by inputs of {_quoted(actuators)}, which at t = {t:.6g} "
        f"{effect}. Start elsewhere, add an actuator or choose another "
        f"requirement; or check the parameters, since a zero may change how inputs act."
    )


def growth_reason(actuators: Sequence[str], servos: Iterable[str], inputs: Floats) -> str:
    """Return a message if the last of the inputs (k, r) along a run are far larger than the usual ones, else an empty
    one: inputs that lose their effect on a requirement grow without bound."""
    sizes = np.nan_to_num(np.abs(inputs), posinf=np.inf)
    # the median, since a few large inputs at the end must not set the scale
    usual = float(np.median(sizes.max(axis=1))) if len(sizes) else 0.0
    names = [
        name for name, size in zip(actuators, sizes[-1:].T, strict=True) if len(size) and size[0] > INPUT_GROWTH * usual
    ]
    if not names or not usual > 0:
        return ""
    return (
        f"the inputs of {_quoted(names)} grow without bound, from usually {usual:.2e} to {sizes[-1].max():.2e}: they "
        f"lose their effect on servo {_quoted(servos)} at a singular position, where its requirement cannot be met"
    )


def growth_reason_along(dynamics: Dynamics, y: Floats, t: Floats, p: Any) -> str:
    """Return the message of ``growth_reason`` for the states (k, 2n) of a run; empty without servos."""
    if not dynamics.servos:
        return ""
    # at equal times, since most steps are where inputs change fast
    places = np.unique(np.searchsorted(t, np.linspace(t[0], t[-1], GROWTH_SAMPLES)))
    return growth_reason(
        dynamics.actuators, dynamics.servos, native_of(dynamics).control(y[places], t[places], p).inputs
    )


def with_control(dynamics: Dynamics, run: Trajectory, p: Any) -> Trajectory:
    """Return a trajectory with the inputs of its actuators and the errors of its servo constraints.

    A trajectory that has them already, because they depend on which contacts stick, is returned as it is.
    """
    if run.inputs or not dynamics.actuators:
        return run
    return replace(run, **control_along(dynamics, np.concatenate([run.q, run.qd], axis=1), run.t, p))


def control_along(dynamics: Dynamics, y: Floats, t: Floats, p: Any) -> dict[str, Any]:
    """Return inputs, their force and errors at states (k, 2n), as fields of a trajectory; none without actuators."""
    if not dynamics.actuators:
        return {}
    found = native_of(dynamics).control(y, t, p)
    inputs = _by_name(dynamics.actuators, found.inputs)
    return {"inputs": inputs, "input_force": found.force, "servo_error": errors(dynamics, found.errors)}


def motion_with_control(dynamics: Dynamics, answer: ConstrainedMotion, q: Any, qd: Any, t: Any, p: Any) -> Any:
    """Return the motion at one state with its inputs and errors."""
    if not dynamics.actuators:
        return answer
    found = control_at(dynamics, q, qd, t, p)
    inputs = {name: float(values[0]) for name, values in _by_name(dynamics.actuators, found.inputs).items()}
    return replace(
        answer, inputs=inputs, servo_error={name: own[0] for name, own in errors(dynamics, found.errors).items()}
    )


def errors(dynamics: Dynamics, values: Floats) -> dict[str, Floats]:
    """Return the errors (k,) of each servo constraint by its name, (k, rows) if it has several rows."""
    return {
        name: values[:, rows[0]] if len(rows) == 1 else values[:, list(rows)] for name, rows in dynamics.servos.items()
    }


def _by_name(names: tuple[str, ...], values: Floats) -> Mapping[str, Floats]:
    return dict(zip(names, values.T, strict=True))


def _quoted(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)
