"""The notebooks run from top to bottom, show what they promise, and are kept without outputs."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
NOTEBOOKS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.ipynb"))}
VIEWS = ("_repr_html_", "_repr_latex_", "_repr_markdown_", "_repr_png_")


def executed(notebook):
    """The names that the cells of a notebook define, and the views of what the cells show, cell by cell."""
    names, shown = {"__name__": "__main__"}, []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<cell>", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
        if value is not None:
            shown.append({view: getattr(value, view)() for view in VIEWS if getattr(value, view, None)})
    return names, shown


def test_there_are_three():
    assert list(NOTEBOOKS) == ["fit", "four-bar", "pendulum"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_kept_without_outputs(name):
    notebook = NOTEBOOKS[name]
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    for cell in notebook["cells"]:
        assert cell.get("outputs", []) == [] and cell.get("execution_count") is None
        assert max(len(line.rstrip("\n")) for line in cell["source"]) <= 120


@pytest.mark.slow
def test_the_pendulum(capsys):
    names, shown = executed(NOTEBOOKS["pendulum"])
    assert np.allclose(names["tension"], names["by_newton"], atol=1e-12)
    by_hand = capsys.readouterr().out.count("t = 0.648460224 s")
    assert by_hand == 2  # the time that was found, and the elliptic integral
    assert (np.diff(names["turns"]) > 1.5).all()
    assert {view for views in shown for view in views} == set(VIEWS)


@pytest.mark.slow
def test_the_four_bar(capsys):
    names, shown = executed(NOTEBOOKS["four-bar"])
    assert "bearing: x sticks" in capsys.readouterr().out
    ledger = names["ledger"]
    assert np.isclose(names["total"], ledger.energy[0] - ledger.energy[-1], rtol=1e-6)
    assert all(views for views in shown)


@pytest.mark.slow
def test_the_fit():
    names, shown = executed(NOTEBOOKS["fit"])
    low, high = names["best"].interval("l")
    assert low < 1.3 < high
    assert names["fits"]["dry"].aic < names["fits"]["viscous"].aic < names["fits"]["quadratic"].aic
    assert shown[1]["_repr_html_"].count("<img") == 1
