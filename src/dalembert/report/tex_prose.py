# SPDX-License-Identifier: BSD-3-Clause
"""Text as LaTeX: mathematical characters become formulas."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import groupby
from typing import NamedTuple

from dalembert.report.name_typesetting import GREEK, GREEK_AS_LATIN, table

ESCAPED = {
    "\\": r"\textbackslash{}",
    **{c: "\\" + c for c in "&%$#_{}"},
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}

READABLE = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþ"
    "ĂăĄąĆćČčĎďĐđĘęĚěĞğĹĺĽľŁłŃńŇňŐőŒœŔŕŘřŚśŞşŠšŤťŢţŮůŰűŸŹźŽž–—‘’“”„«»…§¡¿"
)
"""Characters beyond ASCII that LaTeX accepts unchanged."""

SYMBOLS = {
    **{letter: f"\\{command}" for letter, command in GREEK.items()},
    **{letter: rf"\mathrm{{{latin}}}" for letter, latin in GREEK_AS_LATIN.items()},
    "ο": "o",
    **table(
        r"− - · \cdot ⋅ \cdot × \times ÷ \div ± \pm ∓ \mp ≤ \le ≥ \ge ≠ \ne ≈ \approx ≡ \equiv ∼ \sim ∝ \propto "
        r"≪ \ll ≫ \gg → \to ← \leftarrow ↔ \leftrightarrow ↦ \mapsto ⇒ \Rightarrow ⇐ \Leftarrow ⇔ \Leftrightarrow "
        r"∞ \infty √ \surd ∂ \partial ∇ \nabla ∫ \int ∑ \sum ∏ \prod ℓ \ell ¬ \neg ∈ \in ∉ \notin ⊂ \subset "
        r"⊆ \subseteq ∪ \cup ∩ \cap ∅ \emptyset ∀ \forall ∃ \exists ⊥ \perp ∥ \parallel ‖ \| ∘ \circ • \bullet "
        r"∧ \wedge ∨ \vee ⊗ \otimes ⊕ \oplus ⟨ \langle ⟩ \rangle"
    ),
}

_MARKS = table(
    "\u0300 grave \u0301 acute \u0302 hat \u0303 tilde \u0304 bar \u0305 bar \u0306 breve \u0307 dot \u0308 ddot "
    "\u030a mathring \u030c check \u20d7 vec \u20db dddot"
)
"""Combining marks and the corresponding TeX accents."""

_SCRIPTS = {"<super>": "^", "<sub>": "_"}
_RAISED = {"′": r"\prime", "″": r"\prime\prime", "°": r"\circ"}
_SAFE_IN_MATHS = re.compile(r"[A-Za-z0-9'*+\-/=<>()|\[\].,:;!?@]|\\[&%$#_{}]")


def prose(text: str) -> str:
    """Convert text to LaTeX: mathematical characters become formulas, names between backticks code."""
    pieces = _with_bases([_piece(cluster) for cluster in _clusters(text)])
    written = [
        "".join(piece.tex for piece in group) if is_text else f"${_maths(group)}$"
        for is_text, group in groupby(pieces, key=lambda piece: piece.kind == "text")
    ]
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", "".join(written))


def literal_name(name: str) -> str:
    """Set a name within a formula, character by character."""
    return _maths(_within_maths(_piece(cluster)) for cluster in _clusters(name))


def _within_maths(piece: _Piece) -> _Piece:
    if piece.kind != "text":
        return piece
    return _Piece("maths", piece.tex if _SAFE_IN_MATHS.fullmatch(piece.tex) else rf"\text{{{piece.tex}}}")


class _Piece(NamedTuple):
    """A character in TeX; ``kind`` is "text", "maths", or "^" and "_" for superscripts and subscripts."""

    kind: str
    tex: str


def _clusters(text: str) -> list[str]:
    """Split text into characters, each with its combining marks."""
    return re.findall(r".[\u0300-\u036f\u20d0-\u20ff]*", unicodedata.normalize("NFD", text), flags=re.DOTALL)


def _piece(cluster: str) -> _Piece:
    whole = unicodedata.normalize("NFC", cluster)
    if whole.isascii() and (whole.isprintable() or whole.isspace()):
        return _Piece("text", ESCAPED.get(whole, whole))
    if whole in READABLE:
        return _Piece("text", whole)
    if whole in SYMBOLS:
        return _Piece("maths", SYMBOLS[whole])
    if whole in _RAISED:
        return _Piece("^", _RAISED[whole])
    if len(cluster) > 1 and all(mark in _MARKS for mark in cluster[1:]):
        body = literal_name(cluster[0])
        for mark in cluster[1:]:
            body = rf"\{_MARKS[mark]}{{{body}}}"
        return _Piece("maths", body)
    return _compatible(whole)


def _compatible(character: str) -> _Piece:
    """Convert a character by its Unicode decomposition, as of ₂, ½ or a thin space; its code point if there is none."""
    tag, *codes = (unicodedata.decomposition(character) if len(character) == 1 else "").split() or [""]
    plain = "".join(chr(int(code, 16)) for code in codes) if tag.startswith("<") else ""
    if tag in _SCRIPTS:
        return _Piece(_SCRIPTS[tag], literal_name(plain))
    if tag == "<fraction>":
        above, below = plain.split("\u2044")
        return _Piece("maths", rf"\tfrac{{{above}}}{{{below}}}")
    if plain:
        return _Piece("text", prose(plain))
    numbers = " ".join(f"U+{ord(c):04X}" for c in character)
    return _Piece("text", rf"\texttt{{{numbers}}}")


def _with_bases(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Make a single letter before a superscript or subscript part of the formula."""
    found = list(pieces)
    for i, piece in enumerate(pieces[:-1]):
        alone = i == 0 or not (pieces[i - 1].kind == "text" and pieces[i - 1].tex.isalnum())
        if (
            piece.kind == "text"
            and piece.tex.isalpha()
            and piece.tex.isascii()
            and alone
            and pieces[i + 1].kind in "^_"
        ):
            found[i] = _Piece("maths", piece.tex)
    return found


def _maths(pieces: Iterable[_Piece]) -> str:
    """Join pieces to one formula; TeX allows one superscript and one subscript per base."""
    written, used = "", ""
    for kind, group in groupby(pieces, key=lambda piece: piece.kind):
        body = _concatenated(piece.tex for piece in group)
        if kind == "maths":
            written, used = _concatenated((written, body)), ""
        else:
            written += ("{}" if kind in used else "") + f"{kind}{{{body}}}"
            used = kind if kind in used else used + kind
    return written


def _concatenated(parts: Iterable[str]) -> str:
    """Concatenate parts, with a space between a command and a following letter."""
    return reduce(lambda row, part: row + " " * _runs_into(row, part) + part, parts, "")


def _runs_into(row: str, part: str) -> bool:
    return part[:1].isalpha() and re.search(r"\\[A-Za-z]+$", row) is not None
