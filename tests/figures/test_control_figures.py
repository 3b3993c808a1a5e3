"""Figures of runs with actuators show their inputs and the errors of the servo constraints."""

from typing import Any

import numpy as np

import dalembert as da

X, Y = da.coordinates("x y")


def simulated(servo: da.Servo) -> da.Trajectory:
    return da.simulate(da.System((X, Y), [[1, 0], [0, 1]], (0, -10), servos=servo), (0, 0), (0, 0), [0, 0.5, 1])


def panels(figure: Any) -> dict[str, Any]:
    return {axis.get_ylabel(): axis for axis in figure.axes}


def test_inputs_and_servo_errors_have_their_axes() -> None:
    by = (da.Actuator("motor", X), da.Actuator("lift", Y))
    run = simulated(da.Servo("follow", (X - da.t, Y - 1), by=by, settle=3))
    found = panels(run.plot(units={"x": "m", "y": "m", "t": "s", "motor": "N", "lift": "N", "follow": "m"}))
    assert list(found) == ["coordinates / m", "inputs / N", "servo error / m"]
    for line, name in zip(found["inputs / N"].lines, ("motor", "lift"), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), run.inputs[name])
    errors = found["servo error / m"].lines
    assert [line.get_label() for line in errors] == ["follow[0]", "follow[1]"]
    np.testing.assert_array_equal(errors[1].get_ydata(), abs(run.servo_error["follow"][:, 1]))


def test_inputs_on_every_coordinate_have_the_units_of_forces() -> None:
    run = simulated(da.Servo("hold", Y - 1, settle=3))
    found = panels(run.plot(units={"x": "m", "y": "m", "force": "N"}))
    assert list(found) == ["coordinates / m", "inputs / N", "servo error"]
