# SPDX-License-Identifier: BSD-3-Clause
"""Load sharing: sticking contacts that hold the same motion, and those whose friction forces are not determined."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.integration.start_states import terms_at
from dalembert.model.friction_contacts import Contact
from dalembert.model.symbols import multiplier
from dalembert.numerics.linear_algebra import determined, row_space
from dalembert.numerics.tolerances import SOLVED_RANK_TOLERANCE
from dalembert.stick_slip.phases import Phase


class LoadSharing(NamedTuple):
    """The shares of sticking contacts in their load.

    same_motion     for each of them the others whose sliding velocity is proportional to its own. Rigid-body mechanics
                    does not determine how they share their load, but together they hold it up to the sum of their
                    static limits: only then does a distribution exist that exceeds none of them
    undetermined    those that share their load with others in less simple ways, so that this sum is not determined
                    either: see ``load_distribution``
    """

    same_motion: dict[Contact, tuple[Contact, ...]]
    undetermined: tuple[Contact, ...]


def sharing_of(phase: Phase, y: Floats, t: float) -> LoadSharing:
    """Return how the sticking contacts of a phase share their load."""
    jacobians = {c: phase.mode.velocity_jacobian(c, t, y, phase.p) for c in phase.mode.sticking}
    groups: list[list[Contact]] = []
    for contact, own in jacobians.items():
        match = next((group for group in groups if proportional(jacobians[group[0]], own)), None)
        if match is None:
            groups.append([contact])
        else:
            match.append(contact)
    same_motion = {c: tuple(other for other in group if other != c) for group in groups for c in group}
    return LoadSharing(same_motion, _undetermined_contacts(phase, y, t, groups, jacobians))


def proportional(one: Floats, other: Floats) -> bool:
    """Return whether two contacts with these derivatives of their sliding velocities (c, n) hold the same motion."""
    if one.shape != other.shape:
        return False
    # equality in the inequality of Cauchy and Schwarz
    lengths = np.linalg.norm(one) * np.linalg.norm(other)
    return bool(lengths - abs(np.sum(one * other)) <= SOLVED_RANK_TOLERANCE * lengths)


def _undetermined_contacts(
    phase: Phase, y: Floats, t: float, groups: list[list[Contact]], jacobians: dict[Contact, Floats]
) -> tuple[Contact, ...]:
    """Return the contacts of which the motion determines neither the holding force nor the normal force."""
    if not groups:
        return ()
    names = phase.mode.system.constraint_names
    q, qd = np.split(y, 2)
    A = np.asarray(terms_at(phase.mode.dynamics, q, qd, t, phase.values).A)[: len(names)]
    # one contact of each group: the others hold the same motion, and would make every force seem undetermined
    bases = [row_space(jacobians[group[0]]) for group in groups]
    affected = [
        [c for c in phase.mode.sticking if multiplier(name) in c.normal_size.atoms(multiplier)] for name in names
    ]
    affected += [group for group, basis in zip(groups, bases, strict=True) for _ in basis]
    free_rows = np.flatnonzero(~np.array(determined(np.vstack([A, *bases]))))
    found = {contact for i in free_rows for contact in affected[i]}
    # one that shares the motion of an undetermined contact shares its load too
    return tuple(c for group in groups for c in group if found.intersection(group))
