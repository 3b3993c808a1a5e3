"""Expressions of actuators and servos that the system does not know, or that contain accelerations."""

from typing import Any

import pytest

import dalembert as da

X, Y, STRANGE = da.coordinates("x y strange")
SECOND = X.diff(da.t, 2)


def system(**given: Any) -> da.System:
    actuator = {key: value for key, value in given.items() if key in ("along", "limit")}
    servo = {key: value for key, value in given.items() if key not in actuator}
    by = da.Actuator(**{"name": "motor", "along": X, **actuator})
    return da.System(
        (X, Y), [[1, 0], [0, 1]], (0, 0), servos=da.Servo("s", **{"requirement": X - da.t, **servo}, by=by)
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"along": (STRANGE, 0)}, r"`along` of actuator `motor` must use only .* unknown: `strange`"),
        ({"along": {X: SECOND}}, r"`along` of actuator `motor` must not contain accelerations; got `x''`"),
        ({"along": (da.multiplier("rod"), 0)}, r"`along` of actuator `motor` must not contain `da\.multiplier`"),
        ({"limit": 2 + STRANGE**2}, r"`limit` of actuator `motor` must use only .* unknown: `strange`"),
        ({"settle": 1 + STRANGE**2}, r"`settle` and `cost` of servo `s` must use only .* unknown: `strange`"),
        ({"cost": [[1 + SECOND**2]]}, r"`settle` and `cost` of servo `s` must not contain accelerations"),
        ({"requirement": SECOND**2 - 1}, r"servo `s` must be linear in the accelerations; `x''\*\*2` is not"),
    ],
)
def test_foreign_expressions(given: dict[str, Any], message: str) -> None:
    with pytest.raises(da.ModelError, match=message):
        system(**given)
