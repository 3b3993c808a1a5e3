# SPDX-License-Identifier: BSD-3-Clause
"""Generalised forces of a force element on the bodies on which it acts."""

from __future__ import annotations

from typing import Any

import sympy as sp

from dalembert.mechanisms.frames import Ground


def shares_of(bodies: Any, force: Any) -> dict[str, list[Any]]:
    """Return the generalised force on each body on which a force acts, by name."""
    found: dict[str, list[Any]] = {}
    for marker, push, torque in force.loads(bodies):
        if isinstance(marker.body, Ground):
            continue
        nothing = sp.zeros(marker.dimension, 1)
        still = sp.S.Zero if marker.dimension == 2 else nothing
        share = marker.body.generalised(
            nothing if push is None else push, marker.point, still if torque is None else torque
        )
        known = found.get(marker.body.name)
        found[marker.body.name] = [*share] if known is None else [a + b for a, b in zip(known, share, strict=True)]
    return found
