# SPDX-License-Identifier: BSD-3-Clause
"""A mechanical system, stated in symbols."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import sympy as sp

from dalembert.errors import InputError, ModelError
from dalembert.model.array_statement import is_stated_by_arrays, large_statement
from dalembert.model.constraint import Constraint, named_constraints
from dalembert.model.deep_stack import with_deep_stack
from dalembert.model.expressions import as_expression
from dalembert.model.force_parts import ForcePart, is_named, named_parts, sum_of
from dalembert.model.large_statement import MANY_CONTACTS, LargeStatement
from dalembert.model.latex import equations
from dalembert.model.law_placement import PlacedLaw, placed_laws
from dalembert.model.laws import Coefficient, as_laws
from dalembert.model.signal import Signal
from dalembert.model.signal_checks import signals_in
from dalembert.model.similar_terms import similar_terms
from dalembert.model.symbols import StateSymbols, free_parameters, t
from dalembert.model.system_arguments import (
    checked_coordinates,
    force_column,
    from_lagrangian,
    given_constraints,
    mass_matrix,
)
from dalembert.model.system_expressions import expressions_of
from dalembert.model.validation import problems_of
from dalembert.names import listed, summary

EXPANDED = ("coordinates", "mass_matrix", "applied_force", "constraints")
"""Fields of a system stated by arrays that are expanded when they are asked for."""

DEFERRED = (*EXPANDED, "lagrangian", "coefficients", "force_parts")
"""Fields of a system of a mechanism that are derived when they are asked for."""

LARGEST_EXPANDED = 200
"""Most coordinates of a system that is compiled to straight-line machine code if its terms are similar: up to there it
is the fastest, and compiles in seconds. Measured by ``python -m benchmarks.large``."""


@dataclass(frozen=True, eq=False)
class Deferred:
    """A system by groups of terms, and the function that derives the same system term by term."""

    statement: LargeStatement
    derive: Callable[[], System]


@dataclass(frozen=True)
class System:
    """A mechanical system M q̈ = Q + Qᶜ with its constraints: an immutable value.

    Parameters
    ----------
    coordinates      n coordinates made by ``da.coordinates``; also arrays of them, see docs/large.md
    mass_matrix      (n, n) symmetric, M(q, t); for arrays of coordinates a mass, one for each of them, or
                     ``da.MassEntries``
    applied_force    n components, Q(q, q̇, t), as a sequence or a mapping by coordinate; also a mapping from names of
                     forces to such components, which are added and have entries of their own in the ledger of a run;
                     also ``da.AppliedForce``
    constraints      ``da.Constraint`` objects; any number, redundant ones included; also ``da.Constraint.over``
    nonideal         a law such as ``da.Quadratic(a0)``, several laws (they are added), or n expressions for C; laws of
                     single constraints belong to the `Constraint`
    lagrangian       only for the energy; ``System.from_lagrangian`` fills it in
    coefficients     pairs (owner, ``Coefficient``) in the applied force that must not be negative, such as those of
                     dampers; ``da.Mechanism`` fills them in
    servos           ``da.Servo`` objects: requirements that actuators meet
    feedback         a controller that drives the actuators; ``da.simulate`` fills it in
    conserved        first integrals that a drift cure conserves; ``da.simulate`` fills it in
    force_parts      the named parts of the applied force; filled in from names, or by ``da.Mechanism``

    Raises
    ------
    ModelError       listing every problem: shapes, names given twice, unknown coordinates, a mass matrix that is not
                     symmetric, forces that contain accelerations, constraints not linear in the accelerations

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> m, g, l = da.parameters("m g l")
    >>> pendulum = da.System(
    ...     coordinates=(x, y),
    ...     mass_matrix=[[m, 0], [0, m]],
    ...     applied_force=(0, -m * g),
    ...     constraints=da.Constraint(x**2 + y**2 - l**2, name="rod"),
    ... )
    >>> pendulum.parameter_names
    ('g', 'l', 'm')
    """

    # Given in any of the forms above; afterwards tuples, an immutable matrix and an immutable column.
    coordinates: Any
    mass_matrix: Any
    applied_force: Any
    constraints: Any = field(default_factory=tuple)  # no class attribute: see __getattr__
    nonideal: Any = ()
    lagrangian: Any = field(default_factory=lambda: None)
    coefficients: tuple[tuple[str, Coefficient], ...] = field(default_factory=tuple)
    servos: Any = ()
    feedback: Any = None
    conserved: Any = field(default=None, repr=False)
    force_parts: tuple[ForcePart, ...] = field(default_factory=tuple, repr=False, compare=False)
    statement: LargeStatement | None = field(default=None, init=False, repr=False, compare=False)
    deferred: Deferred | None = field(default=None, init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        if self.is_large or self.deferred is not None:
            names = (listed(self.constraint_names, "constraints"), listed(self.parameter_names, "parameters"))
            return summary(f"System of {listed(self.coordinate_names)}", *names)
        return summary(
            f"System of {listed(self.coordinate_names)}",
            listed(self.constraint_names, "constraints"),
            listed((placed.kind for placed in self.laws), "laws"),
            listed((servo.name for servo in self.servos), "servos"),
            listed(self.parameter_names, "parameters"),
        )

    def _repr_latex_(self) -> str | None:
        return None if self.is_large else equations(self)

    def __post_init__(self) -> None:
        if is_stated_by_arrays(self.coordinates, self.applied_force, self.constraints):
            self._keep_statement()
            if self.is_large:
                return
        coordinates = checked_coordinates(self.coordinates)
        problems: list[str] = []
        self._keep_parts(coordinates, problems)
        checked = {
            "coordinates": coordinates,
            "mass_matrix": with_deep_stack(lambda: mass_matrix(self.mass_matrix, problems), "`mass_matrix`"),
            "applied_force": with_deep_stack(
                lambda: force_column(coordinates, self.applied_force, problems), "`applied_force`"
            ),
            "constraints": with_deep_stack(
                lambda: named_constraints(given_constraints(self.constraints), coordinates), "a constraint"
            ),
            "nonideal": as_laws(self.nonideal, problems),
            "lagrangian": self.lagrangian
            if self.lagrangian is None
            else as_expression(self.lagrangian, "`lagrangian`"),
            "servos": tuple(self.servos) if isinstance(self.servos, (tuple, list)) else (self.servos,),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        problems += with_deep_stack(lambda: problems_of(self), "an expression of the model")
        if problems:
            raise ModelError(problems)

    def _keep_parts(self, coordinates: tuple[Any, ...], problems: list[str]) -> None:
        """Keep the parts of an applied force that is given by names, and their sum as the applied force."""
        if not is_named(self.applied_force):
            return
        if self.lagrangian is not None:
            problems.append(
                "an applied force by names must be without `lagrangian`, from which it is not known which of the "
                "forces it contains. Use `da.System.from_lagrangian`, whose `applied_force` holds the others."
            )
        parts = named_parts(coordinates, self.applied_force, problems)
        fitting = [part for part in parts if len(part.force) == len(coordinates)]
        object.__setattr__(self, "force_parts", parts)
        object.__setattr__(self, "applied_force", sum_of(fitting, len(coordinates)))

    def _keep_statement(self) -> None:
        """Keep the arrays that the system is stated by, and leave the fields to be expanded when they are asked for."""
        given = {name: getattr(self, name) for name in EXPANDED}
        others = (self.lagrangian, self.servos, self.feedback, self.conserved)
        if any(other is not None and other != () for other in others):
            raise ModelError(
                [
                    "a system stated by arrays must have constraints, laws and applied forces only; got a Lagrangian "
                    "or servos. State it without arrays, or leave them out."
                ]
            )
        object.__setattr__(self, "statement", large_statement(**given, nonideal=self.nonideal))
        for name in EXPANDED:
            object.__delattr__(self, name)

    def __getattr__(self, name: str) -> Any:
        # called for missing attributes only: the fields of a system stated by arrays, which are expanded on demand
        deferred = self.__dict__.get("deferred")
        if deferred is not None and name in DEFERRED:
            whole = deferred.derive()
            for one in DEFERRED:
                object.__setattr__(self, one, getattr(whole, one))
            return self.__dict__[name]
        statement = self.__dict__.get("statement")
        if name not in EXPANDED or statement is None:
            raise AttributeError(name)
        if statement.has_contacts:
            raise InputError(MANY_CONTACTS)
        if self.is_large:
            raise InputError(
                f"`{name}` must be known term by term here, which is for at most {LARGEST_EXPANDED} coordinates; this "
                f"system has {len(statement.coordinate_names)}. `da.motion`, `da.simulate` and `da.consistent_state` "
                f"take it as it is; for anything else, state a smaller one."
            )
        for expanded, value in statement.expanded().items():
            object.__setattr__(self, expanded, value)
        return self.__dict__[name]

    @classmethod
    def from_lagrangian(
        cls,
        lagrangian: Any,
        coordinates: Sequence[Any],
        *,
        applied_force: Any = None,
        constraints: Any = (),
        nonideal: Any = (),
        servos: Any = (),
    ) -> System:
        """Return the system whose unconstrained motion is d/dt ∂L/∂q̇ − ∂L/∂q = F.

        The mass matrix is the Hessian ∂²L/∂q̇² and may be indefinite. Potentials may depend on velocity, and
        Lagrangians on time. ``applied_force`` is F, the forces that the Lagrangian does not contain; a mapping from
        names to forces gives each of them an entry in the ledger of a run.

        >>> import dalembert as da
        >>> theta = da.coordinates("theta")
        >>> L = theta.diff(da.t)**2 / 2
        >>> da.System.from_lagrangian(L, (theta,)).mass_matrix
        Matrix([[1]])
        """
        coordinates = checked_coordinates(coordinates)
        problems: list[str] = []
        parts: tuple[ForcePart, ...] = ()
        if is_named(applied_force):
            parts = named_parts(coordinates, applied_force, problems)
            applied_force = None if problems else sum_of(parts, len(coordinates))
        extra = (
            sp.zeros(len(coordinates), 1)
            if applied_force is None
            else force_column(coordinates, applied_force, problems)
        )
        if problems:
            extra = sp.zeros(len(coordinates), 1)  # so that other problems are reported as well
        lagrangian, mass_matrix, force = with_deep_stack(
            lambda: from_lagrangian(lagrangian, coordinates), "the Lagrangian"
        )
        try:
            further: dict[str, Any] = {"servos": servos, "force_parts": parts}
            system = cls(coordinates, mass_matrix, force + extra, constraints, nonideal, lagrangian, **further)
        except ModelError as error:
            raise ModelError([*problems, *error.problems]) from None
        if problems:
            raise ModelError(problems)
        return system

    @classmethod
    def from_statement(cls, statement: LargeStatement) -> System:
        """Return the system of a large statement, which is not expanded."""
        system = object.__new__(cls)
        nothing = {
            "nonideal": (),
            "lagrangian": None,
            "coefficients": (),
            "servos": (),
            "feedback": None,
            "force_parts": (),
        }
        for name, value in {**nothing, "conserved": None, "statement": statement}.items():
            object.__setattr__(system, name, value)
        return system

    @classmethod
    def from_deferred(cls, deferred: Deferred) -> System:
        """Return a system that is known by groups of terms; its expressions are derived when they are asked for."""
        system = object.__new__(cls)
        known = {"nonideal": (), "servos": (), "feedback": None, "conserved": None, "statement": None}
        for name, value in {**known, "deferred": deferred}.items():
            object.__setattr__(system, name, value)
        return system

    @classmethod
    def from_sympy(cls, method: Any) -> System:
        """Return the system of a ``KanesMethod``, ``LagrangesMethod``, ``System`` or ``JointsMethod`` of SymPy.

        Coordinates keep their names; generalised speeds are replaced by rates of coordinates. A speed ``u`` of no
        coordinate becomes the rate of a further one, ``integral_u``. All constraints are kept; none is eliminated.

        >>> from sympy.physics import mechanics as me
        >>> import dalembert as da
        >>> q = me.dynamicsymbols("q")
        >>> da.System.from_sympy(me.LagrangesMethod(q.diff()**2 / 2 - q, [q])).applied_force
        Matrix([[-1]])
        """
        from dalembert.model.sympy_mechanics import system_arguments

        given = system_arguments(method)
        return cls(**given) if "mass_matrix" in given else cls.from_lagrangian(**given)

    def constrain(self, *constraints: Constraint) -> System:
        """Return the same system with additional constraints."""
        if self.statement is not None:
            stated = self.statement
            groups = (*stated.constraints, *constraints)
            return System(stated.pieces, stated.masses, stated.forces, groups, stated.nonideal)
        return replace(self, constraints=(*self.constraints, *constraints))

    def save(
        self, path: str | Path, *, parameters: Any = None, q0: Any = None, qd0: Any = None, times: Any = None
    ) -> Path:
        """Write the system to a TOML file, which ``da.load`` reads, and return its path.

        Values of parameters, a start and times are optional; with them, ``da.load(path).simulate()`` runs.

        Raises
        ------
        InputError    if the path has another extension or no directory, or if the values do not fit the system
        ModelError    if an expression contains a function that the grammar of model files does not have

        Examples
        --------
        >>> import dalembert as da
        >>> theta = da.coordinates("theta")
        >>> wheel = da.System((theta,), [[2]], (1,))
        >>> path = wheel.save("wheel.toml")  # doctest: +SKIP
        """
        from dalembert.model.system_document import system_document
        from dalembert.model.value_document import save_document, value_entries

        values = value_entries(self, parameters, q0, qd0, times)
        return save_document(path, system_document(self) | values)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, System):
            return True if self is other else NotImplemented
        # SymPy compares whole expressions, and compiled programs are looked up several times in a call: a system made
        # anew remembers which earlier one it is equal to
        if other is self._last_equal[0]() or self is other._last_equal[0]():
            return True
        # the fields of a large system are not expanded
        own = ["statement"] if self.is_large else [one.name for one in fields(self) if one.compare]
        if self._hash != other._hash or any(getattr(self, name) != getattr(other, name) for name in own):
            return False
        self._last_equal[0], other._last_equal[0] = weakref.ref(other), weakref.ref(self)
        return True

    @cached_property
    def _last_equal(self) -> list[Callable[[], System | None]]:
        """One entry: a reference to the system that was last found equal to this one."""
        return [lambda: None]

    def __getstate__(self) -> dict[str, Any]:
        # the hash of a text differs from process to process, and references are those of this one
        return {name: value for name, value in self.__dict__.items() if name not in ("_hash", "_last_equal")}

    @cached_property
    def _hash(self) -> int:
        # functions look up the compiled program by the system, and hashing large matrices each time would be slow
        if self.is_large:
            return hash(self.statement)
        parts = (self.coordinates, self.mass_matrix, self.applied_force, self.constraints, self.nonideal, self.servos)
        return hash((*parts, self.feedback, self.conserved))

    @cached_property
    def symbols(self) -> StateSymbols:
        return StateSymbols(self.coordinates)

    @cached_property
    def known_coordinates(self) -> frozenset[Any]:
        """The coordinates as a set, for lookups."""
        return frozenset(self.coordinates)

    @property
    def velocities(self) -> tuple[Any, ...]:
        return tuple(q.diff(t) for q in self.coordinates)

    @property
    def accelerations(self) -> tuple[Any, ...]:
        return tuple(q.diff(t, 2) for q in self.coordinates)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        stated = self._stated
        return self.symbols.names if stated is None else stated.coordinate_names

    @property
    def constraint_names(self) -> tuple[str, ...]:
        stated = self._stated
        if stated is not None:
            return stated.constraint_names
        return tuple(str(constraint.name) for constraint in self.constraints)

    @property
    def _stated(self) -> LargeStatement | None:
        """The groups of terms by which the system is known, expanded or not."""
        return self.statement if self.deferred is None else self.deferred.statement

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of all constants, sorted: the order in which compiled functions take them."""
        if self.deferred is not None:
            return tuple(self.deferred.statement.parameters)
        if self.is_large and self.statement is not None:
            return tuple(self.statement.parameters)
        return tuple(sorted({symbol.name for symbol in free_parameters(self.expressions())}))

    @cached_property
    def templates(self) -> LargeStatement | None:
        """The groups of terms by which a large system is compiled; None for one that straight-line code suits better.

        This is the place where one of the two is chosen.
        """
        if self.is_large or self.deferred is not None:
            return self._stated
        return similar_terms(self) if len(self.coordinate_names) > LARGEST_EXPANDED else None

    @property
    def is_large(self) -> bool:
        """Whether the system is stated by arrays and too large to be expanded term by term, or has contacts."""
        stated = self.statement
        return stated is not None and (stated.has_contacts or len(stated.coordinate_names) > LARGEST_EXPANDED)

    @cached_property
    def laws(self) -> tuple[PlacedLaw, ...]:
        """All nonideal laws, of the whole system and of its constraints, each with its place."""
        return self.placed_laws[0]

    @cached_property
    def placed_laws(self) -> tuple[tuple[PlacedLaw, ...], list[str]]:
        """All nonideal laws with their places, and the problems with them as sentences."""
        return placed_laws(self)

    @cached_property
    def signals(self) -> tuple[Signal, ...]:
        """All signals in the expressions of the model."""
        return tuple(signals_in(self.expressions()))

    def expressions(self) -> tuple[Any, ...]:
        """Return every expression of the model."""
        return expressions_of(self)


def kind_of_object(given: Any) -> str:
    """Return the type of an object given instead of a system, for a message, with advice if there is some."""
    kind = type(given).__name__
    return f"{kind}: pass its `.system`" if kind in ("Mechanism", "ModelFile") else kind
