"""Answers of the library to a random problem beside those of NumPy and SciPy: agreement, refusal, or a fault."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.native.cuda import gpu_device
from fuzz.systems import Problem, condition, random_problem

SPAN = 1.0
WELL_CONDITIONED = 1e3
"""Up to this condition of the constraint rows nothing may be refused."""

IMPLICIT = "diffrax, Kvaerno5"
"""May reach its limit of steps where units differ by ten decades: see the page that a run writes."""

MOST_EVALUATIONS = 100_000
"""Accelerations for a reference; SciPy itself has no limit, and some motions run into singular positions."""

ROUNDING = 1e-12
INTEGRATION = 1e-7
"""Differences that are allowed at condition one; they grow with its square, as everything in the equation does."""


MAGNIFIED = 10
"""Errors of two methods with one tolerance differ by less than this factor."""

CONTRADICTION = 1e-6
"""Relative residual of the rows from which they contradict one another; that of consistent ones is rounding."""


class Outcome(NamedTuple):
    """One comparison: how far apart, how far apart it may be, and what was said where the library refused."""

    way: str
    seed: int
    error: float
    allowed: float
    refusal: str = ""

    @property
    def verdict(self) -> str:
        if self.refusal:
            return "refused"
        return "agrees" if self.error <= self.allowed else "disagrees"


COMPROMISE = "stacked least squares"
"""The formulation that weighs rows that contradict one another against each other; all others refuse them."""

FORMULATIONS = {
    "factored": da.Factored(),
    "pseudo-inverse": da.PseudoInverse(),
    "extended d'Alembert": da.ExtendedDAlembert(),
    COMPROMISE: da.StackedLeastSquares(),
    "multipliers": da.Multipliers(),
    "singular mass": da.SingularMass(),
}


def motions(seed: int, formulations: dict[str, Any]) -> Iterator[Outcome]:
    """The acceleration at the start and at one more state, which need not satisfy the constraints."""
    problem, u0, v0 = random_problem(seed)
    system, rng = problem.system(), np.random.default_rng((1, seed))
    off = u0 + 0.1 * rng.normal(size=len(u0)), v0 + rng.normal(size=len(v0))
    for u, v, s in ((u0, v0, 0.0), (*off, 0.3)):
        M, _, A, b, *_ = problem.terms(u, v, s)
        expected, cond = problem.acceleration(u, v, s), condition(M, A)
        independent = np.linalg.matrix_rank(A) == len(A)
        contradictory = _contradictory(A, b, expected)
        for name, formulation in formulations.items():
            if name == "multipliers" and not independent:
                continue
            if name == COMPROMISE and contradictory:
                continue
            q, qd = problem.given(u, v)

            def found(q: Any = q, qd: Any = qd, s: float = s, formulation: Any = formulation) -> np.ndarray:
                point = da.motion(system, q, qd, s * problem.time_unit, formulation=formulation)
                return np.asarray(point.acceleration) * problem.time_unit**2 / problem.units

            if contradictory:
                yield _expected_refusal("motion, contradictory rows", seed, found)
            else:
                yield outcome(f"motion, {name}", seed, found, expected, ROUNDING * cond**2)


def _contradictory(A: np.ndarray, b: np.ndarray, acceleration: np.ndarray) -> bool:
    """Tell whether no acceleration satisfies the rows, as may be off the constraints where rows are dependent."""
    sizes = np.linalg.norm(A, axis=1) * np.linalg.norm(acceleration) + np.abs(b)
    return bool((np.abs(A @ acceleration - b) > CONTRADICTION * sizes).any())


def simulations(seed: int, ways: dict[str, dict[str, Any]]) -> Iterator[Outcome]:
    """The state after a unit of time."""
    problem, u, v = random_problem(seed)
    times, reference, allowed = _reference(problem, u, v)
    if reference is None:
        return
    system = problem.system()
    q, qd = problem.given(u, v)
    for name, options in ways.items():

        def found(options: dict[str, Any] = options) -> np.ndarray:
            options = dict(options)
            if "step" in options:
                options["step"] *= problem.time_unit
            if "drift" in options and options["drift"] is not None:
                options["drift"] = da.Baumgarte(5 / problem.time_unit, 5 / problem.time_unit)
            run = da.simulate(system, q, qd, times * problem.time_unit, **options)
            return _natural(problem, run.q, run.qd)

        compared = outcome(f"simulate, {name}", seed, found, reference, allowed)
        if "step" in options and compared.verdict == "disagrees":
            # where the step is too long, half of it may be so too: a quarter of it then shows the error
            finer = max(difference(found(), found({"step": options["step"] / k})) for k in (2, 4))
            compared = compared._replace(allowed=2 * finer)
        yield compared

    for device in devices():

        def members(device: Any = device) -> np.ndarray:
            many = da.simulate_ensemble(system, np.stack([q, q]), qd, times * problem.time_unit, device=device)
            refused = str(many["reason"].values[1])
            if refused:
                raise da.DalembertError(refused)
            return _natural(problem, many["q"].values[1], many["qd"].values[1])

        yield outcome("ensemble" if device == "cpu" else "ensemble, GPU", seed, members, reference, allowed)


@cache
def devices() -> tuple[str, ...]:
    """The devices of ensembles on this machine."""
    try:
        gpu_device()
    except da.InputError:
        return ("cpu",)
    return "cpu", "gpu"


def _natural(problem: Problem, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    return np.concatenate([q / problem.units, qd * problem.time_unit / problem.units], axis=1)


def _reference(problem: Problem, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, float]:
    """States by SciPy at some times, None where it fails, and the difference from them that is allowed.

    The allowed difference grows with the worst condition of the constraint rows, and with the error that SciPy itself
    makes at the tolerance of the library: a motion through a nearly singular position magnifies errors.
    """
    times, evaluated = np.linspace(0, SPAN, 5), itertools.count()

    def rates(s: float, y: np.ndarray) -> np.ndarray:
        if next(evaluated) > MOST_EVALUATIONS:
            raise ArithmeticError
        return np.concatenate([y[problem.n :], problem.acceleration(*np.split(y, 2), s)])

    start = np.concatenate([u, v])
    try:
        found = solve_ivp(rates, (0, SPAN), start, t_eval=times, rtol=1e-11, atol=1e-13, method="DOP853")
    except ArithmeticError:
        return times, None, np.inf
    if not found.success or np.abs(found.y).max() > 1e3:
        return times, None, np.inf
    path = solve_ivp(rates, (0, SPAN), start, t_eval=np.linspace(0, SPAN, 101), rtol=1e-8, atol=1e-10, method="DOP853")
    states = [np.split(y, 2) for y in path.y.T]
    conditions = [
        condition(problem.mass(u), problem.terms(u, v, s)[2]) for (u, v), s in zip(states, path.t, strict=True)
    ]
    magnified = difference(path.y.T[:: (len(path.t) - 1) // (len(times) - 1)], found.y.T)
    return times, found.y.T, INTEGRATION * max(conditions) ** 2 + MAGNIFIED * magnified


def outcome(way: str, seed: int, compute: Callable[[], np.ndarray], expected: np.ndarray, allowed: float) -> Outcome:
    """Compare what is computed with what is expected; an error of the library is a refusal."""
    try:
        found = compute()
    except da.DalembertError as refusal:
        return Outcome(way, seed, np.nan, allowed, f"{type(refusal).__name__}: {refusal}")
    return Outcome(way, seed, difference(found, expected), allowed)


def _expected_refusal(way: str, seed: int, compute: Callable[[], np.ndarray]) -> Outcome:
    """Agreement if the library refuses, a disagreement if it answers."""
    try:
        compute()
    except da.ConstraintError:
        return Outcome(way, seed, 0.0, 1.0)
    return Outcome(way, seed, np.inf, 1.0)


def difference(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, relative to the largest value that is not small."""
    error = float(np.abs(found - expected).max() / (1 + np.abs(expected).max()))
    return error if np.isfinite(error) else np.inf


def faults(outcomes: list[Outcome]) -> list[Outcome]:
    """Silent disagreements, and refusals of well-conditioned problems."""
    plain = [o for o in outcomes if o.refusal and o.allowed <= _limit(o) and not _out_of_steps(o)]
    return [o for o in outcomes if o.verdict == "disagrees"] + plain


def _out_of_steps(outcome: Outcome) -> bool:
    return outcome.way.endswith(IMPLICIT) and "steps was reached" in outcome.refusal


def _limit(outcome: Outcome) -> float:
    unit = ROUNDING if outcome.way.startswith("motion") else INTEGRATION
    return unit * WELL_CONDITIONED**2
