"""Notes of an ensemble on members whose prescribed velocities jump."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
import xarray as xr

import dalembert as da
from dalembert.ensembles.repeated_notes import note_of_all

x, y = da.coordinates("x y")
WHEN = da.parameters("when")
GEAR = da.Constraint((x + 2 * y).diff(da.t) - sp.Piecewise((0, da.t < WHEN), (3, True)), name="gear")
SYSTEM = da.System((x, y), sp.eye(2), (-x, -5 * y), GEAR)
TIMES = np.linspace(0, 2, 5)


def jumping(when: list[float], **given: Any) -> xr.Dataset:
    count = len(when)
    return da.simulate_ensemble(
        SYSTEM,
        np.tile((0.3, -0.2), (count, 1)),
        np.tile((1.4, -0.7), (count, 1)),
        TIMES,
        parameters={"when": when},
        **given,
    )


@pytest.mark.parametrize("keep", ["times", "end", "summary"])
def test_the_note_of_a_single_run_is_that_of_its_member(keep: str) -> None:
    (note,) = da.simulate(SYSTEM, (0.3, -0.2), (1.4, -0.7), TIMES, parameters={"when": 0.5}).notes
    assert "`gear` by 3" in note
    notes = jumping([5.0, 0.5], keep=keep).attrs["notes"]
    assert "handed 1 of 2 members over" in notes and notes.endswith(f": member 1. Member 1: {note}")
    assert jumping([5.0], keep=keep).attrs["notes"] == ""


def test_a_store_keeps_the_note(tmp_path: Path) -> None:
    expected = jumping([0.5, 5.0, 1.3]).attrs["notes"]
    assert expected.count("Member") == 2
    assert jumping([0.5, 5.0, 1.3], store=tmp_path / "study.zarr").attrs["notes"] == expected
    assert jumping([0.5, 5.0, 1.3], store=tmp_path / "study.zarr").attrs["notes"] == expected  # read again


def test_of_many_members_some_are_shown() -> None:
    text = note_of_all({k: (f"At t = {k} …",) for k in (7, 2, 5, 9, 11)})
    assert text == "Member 2: At t = 2 … Member 5: At t = 5 … Member 7: At t = 7 … The same holds for 2 more members."
