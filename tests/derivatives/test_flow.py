"""The motion as a function for JAX: the same motion, and derivatives in both modes against differences of runs."""

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.fitting.problem import Problem

x, y = da.coordinates("x y")
xd, yd = x.diff(da.t), y.diff(da.t)
g, a0, mu, length = da.parameters("g a0 mu l")
TIMES = np.array([0.0, 0.4, 0.9])


def pendulum() -> da.System:
    """Gravity, air and friction in the rod: a law with the reaction and one without, and a redundant rod."""
    rods = (da.Constraint(x**2 + y**2 - length**2, name="rod"), da.Constraint(x * xd + y * yd, name="rod again"))
    friction = da.Prescribed(
        tuple(-mu * sp.sqrt(da.ideal_force(x) ** 2 + da.ideal_force(y) ** 2) * v for v in (xd, yd))
    )
    return da.System((x, y), sp.eye(2), (0, -g), rods, (da.Viscous(a0), friction))


NUMBERS = {"g": 9.81, "a0": 0.2, "mu": 0.05, "l": 1.0}


def start(angle: float, rate: float) -> tuple[list, list]:
    return [np.sin(angle), -np.cos(angle)], [rate * np.cos(angle), rate * np.sin(angle)]


def test_the_motion_is_that_of_simulate_and_one_program(caplog: pytest.LogCaptureFixture) -> None:
    """Not one for each operation: they were a hundred."""
    motion = da.flow(pendulum(), TIMES)
    with jax.log_compiles(), caplog.at_level("WARNING", logger="jax._src.dispatch"):
        q, qd = motion(*start(0.8, 0.5), NUMBERS)
    compiled = [record for record in caplog.records if "Finished XLA compilation" in record.getMessage()]
    assert 1 <= len(compiled) < 10
    run = da.simulate(pendulum(), *start(0.8, 0.5), TIMES, parameters=NUMBERS)
    np.testing.assert_allclose(q, run.q, atol=1e-8)
    np.testing.assert_allclose(qd, run.qd, atol=1e-8)


@pytest.mark.parametrize(
    "mode",
    [pytest.param(jax.jacfwd, id="forward", marks=pytest.mark.slow), pytest.param(jax.jacrev, id="reverse")],
)
def test_derivatives_with_respect_to_everything(mode) -> None:
    """Parameters, law coefficients, and the start along the constraints; projection is on."""
    times = TIMES / 3
    motion = da.flow(pendulum(), times, max_steps=16)  # loops within loops, one for each factor of 16, compile slowly

    def end(numbers):
        gravity, air, friction, angle, rate = numbers
        q0 = jnp.stack([jnp.sin(angle), -jnp.cos(angle)])
        qd0 = rate * jnp.stack([jnp.cos(angle), jnp.sin(angle)])
        q, qd = motion(q0, qd0, {"g": gravity, "a0": air, "mu": friction, "l": 1.0})
        return jnp.concatenate([q[-1], qd[-1]])

    def reached(numbers: np.ndarray) -> np.ndarray:
        gravity, air, friction, angle, rate = numbers
        run = da.simulate(
            pendulum(),
            *start(angle, rate),
            times,
            parameters={"g": gravity, "a0": air, "mu": friction, "l": 1.0},
            rtol=1e-13,
            atol=1e-15,
        )
        return np.concatenate([run.q[-1], run.qd[-1]])

    at = np.array([9.81, 0.2, 0.05, 0.8, 0.5])
    steps = 2e-5 * np.eye(5)
    expected = np.stack([(reached(at + h) - reached(at - h)) / 4e-5 for h in steps], axis=1)
    found = jax.jit(mode(end))(jnp.asarray(at))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def _behind_a_spring() -> tuple[da.System, tuple[str, ...]]:
    x1, x2 = da.coordinates("x1 x2")
    m1, m2, k = da.parameters("m1 m2 k")
    forces = (-k * (x1 - x2), k * (x1 - x2) - x2**3)
    servo = da.Servo("second", x2 - sp.sin(da.t), by=da.Actuator("push", x1), settle=2)
    return da.System((x1, x2), sp.diag(m1, m2), forces, servos=servo), ("k", "m1", "m2")


