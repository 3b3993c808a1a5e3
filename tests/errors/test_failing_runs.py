"""Runs that must fail say why at once: nothing is compiled by JAX only to fail again."""

import re
import subprocess
import sys

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from helpers import label

x, y = da.coordinates("x y")
ROD = da.Constraint(x**2 + y**2 - 1, name="rod")

PROGRAM = """
import sys
import sympy as sp
import dalembert as da
x, y = da.coordinates("x y")
rod = da.Constraint(x**2 + y**2 - 1, name="rod")
floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(0.3))
late = da.Constraint(y - da.t**3, name="late")
def cases():
    yield da.System((x,), [[1]], (x**3,)), [1], [1], 100
    yield da.System((x, y), sp.eye(2), (0, 0), [rod, da.Constraint(x - da.t, name="drive")]), (0, 1), (1, 0), 2
    yield da.System((x, y), sp.eye(2), (1, -10), [floor, da.Constraint(2 * y, name="again")]), (0, 0), (1, 0), 1
    yield da.System((x, y), sp.eye(2), (0, 0), [da.Constraint(y, name="floor"), late]), (0, 0), (0, 0), 5
    yield da.System((x, y), sp.diag(1, 0), (0, 0)), (0, 0), (0, 0), 1
    yield da.System((x,), [[1]], (-sp.sqrt(x),)), [1], [0], 10
    yield da.System((x, y), sp.diag(x, 1), (0, 0)), (1, 0), (-1, 0), 2
for system, q, qd, end in cases():
    try:
        da.simulate(system, q, qd, [0, end])
    except da.DalembertError as error:
        print(type(error).__name__, error)
print("jax" in sys.modules)
"""


def test_failures_of_small_systems_do_not_import_jax() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    *said, imported = done.stdout.splitlines()
    expected = (
        r"SimulationError .*ended at t = 1\.31103.*no step, however small",
        r"SimulationError .*`rod` and `drive` must be possible together; beyond t = 1 they exclude each other.*check",
        r"ConstraintError the normal force of a nonideal law must be .*; the multiplier of `floor` is not unique",
        r"SimulationError .*`floor`, `late` contradict one another",
        r"MassMatrixError `mass_matrix` must be positive definite; it is singular",
        r"SimulationError .*just ahead `applied_force` is not finite.*root of a negative number",
        r"SimulationError .*just ahead `mass_matrix` must be positive definite; it is indefinite",
    )
    assert len(said) == len(expected)
    for line, pattern in zip(said, expected, strict=True):
        assert re.match(pattern, line), line
    assert imported == "False"


def test_a_blow_up_ends_where_the_energy_integral_says() -> None:
    """ẍ = x³ from x = ẋ = 1: 2ẋ² = x⁴ + 1, so that x is infinite at ∫ dx √(2 / (x⁴ + 1)) from 1 on."""
    from scipy.integrate import quad

    infinite, _ = quad(lambda s: np.sqrt(2 / (1 + s**4)), 0, 1, epsabs=1e-13)  # x = 1/s
    with pytest.raises(da.SimulationError, match="forces grow without bound") as caught:
        da.simulate(da.System((x,), [[1]], (x**3,)), [1], [1], [0, 1, 100])
    assert caught.value.time == pytest.approx(infinite, abs=1e-9)
    last = caught.value.trajectory
    assert last.t[1] == 1
    np.testing.assert_allclose(2 * last.qd**2, last.q**4 + 1, rtol=1e-6)
    assert "independence" not in str(caught.value)  # there are no constraints


@pytest.mark.parametrize("reach", [0.5, 1.0, 3.0])
def test_a_drive_beyond_its_reach_names_what_excludes_what(reach: float) -> None:
    """A rod of length l whose end is drawn along x at unit speed is stretched at t = l; a bystander is not named."""
    z = da.coordinates("z")
    constraints = [da.Constraint(x**2 + y**2 - reach**2, name="rod"), da.Constraint(x - da.t, name="drive")]
    aside = da.Constraint(z - da.t**2, name="aside")
    system = da.System((x, y, z), sp.eye(3), (0, 0, 0), [*constraints, aside])
    with pytest.raises(da.SimulationError) as caught:
        da.simulate(system, (0, reach, 0), (1, 0, 0), [0, 2 * reach])
    found = re.search(r": (.*) must be possible together; beyond t = ([\d.e+-]+) they", str(caught.value))
    assert found is not None, str(caught.value)
    assert found[1] == "`rod` and `drive`"
    assert float(found[2]) == pytest.approx(reach, rel=1e-5)
    so_far = caught.value.trajectory
    assert reach * (1 - 1e-3) < so_far.t[-1] < reach
    np.testing.assert_allclose(so_far.q[-1, 1], np.sqrt(reach**2 - so_far.t[-1] ** 2), rtol=1e-6)


