"""Docstrings as Markdown, for the reference pages of the site."""

import pytest

pytest.importorskip("griffe", reason="griffe, a part of the extra `docs`, is not installed")

from website.docstrings import markdown_of


def test_sections_become_lists_and_examples_become_code() -> None:
    text = """Return the motion.

Parameters
----------
q, qd          coordinates and velocities,
               in order
t              time

Examples
--------
>>> 1 + 1
2
"""
    assert markdown_of(text) == (
        "Return the motion.\n\n**Parameters**\n\n- `q, qd`: coordinates and velocities, in order\n- `t`: time\n\n"
        "**Examples**\n\n```pycon\n>>> 1 + 1\n2\n```"
    )


def test_aligned_rows_without_a_heading_become_a_list() -> None:
    text = "A run.\n\nt (T,)\nq, qd (T, n)\nrank (T,)    of the rows\nenergy    or None"
    assert (
        markdown_of(text) == "A run.\n\n- `t (T,)`\n- `q, qd (T, n)`\n- `rank (T,)`: of the rows\n- `energy`: or None"
    )


def test_prose_stays_prose_and_names_become_links() -> None:
    text = "Solves  M q̈ = Q, as\n``da.motion`` does, with ``da.Projection()``\nand ``rtol``."
    assert markdown_of(text) == (
        "Solves  M q̈ = Q, as\n[`da.motion`][dalembert.motion] does, with [`da.Projection()`][dalembert.Projection]\n"
        "and ``rtol``."
    )
