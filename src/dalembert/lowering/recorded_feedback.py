# SPDX-License-Identifier: BSD-3-Clause
"""A controller recorded on the tape of the plant that it controls."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from dalembert.equation import scalar_arithmetic as sl
from dalembert.lowering.input_sources import ESTIMATED_BOUND, Feedback, Held

if TYPE_CHECKING:
    from dalembert.lowering.recorded_control import RecordedControl
    from dalembert.lowering.recorded_terms import RecordedTerms


class RecordedHeld:
    """Held inputs; the counterpart of ``RecordedControl``."""

    def __init__(self, terms: RecordedTerms, held: Held):
        self.inputs = [terms.read(symbol) for symbol in held.symbols]
        directions = [[terms.read(e) for e in direction] for direction in held.directions]
        self.input_forces = [[sl.mul(u, e) for e in own] for u, own in zip(self.inputs, directions, strict=True)]
        # inputs that are held meet no requirement, so that none of these is ever missed
        self.errors: list[list[Any]] = []
        self.conditions: list[tuple[Any, Any]] = []

    def margins(self) -> list[Any]:
        return []

    def equations(self) -> list[Any]:
        return []

    def cost_margin(self) -> Any:
        return float("inf")

    def excess(self) -> list[Any]:
        return [-1.0] * len(self.inputs)


class RecordedFeedback:
    """The inputs of a controller at the state of its plant; the counterpart of ``RecordedControl``."""

    def __init__(self, terms: RecordedTerms, feedback: Feedback, of_model: RecordedTerms):
        self.terms, self.feedback, self.of_model = terms, feedback, of_model
        if feedback.adaptive:
            # the velocity of one more coordinate of the plant, so that it is integrated with the motion
            of_model.read.define(ESTIMATED_BOUND, terms.qd[-1])
        self.model: RecordedControl = of_model.control  # pyright: ignore[reportAttributeAccessIssue]
        self.errors, self.conditions = self.model.errors, self.model.conditions
        self._limits = [None if limit is None else terms.larger(terms.read(limit), 0.0) for limit in feedback.limits]
        self.inputs = [
            u if limit is None else self._limited(u, limit)
            for u, limit in zip(self.model.inputs, self._limits, strict=True)
        ]

    def _limited(self, u: Any, limit: Any) -> Any:
        within = self.terms.larger(self.terms.smaller(u, limit), sl.sub(0, limit))
        # comparisons with NaN are false, and an undefined input must stay so
        return self.terms.tape.record("select", self.terms.tape.record("==", u, u), within, u)

    def margins(self) -> list[Any]:
        return self.model.margins()

    def equations(self) -> list[Any]:
        return self.model.equations()

    def cost_margin(self) -> Any:
        return self.model.cost_margin()

    def excess(self) -> list[Any]:
        """Record by how much inputs exceed the limits of the controller's model or of the plant."""
        return [
            own if limit is None else self.terms.larger(own, sl.sub(self.terms.absolute(u), limit))
            for own, u, limit in zip(self.model.excess(), self.model.inputs, self._limits, strict=True)
        ]

    @cached_property
    def input_forces(self) -> list[list[Any]]:
        """The generalised force of each input on the plant."""
        directions = [[self.terms.read(e) for e in direction] for direction in self.feedback.directions]
        return [[sl.mul(u, e) for e in direction] for u, direction in zip(self.inputs, directions, strict=True)]

    @property
    def adaptation(self) -> Any:
        """The rate of the estimated bound; zero if it is no state."""
        form = self.model.form
        if not self.feedback.adaptive or form.adaptive is None:
            return 0
        growth, leakage = map(self.of_model.read, form.adaptive)
        return sl.sub(sl.mul(growth, self.model.filtered_size), sl.mul(leakage, self.terms.qd[-1]))