@pytest.mark.parametrize("rtol", [1e-10, *(pytest.param(rtol, marks=pytest.mark.slow) for rtol in (1e-7, 1e-9, 1e-12))])
def test_both_modes_agree_to_rounding(rtol: float) -> None:
    """More than 16 steps, after which JAX computes states again; differences are independent of both modes."""
    system, names = _behind_a_spring()
    at, times = jnp.array([5.0, 2.0, 3.0]), np.linspace(0, 2, 5)
    motion = da.flow(system, times, rtol=rtol, max_steps=200)

    def weighted(p):
        q, _ = motion(jnp.array([0.1, 0.2]), jnp.array([0.0, 1.0]), dict(zip(names, p, strict=True)))
        return (q[3:] @ jnp.array([1.0, 2.0])).sum()

    def simulated(p: np.ndarray) -> float:
        run = da.simulate(system, (0.1, 0.2), (0, 1), times, parameters=dict(zip(names, p, strict=True)), rtol=1e-12)
        return float((run.q[3:] @ [1, 2]).sum())

    backwards, forwards = jax.jit(lambda p: (jax.grad(weighted)(p), jax.jacfwd(weighted)(p)))(at)
    np.testing.assert_allclose(backwards, forwards, rtol=1e-10, atol=1e-13)
    steps = 1e-4 * np.eye(3)
    differences = [(simulated(np.asarray(at) + h) - simulated(np.asarray(at) - h)) / 2e-4 for h in steps]
    np.testing.assert_allclose(backwards, differences, atol=1e-6)


@pytest.mark.slow  # JAX compiles derivatives for seconds
def test_second_derivatives() -> None:
    """Of cos √g t by g."""
    motion = da.flow(da.System((x,), [[1]], (-g * x,)), [0, 1.5], rtol=1e-11, max_steps=16)
    end = lambda g: motion([1.0], [0.0], {"g": g})[0][-1, 0] ** 2  # noqa: E731
    exact = sp.lambdify(g, sp.diff(sp.cos(sp.sqrt(g) * 1.5) ** 2, g, 2))(4.0)
    np.testing.assert_allclose(jax.jit(jax.jacfwd(jax.grad(end)))(4.0), exact, atol=1e-8)


@pytest.mark.slow  # JAX compiles derivatives for seconds
def test_many_motions_at_once_and_their_derivatives() -> None:
    """cos √g t, with fixed steps that must end at the outputs; forwards and backwards."""
    times = np.array([0, 0.06, 0.2])
    motion = da.flow(da.System((x,), [[1]], (-g * x,)), times, step=0.013, solver=diffrax.Dopri8(), max_steps=16)
    gs = np.array([1.0, 4.0, 9.0])
    many = jax.vmap(lambda g: motion([1.0], [0.0], {"g": g})[0][:, 0])
    roots = np.sqrt(gs)[:, None]
    exact = -np.sin(roots * times) * times / (2 * roots)
    found, forwards = jax.jit(lambda gs: jax.jvp(many, (gs,), (jnp.ones(3),)))(gs)
    np.testing.assert_allclose(found, np.cos(roots * times), atol=1e-12)
    np.testing.assert_allclose(forwards, exact, atol=1e-12)
    backwards = jax.jit(jax.grad(lambda gs: many(gs).mean()))(gs)
    np.testing.assert_allclose(backwards, exact.sum(axis=1) / 9, atol=1e-12)


def test_a_fit_takes_the_same_derivatives() -> None:
    """Central differences of machine code beside JAX's own."""
    damped = da.System((x,), [[1]], (-g * x - a0 * xd,))
    at, times = np.array([4.0, 0.3]), np.linspace(0, 2, 4)
    motion = da.flow(damped, times, rtol=1e-11, atol=1e-13)
    slopes = jax.jit(jax.jacfwd(lambda p: motion([1.0], [0.5], {"g": p[0], "a0": p[1]})[0][:, 0]))(jnp.asarray(at))
    settings = {"rtol": 1e-11, "atol": 1e-13, "max_steps": 1000}
    seen = da.Observation(times, {"x": np.zeros(4)}, (1,), (0.5,))
    problem = Problem.of(damped, seen, ("g", "a0"), {"g": 4, "a0": 0.3}, None, None, settings)
    np.testing.assert_allclose(problem.jacobian(at, np.ones(2)), slopes, atol=1e-8)


