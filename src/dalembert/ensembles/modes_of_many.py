# SPDX-License-Identifier: BSD-3-Clause
"""A mode of a system with dry friction for many ensemble members, each with slip directions of its own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import native_of
from dalembert.integration.method import Method
from dalembert.integration.native_steps import cure_of, in_machine_code
from dalembert.integration.row_selection import is_refined
from dalembert.lowering.guard_program import PhaseGuards
from dalembert.lowering.native_system import NativeSystem
from dalembert.lowering.outputs_of_many import OutputsOfMany, outputs_of_many
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact, velocity_jacobian
from dalembert.native.guarded_batch import GuardedBatch
from dalembert.native.step_control import settings_of
from dalembert.numerics.tolerances import SOLVED_RANK_TOLERANCE
from dalembert.stick_slip.load_sharing import proportional
from dalembert.stick_slip.modes import LOAD_ROUNDING, Mode


class ModeOfMany:
    """The functions of a mode at many states, with parameters of their own.

    All constraints are in use, except that of sticking contacts that hold the same motion only the first is: the others
    are held with it, and their static limits are added. The parameters p (k, N) are those of the system; ``directions``
    (N, contacts) are those of sliding contacts, each of which has one component of velocity.

    reference    state, time, parameters and directions of one member, which decides on the refinement of solutions
    functions    further guards: see ``PhaseGuards``; ``further`` are the names of parameters that only they have
    """

    def __init__(
        self,
        mode: Mode,
        method: Method,
        reference: tuple[Floats, float, Floats, Floats],
        functions: tuple[tuple[Any, Any, Any], ...] = (),
        further: tuple[str, ...] = (),
    ):
        self.mode, self.method, self.dynamics = mode, method, mode.dynamics
        self.functions, self._of_functions = functions, further
        self.compiled = in_machine_code(self.dynamics, method)
        y, t, p, directions = reference
        own = self.parameters(p[:, None], directions[None])[0]
        self.groups = self._same_motion(y, t, dict(zip(mode.system.parameter_names, map(float, p), strict=True)))
        others = {k for group in self.groups for c in group[1:] for k in range(*mode.rows(c).indices(2**31))}
        self.rows = tuple(k for k in range(len(self.dynamics.levels)) if k not in others)
        self._refined = self.compiled and is_refined(self.dynamics, self.rows, y, t, own)

    def _same_motion(self, y: Floats, t: float, p: dict[str, float]) -> tuple[tuple[Contact, ...], ...]:
        """Return the sticking contacts in groups that hold the same motion at a state."""
        found: list[list[Contact]] = []
        jacobians = {c: self.mode.velocity_jacobian(c, t, y, p) for c in self.mode.sticking}
        for contact, own in jacobians.items():
            match = next((group for group in found if proportional(jacobians[group[0]], own)), None)
            found += [[contact]] if match is None else []
            if match is not None:
                match.append(contact)
        return tuple(map(tuple, found))

    def shares_loads_as(self, y: Floats, t: Floats, p: Floats) -> NDArray[np.bool_]:
        """Return in which members (N,) the contacts of each group hold the same motion."""
        found = np.ones(len(t), bool)
        for group in (group for group in self.groups if len(group) > 1):
            first, *others = (self._expressions(velocity_jacobian(c, self.mode.system)[0], y, t, p) for c in group)
            for own in others:
                lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(own, axis=1)
                along = np.abs((first * own).sum(axis=1))
                found &= lengths - along <= SOLVED_RANK_TOLERANCE * lengths
        return found

    def _expressions(self, expressions: tuple[Any, ...], y: Floats, t: Floats, p: Floats, forces: Any = None) -> Floats:
        named = dict(zip(self.mode.system.parameter_names, p, strict=True))
        values = expression_values(self.mode.system, expressions)
        return values(t, y, named, forces)  # pyright: ignore  (parameters may be arrays)

    @property
    def _further(self) -> tuple[str, ...]:
        """The parameters of the system that the mode does not have, such as friction coefficients of held contacts."""
        own = (name for name in self.mode.system.parameter_names if name not in self.dynamics.parameters)
        return (*own, *self._of_functions)

    def parameters(
        self, p: Floats, directions: Floats, *, of_guards: bool = False, further: Mapping[str, Floats] | None = None
    ) -> Floats:
        """Return the values (N, …) of the mode's parameters, or of these and those that only its guards have.

        ``further`` are the values of the parameters that only guard functions have, by name.
        """
        names, contacts = self.mode.system.parameter_names, self.mode.contacts
        given = dict(zip(names, p, strict=True)) | dict(further or {})
        given |= {c.direction[0].name: directions[:, k] for k, c in enumerate(contacts)}
        order = (*self.dynamics.parameters, *(self._further if of_guards else ()))
        columns = [np.broadcast_to(given[name], len(directions)) for name in order]
        return np.stack(columns, axis=1) if columns else np.empty((len(directions), 0))

    @cached_property
    def integrator(self) -> GuardedBatch:
        """Integrates members to the end of a phase in this mode."""
        native, cure = (
            cast("NativeSystem", self.dynamics.machine_code),
            cure_of(self.method.drift, self.dynamics.levels),
        )
        tableau = self.method.tableau
        assert tableau is not None  # an ensemble takes no diffrax solver
        return native.guarded_motions(self.rows, *cure, tableau, self._refined, self._guards)

    def sampled(
        self, t0: Floats, y0: Floats, times: Floats, p: Floats, atol: Floats
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the states of one member at times reached by one step each from states at t0, and which are accurate.

        p are the parameters of the mode, ``atol`` (2n,) the absolute tolerances of the member.
        """
        native, cure = native_of(self.dynamics), cure_of(self.method.drift, self.dynamics.levels)
        assert self.method.tableau is not None  # an ensemble takes no diffrax solver
        engine = native.engine(self.rows, *cure, self._refined, self.method.tableau)
        settings = settings_of(0.0, 0.0, self.method.rtol, atol, np.inf, y0.shape[1])
        found = engine.sample(t0, y0, times, p, settings)
        return found.y, found.validity == 1.0

    @property
    def _guards(self) -> PhaseGuards:
        mode = self.mode
        sliding = tuple((c.velocity[0], c.direction[0]) for c in mode.sliding)
        held = tuple(
            (tuple(range(*mode.rows(group[0]).indices(len(self.dynamics.levels)))), self._limit(group[0], group))
            for group in self.groups
        )
        return PhaseGuards(sliding, held, LOAD_ROUNDING, self._further, self.functions)

    def _ratio(self, contact: Contact, other: Contact) -> Any:
        """Return the part of a force at another contact of the same motion that acts like one at a contact."""
        one, two = (velocity_jacobian(c, self.mode.system)[0] for c in (contact, other))
        return sp.Add(*map(sp.Mul, one, two)) / sp.Add(*(a**2 for a in one))

    def _limit(self, contact: Contact, group: tuple[Contact, ...]) -> Any:
        """Return the sum of the static limits of contacts of one motion, as forces at one of them."""
        limits = {c: c.mu_static * c.normal_size for c in group}
        shares = (sp.Abs(self._ratio(contact, c)) * limits[c] for c in group if c != contact)
        return sp.Add(limits[contact], *shares)

    @cached_property
    def outputs(self) -> OutputsOfMany:
        """The outputs at many states."""
        rates = cure_of(self.method.drift, self.dynamics.levels)[1]
        return outputs_of_many(cast("NativeSystem", self.dynamics.machine_code), self.rows, rates, self._refined)

    def rows_and_residuals(self, y: Floats, t: Floats, p: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """Return A (N, m, n) and the residuals (N, m) of the constraints at velocity level."""
        terms = native_of(self.dynamics).terms_of_many(y, t, self.parameters(p, directions))
        return terms[2], terms[5]

    def terms(self, y: Floats, t: Floats, p: Floats, directions: Floats) -> tuple[Floats, Floats, Floats]:
        """Return M (N, n, n), Q (N, n) and A (N, m, n)."""
        M, Q, A, *_ = native_of(self.dynamics).terms_of_many(y, t, self.parameters(p, directions))
        return M, Q, A

    def loads(
        self, y: Floats, t: Floats, p: Floats, directions: Floats
    ) -> tuple[dict[Contact, Floats], dict[Contact, Floats], NDArray[np.bool_]]:
        """Return the force (N,) that holds each sticking contact, its limit (N,), and which members are valid (N,)."""
        found, valid = self.outputs(y, t, self.parameters(p, directions))
        reactions = found["reactions"]
        required, capacity = dict[Contact, Floats](), dict[Contact, Floats]()
        for group in self.groups:
            for c in group:
                others = tuple(other for other in group if other != c)
                parts = (self._limit(c, group), *(self._ratio(c, other) for other in others))
                values = self._expressions(parts, y, t, p, reactions)
                capacity[c], required[c] = values[:, 0], reactions[:, self.mode.rows(c)][:, 0]
                for k, other in enumerate(others, start=1):
                    required[c] = required[c] + values[:, k] * reactions[:, self.mode.rows(other)][:, 0]
        return required, capacity, valid
