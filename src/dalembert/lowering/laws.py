# SPDX-License-Identifier: BSD-3-Clause
"""Nonideal laws as JAX functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import sympy as sp
from jax import Array

from dalembert.equation import straight_line as sl
from dalembert.equation.dynamics import Terms
from dalembert.equation.pseudo_inverse import square_roots
from dalembert.equation.reaction import Nature, Reaction, with_normals
from dalembert.lowering.compiling import assemble, compiled, flat
from dalembert.model.placement import PlacedLaw
from dalembert.model.standard_form import StandardForm, gradient
from dalembert.model.symbols import plain_multiplier
from dalembert.model.system import System


@dataclass(frozen=True)
class LawFunctions:
    """The l laws of a system as functions of separate numbers.

    names            (constraint or "", law), one per law
    remarks          what was assumed about them, in sentences
    components       (q, qd, t, p, ideal_force, multipliers) -> l tuples of n entries: C or z of each law; for one of
                     the actual reaction, C for a unit normal force
    scaled           which laws are given as z
    actual           numbers of the laws that depend on the actual reaction
    normals          (q, qd, t, p) -> for each of these m factors of multipliers that give its normal force, and its
                     coefficient of friction
    needs_ideal      whether any depends on the ideal forces
    multipliers      numbers of the constraints whose multipliers they use
    expressions      everything in them, for counting
    """

    names: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]
    components: Callable[..., Any]
    scaled: tuple[bool, ...]
    actual: tuple[int, ...]
    normals: Callable[..., Any]
    needs_ideal: bool
    multipliers: tuple[int, ...]
    expressions: tuple[Any, ...]


def law_functions(system: System, form: StandardForm, state: tuple[Any, ...]) -> LawFunctions | None:
    """The laws of a system, or None when all its constraints are ideal; ``state`` is q, qd, t, p in plain symbols."""
    if not system.laws:
        return None
    symbols = form.symbols
    lam = tuple(plain_multiplier(name) for name in system.constraint_names)
    components = tuple(_components(placed, system) for placed in system.laws)
    actual = tuple(i for i, placed in enumerate(system.laws) if placed.actual)
    normals = tuple(gradient(symbols.plain(system.laws[i].law.normal_force), lam) for i in actual)
    mu = tuple(symbols.plain(sp.sympify(system.laws[i].law.coefficient(system.coordinates))) for i in actual)
    found = {s for entry in flat(components) for s in entry.free_symbols}
    used = [k for k, s in enumerate(lam) if s in found or any(row[k] != 0 for row in normals)]
    raw = compiled((*state, symbols.ideal_force, lam), components, "law")
    none = ((0.0,) * len(symbols.q), (0.0,) * len(lam))
    return LawFunctions(
        names=tuple((placed.constraint, placed.kind) for placed in system.laws),
        remarks=tuple(placed.remark for placed in system.laws if placed.remark),
        components=lambda *given: raw(*given[:4], *(none if given[4] is None else given[4:])),
        scaled=tuple(placed.law.scaled for placed in system.laws),
        actual=actual,
        normals=compiled(state, (normals, mu), "law"),
        needs_ideal=bool(used or found & set(symbols.ideal_force)),
        multipliers=tuple(used),
        expressions=tuple(flat((components, normals))),
    )


def _components(placed: PlacedLaw, system: System) -> tuple[Any, ...]:
    law = placed.law
    given = law.per_normal_force(system.coordinates) if placed.actual else law.components(system.coordinates)
    return tuple(system.symbols.plain(sp.sympify(component)) for component in given)


def array_law(laws: LawFunctions | None, terms: Callable[..., Terms]) -> Callable[..., Nature] | None:
    """C of each law as an array, laws given as z included: C = M^(1/2) z with the symmetric root."""
    if laws is None:
        return None

    def law(q: Array, qd: Array, t: Any, p: Any, reaction: Reaction | None) -> Nature:
        state = (tuple(q), tuple(qd), t, tuple(p))
        forces = (None, None) if reaction is None else (tuple(reaction.force), tuple(reaction.multipliers))
        shares = jnp.stack([assemble(entries, q.shape) for entries in laws.components(*state, *forces)])
        if any(laws.scaled):
            root = square_roots(terms(q, qd, t, p).M)[0]
            shares = jnp.where(jnp.array(laws.scaled)[:, None], shares @ root, shares)
        if reaction is None or not laws.actual:
            return Nature(shares, None)
        normals, mu = laws.normals(*state)
        k, m = len(laws.actual), len(reaction.multipliers)
        return with_normals(shares, laws.actual, assemble(flat(normals), (k, m)), assemble(mu, (k,)), reaction)

    return law


def scalar_law(laws: LawFunctions | None, mass: Callable[..., sl.Matrix]) -> Callable[..., sl.Vector] | None:
    """C entry by entry, where M is diagonal or no law is given as z, and none depends on the actual reaction."""
    if laws is None:
        return None

    def law(q: sl.Vector, qd: sl.Vector, t: Any, p: Any, ideal: Any, multipliers: Any) -> sl.Vector:
        shares = laws.components(q, qd, t, p, ideal, multipliers)
        total: sl.Vector = [0] * len(q)
        for share, scaled in zip(shares, laws.scaled, strict=True):
            total = sl.plus(total, sl.times(_roots(mass(q, qd, t, p)), share) if scaled else share)
        return total

    return law


def _roots(M: sl.Matrix) -> sl.Vector:
    return [jnp.sqrt(jnp.asarray(M[i][i], float)) for i in range(len(M))]
