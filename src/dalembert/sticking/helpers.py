# SPDX-License-Identifier: BSD-3-Clause
"""Contacts that hold the same motion: they hold it together, where it can be known how much they can hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ConstraintError
from dalembert.integration.start import terms_at
from dalembert.model.ordering import quoted
from dalembert.model.sticking import Contact
from dalembert.model.symbols import multiplier
from dalembert.sticking.phase import Phase

Floats = NDArray[np.float64]

DEPENDENT = 1e-9
"""Singular values of rows of unit length below this are zero."""


def helpers_of(phase: Phase, y: Floats, t: float) -> dict[Contact, tuple[Contact, ...]]:
    """For each contact that sticks, the others that stick and move in proportion to it.

    How such contacts share their load is not determined, but together they hold up to the sum of what each can hold:
    there is a split that none of them is overtaxed by, or there is none. Where friction and other reactions share a
    load in less simple ways, that sum is not known either: this is refused.
    """
    slopes = {c: phase.mode.slopes(c, t, y, phase.p) for c in phase.mode.sticking}
    groups: list[list[Contact]] = []
    for contact, own in slopes.items():
        mine = next((group for group in groups if _proportional(slopes[group[0]], own)), None)
        if mine is None:
            groups.append([contact])
        else:
            mine.append(contact)
    _refuse_undetermined(phase, y, t, groups, slopes)
    return {c: tuple(other for other in group if other != c) for group in groups for c in group}


def _proportional(one: Floats, other: Floats) -> bool:
    if one.shape != other.shape:
        return False
    across = abs(np.sum(one * other)) - np.linalg.norm(one) * np.linalg.norm(other)
    return bool(abs(across) <= DEPENDENT * np.linalg.norm(one) * np.linalg.norm(other))


def _refuse_undetermined(
    phase: Phase, y: Floats, t: float, groups: list[list[Contact]], slopes: dict[Contact, Floats]
) -> None:
    """Raise if what holds a contact, or the normal force that limits it, is not determined by the motion."""
    if not groups:
        return
    names = phase.mode.system.constraint_names
    q, qd = np.split(y, 2)
    A = np.asarray(terms_at(phase.mode.dynamics, q, qd, t, phase.values).A)[: len(names)]
    bases = [basis_of(slopes[group[0]]) for group in groups]
    concerned = [
        [c for c in phase.mode.sticking if multiplier(name) in c.normal_size.atoms(multiplier)] for name in names
    ]
    concerned += [group for group, basis in zip(groups, bases, strict=True) for _ in basis]
    open_ = np.flatnonzero(_undetermined(np.vstack([A, *bases])))
    doubtful = dict.fromkeys(contact.name for i in open_ for contact in concerned[i])
    if doubtful:
        others = [names[i] for i in open_ if i < len(names)]
        with_them = f", with {quoted(others)}," if others else ""
        raise ConstraintError(
            f"the forces of contacts that stick must be determined; at t = {t:.6g} those of {quoted(doubtful)} are "
            f"not: they{with_them} can share what they hold in more than one way, and how much they can hold "
            f"depends on it. Give some of them a width of `smoothing`, so that they creep instead, or take out of "
            f"their `velocity` what a constraint holds already."
        )


def basis_of(rows: Floats) -> Floats:
    """Orthonormal rows with the same span."""
    _, values, basis = np.linalg.svd(rows, full_matrices=False)
    return basis[values > DEPENDENT * values.max(initial=0.0)]


def _undetermined(A: Floats) -> NDArray[np.bool_]:
    """Which entries of λ a given Aᵀλ leaves open."""
    A = A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1e-300)
    left, values, _ = np.linalg.svd(A)
    rank = int((values > DEPENDENT).sum())
    return np.linalg.norm(left[:, rank:], axis=1) > 1e-6
