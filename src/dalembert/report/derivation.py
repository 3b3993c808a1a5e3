# SPDX-License-Identifier: BSD-3-Clause
"""`da.derive`: the equations of a system in closed form, and their derivation as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.common.names import listed, summary
from dalembert.common.paper_letters import PaperLetters, ScaledMatrices
from dalembert.common.stabilisation import Gains
from dalembert.errors import ModelError
from dalembert.model.input_values import parameter_values, scalar_value, state_values
from dalembert.model.system import System
from dalembert.report.abbreviated_steps import abbreviated
from dalembert.report.chart import NAMESPACE, chart
from dalembert.report.closed_form_checks import require_independent
from dalembert.report.control_law import ControlLaw
from dalembert.report.decimals import exact
from dalembert.report.derivation_page import html
from dalembert.report.derivation_terms import (
    restorer,
)
from dalembert.report.evaluation import Evaluation, evaluator, matrix_evaluator
from dalembert.report.formula_symbols import matrix_symbols
from dalembert.report.scaled_symbols import scaled_symbols
from dalembert.report.steps import Step, seven_steps, with_short_displays
from dalembert.report.tex import latex, markdown

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Derivation(PaperLetters):
    """The equations of a system in closed form, in the symbols of the model.

    mass_matrix (n, n), applied_force (n, 1), constraint_matrix (m, n), constraint_rhs (m, 1)
                           as in the model, all rows, simplified; b includes the stabilising terms of the drift cure
    nonideal (n, 1)        C; it contains ``da.ideal_force`` and ``da.multiplier`` if a law depends on these
    ideal_force, nonideal_force, acceleration (n, 1)
                           columns of expressions if ``expanded``; otherwise formulas in the matrix symbols M, Q, A,
                           b and C, whose values ``meaning`` gives: ``ideal_force.subs(meaning).doit()`` expands them
    independent            names of the constraints that were used
    notes                  remarks, one sentence each
    saddle                 whether M or A M⁻¹ Aᵀ is singular, so that both unknowns were solved for together
    title, about           heading and first paragraph of the written derivation
    gains                  rates α and β of these stabilising terms, or None
    control                the control law of the servo constraints, or None; forces and acceleration are those with its
                           inputs

    The matrices of the papers' proofs are properties, with the rows used: ``B``, ``B_plus``, ``e``, ``a_s``, ``c_s``
    (``z``), ``T``, ``N``, ``V``, ``D``, ``E`` and ``J``; ``docs/notation.md`` has their descriptive names.
    """

    system: System
    mass_matrix: Any
    applied_force: Any
    constraint_matrix: Any
    constraint_rhs: Any
    nonideal: Any
    ideal_force: Any
    nonideal_force: Any
    acceleration: Any
    independent: tuple[str, ...]
    notes: tuple[str, ...]
    expanded: bool
    saddle: bool
    title: str
    about: str
    gains: Gains | None = None
    control: ControlLaw | None = None

    def __repr__(self) -> str:
        return summary(
            f"Derivation of {listed(self.system.coordinate_names)}",
            listed(self.independent, "constraints used"),
            "expanded formulas" if self.expanded else "formulas in matrix symbols",
        )

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    @property
    def inputs(self) -> Any:
        """The inputs u (r, 1) of the actuators: expressions, a formula in matrix symbols, or None without either."""
        return None if self.control is None else self.control.inputs

    def at(self, q: Any, qd: Any, t: float = 0.0, parameters: Any = None) -> Evaluation:
        """Evaluate the closed form at one state; arguments as for ``da.motion``.

        If there are redundant constraints, the state must satisfy them: the omitted rows are dependent only there.

        Raises
        ------
        InputError         if values are missing, unknown or not finite
        ConstraintError    if the constraints used are not independent at the state; use ``da.motion`` there
        ModelError         if the inputs of actuators have no closed form; use ``da.motion``
        """
        if self.control is not None and self.control.inputs is None:
            raise ModelError(["the inputs must have a closed form to be evaluated; they have none. Use `da.motion`."])
        names = self.system.coordinate_names
        state = (
            *state_values(names, q, "q"),
            *state_values(names, qd, "qd"),
            float(scalar_value(t, "t")),
            *parameter_values(self.system.parameter_names, parameters),
        )
        if self.independent:
            require_independent(self._used_rows(state), self.independent)
        return self._evaluate(state)

    @property
    def meaning(self) -> dict[Any, Any]:
        """Explicit matrices for the matrix symbols M, Q, A, b (with the rows used), C and those of a control law."""
        kept = [self.system.constraint_names.index(name) for name in self.independent]
        sym = matrix_symbols(len(self.system.coordinates), len(kept))
        A = self.constraint_matrix.extract(kept, range(self.constraint_matrix.cols))
        b = self.constraint_rhs.extract(kept, [0])
        given = {sym.M: self.mass_matrix, sym.Q: self.applied_force, sym.A: A, sym.b: b, sym.C: self.nonideal}
        return given if self.control is None else given | self.control.meaning

    @property
    def scaled_matrices(self) -> ScaledMatrices:
        """B, B⁺, e, aₛ, cₛ, T, N, V, D, E and J in symbols, with the rows used.

        Raises
        ------
        ModelError    if they are too long to be written out, or more than two coordinates are coupled by masses
        """
        return self._scaled

    @cached_property
    def _scaled(self) -> ScaledMatrices:
        restore, plain = restorer(self.system), self.system.symbols.plain
        given = [exact(plain(matrix)) for matrix in list(self.meaning.values())[:5]]
        M, Q, A, b, C = (sp.Matrix(matrix) for matrix in given)
        found = scaled_symbols(M, Q, A, b, C, self.system.coordinate_names)
        return ScaledMatrices(*(restore(getattr(found, field.name)) for field in fields(found)))

    def to_latex(self) -> str:
        """Return a complete LaTeX document; it uses amsmath."""
        return latex(self.title, with_short_displays(self._steps))

    def to_markdown(self) -> str:
        """Return Markdown with formulas between dollar signs."""
        return markdown(self.title, with_short_displays(self._steps))

    def to_html(self, *, fragment: bool = False) -> str:
        """Return a complete HTML page with formulas as MathML.

        With ``fragment``, return only its ``<article>``, for a page that includes
        ``dalembert.report.derivation_page.DERIVATION_STYLE``.
        """
        return html(self.title, self._steps, fragment=fragment, opening=chart(self).replace(NAMESPACE, ""))

    def chart(self) -> str:
        """Return the seven steps of this derivation as a flow chart, in SVG; it is part of the HTML page.

        Reference: Zhao et al. 2018, figure 1.

        >>> import dalembert as da
        >>> chart = da.derive(da.gallery.case("bead").system).chart()
        >>> chart.startswith("<svg"), "M q̈ = Q + Qᶜᵢ + Qᶜₙᵢ" in chart
        (True, True)
        """
        return chart(self)

    @cached_property
    def _steps(self) -> list[Step]:
        return abbreviated(seven_steps(self))

    @cached_property
    def _evaluate(self) -> Callable[[Sequence[float]], Evaluation]:
        results = (self.ideal_force, self.nonideal_force, self.acceleration)
        if self.control is not None:
            results = (*results, self.control.inputs if self.expanded else self.control.formula)
        return evaluator(self.system, results, self._explicit, (self.independent, self._used_rows))

    @cached_property
    def _used_rows(self) -> Callable[[Sequence[float]], Floats]:
        sym = matrix_symbols(len(self.system.coordinates), len(self.independent))
        return matrix_evaluator(self.system, self.meaning[sym.A])

    @property
    def _explicit(self) -> dict[Any, Any]:
        return {} if self.expanded else self.meaning
