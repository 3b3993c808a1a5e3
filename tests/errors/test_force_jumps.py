"""Dry friction written as a force chatters where the body comes to rest: the run ends there and names the cause."""

import time

import diffrax
import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")
xd, yd = x.diff(da.t), y.diff(da.t)
SPEED = sp.sqrt(xd**2 + yd**2)
MU_G = 2.0
FORCES = {
    "sign": ((-MU_G * sp.sign(xd), 0), "x'"),
    "quotient": ((-MU_G * xd / sp.Abs(xd), 0), "x'"),
    "pieces": ((sp.Piecewise((-MU_G, xd > 0), (MU_G, True)), 0), "x'"),
    "plane": ((-MU_G * xd / SPEED, -MU_G * yd / SPEED), r"x'\*\*2 \+ y'\*\*2"),
}
MESSAGE = r"forces must be continuous where the motion stays; where `{}` vanishes, a force jumps.*use `da.Coulomb`"


@pytest.mark.parametrize("rtol", [1e-9, 1e-3])
@pytest.mark.parametrize("name", FORCES)
def test_friction_as_a_force_ends_where_the_body_stops(name: str, rtol: float) -> None:
    """The body stops at t = v/(μg), after the distance v²/(2μg)."""
    force, zero = FORCES[name]
    system = da.System((x, y), sp.eye(2), force)
    qd0 = np.array([1.2, 0.5 if name == "plane" else 0.0])
    speed = np.linalg.norm(qd0)
    began = time.process_time()
    with pytest.raises(da.SimulationError, match=MESSAGE.format(zero)) as caught:
        da.simulate(system, (0, 0), qd0, [0, 3], rtol=rtol)
    assert time.process_time() - began < 1.0
    assert caught.value.time == pytest.approx(speed / MU_G, abs=1e-6)
    assert caught.value.trajectory.q[-1] == pytest.approx(qd0 * speed / (2 * MU_G), rel=10 * rtol)
    assert caught.value.trajectory.statistics["steps"] < 2000


@pytest.mark.parametrize(
    ("applied", "nonideal"),
    [
        ((-0.2 * 9.81 * sp.sign(xd), -9.81), None),
        ((0, -9.81), (-0.2 * sp.Abs(da.ideal_force(y)) * sp.sign(xd), 0)),
    ],
)
def test_on_a_floor(applied: tuple, nonideal: tuple | None) -> None:
    """A force, and a law of the ideal forces; `da.Coulomb`, which the message recommends, sticks."""
    floor = da.Constraint(y, name="floor")
    system = da.System((x, y), sp.eye(2), applied, floor, nonideal=nonideal)
    with pytest.raises(da.SimulationError, match=MESSAGE.format("x'")) as caught:
        da.simulate(system, (0, 0), (1, 0), [0, 2])
    assert caught.value.time == pytest.approx(1 / (0.2 * 9.81), abs=1e-6)
    advised = da.System((x, y), sp.eye(2), (0, -9.81), da.Constraint(y, name="floor", nonideal=da.Coulomb(0.2)))
    assert da.simulate(advised, (0, 0), (1, 0), [0, 2]).q[-1, 0] == pytest.approx(1 / (0.4 * 9.81), rel=1e-8)


def test_by_diffrax_and_in_an_ensemble() -> None:
    system = da.System((x,), [[1]], (-MU_G * sp.sign(xd),))
    with pytest.raises(da.SimulationError, match=MESSAGE.format("x'")) as caught:
        da.simulate(system, (0,), (1,), [0, 2], solver=diffrax.Tsit5())
    assert caught.value.trajectory.statistics["steps"] < 2000
    members = da.simulate_ensemble(system, (0,), [[1], [0.5]], [0, 2], max_steps=10_000)
    assert all("where `x'` vanishes, a force jumps" in reason for reason in members["reason"].values)


@pytest.mark.parametrize(
    ("force", "q", "qd"),
    [
        (-sp.sign(x), 1.0, 0.0),  # crosses the jump, again and again
        (-1e4 * x - sp.Abs(xd) * xd, 1.0, 0.0),  # six steps each period; a kink, but no jump
        (-x / sp.Abs(x) ** 3, 1.0, 0.7),
    ],
)
def test_crossing_a_jump_is_not_chatter(force: sp.Expr, q: float, qd: float) -> None:
    """At the pace of these runs the steps do not suffice, which is said, and no force is blamed."""
    system = da.System((x,), [[1]], (force,))
    end = 1000 if qd == 0 else 10
    with pytest.raises(da.SimulationError) as caught:
        da.simulate(system, (q,), (qd,), [0, end], max_steps=3000)
    assert "a force jumps" not in str(caught.value)


@pytest.mark.parametrize("rtol", [1e-3, 1e-4, 1e-6])
@pytest.mark.parametrize(("force", "q", "qd"), [((0, -1), (-1, 1), (1, -1)), ((0.3, -1), (0, 0), (0, 0))])
def test_a_kinked_wire_is_named_at_every_tolerance(rtol: float, force: tuple, q: tuple, qd: tuple) -> None:
    wire = da.System((x, y), sp.eye(2), force, da.Constraint(y - sp.Abs(x), name="wire"))
    with pytest.raises(da.SimulationError, match="`wire` has a jump or a kink there"):
        da.simulate(wire, q, qd, [0, 5], rtol=rtol)
