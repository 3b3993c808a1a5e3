"""Ensembles under dry friction: members that stick and slip, all in machine code, against `da.simulate`."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.ensembles.runner import EnsembleRunner
from dalembert.native.dormand_prince import DORMAND_PRINCE
from dalembert.native.ptx import ptx_of

x, y, z = da.coordinates("x y z")
xd, yd = x.diff(da.t), y.diff(da.t)
mu, k = da.parameters("mu k")
TIMES = np.linspace(0, 1, 6)


def block(pull: object = 0) -> da.System:
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(mu))
    return da.System((x, y), sp.eye(2), (pull, -10), floor)


def oscillator() -> da.System:
    """On a belt that moves at 0.5, by Stribeck's friction."""
    law = da.Stribeck(0.2, 0.4, 0.3, velocity=xd - sp.Rational(1, 2), normal_force=da.multiplier("belt"))
    return da.System((x, y), sp.eye(2), (-k * x, -10), da.Constraint(y, name="belt", nonideal=law))


def compare(system: da.System, q: object, qd: np.ndarray, numbers: dict[str, object], **settings: object) -> object:
    many = da.simulate_ensemble(system, q, qd, TIMES, parameters=numbers, **settings)
    assert not any(many["reason"].values)
    for i in range(len(qd)):
        own = {name: float(np.broadcast_to(value, len(qd))[i]) for name, value in numbers.items()}
        run = da.simulate(system, q, qd[i], TIMES, parameters=own)
        np.testing.assert_allclose(many["q"].values[i], run.q, atol=1e-12)
        np.testing.assert_allclose(many["qd"].values[i], run.qd, atol=1e-12)
    return many


def test_blocks_of_which_some_stop() -> None:
    """v₀/μg is the time they take; one starts at rest, others slide throughout, either way."""
    speeds = np.array([0.0, 0.5, 2.0, 2.999, 3.001, 4.0, -5.0, -1.0])
    many = compare(block(), (0, 0), np.stack([speeds, 0 * speeds], axis=1), {"mu": 0.3})
    assert many.attrs["handed_over"] == 0
    exact = np.sign(speeds) * np.where(np.abs(speeds) < 3, speeds**2 / 6, np.abs(speeds) - 1.5)
    np.testing.assert_allclose(many["q"].values[:, -1, 0], exact, atol=1e-12)


def test_rest_within_a_step_is_not_stepped_over() -> None:
    """Under F = 4t, v = v₀ − 3t + 2t² of sliding on dips below zero and comes back, for v₀ = 1 but not for 1.2."""
    start = np.array([[1.0, 0], [1.12, 0], [1.13, 0], [1.2, 0]])
    many = compare(block(4 * da.t), (0, 0), start, {"mu": 0.3})
    assert many.attrs["handed_over"] == 0


def test_an_oscillator_on_a_belt() -> None:
    """Spring by spring: some stay behind the belt all the time, some stick to it."""
    start = np.array([[-0.5, 0], [0.0, 0], [1.5, 0], [0.4, 0], [5.0, 0]])
    many = compare(oscillator(), (0.1, 0), start, {"k": np.array([1.0, 4.0, 9.0, 0.5, 0.5])})
    assert many.attrs["handed_over"] == 0


def test_a_direction_that_turns_is_no_stop() -> None:
    """On a rough horizontal plane, held to a circle by a spring: the velocity turns round more than once."""
    floor = da.Constraint(z, name="floor", nonideal=da.Coulomb(mu))
    system = da.System((x, y, z), sp.eye(3), (-100 * x, -100 * y, -10), floor)
    many = compare(system, (1, 0, 0), np.array([[0.0, 10, 0], [0.1, 10, 0]]), {"mu": np.array([0.1, 0.2])})
    assert many.attrs["handed_over"] == 0


def test_with_fixed_steps_a_stop_is_noticed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EnsembleRunner, "_general", lambda self, y, p: (np.full((len(TIMES), 4), 7.0), ""))
    start = np.array([[0.5, 0], [2.99, 0], [3.01, 0], [4.0, 0]])
    many = da.simulate_ensemble(block(), (0, 0), start, TIMES, parameters={"mu": 0.3}, step=0.01)
    np.testing.assert_allclose(many["q"].values[:, -1, 0], [7, 7, 1.51, 2.5], atol=1e-12)


def test_the_kernel_for_a_gpu_is_written() -> None:
    """The same program in the language of NVIDIA's driver; a GPU is needed to run it, not to write it."""
    native = da.build(block()).native
    text = native.motions((0,), 2, None, ptx_of, DORMAND_PRINCE)
    assert ".entry members" in text


def test_friction_in_a_joint_is_summed_up() -> None:
    """A pin's normal force is a vector; the summary takes members of both kinds."""
    rod = da.PlanarBody("rod", mass=1, inertia=0.1, position=(0.5, 0))
    pin = da.Revolute("pin", da.ground.at(0, 0), rod.at(-0.5, 0), radius=0.1, nonideal=da.Coulomb(mu))
    system = da.Mechanism(rod, pin, da.Gravity((0, -9.81))).system
    rates = np.linspace(-6, -5, 4)
    start = np.stack([0 * rates, 0.5 * rates, rates], axis=1)
    many = da.simulate_ensemble(system, (0.5, 0, 0), start, [0, 0.1], parameters={"mu": 0.4}, keep="summary")
    ends = [da.simulate(system, (0.5, 0, 0), qd, [0, 0.1], parameters={"mu": 0.4}).q[-1] for qd in start]
    np.testing.assert_allclose(many["mean_q"].values[-1], np.mean(ends, axis=0), atol=1e-9)
    assert many.attrs["handed_over"] == 0