@pytest.mark.slow  # JAX compiles derivatives for seconds
def test_where_friction_comes_to_rest_there_is_no_smooth_motion() -> None:
    """Pulled back, a block turns at t = 1/(1 + μ); JAX would not see how that instant moves with μ."""
    law = da.Coulomb(mu, velocity=xd, normal_force=1)
    motion = da.flow(da.System((x,), [[1]], (-1,), nonideal=law), (0, 0.5, 1.5))
    with pytest.raises(da.SimulationError, match=r"friction of `Coulomb` comes to rest .* t = 0.666667. Use") as caught:
        motion([0.0], [1.0], {"mu": 0.5})
    assert caught.value.time == pytest.approx(1 / 1.5, abs=1e-9)
    assert caught.value.trajectory.qd[-1, 0] == pytest.approx(-0.5 * (1.5 - 1 / 1.5), abs=1e-9)
    forwards = jax.jit(lambda v: jax.jvp(lambda mu: motion([0.0], [v], {"mu": mu})[0][:, 0], (0.5,), (1.0,)))
    with pytest.raises(Exception, match=r"friction of `Coulomb` comes to rest or reverses at about t = 0.666667"):
        jax.block_until_ready(forwards(1.0))
    np.testing.assert_allclose(forwards(5.0)[1], -(np.array([0, 0.5, 1.5]) ** 2) / 2, atol=1e-9)
    slope = jax.jit(jax.grad(lambda mu: motion([0.0], [5.0], {"mu": mu})[0][-1, 0]))(0.5)
    assert slope == pytest.approx(-(1.5**2) / 2, abs=1e-9)


@pytest.mark.slow
def test_with_fixed_steps_rest_is_noticed_too_and_at_the_start() -> None:
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(mu))
    motion = da.flow(da.System((x, y), sp.eye(2), (0, -10), floor), (0, 1), step=0.05)
    np.testing.assert_allclose(motion((0, 0), (5, 0), {"mu": 0.3})[0][-1], [3.5, 0], atol=1e-12)
    with pytest.raises(da.SimulationError, match=r"friction of `floor` comes to rest .* at about t = 0.666667"):
        motion((0, 0), (2, 0), {"mu": 0.3})
    with pytest.raises(da.SimulationError, match=r"friction of `floor` comes to rest .* at about t = 0\."):
        motion((0, 0), (0, 0), {"mu": 0.3})


def test_refusals() -> None:
    with pytest.raises(da.InputError, match=r"`system` must be a `da.System`"):
        da.flow(3, (0, 1))
    motion = da.flow(da.System((x,), [[1]], (-g * x,)), (0, 1), max_steps=2)
    for numbers, message in {
        ((1.0,), (0.0,), None): "missing: `g`",
        ((1.0, 2.0), (0.0,), g): r"`q0` must have one entry per coordinate \(1: `x`\); got 2",
        ((1.0,), (np.nan,), g): "`qd0` must be finite; `x` is not",
    }.items():
        with pytest.raises(da.InputError, match=message):
            motion(*numbers[:2], None if numbers[2] is None else {g: 4.0})
    with pytest.raises(da.InputError, match=r"`q0` must have one entry per coordinate"):
        jax.jacfwd(lambda q: motion(q, [0.0], {g: 1.0})[0])(jnp.zeros(2))
    with pytest.raises(da.SimulationError, match=r"continued to t = 1; it ended .* limit of 2 steps") as caught:
        motion([1.0], [0.0], {g: 4.0})
    assert 0 < caught.value.trajectory.t[-1] < 1
    with pytest.raises(
        Exception, match=r"continued to t = 1; it ended .* limit of 2 steps was reached. Raise `max_steps`"
    ):
        jax.jit(motion)(jnp.ones(1), jnp.zeros(1), {"g": 4.0})


def test_contradictions_are_refused_as_by_simulate() -> None:
    rows = (da.Constraint(xd - 1, name="one"), da.Constraint(xd - 2 * da.t, name="two"))
    with pytest.raises(da.ConstraintError, match="`one`, `two` contradict one another"):
        da.flow(da.System((x,), [[1]], (0,), rows), (0, 1), allow_violation=True)([0.0], [1.0], {})


def test_a_start_off_the_constraints_is_refused_as_by_simulate() -> None:
    """With numbers by its name; under ``jit``, where numbers are not known, all the same."""
    motion, (q0, qd0) = da.flow(pendulum(), TIMES), start(0.8, 0.5)
    off = [1.1 * q0[0], q0[1]]
    with pytest.raises(da.StateError, match="`rod` is violated"):
        motion(off, qd0, NUMBERS)
    with pytest.raises(Exception, match="the initial state must satisfy the constraints; `rod` is violated"):
        jax.block_until_ready(jax.jit(motion)(jnp.array(off), jnp.array(qd0), NUMBERS))
    q, _ = da.flow(pendulum(), TIMES, allow_violation=True)(off, qd0, NUMBERS)
    np.testing.assert_allclose(np.linalg.norm(q[1:], axis=1), 1, atol=1e-12)


