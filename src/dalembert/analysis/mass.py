# SPDX-License-Identifier: BSD-3-Clause
"""The mass matrix: what kind it is at a state, and along which direction it fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from dalembert.model.values import Floats

Kind = Literal["positive definite", "indefinite", "singular", "negative definite", "not symmetric"]


class MassKind(NamedTuple):
    """What kind of matrix M is, and a unit vector (n,) along which it fails to be positive."""

    kind: Kind
    direction: Floats | None


def mass_kind(M: Floats) -> MassKind:
    """The kind of a mass matrix, by its eigenvalues relative to its diagonal."""
    if np.abs(M - M.T).max(initial=0.0) > 1e-10 * np.abs(M).max(initial=0.0):
        return MassKind("not symmetric", None)
    scale = own_units(M)
    values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
    if values[0] > 1e-12:
        return MassKind("positive definite", None)
    if values[-1] < -1e-12:
        return MassKind("negative definite", vectors[:, 0] / scale)
    smallest = int(np.argmin(np.abs(values)))
    if abs(values[smallest]) <= 1e-12:
        return MassKind("singular", vectors[:, smallest] / scale)
    return MassKind("indefinite", vectors[:, 0] / scale)


def own_units(M: Floats) -> Floats:
    """The size (n,) of each coordinate's unit: a change of units scales rows and columns of M, and must not decide.

    A coordinate without a mass of its own is measured by those it is coupled to, and without any, by the largest.
    """
    scale = np.sqrt(np.abs(np.diagonal(M)))
    own = scale > 0
    coupled = (np.abs(M)[:, own] / scale[own]).max(axis=1, initial=0.0)
    scale = np.where(own, scale, coupled)
    return np.where(scale > 0, scale, np.abs(M).max(initial=0.0) ** 0.5 or 1.0)


def spoken(direction: Floats, names: Sequence[str]) -> str:
    """A direction as a combination of coordinates, its largest part first made 1.

    >>> import numpy as np
    >>> spoken(np.array([-0.5, 0.0, 1.0]), ("x", "y", "z"))
    '-0.5 x + z'
    """
    scaled = direction / direction[int(np.argmax(np.abs(direction)))]
    parts: list[str] = []
    for value, name in zip(scaled, names, strict=True):
        if abs(value) > 1e-6:
            size = "" if abs(abs(value) - 1) < 1e-6 else f"{abs(value):.3g} "
            parts.append(("- " if value < 0 else "+ ") + size + name)
    text = " ".join(parts)
    return text[2:] if text.startswith("+ ") else "-" + text[2:]
