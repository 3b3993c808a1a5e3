"""With a force on every coordinate and the cost M⁻¹, a servo constraint is the constraint of the fundamental equation.

For every case of the gallery whose constraints can be read as requirements.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from helpers import CONTACTS, quick_first

NO_SERVO = {
    "nonideal laws belong to physical constraints": {
        *("particle", "block-viscous", "block-quadratic", "block-proportional", "bead", "circular-wire", "hoop"),
        *("pin-friction", "rotating-rod", "incline", "belt", "painleve-rod"),
    },
    "no constraints": {"projectile", "projectile-polar", "weber"},
    "a mass matrix that is not positive": {"hidden-constraint", "indefinite-mass", "measured"},
    "constraints that are redundant only where they hold, and a servo also acts elsewhere": {
        *("four-bar", "bricard", "four-bars"),
    },
    "contacts that open and close": CONTACTS,
    "expressions that are undefined at most states off the constraints": {"bicycle"},
}
LEFT_OUT = set().union(*NO_SERVO.values())
CASES = [name for name in da.gallery.names() if name not in LEFT_OUT]
QUICK = {"spiral", "pendulum", "pendulum-rod-twice", "constant-speed", "appell-hamel", "skate", "sleigh", "car-axis"}


@pytest.mark.parametrize("name", quick_first(CASES, QUICK))
def test_the_inputs_are_the_constraint_force(name):
    case = da.gallery.case(name)
    system = case.system
    if not system.constraints:
        assert system.servos, "a case without constraints and servos belongs to the table above"
        return
    physical = da.System(system.coordinates, system.mass_matrix, system.applied_force, system.constraints)
    by_level: dict[str, list] = {}
    for constraint in system.constraints:
        by_level.setdefault(constraint.level, []).append(constraint.expression)
    servos = tuple(da.Servo(f"servo {level}", tuple(rows)) for level, rows in by_level.items())
    driven = da.System(system.coordinates, system.mass_matrix, system.applied_force, servos=servos)
    state = (case.q0, case.qd0, float(case.times[0]))
    p = {name: value for name, value in case.parameters.items() if name in physical.parameter_names}
    expected, found = da.motion(physical, *state, parameters=p), da.motion(driven, *state, parameters=p)
    inputs = np.array([found.inputs[name] for name in system.coordinate_names])
    size = np.abs(expected.acceleration).max() + np.abs(expected.free_acceleration).max()
    assert np.abs(found.acceleration - expected.acceleration).max() <= 1e-12 * max(size, 1)
    force = np.abs(expected.ideal_force).max() + np.abs(expected.applied_force).max()
    assert np.abs(inputs - expected.ideal_force).max() <= 1e-12 * max(force, 1)