def test_a_flow_stops_where_a_force_jumps() -> None:
    """A unit force from t = 1/3 on moves a unit mass by (1 − 1/3)²/2 until t = 1."""
    k = da.parameters("k")
    motion = da.flow(da.System((x,), [[1]], (k * sp.Heaviside(da.t - sp.Rational(1, 3)),)), (0, 1), max_steps=256)
    end, slope = jax.jit(jax.value_and_grad(lambda k: motion([0.0], [0.0], {"k": k})[0][-1, 0]))(2.0)
    np.testing.assert_allclose([end, slope], [4 / 9, 2 / 9], rtol=1e-9)


def test_fixed_steps_must_be_allowed_for() -> None:
    with pytest.raises(da.InputError, match="`max_steps` must allow for the steps asked for, 10000 and more; got 1024"):
        da.flow(da.System((x,), [[1]], (-x,)), (0, 1), step=1e-4)


@pytest.mark.parametrize("way", [{}, {"step": 0.01}, {"drift": None}], ids=str)
@pytest.mark.parametrize("law", [3 * sp.Heaviside(da.t - 1), sp.Piecewise((0, da.t < 1), (3, True))], ids=str)
def test_a_flow_follows_a_prescribed_velocity_that_jumps(law: sp.Expr, way: dict) -> None:
    """As a run does, with an output at the jump; x + y is 3 (t − 1) beyond it, and x − y goes on as if nothing was."""
    ramp = da.Constraint((x + y).diff(da.t) - law, name="ramp")
    system, times = da.System((x, y), sp.eye(2), (-x, -y), ramp), [0.0, 1.0, 2.0]
    q, qd = da.flow(system, times, **way)([0.5, -0.5], [0.0, 0.0], {})
    run = da.simulate(system, (0.5, -0.5), (0, 0), times)
    np.testing.assert_allclose(q, run.q, atol=1e-9)
    np.testing.assert_allclose(qd, run.qd, atol=1e-9)
    assert run.q[-1].sum() == pytest.approx(3)


def test_a_flow_refuses_jumps_that_it_cannot_follow_by_name() -> None:
    parameter = da.parameters("begin")
    late = da.Constraint((x + y).diff(da.t) - sp.Piecewise((0, da.t < parameter), (3, True)), name="ramp")
    moving = da.flow(da.System((x, y), sp.eye(2), (-x, -y), late), [0, 2], max_steps=100)
    with pytest.raises(da.SimulationError, match="must not depend on parameters; those with `begin` jump at t = 1"):
        moving([0.5, -0.5], [0.0, 0.0], {"begin": 1.0})
    rail = da.Constraint(x + y - 3 * sp.Heaviside(da.t - 1), name="rail")
    with pytest.raises(da.SimulationError, match="prescribe must not jump; at t = 1 they do: `rail` by 3"):
        da.flow(da.System((x, y), sp.eye(2), (-x, -y), rail), [0, 2], max_steps=100)([0.5, -0.5], [0.0, 0.0], {})


def test_derivatives_at_a_force_that_jumps_with_the_state_are_refused() -> None:
    """x″ = −k sign x, two parabolas: the derivatives left out the instant of the jump."""
    q, k = da.coordinates("q"), da.parameters("k")
    motion = da.flow(da.System((q,), [[1]], (-k * sp.sign(q),)), [0, 2])

    def end(k: Any) -> Any:
        return motion([1.0], [0.3], {"k": k})[0][-1, 0]

    speed = np.sqrt(0.3**2 + 6)
    left = 2 - (0.3 + speed) / 3
    assert end(3.0) == pytest.approx(-speed * left + 1.5 * left**2, abs=1e-7)
    for derivative in (jax.grad(end), jax.jit(jax.jacfwd(end))):
        with pytest.raises(jax.errors.JaxRuntimeError, match=r"SimulationError: .* t = 0\.922598 one does, where `q`"):
            derivative(3.0)
    with pytest.raises(jax.errors.JaxRuntimeError, match="where `q` vanishes"):
        jax.vmap(jax.grad(end))(np.array([0.1, 3.0]))
    # 1 + 0.3 t − k t²/2 while it does not jump
    np.testing.assert_allclose(jax.vmap(jax.grad(end))(np.array([0.1, 0.2])), -2.0, rtol=1e-8)


def test_derivatives_at_a_kink_are_not_refused() -> None:
    """x″ = −k x|x| to its first zero and beyond, against differences."""
    q, k = da.coordinates("q"), da.parameters("k")
    motion = da.flow(da.System((q,), [[1]], (-k * q * sp.Abs(q),)), [0, 2], rtol=1e-11)

    def end(k: Any) -> Any:
        return motion([1.0], [0.3], {"k": k})[0][-1, 0]

    assert jax.grad(end)(3.0) == pytest.approx(float(end(3.0001) - end(2.9999)) / 2e-4, rel=1e-5)
