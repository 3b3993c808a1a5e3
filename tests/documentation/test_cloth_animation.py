"""The cloth over a moving hoop: threads, hoop and energy of its motion, and its pictures."""

import numpy as np
import pytest
from website import cloth_animation

import dalembert as da


@pytest.fixture(scope="module")
def run() -> da.Trajectory:
    return cloth_animation.simulated(11, np.linspace(0, 0.6, 4))


def test_threads_keep_their_length_and_the_cloth_stays_outside_the_hoop(run: da.Trajectory) -> None:
    assert np.abs(run.violation).max() < 1e-14
    centres = np.array([[float(p.subs(da.t, t)) for p in cloth_animation.hoop_centre()] for t in run.t])
    dx, dy, dz = np.moveaxis(run.q.reshape(len(run.t), 3, -1) - centres[:, :, None], 1, 0)
    distance = np.hypot(np.hypot(dx, dy) - cloth_animation.RADIUS, dz)
    assert distance.min() > 0.8 * cloth_animation.TUBE  # the surface that is drawn
    assert distance.min() < cloth_animation.TUBE + 2 * cloth_animation.SOFTNESS  # it touches the hoop
    assert np.ptp(run.q[-1].reshape(3, -1)[2]) > 0.4  # and hangs down


def test_the_work_of_all_forces_is_the_kinetic_energy(run: da.Trajectory) -> None:
    masses = cloth_animation.MASS / 11**2
    assert np.abs(run.ledger().audit).max() < 1e-3 * (masses * run.qd**2).sum(axis=1).max() / 2


def test_pictures_are_drawn(run: da.Trajectory) -> None:
    assert len(cloth_animation.still(run).axes) == 3
    first = next(cloth_animation.pictures(run))
    assert np.ptp(np.asarray(first)) > 200
    assert cloth_animation.STILL.exists()
