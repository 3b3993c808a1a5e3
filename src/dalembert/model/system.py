# SPDX-License-Identifier: BSD-3-Clause
"""A mechanical system, stated in symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from dalembert.common.names import listed, summary
from dalembert.errors import ModelError
from dalembert.model.array_statement import is_stated_by_arrays, term_by_term
from dalembert.model.constraint import Constraint
from dalembert.model.deep_stack import with_deep_stack
from dalembert.model.deferred_fields import (
    LARGEST_EXPANDED,
    Deferred,
    field_on_demand,
    is_too_large,
    keep_statement,
    set_known_fields,
)
from dalembert.model.force_parts import ForcePart
from dalembert.model.large_statement import LargeStatement
from dalembert.model.latex import equations
from dalembert.model.law_placement import PlacedLaw, placed_laws
from dalembert.model.laws import Coefficient
from dalembert.model.python_functions import AppliedPythonFunction, python_functions_in
from dalembert.model.signal import Signal
from dalembert.model.signal_checks import signals_in
from dalembert.model.similar_terms import similar_terms
from dalembert.model.symbols import StateSymbols, free_parameters, t
from dalembert.model.system_arguments import (
    checked_arguments,
    checked_coordinates,
    keep_force_parts,
    lagrangian_arguments,
)
from dalembert.model.system_equality import are_equal, hash_of
from dalembert.model.system_expressions import expressions_of, terms_of
from dalembert.model.validation import problems_of


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
            keep_statement(self)
            if self.is_large:
                return
        coordinates = checked_coordinates(self.coordinates)
        problems: list[str] = []
        keep_force_parts(self, coordinates, problems)
        checked = checked_arguments(self, coordinates, problems)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        problems += with_deep_stack(lambda: problems_of(self), "an expression of the model")
        if problems:
            raise ModelError(problems)

    def __getattr__(self, name: str) -> Any:
        # called for missing attributes only: the fields of a system stated by arrays, which are expanded on demand
        return field_on_demand(self, name)

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
        names to forces gives each of them an entry in the ledger of a run. Arrays of coordinates and groups of
        constraints are used term by term, and collected in groups again if the system is large.

        >>> import dalembert as da
        >>> theta = da.coordinates("theta")
        >>> L = theta.diff(da.t)**2 / 2
        >>> da.System.from_lagrangian(L, (theta,)).mass_matrix
        Matrix([[1]])
        """
        problems: list[str] = []
        given = lagrangian_arguments(lagrangian, term_by_term(coordinates), applied_force, problems)
        try:
            system = cls(**given, constraints=term_by_term(constraints), nonideal=nonideal, servos=servos)
        except ModelError as error:
            raise ModelError([*problems, *error.problems]) from None
        if problems:
            raise ModelError(problems)
        return system

    @classmethod
    def from_statement(cls, statement: LargeStatement) -> System:
        """Return the system of a large statement, which is not expanded."""
        system = object.__new__(cls)
        known: dict[str, Any] = {"lagrangian": None, "coefficients": (), "force_parts": (), "servos": statement.servos}
        set_known_fields(system, statement=statement, **known)
        return system

    @classmethod
    def from_deferred(cls, deferred: Deferred) -> System:
        """Return a system that is known by groups of terms; its expressions are derived when they are asked for."""
        system = object.__new__(cls)
        set_known_fields(system, statement=None, deferred=deferred)
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
            return System(stated.pieces, stated.masses, stated.forces, groups, stated.nonideal, servos=stated.servos)
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
        return are_equal(self, other)

    @cached_property
    def _last_equal(self) -> list[Callable[[], System | None]]:
        """One entry: a reference to the system that was last found equal to this one."""
        return [lambda: None]

    def __getstate__(self) -> dict[str, Any]:
        # the hash of a text differs from process to process, and references are those of this one
        return {name: value for name, value in self.__dict__.items() if name not in ("_hash", "_last_equal")}

    @cached_property
    def _hash(self) -> int:
        return hash_of(self)

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
        return stated is not None and is_too_large(stated)

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
        return tuple(signals_in(terms_of(self)))

    @cached_property
    def python_functions(self) -> tuple[AppliedPythonFunction, ...]:
        """All Python functions in the expressions of the model."""
        return tuple(python_functions_in(self.expressions()))

    def expressions(self) -> tuple[Any, ...]:
        """Return every expression of the model."""
        return expressions_of(self)


def kind_of_object(given: Any) -> str:
    """Return the type of an object given instead of a system, for a message, with advice if there is some."""
    kind = type(given).__name__
    return f"{kind}: pass its `.system`" if kind in ("Mechanism", "ModelFile") else kind
