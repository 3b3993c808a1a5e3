# SPDX-License-Identifier: BSD-3-Clause
"""Load sharing: sticking contacts that hold the same motion, and the error for undetermined friction forces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.array_types import Floats
from dalembert.errors import ConstraintError
from dalembert.integration.start_states import terms_at
from dalembert.linear_algebra import dependence_shares, row_space
from dalembert.model.friction_contacts import Contact
from dalembert.model.ordering import quoted
from dalembert.model.symbols import multiplier
from dalembert.stick_slip.phases import Phase
from dalembert.tolerances import SOLVED_RANK_TOLERANCE, UNIQUE_SHARE


def contacts_sharing_load(phase: Phase, y: Floats, t: float) -> dict[Contact, tuple[Contact, ...]]:
    """Return, for each sticking contact, the other sticking ones whose sliding velocity is proportional to its own.

    Rigid-body mechanics does not determine how such contacts share their load, but together they hold it up to the sum
    of their static limits: only then does a distribution exist that exceeds none of them. If friction and other
    reactions share a load in less simple ways, that sum is not determined either, and an error is raised.
    """
    jacobians = {c: phase.mode.velocity_jacobian(c, t, y, phase.p) for c in phase.mode.sticking}
    groups: list[list[Contact]] = []
    for contact, own in jacobians.items():
        match = next((group for group in groups if _proportional(jacobians[group[0]], own)), None)
        if match is None:
            groups.append([contact])
        else:
            match.append(contact)
    _refuse_undetermined(phase, y, t, groups, jacobians)
    return {c: tuple(other for other in group if other != c) for group in groups for c in group}


def _proportional(one: Floats, other: Floats) -> bool:
    if one.shape != other.shape:
        return False
    # equality in the inequality of Cauchy and Schwarz
    lengths = np.linalg.norm(one) * np.linalg.norm(other)
    return bool(lengths - abs(np.sum(one * other)) <= SOLVED_RANK_TOLERANCE * lengths)


def _refuse_undetermined(
    phase: Phase, y: Floats, t: float, groups: list[list[Contact]], jacobians: dict[Contact, Floats]
) -> None:
    """Raise if the motion does not determine the force that holds a contact, or the normal force that limits it."""
    if not groups:
        return
    names = phase.mode.system.constraint_names
    q, qd = np.split(y, 2)
    A = np.asarray(terms_at(phase.mode.dynamics, q, qd, t, phase.values).A)[: len(names)]
    # one contact of each group: the others hold the same motion, and would make every force seem undetermined
    bases = [row_space(jacobians[group[0]]) for group in groups]
    affected = [
        [c for c in phase.mode.sticking if multiplier(name) in c.normal_size.atoms(multiplier)] for name in names
    ]
    affected += [group for group, basis in zip(groups, bases, strict=True) for _ in basis]
    free_rows = np.flatnonzero(_undetermined(np.vstack([A, *bases])))
    contact_names = dict.fromkeys(contact.name for i in free_rows for contact in affected[i])
    if contact_names:
        others = [names[i] for i in free_rows if i < len(names)]
        with_them = f", with {quoted(others)}," if others else ""
        raise ConstraintError(
            f"the friction forces of sticking contacts must be determined; at t = {t:.6g} those of "
            f"{quoted(contact_names)} are not: they{with_them} can share their load in more than one way, "
            f"and their static limit depends on it. Pass `smoothing` for some of them, so that they creep instead, "
            f"or remove from their `velocity` the components that a constraint holds already."
        )


def _undetermined(A: Floats) -> NDArray[np.bool_]:
    """Return which entries of λ are not determined by Aᵀλ."""
    return dependence_shares(A, SOLVED_RANK_TOLERANCE) > UNIQUE_SHARE
