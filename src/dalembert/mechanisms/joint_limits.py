# SPDX-License-Identifier: BSD-3-Clause
"""Limits of joints: stops, which are one-sided constraints."""

from __future__ import annotations

from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.joint import Rows
from dalembert.mechanisms.vectors import constant, number


def checked_limits(joint: Any) -> tuple[Any, Any] | None:
    """Return the least and the greatest position of a joint, None for one that does not exist."""
    if joint.limits is None:
        if joint.restitution is not None:
            raise ModelError([f"`restitution` of joint {joint.name} is that of its `limits`; it has none."])
        return None
    argument = f"limits of joint {joint.name}"
    if not isinstance(joint.limits, (tuple, list)) or len(joint.limits) != 2 or set(joint.limits) == {None}:
        raise ModelError([f"`{argument}` must be a pair (least, greatest), None for no limit; got {joint.limits!r}."])
    low, high = (None if own is None else constant(number(own, argument), argument) for own in joint.limits)
    if low is not None and high is not None and (high - low).is_positive is False:
        raise ModelError([f"`{argument}` must be given as (least, greatest); got ({low}, {high})."])
    return low, high


def limit_rows(joint: Any, position: Any) -> Rows:
    """Return the inequalities of the limits of a joint, whose multipliers are the forces or torques of the stops."""
    low, high = joint.limits or (None, None)
    lower = [] if low is None else [("lower limit", sp.Ge(position - low, 0))]
    return [*lower, *([] if high is None else [("upper limit", sp.Ge(high - position, 0))])]
