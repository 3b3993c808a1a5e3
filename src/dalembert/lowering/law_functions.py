# SPDX-License-Identifier: BSD-3-Clause
"""Nonideal laws as functions of numbers or arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.lazy_jax import jnp
from dalembert.equation.dynamics import Terms
from dalembert.equation.implicit_laws import reaction_equations, solve_reactions
from dalembert.equation.pseudo_inverse import square_roots
from dalembert.equation.reaction import IdealReaction, NonidealForces, with_normals
from dalembert.lowering.jax_functions import assemble, compiled, flat
from dalembert.lowering.source import Laws, Source

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class LawFunctions:
    """The laws of a system as functions of separate numbers.

    components       (q, qd, t, p, ideal_force, multipliers, reactions) -> l tuples of n entries
    normals          (q, qd, t, p) -> ``Laws.normals`` and ``Laws.mu``
    slopes           as ``components`` -> ``Laws.slopes``
    """

    laws: Laws
    components: Callable[..., Any]
    normals: Callable[..., Any]
    slopes: Callable[..., Any]


def law_terms(source: Source) -> tuple[Any, Any, Any]:
    """Return the expressions of all laws: components, the terms of their normal forces, and slopes."""
    laws = source.laws
    return ((), (), ()) if laws is None else (laws.components, (laws.normals, laws.mu), laws.slopes)


def law_functions(source: Source, state: tuple[Any, ...]) -> LawFunctions | None:
    """Return the laws of a system; None if all constraints are ideal. ``state`` is q, qd, t, p in plain symbols."""
    laws = source.laws
    if laws is None:
        return None
    forces = source.form.symbols.ideal_force
    components, normals, slopes = law_terms(source)
    arguments = (*state, forces, laws.multipliers, laws.reactions)
    raw = compiled(arguments, components)
    # laws that do not depend on the ideal forces are evaluated before these are known
    none = ((0.0,) * len(forces), (0.0,) * len(laws.multipliers), (0.0,) * len(laws.reactions))
    return LawFunctions(
        laws=laws,
        components=lambda *given: raw(*given[:4], *(none if given[4] is None else given[4:])),
        normals=compiled(state, normals),
        slopes=compiled(arguments, slopes),
    )


def array_law(
    functions: LawFunctions | None, terms: Callable[..., Terms], xp: Any = jnp
) -> Callable[..., NonidealForces] | None:
    """Return C of each law as arrays; for laws given as z, C = M^(1/2) z with the symmetric root.

    ``xp`` is the namespace of the arrays, NumPy's or JAX's.
    """
    if functions is None:
        return None
    laws = functions.laws

    def law(q: Array, qd: Array, t: Any, p: Any, reaction: IdealReaction | None) -> NonidealForces:
        state = (tuple(q), tuple(qd), t, tuple(p))
        if laws.implicit and reaction is not None:
            return _implicit(functions, state, reaction, xp)
        # the last ones are the reactions, on which no law depends
        forces = (None, None, None)
        if reaction is not None:
            forces = tuple(reaction.force), tuple(reaction.multipliers), tuple(reaction.multipliers)
        shares = xp.stack([assemble(entries, q.shape, xp) for entries in functions.components(*state, *forces)])
        if any(laws.scaled):
            root = square_roots(terms(q, qd, t, p).M)[0]
            shares = xp.where(xp.array(laws.scaled)[:, None], shares @ root, shares)
        if reaction is None or not laws.actual:
            return NonidealForces(shares, None)
        normals, mu = functions.normals(*state)
        k, most = len(laws.actual), max(map(len, normals))
        width = len(reaction.multipliers) + 1
        # contacts on a line have one component, in a plane more: zeros make one array of them
        padded = [(*parts, *[(0.0,) * width] * (most - len(parts))) for parts in normals]
        rows = assemble(flat(padded), (k, most, width), xp)
        return with_normals(shares, laws.actual, rows, assemble(mu, (k,), xp), reaction, laws.pressing)

    return law


def _implicit(functions: LawFunctions, state: tuple[Any, ...], ideal: IdealReaction, xp: Any) -> NonidealForces:
    """Return C of laws that depend on the actual reactions, which they change."""
    laws, n, m = functions.laws, len(ideal.force), len(ideal.multipliers)
    acts_on = [i for i in range(n) if any(entries[i] != 0 for entries in laws.components)]
    place = {k: i for i, k in enumerate(laws.implicit)}

    def given(r: Array) -> tuple[Any, ...]:
        reactions = tuple(r[place[k]] if k in place else 0.0 for k in range(m))
        return (*state, tuple(ideal.force), tuple(ideal.multipliers), reactions)

    def shares(r: Array) -> Array:
        return xp.stack([assemble(entries, (n,), xp) for entries in functions.components(*given(r))])

    def law(r: Array) -> tuple[Array, Array]:
        slopes = xp.stack([assemble(column, (n,), xp) for column in functions.slopes(*given(r))], axis=-1)
        return xp.sum(shares(r), axis=0)[np.array(acts_on)], slopes[np.array(acts_on)]

    found = solve_reactions(reaction_equations(ideal, laws.implicit, acts_on, law))
    return NonidealForces(shares(found.reactions), None, found)
