"""Drift cures of a user's own: by gains and projections in machine code, by another correction in diffrax."""

from dataclasses import dataclass

import numpy as np

import dalembert as da
from dalembert.common.lazy_jax import jnp
from dalembert.common.stabilisation import Gains
from dalembert.integration.drift import Drift
from helpers import pendulum

START = (1, 0), (0, 0), [0, 0.5, 1]
GRAVITY = {"parameters": {"g": 9.81}}


@dataclass(frozen=True)
class Own(Drift):
    rate: float
    count: int

    def gains(self):
        return Gains(self.rate, self.rate) if self.rate else None

    @property
    def projections(self):
        return self.count


@dataclass(frozen=True)
class Radial(Drift):
    """Moves the bob along the rod, and takes off what its velocity has along it."""

    def gains(self):
        return None

    def correct(self, dynamics, q, qd, t, p, rows):
        q = q / jnp.sqrt(q @ q)
        return q, qd - q * (q @ qd)


def test_a_cure_that_only_says_what_a_known_one_does_takes_the_same_steps():
    known = {Own(5.0, 0): da.Baumgarte(5.0, 5.0), Own(0.0, 2): da.Projection(), Own(0.0, 0): None}
    for own, same in known.items():
        one, other = (da.simulate(pendulum(), *START, **GRAVITY, drift=drift) for drift in (own, same))
        assert one.statistics["program"] == "machine code"
        np.testing.assert_array_equal(one.q, other.q)


def test_gains_and_projections_together():
    run = da.simulate(pendulum(), *START, **GRAVITY, drift=Own(5.0, 1), rtol=1e-11, atol=1e-13)
    exact = da.simulate(pendulum(), *START, **GRAVITY, rtol=1e-13, atol=1e-14)
    assert run.statistics["program"] == "machine code"
    assert abs(run.violation).max() < 1e-14
    np.testing.assert_allclose(run.q, exact.q, rtol=0, atol=1e-9)


def test_another_correction_is_made_after_every_step():
    """Machine code would leave it out: the general integrator takes the steps."""
    run = da.simulate(pendulum(), *START, **GRAVITY, drift=Radial())
    plain = da.simulate(pendulum(), *START, **GRAVITY, drift=None)
    assert run.statistics["program"] != "machine code"
    assert abs(run.violation).max() < 1e-15 < abs(plain.violation).max()