def test_a_drive_that_just_keeps_within_reach_is_no_conflict() -> None:
    """The same rod, drawn to 0.9999 of its length and back: y = √(1 − x²) all the way."""
    drive = da.Constraint(x - sp.Rational(9999, 10000) * sp.sin(da.t), name="drive")
    run = da.simulate(da.System((x, y), sp.eye(2), (0, 0), [ROD, drive]), (0, 1), (0.9999, 0), [0, 1.5, 2, 3])
    np.testing.assert_allclose(run.q[:, 1], np.sqrt(1 - (0.9999 * np.sin(run.t)) ** 2), atol=1e-7)


@pytest.mark.parametrize(
    "drift", [da.Baumgarte(5, 5), pytest.param(da.Projection(), marks=pytest.mark.slow)], ids=label
)
def test_outputs_at_a_singular_position_need_no_jax(drift: da.Baumgarte | da.Projection) -> None:
    """Where the compiled integrator is not accurate, NumPy tells what JAX would."""
    from dalembert.integration.method import Method
    from dalembert.integration.sampling import sample
    from dalembert.integration.state_answer import numpy_outputs

    lines = [da.Constraint(y, name="line"), da.Constraint(y * (1 + x**2) + 1e-3 * y * x, name="curve")]
    dynamics = da.build(da.System((x, y), sp.diag(1, 2), (-x, -3), lines))
    states, times = np.array([[0.3, 0, 0.7, 0], [0.0, 0, -1.0, 0]]), np.array([0.0, 1.0])
    method = Method(da.Factored(), drift, None, 1e-9, np.full(4, 1e-11), None, 10)
    expected = sample(dynamics, method, times, states, times, ())
    found = numpy_outputs(dynamics, method, times, states, ())
    for name, values in found.items():
        np.testing.assert_allclose(values, expected[name], atol=1e-12, err_msg=name)


def test_a_start_is_judged_by_the_equation_that_is_integrated() -> None:
    """x = 0 and ẋ = 0 agree as stated; off them Baumgarte's terms ask for ẍ = −β² x by the one and 0 by the other."""
    from dalembert.integration.run import refuse_start
    from dalembert.settings import method_of

    rows = [da.Constraint(x, name="place"), da.Constraint(x.diff(da.t), name="rest")]
    dynamics = da.build(da.System((x, y), sp.eye(2), (0, 0), rows))
    q, qd = np.array([0.1, 0.0]), np.zeros(2)
    plain, stabilised = (
        method_of(da.PseudoInverse(), drift, None, 1e-9, 1e-11, None, 10) for drift in (None, da.Baumgarte(5, 5))
    )
    refuse_start(dynamics, plain, q, qd, 0.0, ())
    with pytest.raises(da.ConstraintError, match="`place`, `rest` contradict one another"):
        refuse_start(dynamics, stabilised, q, qd, 0.0, ())


def test_the_acceleration_in_a_message_is_that_of_the_stabilised_equation() -> None:
    """ẍ = 1/z² pulls z to zero, while a violation of 0.5 in x is damped at β² x = 12.5."""
    z = da.coordinates("z")
    system = da.System((x, z), sp.eye(2), (0, -1 / z**2), da.Constraint(x, name="line"))
    from dalembert.integration.state_answer import answer_at

    dynamics, drift = da.build(system), da.Baumgarte(5, 5)
    answer = answer_at(dynamics, np.array([0.5, 1.0]), np.zeros(2), 0.0, (), da.Factored(), drift.gains())
    np.testing.assert_allclose(answer.acceleration, [-12.5, -1], rtol=1e-14)


@pytest.mark.parametrize("rate", [1e-7, 1e-8, 1e-10])
def test_constraints_that_slowly_contradict_one_another_are_named(rate: float) -> None:
    """ÿ = 0 and ÿ = rate · t agree at the start; however slowly they part, the reason is the same."""
    x, y = da.coordinates("x y")
    rows = [
        da.Constraint(y.diff(da.t, 2) - c * da.t, name=name) for c, name in ((0, "level"), (sp.Float(rate), "lift"))
    ]
    with pytest.raises(da.SimulationError, match="`level`, `lift` contradict one another"):
        da.simulate(da.System((x, y), sp.eye(2), (0, -1), rows), (0, 0), (1, 0), [0, 1e4])
