# SPDX-License-Identifier: BSD-3-Clause
"""A mode of a system with dry friction for many ensemble members, each with slip directions of its own."""

from __future__ import annotations

from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dalembert.array_types import Floats
from dalembert.integration.method import Method
from dalembert.integration.native_steps import cure_of, in_machine_code, is_refined, native_of
from dalembert.lowering.guard_program import PhaseGuards
from dalembert.lowering.native_system import NativeSystem
from dalembert.lowering.outputs_of_many import OutputsOfMany, outputs_of_many
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact
from dalembert.native.guarded_batch import GuardedBatch
from dalembert.stick_slip.modes import LOAD_ROUNDING, Mode


class ModeOfMany:
    """The functions of a mode at many states, with parameters of their own.

    All constraints are in use. The parameters p (k, N) are those of the system; ``directions`` (N, contacts) are those
    of sliding contacts, each of which has one component of velocity.

    reference    state, time, parameters and directions of one member, which decides on the refinement of solutions
    """

    def __init__(self, mode: Mode, method: Method, reference: tuple[Floats, float, Floats, Floats]):
        self.mode, self.method, self.dynamics = mode, method, mode.dynamics
        self.compiled = in_machine_code(self.dynamics, method)
        y, t, p, directions = reference
        own = self.parameters(p[:, None], directions[None])[0]
        self._rows = tuple(range(len(self.dynamics.levels)))
        self._refined = self.compiled and is_refined(self.dynamics, self._rows, y, t, own)

    @property
    def _further(self) -> tuple[str, ...]:
        """The parameters of the system that the mode does not have, such as friction coefficients of held contacts."""
        return tuple(name for name in self.mode.system.parameter_names if name not in self.dynamics.parameters)

    def parameters(self, p: Floats, directions: Floats, *, of_guards: bool = False) -> Floats:
        """Return the values (N, …) of the mode's parameters, or of these and those that only its guards have."""
        names, contacts = self.mode.system.parameter_names, self.mode.contacts
        given = dict(zip(names, p, strict=True))
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
        return native.guarded_motions(self._rows, *cure, tableau, self._refined, self._guards)

    @property
    def _guards(self) -> PhaseGuards:
        mode = self.mode
        sliding = tuple((c.velocity[0], c.direction[0]) for c in mode.sliding)
        places = (range(*mode.rows(c).indices(len(self._rows))) for c in mode.sticking)
        limits = (c.mu_static * c.normal_size for c in mode.sticking)
        return PhaseGuards(sliding, tuple(zip(map(tuple, places), limits, strict=True)), LOAD_ROUNDING, self._further)

    @cached_property
    def outputs(self) -> OutputsOfMany:
        """The outputs at many states."""
        rates = cure_of(self.method.drift, self.dynamics.levels)[1]
        return outputs_of_many(cast("NativeSystem", self.dynamics.machine_code), self._rows, rates, self._refined)

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
        reactions, system = found["reactions"], self.mode.system
        named = dict(zip(system.parameter_names, p, strict=True))
        required, capacity = dict[Contact, Floats](), dict[Contact, Floats]()
        for c in self.mode.sticking:
            required[c] = reactions[:, self.mode.rows(c)][:, 0]
            limit = expression_values(system, (c.mu_static * c.normal_size,))
            capacity[c] = limit(t, y, named, reactions)[:, 0]  # pyright: ignore  (parameters may be arrays)
        return required, capacity, valid
