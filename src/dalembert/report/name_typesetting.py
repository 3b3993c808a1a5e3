# SPDX-License-Identifier: BSD-3-Clause
"""Conventions shared by the printers of all formats: the typesetting of names and the order of sums."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from dalembert.model.symbols import InternalSymbol


def table(pairs: str) -> dict[str, str]:
    """Return a dictionary from words that are alternately keys and values."""
    words = pairs.split()
    return dict(zip(words[::2], words[1::2], strict=True))


GREEK = table(
    "α alpha β beta γ gamma δ delta ε varepsilon ϵ epsilon ζ zeta η eta θ theta ϑ vartheta ι iota κ kappa λ lambda "
    "μ mu ν nu ξ xi π pi ϖ varpi ρ rho ϱ varrho σ sigma ς varsigma τ tau υ upsilon φ varphi ϕ phi χ chi ψ psi ω omega "
    "Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Υ Upsilon Φ Phi Ψ Psi Ω Omega"
)
"""Greek letters and the TeX commands that look like them."""

GREEK_AS_LATIN = table("ο o Α A Β B Ε E Ζ Z Η H Ι I Κ K Μ M Ν N Ο O Ρ P Τ T Χ X")
"""Greek letters that TeX has no command for, because a Latin letter looks the same."""

_LETTERS = {
    **{command: letter for letter, command in GREEK.items()},
    **table("Alpha Α Beta Β Epsilon Ε Zeta Ζ Eta Η Iota Ι Kappa Κ Mu Μ Nu Ν Omicron Ο Rho Ρ Tau Τ Chi Χ omicron ο"),
    # names mean the common forms of the letters, as in prose, not the TeX variants
    **table("epsilon ε phi φ lamda λ"),
}

_ANY_GREEK = "[" + "".join((*GREEK, *GREEK_AS_LATIN)) + "]"
_NAME = re.compile(rf"([A-Za-z]+|{_ANY_GREEK})(\d*)((?:_(?:[A-Za-z0-9]+|{_ANY_GREEK}))*)")
_POINT = re.compile(r"[a-z][A-Z]\d?")  # the coordinate of a point, such as xB
_LOW_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_DOTS = {"q": 0, "qd": 1, "qdd": 2, "Qi": 0, "lam": 0, "part": 0}


class Name(NamedTuple):
    """A letter or word with indices, with Greek names as letters; a ``literal`` name is set upright as it was typed."""

    base: str
    indices: tuple[str, ...] = ()
    literal: bool = False


def typeset(name: str) -> Name:
    """Split a name into a base and its indices.

    >>> typeset("theta_max1")
    Name(base='θ', indices=('max1',), literal=False)
    >>> typeset("xB")
    Name(base='x', indices=('B',), literal=False)
    >>> typeset("mass_of_boom").literal
    True
    """
    if _POINT.fullmatch(name):
        return Name(name[0], (name[1:],))
    match = _NAME.fullmatch(name.translate(_LOW_DIGITS))
    if match is None:
        return Name(name, literal=True)
    base = _LETTERS.get(match[1], match[1])
    indices = tuple(_LETTERS.get(part, part) for part in (match[2], *match[3].split("_")) if part)
    if len(base) > 1 and not all(index.isdigit() for index in indices):
        return Name(name, literal=True)  # several words joined by underscores
    return Name(base, indices)


def ambiguous_names(names: Iterable[str]) -> frozenset[str]:
    """Return the names that look the same when typeset, such as x1 and x_1.

    >>> sorted(ambiguous_names(["x1", "x_1", "y"]))
    ['x1', 'x_1']
    """
    given = set(names)
    count = Counter(map(typeset, given))
    return frozenset(name for name in given if count[typeset(name)] > 1)


def split_symbol(symbol: Any) -> tuple[str, int, str]:
    """Return name, number of dots and family (coordinate, velocity …) of a plain symbol; other names unchanged.

    >>> split_symbol(InternalSymbol("qd.theta1"))
    ('theta1', 1, 'qd')
    """
    family, dot, letter = symbol.name.partition(".")
    known = dot and family in _DOTS and not (symbol.is_Symbol and not isinstance(symbol, InternalSymbol))
    return (letter, _DOTS[family], family) if known else (symbol.name, 0, "")


def positive_first(terms: Sequence[Any]) -> list[Any]:
    """Sort the terms of a sum with the negative ones last: x² − l² rather than −l² + x²."""
    return sorted(terms, key=lambda term: term.could_extract_minus_sign())


def shows_dots_for_zeros(matrix: Any) -> bool:
    """Return True if a matrix is so large and sparse that its zeros are better shown as dots."""
    zeros = sum(entry == 0 for entry in matrix)
    return min(matrix.shape) > 3 and 2 * zeros >= len(matrix)
