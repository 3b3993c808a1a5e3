"""Files that are made to take long, and the limits of files: of values, of work, and of what is derived."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.files.load import loads
from fuzz.files import fault_of
from fuzz.hostile import HOSTILE_FILES, SMALL, bodies

NO_LIMIT = 1e9
"""The time is measured by ``python -m fuzz.files`` alone."""


def refused(text):
    with pytest.raises(da.FileError) as error:
        loads(text, "file.toml")
    return error.value


@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_hostile_files_are_read_or_refused(name):
    outcome, fault = fault_of(0, HOSTILE_FILES[name], NO_LIMIT)
    assert fault is None and outcome in ("read", "refused")


@pytest.mark.parametrize("name", ["nested Lagrangian", "Lagrangian of roots", "Lagrangian of all velocities"])
def test_what_is_derived_from_a_lagrangian_has_a_limit(name):
    error = refused(HOSTILE_FILES[name])
    assert "what is derived from the expressions of a file must have a limited size; this takes too much" in str(error)
    assert "state the model as a mechanism, or build it in Python" in str(error)
    assert (error.line, error.column) == (3, 1)


def test_a_lagrangian_of_twenty_links_is_within_the_limits(tmp_path):
    angles = da.coordinates(" ".join(f"a{k}" for k in range(20)))
    x, y = 0, 0
    L = sp.S.Zero
    for a in angles:
        x, y = x + sp.sin(a), y - sp.cos(a)
        L += (x.diff(da.t) ** 2 + y.diff(da.t) ** 2) / 2 - 10 * y
    system = da.System.from_lagrangian(L, angles)
    assert da.load(system.save(tmp_path / "pendulum.toml")).system == system


def test_number_of_values():
    text = f"{SMALL}[simulate]\ntimes = [{', '.join(map(str, range(40_000)))}]\n"
    error = refused(text)
    assert "a file must have at most 30000 values; it has more. Write recorded data to CSV files beside it" in str(
        error
    )
    assert error.line == 6


def test_number_of_bodies():
    assert "`bodies` must be at most 500; got 501." in str(refused(bodies(501)))


def test_a_model_that_cannot_be_read_is_not_saved(tmp_path):
    x = da.coordinates(" ".join(f"x{k}" for k in range(30)))
    force = [sum(sp.sin(k * own) for k in range(1, 50)) for own in x]
    with pytest.raises(da.ModelError, match="the expressions of a file must have at most 20000 operations in all"):
        da.System(x, sp.eye(30), force).save(tmp_path / "model.toml")
    system = da.System(x[:1], [[1]], [0])
    with pytest.raises(da.ModelError, match="a file must have at most 30000 values"):
        system.save(tmp_path / "model.toml", q0=[0], qd0=[0], times=np.arange(30_001.0) ** 1.5)
    with pytest.raises(da.ModelError, match="the text of a model file must have at most 500000 bytes; got 734497"):
        system.save(tmp_path / "model.toml", q0=[0], qd0=[0], times=np.arange(29_000.0) ** 1.5 / 7e100)
    assert not list(tmp_path.iterdir())
