"""Parts that tests share: every formulation and drift cure once, and problems built by property."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from benchmarks.chains import NUMBERS as CHAIN_NUMBERS  # noqa: F401
from benchmarks.chains import chain as chain
from benchmarks.chains import chain_state as chain_state

import dalembert as da
from dalembert.files.run_settings import FORMULATIONS
from dalembert.gallery.themes import THEMES
from dalembert.integration.native_steps import native_steps
from dalembert.integration.path_outputs import outputs_at
from dalembert.integration.state_answer import answers_by_numpy, numpy_outputs
from dalembert.lowering.build import build
from dalembert.settings import method_of

ALL_FORMULATIONS = tuple(formulation() for formulation in FORMULATIONS.values())
ALL_DRIFT_CURES = (None, da.Baumgarte(5.0, 5.0), da.Projection())


def projects(drift: Any) -> bool:
    """Return whether a drift cure moves a start onto the constraints at once."""
    return drift is not None and drift.projections > 0


PATIENCE = 600
"""Seconds after which another process is taken to hang: on a loaded machine one of seconds may take minutes."""

CONTACTS = frozenset(THEMES["Contacts that open and close"].split())
"""The cases of the gallery with contacts that open and close, which `da.simulate` alone follows."""


def quick_first(values: Iterable[Any], quick: Iterable[Any]) -> list[Any]:
    """Values of a parameter, of which those that are not among the quick ones are for `make test-slow`."""
    quick = list(quick)
    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]


def start_of(case: Any, drift: Any, *, off: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The start of a case of the gallery: off its constraints if asked for, unless the drift cure projects."""
    q0, qd0 = (np.asarray(x, float) for x in (case.q0, case.qd0))
    if off and not projects(drift):
        rng = np.random.default_rng(3)
        q0, qd0 = (x + 1e-3 * (1 + np.abs(x)) * rng.normal(size=len(x)) for x in (q0, qd0))
    elif case.allow_violation:
        q0, qd0 = da.consistent_state(case.system, q0, qd0, float(case.times[0]), parameters=case.parameters)
    return q0, qd0


def refused_off_the_constraints(system: da.System, q0: Any, qd0: Any, options: dict[str, Any]) -> bool:
    """Return whether constraints are redundant only where they hold, which is refused without a projection."""
    if len(system.constraints) < 2 or projects(options["drift"]):
        return False
    try:
        da.simulate(system, q0, qd0, [0.0, 1e-9], **options)
    except da.ConstraintError as refusal:
        return "would drift off" in str(refusal)
    return False


def label(thing: object) -> str:
    return type(thing).__name__


def random_spd(rng: np.random.Generator, n: int, condition: float = 10.0) -> np.ndarray:
    """A symmetric positive definite matrix with eigenvalues between 1/√condition and √condition."""
    basis, _ = np.linalg.qr(rng.normal(size=(n, n)))
    values = condition ** rng.uniform(-0.5, 0.5, n)
    M = (basis * values) @ basis.T
    return (M + M.T) / 2


def random_rank_deficient(rng: np.random.Generator, m: int, n: int, rank: int) -> np.ndarray:
    """An (m, n) matrix of exactly this rank, its other singular values between 1/3 and 3."""
    left, _ = np.linalg.qr(rng.normal(size=(m, max(rank, 1))))
    right, _ = np.linalg.qr(rng.normal(size=(n, max(rank, 1))))
    values = 3.0 ** rng.uniform(-1, 1, max(rank, 1)) * (rank > 0)
    return (left * values) @ right.T


SHAPES = ((3, 2), (4, 6), (8, 8))
"""Sizes (n, m) of random problems: a handful, because every size is compiled once for every formulation."""


def random_problem(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[dict[str, np.ndarray], int]:
    """A consistent problem M, Q, A, b, C of random rank."""
    n, m = shape
    rank = int(rng.integers(0, min(m, n) + 1))
    A = random_rank_deficient(rng, m, n, rank)
    problem = {
        "mass_matrix": random_spd(rng, n),
        "applied_force": rng.normal(size=n),
        "constraint_matrix": A,
        "constraint_rhs": A @ rng.normal(size=n),
        "C": rng.normal(size=n),
    }
    return problem, rank


def random_problems(shape: tuple[int, int], count: int = 100) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """A batch of such problems, and their ranks."""
    drawn = [random_problem(np.random.default_rng((seed, *shape)), shape) for seed in range(count)]
    batch = {key: np.stack([problem[key] for problem, _ in drawn]) for key in drawn[0][0]}
    return batch, np.array([rank for _, rank in drawn])


def accelerations_and_forces(
    system: da.System,
    q: np.ndarray,
    qd: np.ndarray,
    t: np.ndarray,
    parameters: dict[str, float],
    formulation: object,
    drift: object = None,
) -> dict[str, np.ndarray]:
    """Return the values of a simulation at k given states (k, n): in machine code or by NumPy wherever these serve."""
    dynamics, method = build(system), method_of(formulation, drift, None, 1e-9, 1e-11, None, 1)
    p = tuple(parameters[name] for name in dynamics.parameters)
    states = np.concatenate([q, qd], axis=1)
    if native_steps(dynamics, method, p) is None and answers_by_numpy(dynamics):
        return numpy_outputs(dynamics, method, t, states, p)
    return outputs_at(dynamics, method, None, t, states, t, p)


def null_space(A: np.ndarray) -> np.ndarray:
    """Columns that span the virtual displacements."""
    _, values, rows = np.linalg.svd(A)
    rank = int((values > 1e-10).sum())
    return rows[rank:].T


def pendulum(*extra: da.Constraint, name: str = "rod") -> da.System:
    """A unit pendulum in Cartesian coordinates, from its Lagrangian."""
    x, y = da.coordinates("x y")
    L = (x.diff(da.t) ** 2 + y.diff(da.t) ** 2) / 2 - da.parameters("g") * y
    return da.System.from_lagrangian(L, (x, y), constraints=(da.Constraint(x**2 + y**2 - 1, name=name), *extra))


def angle_pendulum() -> da.System:
    """The same pendulum in its angle from the downward vertical."""
    theta = da.coordinates("theta")
    L = theta.diff(da.t) ** 2 / 2 + da.parameters("g") * sp.cos(theta)
    return da.System.from_lagrangian(L, (theta,))


def skate_particle() -> da.System:
    """Udwadia & Kalaba 2001, section 5: a particle under ẏ = z²ẋ with C = −a₀|u|u."""
    return da.gallery.case("particle").system


SKATE_NUMBERS = {"a0": 0.1, "g": 9.81}
