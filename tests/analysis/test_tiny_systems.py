"""Verdicts do not depend on the unit of length: a pendulum of a picometre is as well posed as one of a metre."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y, z = da.coordinates("x y z")


def pendulum(length: float, mass: float = 1.0) -> da.System:
    rod = da.Constraint(x**2 + y**2 - length**2, name="rod")
    return da.System((x, y), mass * sp.eye(2), (0, -9.81 * mass), rod)


@pytest.mark.parametrize("length", [1e3, 1e-9, 1e-12, 3e-13])
@pytest.mark.parametrize("angle", [0.0, 0.7, np.pi / 2])
def test_a_rod_of_any_length_has_a_gradient(length: float, angle: float) -> None:
    q = (length * round(np.cos(angle), 15), length * round(np.sin(angle), 15))
    verdict = da.check(pendulum(length), q, (0, 0))
    assert verdict.well_posed, verdict
    assert (verdict.rank, verdict.degrees_of_freedom) == (1, 1)


def test_light_and_tiny() -> None:
    assert da.check(pendulum(1e-12, 1e-18), (1e-12, 0), (0, 1e-6)).well_posed


@pytest.mark.parametrize("length", [1, 1e-12])
def test_what_has_no_gradient_is_still_found(length: float) -> None:
    """(x − l)² = 0 beside a rod in y and z that has one."""
    rows = [
        da.Constraint((x - length) ** 2, name="square"),
        da.Constraint(y**2 + z**2 - length**2, name="rod"),
    ]
    verdict = da.check(da.System((x, y, z), sp.eye(3), (0, 0, -9.81), rows), (length, length, 0), (0, 0, 0))
    assert not verdict.well_posed
    assert ["square" in finding.message for finding in verdict.findings if finding.about == "gradient"] == [True]
