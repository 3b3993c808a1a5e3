"""The table of docs/how-to/combinations.md: each cell is tried with a small system that has the feature of its row."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import dalembert as da

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "combinations.md").read_text(encoding="utf-8")
TIMES = np.array([0.0, 0.05, 0.1])
x, y = da.coordinates("x y")
PLANE, WEIGHT = [[1, 0], [0, 1]], (0, -10)
ROD = da.Constraint(x**2 + y**2 - 1, name="rod")
LOWEST = (0.0, -1.0)


class Feature(NamedTuple):
    """A system, a state from which it moves, one at rest, and arguments of ``da.simulate``."""

    system: Any
    q: Any = (1.0, 0.0)
    qd: Any = (0.0, 0.0)
    rest: Any = LOWEST
    arguments: Mapping[str, Any] = MappingProxyType({})


def conservative() -> da.System:
    rates = x.diff(da.t), y.diff(da.t)
    return da.System.from_lagrangian((rates[0] ** 2 + rates[1] ** 2) / 2 - 10 * y, (x, y), constraints=ROD)


def with_servo() -> da.System:
    go = da.Servo("go", x, by=da.Actuator("motor", x), settle=3)
    return da.System((x, y), PLANE, WEIGHT, da.Constraint(y, name="table"), servos=go)


def large() -> Feature:
    n = 120
    xs, ys, (u, v, w, z) = da.coordinates("x", n), da.coordinates("y", n), da.coordinates("u v w z")
    between = {u: xs[:-1], v: ys[:-1], w: xs[1:], z: ys[1:]}
    rods = da.Constraint.over((u - w) ** 2 + (v - z) ** 2 - 1, between, name="rod")
    first = da.Constraint(xs[0] ** 2 + ys[0] ** 2 - 1, name="first")
    hanging = np.concatenate([np.zeros(n), -np.arange(1.0, n + 1)])
    return Feature(da.System((xs, ys), 1, {ys: -9.81}, (first, rods)), hanging, np.zeros(2 * n), hanging)


def functions() -> da.FunctionSystem:
    return da.FunctionSystem(
        mass_matrix=lambda q, qd, t, p: jnp.eye(2),
        applied_force=lambda q, qd, t, p: jnp.array([0.0, -10.0]),
        constraints=(da.FunctionConstraint(lambda q, t, p: q @ q - 1, "position", name="rod"),),
        coordinates=("x", "y"),
        parameters=(),
    )


def rough(**options: Any) -> da.System:
    return da.System(
        (x, y), PLANE, WEIGHT, da.Constraint(x**2 + y**2 - 1, name="rod", nonideal=da.Coulomb(0.2, **options))
    )


FEATURES: dict[str, Callable[[], Feature]] = {
    "ideal constraints": lambda: Feature(
        da.System((x, y), PLANE, WEIGHT, (ROD, da.Constraint(2 * x**2 + 2 * y**2 - 2, name="again")))
    ),
    "smooth laws": lambda: Feature(da.System((x, y), PLANE, WEIGHT, ROD, da.Viscous(0.1))),
    "dry friction": lambda: Feature(rough()),
    "contacts": lambda: Feature(
        da.System((x, y), PLANE, WEIGHT, da.Constraint(sp.Ge(y, 0), name="floor", restitution=0.5)), (0, 1), (1, 0)
    ),
    "events": lambda: Feature(conservative(), arguments={"events": [da.Event(y + 0.5, name="half")]}),
    "servos": lambda: Feature(with_servo(), (0.5, 0.0), rest=(0.0, 0.0)),
    "sampled": lambda: Feature(
        with_servo(), (0.5, 0.0), arguments={"control": da.controller(with_servo(), period=0.01)}
    ),
    "signals": lambda: Feature(
        da.System((x, y), PLANE, (da.signal([0, 1, 2], [0, 1, 0], name="gust"), -10), ROD), rest=LOWEST
    ),
    "Python functions": lambda: Feature(
        da.System((x, y), PLANE, (da.function("pull", lambda x: -jnp.tanh(x))(x), -10), ROD), rest=LOWEST
    ),
    "more than 200": large,
    "FunctionSystem": lambda: Feature(functions()),
    "formulation": lambda: Feature(conservative(), arguments={"formulation": da.PseudoInverse()}),
    "conserve": lambda: Feature(conservative(), arguments={"drift": da.Projection(conserve="energy")}),
}


def _simulated(f: Feature, folder: Path) -> Any:
    return da.simulate(f.system, f.q, f.qd, TIMES, **f.arguments)


def _members(f: Feature, folder: Path) -> Any:
    both = np.tile(np.asarray(f.q, dtype=float), (2, 1))
    return da.simulate_ensemble(f.system, both, f.qd, TIMES, **f.arguments)


def _flow(f: Feature, folder: Path) -> Any:
    return da.flow(f.system, TIMES, **f.arguments)(jnp.asarray(f.q), jnp.asarray(f.qd), {})


def _file(f: Feature, folder: Path) -> Any:
    return f.system.save(folder / "model.toml")


CALLS: dict[str, Callable[[Feature, Path], Any]] = {
    "simulate, ledger": lambda f, folder: _simulated(f, folder).ledger(),
    "motion": lambda f, folder: da.motion(f.system, f.q, f.qd, **f.arguments),
    "check": lambda f, folder: da.check(f.system, f.q, f.qd),
    "derive": lambda f, folder: da.derive(f.system),
    "linearize": lambda f, folder: da.linearize(f.system, f.rest),
    "ensemble": _members,
    "flow": _flow,
    "page": lambda f, folder: da.page(f.system, f.q, f.qd, (0, 0.1), folder / "page.html", **f.arguments),
    "export": lambda f, folder: da.export_c(f.system, folder / "model.c", q0=f.q, qd0=f.qd, **f.arguments),
    "file": _file,
}


@cache
def cells() -> dict[tuple[str, str], str]:
    """The words of the table by row and column."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", PAGE).replace("`", "")
    lines = [line.strip("|").split("|") for line in plain.splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line] for line in lines]
    return {(row[0], name): cell for row in rows for name, cell in zip(head[1:], row[1:], strict=True)}


ELSEWHERE = "yes³"
"""In a table of a model file that is not the system's: tests of model files."""

TRIED = [key for key, cell in cells().items() if cell.startswith(("yes", "no")) and cell != ELSEWHERE]


def test_every_row_and_column_is_tried() -> None:
    assert {column for _, column in TRIED} == set(CALLS)
    assert {feature for feature in FEATURES if any(feature in row for row, _ in TRIED)} == set(FEATURES)


@pytest.mark.parametrize(("row", "column"), TRIED)
def test_a_cell_of_the_table_holds(row: str, column: str, tmp_path: Path) -> None:
    (feature,) = (make for name, make in FEATURES.items() if name in row)
    if cells()[row, column].startswith("yes"):
        CALLS[column](feature(), tmp_path)
    else:
        with pytest.raises((da.DalembertError, TypeError, AttributeError)):
            CALLS[column](feature(), tmp_path)
