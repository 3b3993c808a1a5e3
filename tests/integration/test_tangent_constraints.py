"""Surfaces that touch at the start: no motion keeps both, and the verdict needs no general integrator."""

from typing import Any

import pytest
import sympy as sp

import dalembert as da

x, y, z = da.coordinates("x y z")
HALF = sp.Rational(1, 2)
CIRCLES = (x**2 + y**2 - 1, (x - HALF) ** 2 + y**2 - HALF**2)
SPHERE_AND_PLANE = (x**2 + y**2 + z**2 - 1, x - 1)
SPHERE_AND_PARABOLA = (x**2 + y**2 + z**2 - 1, x - 1 + 3 * y**2 / 10)


@pytest.mark.parametrize(
    ("surfaces", "velocity"),
    [(CIRCLES, 0), (CIRCLES, 1), (SPHERE_AND_PLANE, 0), (SPHERE_AND_PLANE, 1), (SPHERE_AND_PARABOLA, 0)],
    ids=["circles", "circles, moving", "plane", "plane, moving", "parabola"],
)
@pytest.mark.parametrize("scale", [1, 1000])
def test_surfaces_that_touch(surfaces: Any, velocity: int, scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A point is pushed, or moves, along the tangent that both surfaces share, and curves away from both."""
    monkeypatch.setattr("dalembert.integration.general_steps.general_batch", None)
    q = (x, y) if surfaces is CIRCLES else (x, y, z)
    units = {c: c / scale for c in q}
    first, second = (
        da.Constraint(s.subs(units), name=name) for s, name in zip(surfaces, ("big", "small"), strict=True)
    )
    force = (0, -10 * scale, 0)[: len(q)]
    system = da.System(q, sp.eye(len(q)), force, (first, second))
    rest = [0] * (len(q) - 1)
    start = ([scale, *rest], [0, scale * velocity, 0][: len(q)])
    with pytest.raises(da.SimulationError, match=r"`big` and `small` must leave a motion possible; at t = 0 they only"):
        da.simulate(system, *start, [0, 1])


def test_surfaces_that_are_one() -> None:
    """Constraints that are redundant everywhere hold along the motion."""
    twice = (da.Constraint(CIRCLES[0], name="once"), da.Constraint(sp.expand(CIRCLES[0] * (2 + x)), name="again"))
    run = da.simulate(da.System((x, y), sp.eye(2), (0, -10), twice), (1, 0), (0, 0), [0, 1])
    single = da.simulate(da.System((x, y), sp.eye(2), (0, -10), twice[:1]), (1, 0), (0, 0), [0, 1])
    assert run.q[-1] == pytest.approx(single.q[-1], abs=1e-8)
