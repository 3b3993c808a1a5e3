# SPDX-License-Identifier: BSD-3-Clause
"""The terms of all constraints of a system whose contacts open and close, whether they hold at present or not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.errors import InputError, MassMatrixError
from dalembert.integration.start_states import terms_at
from dalembert.lowering.build import build
from dalembert.model.active_system import active_system
from dalembert.model.constraint import RESTITUTION_RANGE
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact, contacts
from dalembert.model.system import System
from dalembert.numerics.tolerances import SINGULAR_MASS


@dataclass(frozen=True, eq=False)
class ContactTerms:
    """The terms of all constraints of a system as equations, contacts and switched ones included.

    system    the system as it was stated
    p         values of all parameters by name
    scales    (2n,) of coordinates and velocities, from the start of the motion
    """

    system: System
    p: dict[str, float]
    scales: Floats

    @property
    def whole(self) -> System:
        return active_system(self.system)

    @cached_property
    def dynamics(self) -> Dynamics:
        return build(self.whole)

    @cached_property
    def friction(self) -> dict[str, Contact]:
        """The contacts under dry friction, by the names of their constraints."""
        return {contact.name: contact for contact in contacts(self.whole)}

    def at(self, y: Floats, t: float) -> Terms:
        # by name: the order of parameters is that of the whole system, which has more of them
        values = tuple(np.asarray(self.p[name], float) for name in self.dynamics.parameters)
        q, qd = np.split(y, 2)
        return Terms(*(np.asarray(term) for term in terms_at(self.dynamics, q, qd, t, values)))

    def inverse_mass(self, terms: Terms, t: float) -> Floats:
        """Return M⁻¹, which impulses need, or raise an error if M is not positive definite."""
        least, direction = least_mass(terms.M)
        if not least > SINGULAR_MASS:
            name = self.system.coordinate_names[int(np.abs(direction).argmax())]
            raise MassMatrixError(
                f"`mass_matrix` must be positive definite where impulses act: of contacts, of constraints that are "
                f"switched on, or at jumps of prescribed velocities; at t = {t:.6g} the mass of `{name}`, or of its "
                f"combination with other coordinates, is zero or negative. Give it a mass, or leave its coordinate out."
            )
        return np.asarray(np.linalg.inv(terms.M), float)

    @property
    def one_sided(self) -> list[str]:
        return [str(constraint.name) for constraint in self.system.constraints if constraint.one_sided]

    def row(self, name: str) -> int:
        return self.system.constraint_names.index(name)

    def restitution(self, name: str, t: float, y: Floats) -> float:
        """Return the coefficient of a one-sided constraint, or raise an error if it is not between 0 and 1."""
        constraint = self.system.constraints[self.row(name)]
        value = float(expression_values(self.system, (constraint.restitution,))(t, y, self.p)[0])
        if not 0 <= value <= 1:
            raise InputError(f"constraint `{name}`: {RESTITUTION_RANGE.format(value)}")
        return value

    def law_entry(self, name: str) -> int:
        """Return the index of the friction of a constraint among the entries of a ledger."""
        # the order of ``ledger_entries.entries_of``: applied forces, constraints, laws
        return 1 + len(self.system.constraints) + self.friction[name].number


def least_mass(M: Floats) -> tuple[Floats, Floats]:
    """Return the least eigenvalue (…) of mass matrices whose diagonal is scaled to one, and its eigenvector (…, n).

    In these units of the coordinates it is about zero only if M is singular.
    """
    roots = np.sqrt(np.diagonal(M, axis1=-2, axis2=-1).clip(min=np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(M / (roots[..., :, None] * roots[..., None, :]))
    return values[..., 0], vectors[..., 0]
