# SPDX-License-Identifier: BSD-3-Clause
"""``da.derive``: the equations of motion and the constraint forces of a system, symbolically."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.errors import InputError
from dalembert.model.standard_form import standard_form
from dalembert.model.system import System, kind_of_object
from dalembert.report.closed_form import SymbolicTerms, closed_form
from dalembert.report.closed_form_checks import needs_saddle, require_determined
from dalembert.report.control_law import controlled_form
from dalembert.report.derivation import Derivation
from dalembert.report.derivation_notes import notes_of, opening
from dalembert.report.derivation_terms import (
    control_of,
    gains_of,
    nonideal_term,
    restorer,
    stabilised_rhs,
    tidied_mass,
    tidied_matrix,
)
from dalembert.report.numeric_probes import independent_rows, probes, refuse_contradiction

if TYPE_CHECKING:
    from dalembert.integration.drift import Drift


MOST_DERIVED_COORDINATES = 100
"""Most coordinates of a system that is derived: one of 42 takes about a minute, and nobody reads a larger one."""


def derive(
    system: System, *, drift: Drift | None = None, title: str | None = None, about: str | None = None
) -> Derivation:
    """Derive the equations of motion and the constraint forces of a system symbolically.

    For independent rows of A:  Qᶜᵢ = Aᵀ S⁻¹ (b − A M⁻¹ Q),  Qᶜₙᵢ = C − Aᵀ S⁻¹ A M⁻¹ C,  S = A M⁻¹ Aᵀ,
    M q̈ = Q + Qᶜᵢ + Qᶜₙᵢ. M may be indefinite, and singular where [[M, −Aᵀ], [A, 0]] is not.
    With servo constraints the inputs are u = N⁻¹Gᵀ(G N⁻¹Gᵀ)⁻¹e, and M q̈ = Q + B u + Qᶜᵢ + Qᶜₙᵢ.

    Parameters
    ----------
    drift    as for ``da.simulate``: under ``da.Baumgarte`` the equations are those that it integrates, with b less
             2α φ̇ + β² φ at position level and α ψ at velocity level. The other drift cures do not change the equations
    title    heading of the written derivation
    about    a sentence on the mechanical problem, for its first step

    Raises
    ------
    InputError         if ``system`` is not stated in symbols, or too large, or ``drift`` is not a drift cure
    ModelError         if a law is given as z and M^(1/2) has no short closed form, or friction depends on the actual
                       reaction
    MassMatrixError    if neither masses nor constraints determine an acceleration
    ConstraintError    if constraints contradict one another, or do not determine their forces

    Notes
    -----
    The inputs of least cost that meet servo constraints are given by ``inputs``, if they have a closed form. A
    requirement on whose accelerations no input acts is differentiated along the motion; if inputs act only on
    combinations of requirements, ``inputs`` is None.
    Independent rows are selected numerically, at random states that satisfy the constraints; the earliest are kept.
    Results too long to be read are given as products of matrices (``expanded`` is then False).
    If results do not fit on lines, they are printed in stages, with names for long entries and for repeated sums; the
    multipliers of many coupled constraints are printed as they follow from elimination.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> g = da.parameters("g")
    >>> slope = da.System((x, y), [[1, 0], [0, 1]], (0, -g), da.Constraint(y - x, name="slope"))
    >>> da.derive(slope).ideal_force
    Matrix([
    [-g/2],
    [ g/2]])

    The inputs of actuators that meet a servo constraint:

    >>> follow = da.Servo("follow", x - da.t**2, by=da.Actuator("motor", x))
    >>> da.derive(da.System((x, y), [[1, 0], [0, 1]], (-g * x, 0), servos=follow)).inputs
    Matrix([[g*x(t) + 2]])
    """
    if not isinstance(system, System):
        raise InputError(
            f"`system` must be a `da.System`, stated in symbols; got {kind_of_object(system)}. "
            f"A system made of functions can only be evaluated numerically: use `da.motion`."
        )
    if (n := len(system.coordinate_names)) > MOST_DERIVED_COORDINATES:
        raise InputError(
            f"`system` must have at most {MOST_DERIVED_COORDINATES} coordinates to be derived on paper; got {n}. "
            f"Derive one part of it by itself; `da.motion` has the numbers of the whole."
        )
    for argument, text in (("title", title), ("about", about)):
        if not (text is None or isinstance(text, str)):
            raise InputError(f"`{argument}` must be a string; got {text!r}.")
    gains = gains_of(drift)
    form = standard_form(system)
    probed = probes(form, system)
    kept = independent_rows(probed, len(system.constraints))
    refuse_contradiction(probed, kept, system.constraint_names)
    saddle = needs_saddle(probed, kept, system.constraint_names)
    M, Q = tidied_mass(form.mass_matrix), tidied_matrix(form.applied_force, 1)
    A, b = tidied_matrix(form.constraint_matrix, n), tidied_matrix(stabilised_rhs(form, system, gains), 1)
    C = nonideal_term(system, M, probed)
    lam = require_determined(C, system.constraint_names, kept, probed)
    used = A.extract(kept, range(A.cols)), b.extract(kept, [0])
    terms = SymbolicTerms(M, Q, *used, C, form.symbols.ideal_force, lam, saddle)
    control = control_of(system, terms, gains)
    result = closed_form(terms) if control is None else controlled_form(control, terms)
    restore = restorer(system)
    return Derivation(
        system=system,
        mass_matrix=restore(M),
        applied_force=restore(Q),
        constraint_matrix=restore(A),
        constraint_rhs=restore(b),
        nonideal=restore(C),
        ideal_force=restore(result.ideal_force),
        nonideal_force=restore(result.nonideal_force),
        acceleration=restore(result.acceleration),
        independent=tuple(system.constraint_names[i] for i in kept),
        notes=(*notes_of(system, probed, kept, terms, result), *(() if control is None else control.notes)),
        expanded=result.expanded,
        saddle=saddle,
        title="Derivation of the equation of motion" if title is None else title,
        about=opening(system) if about is None else about,
        gains=gains,
        control=None if control is None else control.restored(restore),
    )
