"""Files that are made to take long, and the limits of files: of values, of work, and of what is derived."""

from itertools import pairwise

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.files.load import loads
from dalembert.model import differentiation, work_limit
from dalembert.model.derived_work import work_of_constraint
from dalembert.model.standard_form import constraint_row
from dalembert.model.work_limit import limited_work
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


LATER = (
    "the derivatives of the constraints and servos of a file must have a limited size; with this one they take too "
    "much work. Use simpler expressions with fewer coordinates in each, or build the model in Python."
)


@pytest.mark.parametrize(
    ("name", "line", "column"),
    [
        ("constraint of nested sines", 5, 16),
        ("constraint of all coordinates", 5, 16),
        ("constraint of roots", 5, 30),
        ("servo of products", 10, 1),
    ],
)
def test_derivatives_of_constraints_have_a_limit(name, line, column):
    error = refused(HOSTILE_FILES[name])
    assert error.problem == LATER
    assert (error.line, error.column) == (line, column)


def test_groups_that_are_expanded_have_a_limit():
    error = refused(HOSTILE_FILES["constraints that are expanded"])
    assert "what is derived from the expressions of a file must have a limited size" in error.problem
    assert error.line > 5


def test_derivatives_of_a_joint_have_a_limit():
    surface = "x"
    for k in range(90):
        surface = f"sin({surface} + {k}*x*y*z)"
    point = '[[joints]]\ntype = "PointOnSurface"\nname = "j{k}"\nfirst = "ground"\nsecond = ["b0", 1, 2, 3]\n'
    error = refused(bodies(1) + f'{point}surface = "{surface}"\n')
    assert error.problem == LATER and error.line == 7
    few = bodies(1) + f'{point}surface = "sin(x + x*y*z)"\n'
    assert loads(few).system.coordinate_names[0] == "x_b0"


def test_the_estimate_of_derivatives_is_near_the_work_of_deriving_them():
    q = da.coordinates(" ".join(f"q{k}" for k in range(12)))
    chain = q[0]
    for k in range(24):
        chain = sp.sin(chain + q[k % 12] * q[(k + 1) % 12])
    products = sum(q[k] * q[(k + 3) % 12] * sp.cos(q[(k + 5) % 12]) * sp.sqrt(q[k] + 2) for k in range(12))
    rolling = sum(sp.sin(a) * b.diff(da.t) for a, b in pairwise(q))
    for expression in (chain, products, rolling):
        system = da.System(q, sp.eye(12), [0] * 12, da.Constraint(expression, name="c"))
        differentiation._gradient.cache_clear()
        with limited_work(10**9):
            constraint_row(system.constraints[0], system.symbols)
            done = 10**9 - work_limit._left.get()[0]
        assert done / 3 < work_of_constraint(expression, 10**9) < 2 * done


def test_a_constraint_that_cannot_be_read_is_not_saved(tmp_path):
    q = da.coordinates(" ".join(f"q{k}" for k in range(90)))
    chain = q[0]
    for k in range(89):
        chain = sp.sin(chain + q[k] * q[k + 1])
    system = da.System(q, sp.eye(90), [0] * 90, da.Constraint(chain, name="nest"))
    with pytest.raises(da.ModelError, match=r"the derivatives of the constraints .* This is `nest`"):
        system.save(tmp_path / "model.toml")


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
