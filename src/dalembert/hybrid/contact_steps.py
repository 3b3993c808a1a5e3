# SPDX-License-Identifier: BSD-3-Clause
"""Steps of Moreau's and Jean's scheme: one impulse for each contact, such that the velocities after it obey the laws.

    v₊ = v + M⁻¹(h Q + AᵀP),    q₊ = q + h ((1 − θ) v + θ v₊)

M, Q and A are those at q + h (1 − θ) v. A contact takes part if it is penetrated there; then 0 ≤ P ⟂ u₊ + e u ≥ 0, with
u = φ̇. An equation φ = 0 takes part in any case, with u₊ such that φ and φ̇ vanish at q₊ up to third order in h.

Notation: q, v, h, θ, M, Q, A, b as in ``docs/notation.md``; P impulses; u the velocities of gaps, equations and slips.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dalembert.common.array_types import Floats
from dalembert.hybrid.mobility import mobility_of, rows_of
from dalembert.hybrid.moreau_jean import MoreauJean
from dalembert.integration.sparse_steps import NoStepError
from dalembert.model.contact_statement import ContactGroup, ContactStatement
from dalembert.native.contact_sweeps import ContactRows, solve_contacts
from dalembert.native.sparse_system import LargeDynamics, SparseSystem

MOST_VELOCITY_ITERATIONS = 50
"""Iterations for forces that depend on velocities, after which a step is too long for them."""

SETTLED_VELOCITY = 1e-13
"""Change of the velocities, relative to the sizes of what they are sums of, at which these iterations end."""


class StepImpulses(NamedTuple):
    """StepImpulses (rows,) of a step, the velocities (n,) after it, and the contacts that take part.

    free        (n,) velocities after it without the impulses of contacts
    residual    of the laws of contacts, relative to the velocities of gaps and slips
    """

    values: Floats
    after: Floats
    free: Floats
    active: NDArray[np.int64]
    sweeps: int
    residual: float


@dataclass(frozen=True, eq=False)
class ContactStep:
    """A step of length h that ends at time t, with its impulses and their work (1 + m + l,) by entries of a ledger.

    q, v       (n,) at its end; ``before`` are the velocities at its start
    force      (n,) applied forces and laws of the state, in its middle
    entries    of A, whose rows are the gradients along which impulses act
    """

    t: float
    h: float
    q: Floats
    v: Floats
    before: Floats
    impulses: StepImpulses
    work: Floats
    force: Floats
    laws: Any
    entries: Floats


@dataclass(frozen=True, eq=False)
class ContactSteps:
    """Takes steps of a system; ``p`` has the values of parameters by name, ``numbers`` as programs take them."""

    dynamics: LargeDynamics
    model: ContactStatement
    method: MoreauJean
    numbers: Floats
    p: dict[str, Any]

    @property
    def code(self) -> SparseSystem:
        return self.dynamics.code

    @cached_property
    def normals(self) -> NDArray[np.int64]:
        """The rows of all contacts, and of equations with friction."""
        return np.concatenate([np.zeros(0, np.int64), *(group.normals for group in self.model.contacts)])

    @cached_property
    def slips(self) -> list[NDArray[np.int64]]:
        """The rows of the slip of each contact."""
        return [rows for group in self.model.contacts for rows in group.slips]

    @cached_property
    def friction_sums(self) -> Any:
        """The sums (laws, rows) over the slips of each contact with friction."""
        rough = [rows for rows in self.slips if len(rows)]
        flat = np.concatenate([np.zeros(0, np.int64), *rough])
        owner = np.repeat(np.arange(len(rough)), [len(rows) for rows in rough])
        return csr_array((np.ones(len(flat)), (owner, flat)), shape=(len(rough), self.code.m))

    @cached_property
    def contact_rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of all contacts one after the other, each with its slips, and their numbers for each contact."""
        rows = [np.append(normal, slips) for normal, slips in zip(self.normals, self.slips, strict=True)]
        return np.concatenate([np.zeros(0, np.int64), *rows]), np.array([len(own) for own in rows], np.int64)

    @cached_property
    def two_sided(self) -> NDArray[np.bool_]:
        return ~self.model.one_sided[self.normals]

    @cached_property
    def equations(self) -> NDArray[np.int64]:
        """The rows of equations without friction, whose impulses are eliminated."""
        return np.setdiff1d(np.flatnonzero(~self.model.one_sided), self.normals)

    @cached_property
    def restitution(self) -> Floats:
        """e of each contact; zero for equations with friction."""
        nowhere = np.zeros(self.code.n)
        return self._of_contacts(lambda g: None if g.restitution is None else g.restitution, 0.0, nowhere, nowhere)

    @cached_property
    def constant_friction(self) -> Floats | None:
        """The friction of each contact for one unit of normal impulse; None if it depends on the state."""
        rough = [group.friction for group in self.model.contacts if group.friction is not None]
        if not all(friction.is_constant for friction in rough):
            return None
        return self._friction(0.0, np.zeros(self.code.n), np.zeros(self.code.n))

    def _friction(self, t: float, q: Floats, v: Floats) -> Floats:
        return self._of_contacts(lambda g: g.friction, t, q, v)

    def _of_contacts(self, which: Any, t: float, q: Floats, v: Floats) -> Floats:
        """Return a coefficient of each contact at a state; zero where there is none."""

        def values(group: ContactGroup) -> Floats:
            given = which(group)
            return np.zeros(len(group.normals)) if given is None else given.values(t, q, v, self.p)

        return np.concatenate([np.zeros(0), *map(values, self.model.contacts)])

    @cached_property
    def depends_on_velocities(self) -> bool:
        """Whether a step must be iterated: forces, found by a trial, or equations change with the velocities."""
        # at a random state, since forces such as drag vanish at rest; two draws agree only if velocities do not matter
        draw, forces = np.random.default_rng(20), list[Floats]()
        q = draw.uniform(0.5, 1.5, self.code.n)
        for _ in range(2):
            self.code.evaluate(q, draw.uniform(0.5, 1.5, self.code.n), 0.3, self.numbers)
            forces.append(self._force())
        return bool(self.two_sided.any() or len(self.equations) or not np.array_equal(forces[0], forces[1]))

    def _force(self) -> Floats:
        """Return Q with the nonideal laws, which depend on the state only, at the last evaluation."""
        if self.code.laws is None:
            return self.code.force.copy()
        none = np.zeros(self.code.m)
        return self.code.force + self.code.evaluate_laws(none, np.zeros(self.code.n), none)

    def step(self, t: float, q: Floats, v: Floats, h: float, last: Floats) -> ContactStep:
        """Return the step from a state; the iteration for its impulses begins with those in ``last`` (rows,).

        Raises
        ------
        NoStepError    if forces are not finite, or change too fast with the velocities
        """
        theta, after, free = self.method.theta, v, np.full_like(v, np.inf)
        middle, at = q + h * (1 - theta) * v, t + h * (1 - theta)
        for _ in range(MOST_VELOCITY_ITERATIONS):
            self.code.evaluate(middle, (1 - theta) * v + theta * after, at, self.numbers)
            force = self._force()
            found = self._impulses((middle, v, (1 - theta) * v + theta * after), force, h, at, last)
            if not np.isfinite(found.after).all():
                raise NoStepError(t, "forces, masses or gaps are not finite there")
            # by what contacts do not add: their own impulses are found up to the tolerance of the sweeps only
            change, free, after, last = found.free - free, found.free, found.after, found.values
            sizes = after, v, h * self.code.mass.solve(force)
            if not self.depends_on_velocities or self._settled(change, *sizes, exact=not len(found.active)):
                break
        else:
            raise NoStepError(t, "forces change too fast with the velocities for this step. Pass a shorter one")
        laws = None if self.code.laws is None else self.code.laws.C.copy()
        work = self._work(found, force, laws, (middle, (v + after) / 2), h, at)
        end = middle + h * theta * after
        return ContactStep(t + h, h, end, after, v, found, work, force, laws, self.code.A.data.copy())

    def _settled(self, change: Floats, *velocities: Floats, exact: bool) -> bool:
        """Whether velocities change by rounding only, or by what the impulses of contacts are found to.

        Those of a body at rest are a difference of others.
        """
        size = max(np.abs(v).max(initial=0.0) for v in velocities)
        allowed = SETTLED_VELOCITY if exact else max(SETTLED_VELOCITY, self.method.tolerance)
        return bool(np.abs(change).max(initial=0.0) <= allowed * size)

    def gradients(self, step: ContactStep) -> Any:
        """Return the gradients (rows, n) along which the impulses of a step act, sparse."""
        A = self.code.A
        return csr_array((step.entries, A.indices, A.indptr), shape=A.shape)

    def _impulses(
        self, state: tuple[Floats, Floats, Floats], force: Floats, h: float, at: float, last: Floats
    ) -> StepImpulses:
        """Return the impulses of a step from its middle, the velocities before it, and those of the last evaluation."""
        code, (middle, v, mean) = self.code, state
        position, rates = code.residuals
        offset = rates - code.A @ mean  # u − A v
        active = np.flatnonzero(self.two_sided | (position[self.normals] <= 0))
        aim = self._aim(position, h)
        chosen = self.normals[active]
        one_sided = self.model.one_sided[chosen]
        # Newton's law: a gap opens with e times the velocity at which it closed
        aim[chosen[one_sided]] = -(self.restitution[active] * (code.A @ v + offset)[chosen])[one_sided]
        every, counts = self.contact_rows
        taking_part = np.zeros(len(self.normals), bool)
        taking_part[active] = True
        rows, starts = every[np.repeat(taking_part, counts)], np.cumsum([0, *counts[active]])
        mobility = mobility_of(code, self.equations)
        # equations are solved for directly, and contacts by sweeps, which would converge slowly for both together
        free = mobility.met(v + h * code.mass.solve(force), (aim - offset)[self.equations])
        G, impulses = rows_of(code.A, rows), last[rows]
        H = mobility.rows(G)
        after = free + H.T @ impulses
        # the tolerance of the sweeps follows the velocities that the contacts have to change
        scale = max(np.abs(G @ v).max(initial=0.0), np.abs(G @ free).max(initial=0.0))
        # bodies at rest that nothing moves: the residual is zero, relative to any number
        scale = max(scale, np.finfo(float).tiny)
        sweeps, residual = 0, 0.0
        if len(active):
            friction = self._friction(at, middle, mean) if self.constant_friction is None else self.constant_friction
            problem = ContactRows(starts, G, H, (offset - aim)[rows], friction[active], self.two_sided[active])
            given = self.method.tolerance * scale, self.method.max_sweeps
            sweeps, residual = solve_contacts(problem, after, impulses, *given)
        values = np.zeros(code.m)
        values[rows] = impulses
        # the eliminated impulses: what equations still lack once all others have acted
        pushed = v + code.mass.solve(h * force + G.T @ impulses)
        values[self.equations] = mobility.impulses(pushed, (aim - offset)[self.equations])
        return StepImpulses(values, after, free, active, sweeps, residual / scale)

    def _aim(self, position: Floats, h: float) -> Floats:
        """Return the velocities u₊ (rows,) of equations; zero for contacts and slips."""
        theta, b = self.method.theta, self.code.rhs
        aim = np.zeros(self.code.m)
        rows = np.flatnonzero(~self.model.one_sided)
        missed = (position + (h * theta) ** 2 * b / 2) / h
        aim[rows] = (h * theta * b - np.where(self.dynamics.levels == 0, missed, 0.0))[rows]
        return aim

    def _work(
        self, found: StepImpulses, force: Floats, laws: Any, state: tuple[Floats, Floats], h: float, at: float
    ) -> Floats:
        """Return the work (1 + m + l,) of applied forces, constraints and laws on the mean velocity of a step."""
        middle, mean = state
        m, own = len(self.model.names), found.values * (self.code.A @ mean)
        transport = self.code.energies(middle, mean, at, self.numbers).transport
        applied = h * (self.code.force @ mean + transport)
        others = [] if laws is None else h * (laws @ mean)
        return np.concatenate([[applied], own[:m], self.friction_sums @ own, others])
