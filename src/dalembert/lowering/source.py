# SPDX-License-Identifier: BSD-3-Clause
"""The input of code generation: a symbolic system in plain symbols, with all derivatives evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from dalembert.lowering.control_structure import ControlStructure
from dalembert.lowering.input_sources import Feedback, Held
from dalembert.lowering.integral_derivatives import FirstIntegral, first_integrals
from dalembert.model import graph
from dalembert.model.control_form import ControlForm, control_form
from dalembert.model.feedback import HeldInputs
from dalembert.model.friction import Friction
from dalembert.model.friction_contacts import contacts
from dalembert.model.law_placement import PlacedLaw, general_components
from dalembert.model.standard_form import StandardForm, energy, gradient, standard_form
from dalembert.model.symbols import plain_multiplier, plain_reaction, reaction
from dalembert.model.system import System


@dataclass(frozen=True)
class Laws:
    """The l nonideal laws of a system.

    names            (constraint or "", law), one per law
    remarks          sentences on the assumptions about the laws
    components       l tuples of n expressions: C or z of each law; for one of the actual reaction, C for a unit normal
                     force
    scaled           whether each law is given as z
    actual           numbers of the laws that depend on the actual reaction
    normals, mu      for each of these the components of its normal force, and its coefficient of friction; a component
                     consists of the coefficients of the m multipliers and a constant
    pressing         whether each of these is a closed contact, whose normal force is not negative
    multipliers      the symbols of all m multipliers
    reactions        the symbols of all m actual reactions
    implicit         numbers of the constraints on whose actual reactions the laws depend; then no law is in ``actual``,
                     and friction is one of all laws
    slopes           for each of these the n derivatives of C, the sum of all laws, with respect to the reaction
    used             numbers of the constraints whose multipliers the laws use
    needs_ideal      whether any law depends on the ideal forces
    """

    names: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]
    components: tuple[tuple[Any, ...], ...]
    scaled: tuple[bool, ...]
    actual: tuple[int, ...]
    normals: tuple[tuple[tuple[Any, ...], ...], ...]
    mu: tuple[Any, ...]
    pressing: tuple[bool, ...]
    multipliers: tuple[sp.Symbol, ...]
    reactions: tuple[sp.Symbol, ...]
    implicit: tuple[int, ...]
    slopes: tuple[tuple[Any, ...], ...]
    used: tuple[int, ...]
    needs_ideal: bool


@dataclass(frozen=True)
class Source:
    """A symbolic system, prepared for code generation.

    form          M, Q, A, b and the residuals
    parameters    symbols, in the order of their values
    levels        of the constraints
    constraints   their names
    has_signals   whether there is a signal in any of the expressions
    laws          None when all constraints are ideal
    energy        an expression, or None
    sliding       the components of the sliding velocity of each contact that can stick
    ratios        the components of each sliding velocity on which a coefficient of friction depends, over its scale
    control       the servo constraints, or None
    structure     how inputs act on them
    feedback      a controller that drives the actuators, or held inputs, or None
    integrals     first integrals that the projection restores to their initial values
    """

    form: StandardForm
    parameters: tuple[sp.Symbol, ...]
    levels: tuple[str, ...]
    laws: Laws | None
    energy: Any
    sliding: tuple[tuple[Any, ...], ...] = ()
    ratios: tuple[tuple[Any, ...], ...] = ()
    control: ControlForm | None = None
    structure: ControlStructure = field(default_factory=ControlStructure)
    feedback: Feedback | Held | None = None
    integrals: tuple[FirstIntegral, ...] = ()
    constraints: tuple[str, ...] = ()
    has_signals: bool = False

    @property
    def has_terms_only(self) -> bool:
        """Whether the equations of motion consist of M, Q, A and b, without laws and inputs."""
        return not (self.laws or self.control or self.feedback or self.integrals)

    @property
    def depends_on_time(self) -> bool:
        """Whether time may occur explicitly in the equations."""
        form = self.form
        rows = (*form.mass_matrix, *form.constraint_matrix)
        vectors = (form.applied_force, form.constraint_rhs, form.position, form.velocity)
        laws = () if self.laws is None else self.laws.components
        # their expressions are not looked through, so that they count as explicit functions of time
        plain = not (self.control or self.feedback) and (self.laws is None or not self.laws.actual)
        entries = (entry for part in (*rows, *vectors, *laws) for entry in part)
        return not plain or any(form.symbols.time in graph.free_symbols(entry) for entry in entries)

    @property
    def masses_differ(self) -> bool:
        """Whether a constraint couples coordinates of different masses."""
        M = self.form.mass_matrix
        # by comparison of expressions: equal masses with other names count as different, which costs one refinement
        touched = ([i for i, e in enumerate(row) if e != 0] for row in self.form.constraint_matrix)
        return any(len({M[i][i] for i in own}) > 1 for own in touched)


def source_of(system: System) -> Source:
    """Differentiate the expressions of a system and return them in plain symbols."""
    form = standard_form(system)
    return Source(
        form=form,
        parameters=tuple(sp.Symbol(name, real=True) for name in system.parameter_names),
        levels=tuple(constraint.level for constraint in system.constraints),
        constraints=tuple(system.constraint_names),
        laws=_laws(system, form) if system.laws else None,
        energy=None if system.lagrangian is None else energy(system.lagrangian, form.symbols),
        sliding=tuple(tuple(map(form.symbols.plain, contact.velocity)) for contact in contacts(system)),
        ratios=_speed_ratios(system),
        control=control_form(system),
        feedback=None if system.feedback is None else _feedback(system),
        integrals=() if system.conserved is None else first_integrals(system.conserved, form.symbols),
        has_signals=bool(system.signals),
    )


def _speed_ratios(system: System) -> tuple[tuple[Any, ...], ...]:
    """Return the components of each sliding velocity on which a coefficient of friction depends, over its scale."""
    laws = [placed.law for placed in system.laws if isinstance(placed.law, Friction)]
    return tuple(
        tuple(system.symbols.plain(v / law.speed_scale) for v in law.sliding_velocity(system.coordinates))
        for law in laws
        if law.speed_scale is not None
    )


def _feedback(system: System) -> Feedback | Held:
    attached, plain = system.feedback, system.symbols.plain
    directions = tuple(tuple(map(plain, direction)) for direction in attached.directions)
    if isinstance(attached, HeldInputs):
        symbols = tuple(sp.Symbol(name, real=True) for name in attached.parameters)
        return Held(attached.actuators, symbols, directions)
    controller = attached.controller
    limits = tuple(None if limit is None else plain(limit) for limit in attached.limits)
    return Feedback(controller.source, controller.values, attached.places, directions, limits, attached.adaptive)


def _laws(system: System, form: StandardForm) -> Laws:
    """Return the nonideal laws of a system in plain symbols."""
    symbols = form.symbols
    lam = tuple(plain_multiplier(name) for name in system.constraint_names)
    reactions = tuple(plain_reaction(name) for name in system.constraint_names)
    # one law of the actual reactions makes the reactions of all laws unknowns of one equation
    general = any(graph.has_kind(c, reaction) for own in system.laws for c in own.law.components(system.coordinates))
    actual = () if general else tuple(i for i, placed in enumerate(system.laws) if placed.actual)
    components = tuple(_general(placed, system) if general else _components(placed, system) for placed in system.laws)
    normals = tuple(tuple(_affine(symbols.plain(e), lam) for e in system.laws[i].law.normal_components) for i in actual)
    mu = tuple(symbols.plain(system.laws[i].law.coefficient(system.coordinates)) for i in actual)
    pressing = tuple(_presses(system, system.laws[i], parts) for i, parts in zip(actual, normals, strict=True))
    # the length of a normal force that is a positive multiple of a multiplier
    normals = tuple(
        (tuple(map(sp.Abs, parts[0])),) if own else parts for parts, own in zip(normals, pressing, strict=True)
    )
    found = graph.free_symbols(*(entry for law in components for entry in law))
    implicit = tuple(k for k, symbol in enumerate(reactions) if symbol in found)
    # redundant constraints may leave other multipliers undetermined, and no law is affected
    used = tuple(
        k
        for k, s in enumerate(lam)
        if s in found or k in implicit or any(row[k] != 0 for parts in normals for row in parts)
    )
    return Laws(
        names=tuple((placed.constraint, placed.kind) for placed in system.laws),
        remarks=tuple(placed.remark for placed in system.laws if placed.remark),
        components=components,
        scaled=tuple(placed.law.scaled for placed in system.laws),
        actual=actual,
        normals=normals,
        mu=mu,
        pressing=pressing,
        multipliers=lam,
        reactions=reactions,
        implicit=implicit,
        slopes=_slopes(components, [reactions[k] for k in implicit]),
        used=used,
        needs_ideal=bool(used or found & set(symbols.ideal_force)),
    )


def _affine(component: Any, multipliers: tuple[sp.Symbol, ...]) -> tuple[Any, ...]:
    """Return the coefficients of multipliers in an expression that is affine in them, and its constant."""
    return (*gradient(component, multipliers), graph.replace(component, dict.fromkeys(multipliers, sp.S.Zero)))


def _presses(system: System, placed: PlacedLaw, parts: Sequence[tuple[Any, ...]]) -> bool:
    """Return whether the normal force of a law is the force of its own constraint, which is a closed contact."""
    names = system.constraint_names
    if placed.constraint not in names or not system.constraints[names.index(placed.constraint)].pressing:
        return False
    own = names.index(placed.constraint)
    return len(parts) == 1 and all(entry == 0 for k, entry in enumerate(parts[0]) if k != own)


def _general(placed: PlacedLaw, system: System) -> tuple[Any, ...]:
    """Return the components of a law in a system with laws of the actual reactions."""
    return tuple(system.symbols.plain(c) for c in general_components(placed, system.coordinates))


def _slopes(components: tuple[tuple[Any, ...], ...], reactions: list[sp.Symbol]) -> tuple[tuple[Any, ...], ...]:
    """Return the derivatives of the sum of all laws with respect to each reaction."""
    if not reactions:
        return ()
    each = [[gradient(entry, reactions) for entry in entries] for entries in components]
    return tuple(
        tuple(sp.Add(*(law[i][j] for law in each)) for i in range(len(components[0]))) for j in range(len(reactions))
    )


def _components(placed: PlacedLaw, system: System) -> tuple[Any, ...]:
    """Return the components of a law; if it depends on the actual reaction, those for a unit normal force."""
    law = placed.law
    # the normal force itself is unknown: it depends on the friction that it causes
    components = law.per_normal_force(system.coordinates) if placed.actual else law.components(system.coordinates)
    return tuple(system.symbols.plain(component) for component in components)
