"""The printed derivation, with its names and stages, gives the accelerations of the compiled program."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.model.symbols import plain_multiplier
from dalembert.report.equations import Equation, entries
from helpers import CHAIN_NUMBERS, chain, chain_state, quick_first

QUICK = {"bead", "hoop", "manipulator", "pendulum-rod-twice", "projectile-polar", "rolling-coin", "skate", "weber"}


def without_limits(system: da.System) -> da.System:
    """The system whose inputs are those that meet the requirements: limits are not part of a derivation."""
    servos = [replace(s, by=s.by and tuple(replace(a, limit=None) for a in s.by)) for s in system.servos]
    return replace(system, servos=tuple(servos))


def printed(derivation: da.Derivation) -> list[Equation]:
    return [e for step in derivation._steps for block in step.blocks if isinstance(block, list) for e in block]


def value(expression: sp.Expr, known: dict) -> float:
    symbols = sorted(expression.free_symbols, key=str)
    return float(sp.lambdify(symbols, expression, ["numpy", "scipy"])(*(known[s] for s in symbols)))


def printed_accelerations(derivation: da.Derivation, point: da.ConstrainedMotion, q, qd, t, parameters) -> dict:
    """Evaluate the equations of a page for the accelerations, and for all names that they need."""
    system = derivation.system
    symbols = system.symbols
    known = dict(zip((*symbols.q, *symbols.qd, symbols.time), (*q, *qd, t), strict=True))
    known |= {sp.Symbol(name, real=True): number for name, number in parameters.items()}
    known |= dict(zip(symbols.ideal_force, point.ideal_force, strict=True))
    known |= {plain_multiplier(n): x for n, x in zip(system.constraint_names, point.multipliers, strict=False)}
    # the rows of large systems are equations for accelerations, too: only those of the last step are results
    results = [e for block in derivation._steps[-1].blocks if isinstance(block, list) for e in block]
    waiting = [e for e in printed(derivation) if isinstance(e.left, sp.Symbol) and e.left not in symbols.qdd] + results
    waiting = [e for e in waiting if isinstance(e.left, sp.Symbol)]
    while True:
        ready = [e for e in waiting if e.left not in known and e.right.free_symbols <= known.keys()]
        if not ready:
            return {symbol: known[symbol] for symbol in symbols.qdd if symbol in known}
        known |= {e.left: value(e.right, known) for e in ready}


def compare(system: da.System, q, qd, t, parameters, drift=None, formulation=None) -> bool:
    system = without_limits(system)
    derivation = da.derive(system, drift=drift)
    point = da.motion(system, q, qd, t, parameters=parameters, formulation=formulation)
    found = printed_accelerations(derivation, point, q, qd, t, parameters)
    if not found:  # products of matrices
        return False
    expected = np.asarray(point.acceleration)
    scale = 1 + np.abs(expected).max() + np.abs(np.asarray(point.ideal_force)).max()
    np.testing.assert_allclose([found[s] for s in system.symbols.qdd], expected, rtol=0, atol=1e-10 * scale)
    return True


@pytest.mark.parametrize("name", quick_first(da.gallery.names(), QUICK))
def test_pages_give_the_accelerations(name: str) -> None:
    case = da.gallery.case(name)
    if case.no_closed_form or not case.readable:
        return
    rng = np.random.default_rng(5)
    n = len(case.system.coordinates)
    q, qd = case.q0 + 0.1 * rng.normal(size=n), case.qd0 + 0.1 * rng.normal(size=n)
    q, qd = da.consistent_state(case.system, q, qd, 0.3, parameters=case.parameters, metric="euclidean")
    compare(case.system, q, qd, 0.3, dict(case.parameters), case.drift, case.formulation)


def test_the_double_pendulum_in_stages() -> None:
    assert compare(chain(2), *chain_state(2), 0.0, CHAIN_NUMBERS)


def test_no_formula_is_wider_than_a_page() -> None:
    from dalembert.report.length import lines_of, printed_width

    for system in (chain(2), da.gallery.case("manipulator").system, da.gallery.case("four-bar").system):
        for equation in printed(da.derive(system)):
            for side in equation[:2]:
                widths = (
                    [sum(map(printed_width, line)) for line in lines_of(side)] if side.is_Add else [printed_width(side)]
                )
                assert max(widths) < 90, equation
            assert list(entries(equation.left)) or equation.left.is_Matrix
