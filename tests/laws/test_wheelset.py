"""A wheelset that creeps on two rails, by laws of the actual loads of both wheels, against minimal coordinates."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import dalembert as da

MASS, ROLL, YAW, WEIGHT, RADIUS, HALF, CONE, SPEED = 1000.0, 600.0, 600.0, 10_000.0, 0.45, 0.75, 0.15, 15.0
CREEP, SLOPE, SPRING, TURNING = 0.3, 0.004, 20_000.0, 40_000.0
"""SI. The creep force is CREEP · N^(2/3) · N₀^(1/3) · tanh(|ξ|/SLOPE), against the creepage ξ."""
UNIT = (WEIGHT / 2) ** (1 / 3)


def wheelset(load):
    """Lateral y, vertical z, roll θ and yaw ψ; ``load`` makes the symbol of a wheel's load from its constraint."""
    y, z, theta, psi = da.coordinates("y z theta psi")
    rates = [q.diff(da.t) for q in (y, z, theta, psi)]
    rows, laws = [], []
    for name, side in (("left", 1), ("right", -1)):
        rows.append(da.Constraint(z + side * HALF * theta + side * CONE * y, name=name))
        # the wheel has the radius r₀ + side γ y, and yaw moves it backwards or forwards
        along = (side * HALF * rates[3] - side * CONE * y * SPEED / RADIUS) / SPEED
        across = (rates[0] + RADIUS * rates[2]) / SPEED - psi
        size = sp.sqrt(along**2 + across**2 + 1e-12)
        force = -CREEP * UNIT * abs(load(name)) ** sp.Rational(2, 3) * sp.tanh(size / SLOPE) / size
        laws.append(
            da.SlidingForce(
                (force * along, force * across), velocity=(side * HALF * rates[3], rates[0] + RADIUS * rates[2])
            )
        )
    forces = (-SPRING * y, -WEIGHT, 0, -TURNING * psi)
    return da.System((y, z, theta, psi), sp.diag(MASS, MASS, ROLL, YAW), forces, rows, nonideal=laws)


def slope(_, state):
    """The same in minimal coordinates y and ψ, θ = −γ y/a, with the loads from a root of two equations."""
    y, psi, yd, psid = state
    tilt = -CONE / HALF

    def creep(side, N):
        along = (side * HALF * psid - side * CONE * y * SPEED / RADIUS) / SPEED
        across = (yd + RADIUS * tilt * yd) / SPEED - psi
        size = np.sqrt(along**2 + across**2 + 1e-12)
        return -CREEP * UNIT * np.cbrt(N) ** 2 * np.tanh(size / SLOPE) / size * np.array([along, across])

    def miss(loads):
        left, right = creep(1, loads[0]), creep(-1, loads[1])
        across = left[1] + right[1]
        acceleration = (-SPRING * y + across + CONE * (loads[0] - loads[1])) / MASS
        roll = ROLL * tilt * acceleration - RADIUS * across - HALF * (loads[0] - loads[1])
        return [(loads[0] + loads[1] - WEIGHT) / WEIGHT, roll / WEIGHT]

    loads, about, *_ = fsolve(miss, [WEIGHT / 2] * 2, xtol=1e-13, full_output=True)
    assert np.abs(about["fvec"]).max() < 1e-12
    left, right = creep(1, loads[0]), creep(-1, loads[1])
    lateral = (-SPRING * y + left[1] + right[1] + CONE * (loads[0] - loads[1])) / MASS
    return [yd, psid, lateral, (-TURNING * psi + HALF * (left[0] - right[0])) / YAW]


def test_accelerations_equal_those_of_minimal_coordinates():
    system, rng = wheelset(da.reaction), np.random.default_rng(11)
    for _ in range(20):
        y, psi, yd, psid = rng.normal(size=4) * (0.01, 0.01, 0.1, 0.1)
        tilt = -CONE / HALF
        point = da.motion(system, (y, 0, tilt * y, psi), (yd, 0, tilt * yd, psid))
        expected = slope(0, (y, psi, yd, psid))[2:]
        assert point.acceleration[[0, 3]] == pytest.approx(expected, rel=1e-11, abs=1e-11)
        assert point.reactions.sum() == pytest.approx(WEIGHT)
        assert point.implicit.determinant == pytest.approx(1, abs=0.2)


@pytest.mark.slow
def test_ten_seconds_equal_those_of_minimal_coordinates():
    start, times = (0.004, 0.0, 0.0, 0.0), np.linspace(0, 10, 41)
    q0 = (start[0], 0.0, -CONE / HALF * start[0], start[1])
    run = da.simulate(wheelset(da.reaction), q0, (0, 0, 0, 0), times, rtol=1e-10)
    own = solve_ivp(slope, (0, 10), start, rtol=1e-10, atol=1e-13, t_eval=times, method="DOP853")
    amplitude = np.abs(run["y"]).max()
    assert np.abs(run["y"] - own.y[0]).max() < 1e-7 * amplitude
    assert np.abs(run["psi"] - own.y[1]).max() < 1e-7 * np.abs(run["psi"]).max()
    assert abs(run.reactions.sum(axis=1) - WEIGHT).max() < 1e-8 * WEIGHT
    assert not any("hand" in note for note in run.notes)
    ideal = da.simulate(wheelset(da.multiplier), q0, (0, 0, 0, 0), times, rtol=1e-10)
    assert 1e-3 < np.abs(ideal["y"] - run["y"]).max() / amplitude < 1e-2  # by loads that creep does not change
