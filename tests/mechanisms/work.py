"""By how much joints work: their reactions times the relative velocities of their bodies, without multipliers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.mechanisms.frames import Ground
from dalembert.mechanisms.vectors import evaluate, half_turning

INTERVALS = 60
"""Of equal length, five nodes each; friction turns round where two of them meet, if it does."""


def gauss_times(end: float, intervals: int) -> tuple[np.ndarray, np.ndarray]:
    """Times from zero to an end, edges of intervals and Gauss's nodes, and their weights in an integral."""
    place, weight = np.polynomial.legendre.leggauss(5)
    edges = np.linspace(0, end, intervals + 1)
    half = end / intervals / 2
    times = np.concatenate([edges[:-1, None] + half * (1 + place), edges[:-1, None]], axis=1).ravel()
    weights = np.tile(np.append(half * weight, 0.0), intervals)
    order = np.argsort(times)
    return np.append(times[order], end), np.append(weights[order], 0.0)


def simulated(
    mechanism: da.Mechanism, end: float, keep: Any = (), intervals: int = INTERVALS, **options: Any
) -> tuple[da.Trajectory, np.ndarray]:
    """A run, and the weights of its times in an integral over it."""
    times, weights = gauss_times(end, intervals)
    q, qd = mechanism.assemble(keep=keep)
    return da.simulate(mechanism.system, q, qd, times, rtol=1e-11, atol=1e-12, **options), weights


def assert_own_work(mechanism: da.Mechanism, run: da.Trajectory, weights: np.ndarray, accuracy: float = 1e-8) -> Any:
    """Every joint's entries add up to the work of its reaction, and all of them to the change of energy."""
    ledger = run.ledger()
    scale = 1 + np.abs(ledger.work).max() + np.abs(ledger.kinetic).max()
    reactions = mechanism.reactions(run)
    for joint in mechanism.joints:
        mine = [str(constraint.name) for constraint in joint.constraints]
        entries = [i for i, entry in enumerate(ledger.entries) if entry.constraint in mine]
        of = gear_power if isinstance(joint, da.Gear) else power_of
        power = of(mechanism, run, joint, reactions[joint.name])
        rate = 1 + np.abs(ledger.power).max()
        np.testing.assert_allclose(ledger.power[:, entries].sum(axis=1), power, rtol=0, atol=accuracy * rate)
        if not run.events:  # the quadrature leaves out impacts, whose work is no integral of a power
            assert ledger.work[-1, entries].sum() == pytest.approx(weights @ power, abs=accuracy * scale), joint.name
    change = ledger.energy - ledger.energy[0]
    np.testing.assert_allclose(ledger.work.sum(axis=1), change, rtol=0, atol=accuracy * scale)
    assert ledger.closure < 10
    return ledger


def gear_power(mechanism: da.Mechanism, run: da.Trajectory, gear: Any, given: Any) -> np.ndarray:
    """Of the torques on both wheels relative to the carrier, which feels what is left."""
    rates = [_moved(mechanism, run, marker, None)[1][1] for marker in gear.markers]
    borne = rates[2] if len(rates) > 2 else 0.0
    if gear.dimension == 2:
        return given.torque * (float(gear.ratio) * (rates[0] - borne) + (rates[1] - borne))
    axles = [_axle(mechanism, run, marker, axis) for marker, axis in zip(gear.markers, gear.axis, strict=False)]
    strength = np.sum(given.torque * axles[1], axis=1)  # the torque on the second wheel is along its axle
    about = [np.sum((rate - borne) * axle, axis=1) for rate, axle in zip(rates, axles, strict=False)]
    return strength * (float(gear.ratio) * about[0] + about[1])


def _axle(mechanism: da.Mechanism, run: da.Trajectory, marker: Any, axis: Any) -> np.ndarray:
    """A direction fixed in a body (T, 3), in world axes."""
    names = list(mechanism.system.coordinates)
    q = run.q[:, [names.index(coordinate) for coordinate in marker.body.coordinates]]
    return np.einsum("tij,j->ti", marker.body.axes_along(q), np.asarray(axis, float).ravel())


def power_of(mechanism: da.Mechanism, run: da.Trajectory, joint: Any, given: Any) -> np.ndarray:
    """Of the force and torque at the second marker, on the motion of its body relative to the first one."""
    first, second = joint.markers[:2]
    place, _ = _moved(mechanism, run, second, None)
    (v1, w1), (v2, w2) = (_moved(mechanism, run, marker, place)[1] for marker in (first, second))
    spun = given.torque * (w2 - w1)
    return np.sum(given.force * (v2 - v1), axis=1) + (spun if spun.ndim == 1 else spun.sum(axis=1))


def _moved(mechanism: da.Mechanism, run: da.Trajectory, marker: Any, place: Any) -> Any:
    """Return the position of a marker, and the velocity of its body at a place with the rate at which it turns."""
    point = evaluate(marker.point, run.parameters)
    if isinstance(marker.body, Ground):
        return np.tile(point, (len(run), 1)), (0.0, 0.0)
    names, body = list(mechanism.system.coordinates), marker.body
    mine = [names.index(coordinate) for coordinate in body.coordinates]
    q, qd, d = run.q[:, mine], run.qd[:, mine], body.dimension
    own = body.place_along(q, point)
    arm = (own if place is None else place) - q[:, :d]
    if d == 2:
        spin = qd[:, 2] if len(mine) == 3 else np.zeros(len(run))
        return own, (qd[:, :2] + spin[:, None] * np.stack([-arm[:, 1], arm[:, 0]], axis=1), spin)
    in_body = 2 * np.einsum("ijt,tj->ti", np.asarray(half_turning(q[:, 3:].T)), qd[:, 3:])
    spin = np.einsum("tij,tj->ti", body.axes_along(q), in_body)
    return own, (qd[:, :3] + np.cross(spin, arm), spin)
