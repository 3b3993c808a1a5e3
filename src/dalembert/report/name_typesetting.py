# SPDX-License-Identifier: BSD-3-Clause
"""What the printers of all formats agree on: how a name is set, and in which order a sum is written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from dalembert.model.symbols import InternalSymbol


def table(pairs: str) -> dict[str, str]:
    """A dictionary from words that are keys and values in turn."""
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
    # names mean the everyday letters, which prose has too
    **table("epsilon ε phi φ lamda λ"),
}

_ANY_GREEK = "[" + "".join((*GREEK, *GREEK_AS_LATIN)) + "]"
_NAME = re.compile(rf"([A-Za-z]+|{_ANY_GREEK})(\d*)((?:_(?:[A-Za-z0-9]+|{_ANY_GREEK}))*)")
_LOW_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_DOTS = {"q": 0, "qd": 1, "qdd": 2, "Qi": 0, "lam": 0}


class Name(NamedTuple):
    """A letter or a word with indices, Greek ones as letters; a ``literal`` name is set upright as it was typed."""

    base: str
    indices: tuple[str, ...] = ()
    literal: bool = False


def typeset(name: str) -> Name:
    """How a name is set.

    >>> typeset("theta_max1")
    Name(base='θ', indices=('max1',), literal=False)
    >>> typeset("mass_of_boom").literal
    True
    """
    match = _NAME.fullmatch(name.translate(_LOW_DIGITS))
    if match is None:
        return Name(name, literal=True)
    base = _LETTERS.get(match[1], match[1])
    indices = tuple(_LETTERS.get(part, part) for part in (match[2], *match[3].split("_")) if part)
    if len(base) > 1 and not all(index.isdigit() for index in indices):
        return Name(name, literal=True)  # several words with lines between them
    return Name(base, indices)


def look_alikes(names: Iterable[str]) -> frozenset[str]:
    """The names that cannot be told apart once they are set, such as x1 and x_1.

    >>> sorted(look_alikes(["x1", "x_1", "y"]))
    ['x1', 'x_1']
    """
    given = set(names)
    count = Counter(map(typeset, given))
    return frozenset(name for name in given if count[typeset(name)] > 1)


def spelled(symbol: Any) -> tuple[str, int, str]:
    """The letter, its dots and its family (coordinate, velocity …) of a plain symbol; other names as they are.

    >>> spelled(InternalSymbol("qd.theta1"))
    ('theta1', 1, 'qd')
    """
    family, dot, letter = symbol.name.partition(".")
    known = dot and family in _DOTS and not (symbol.is_Symbol and not isinstance(symbol, InternalSymbol))
    return (letter, _DOTS[family], family) if known else (symbol.name, 0, "")


def positive_first(terms: Sequence[Any]) -> list[Any]:
    """The terms of a sum with the negative ones last: x² − l² rather than −l² + x²."""
    return sorted(terms, key=lambda term: term.could_extract_minus_sign())


def shows_dots_for_zeros(matrix: Any) -> bool:
    """Whether a matrix is large and empty enough to be easier to read with dots in place of its zeros."""
    zeros = sum(entry == 0 for entry in matrix)
    return min(matrix.shape) > 3 and 2 * zeros >= len(matrix)
