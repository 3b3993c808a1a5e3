"""Laws of single constraints: sliding velocity, normal force, and what must not be guessed."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from helpers import (
    ALL_FORMULATIONS,
    CHAIN_NUMBERS,
    accelerations_and_forces,
    chain,
    chain_state,
    label,
    null_space,
)

x, y, z = da.coordinates("x y z")
xd, yd, zd = (q.diff(da.t) for q in (x, y, z))
r, theta = da.coordinates("r theta")
STATE = {"q": (0.3, 0.09), "qd": (1.0, 0.6)}


def bead(*laws: object, **changes: object) -> da.System:
    """A unit mass on the wire z = x² under gravity."""
    wire = da.Constraint(z - x**2, name="wire", nonideal=laws)
    fields = {"coordinates": (x, z), "mass_matrix": sp.eye(2), "applied_force": (0, -10), "constraints": wire}
    return da.System(**(fields | changes))


def test_coulomb_on_a_cartesian_particle_is_the_law_written_by_hand() -> None:
    force = sp.sqrt(da.ideal_force(x) ** 2 + da.ideal_force(z) ** 2)
    by_hand = [-0.2 * force * v / sp.sqrt(xd**2 + zd**2) for v in (xd, zd)]
    one = da.motion(bead(da.Coulomb(0.2)), **STATE)
    other = da.motion(bead(nonideal=by_hand), **STATE)
    for field in ("acceleration", "ideal_force", "nonideal_force", "nonideal"):
        np.testing.assert_allclose(getattr(one, field), getattr(other, field), atol=1e-14)


def test_the_same_friction_in_polar_coordinates() -> None:
    """The law of a Cartesian particle on a circle, against velocity and normal force given for (r, θ)."""
    circle = da.Constraint(x**2 + y**2 - 4, name="circle", nonideal=da.Coulomb(0.3))
    cartesian = da.System((x, y), 2 * sp.eye(2), (0, -20), circle)
    law = da.Coulomb(0.3, velocity=r * theta.diff(da.t), normal_force=da.multiplier("circle"))
    kinetic = r.diff(da.t) ** 2 + r**2 * theta.diff(da.t) ** 2
    polar = da.System.from_lagrangian(
        kinetic - 20 * r * sp.sin(theta), (r, theta), constraints=da.Constraint(r - 2, name="circle", nonideal=law)
    )
    angle, rate = 0.7, -1.3
    c, s = np.cos(angle), np.sin(angle)
    one = da.motion(cartesian, (2 * c, 2 * s), (-2 * s * rate, 2 * c * rate))
    other = da.motion(polar, (2, angle), (0, rate))
    tangent = np.array([-s, c])
    np.testing.assert_allclose(tangent @ one.nonideal_force, other.nonideal_force[1] / 2, atol=1e-13)
    np.testing.assert_allclose(tangent @ one.acceleration, 2 * other.acceleration[1], atol=1e-13)


@pytest.mark.parametrize("formulation", ALL_FORMULATIONS, ids=label)
@pytest.mark.parametrize("normal", ["ideal", "actual"])
def test_all_formulations_and_engines_agree(formulation: da.Factored, normal: str) -> None:
    """Two wires' worth of constraints, one with friction, in space."""
    rough = da.Constraint(z - x**2 - y, name="rough", nonideal=(da.Coulomb(0.2, normal=normal), da.Viscous(0.1)))
    system = da.System((x, y, z), 2 * sp.eye(3), (1, 0, -10), (rough, da.Constraint(y - sp.sin(x), name="smooth")))
    q, qd = da.consistent_state(system, (0.3, 0.3, 0.4), (1, 1, 1))
    point = da.motion(system, q, qd, formulation=formulation)
    engine = da.build(system).engine
    rows = engine.select_rows(jnp.asarray(q), jnp.asarray(qd), 0.0, ()).rows
    found = engine.acceleration(jnp.asarray(q), jnp.asarray(qd), 0.0, (), rows, None)
    np.testing.assert_allclose(found, point.acceleration, atol=1e-12)
    for v in null_space(np.asarray(point.constraint_matrix)).T:
        np.testing.assert_allclose(point.virtual_work(v), v @ point.nonideal, atol=1e-12)


def test_stribeck_falls_from_static_to_sliding_friction() -> None:
    law = da.Stribeck(mu=0.1, mu_static=0.3, speed=2.0)
    ratios = []
    for speed in (1e-9, 2.0, 200.0):
        point = da.motion(bead(law), (0, 0), (speed, 0))
        ratios.append(-float(point.nonideal_force[0] / point.ideal_force[1]))
    np.testing.assert_allclose(ratios, [0.3, 0.1 + 0.2 / np.e, 0.1], rtol=1e-12)


def test_smoothing_is_the_width_that_was_asked_for() -> None:
    point = da.motion(bead(da.Coulomb(0.2, smoothing=4.0)), (0, 0), (3, 0))
    np.testing.assert_allclose(point.nonideal_force, [-0.2 * 28 * 3 / 5, 0], atol=1e-13)


def test_friction_in_a_pin_that_two_constraints_hold() -> None:
    """A physical pendulum as a free body pinned at the origin, against its equation in the angle alone."""
    length, mass, inertia, radius, mu, g = 0.7, 2.0, 0.3, 0.05, 0.4, 9.81
    rate = theta.diff(da.t)
    pull = sp.sqrt(da.multiplier("pin x") ** 2 + da.multiplier("pin y") ** 2)
    pin = (
        da.Constraint(x - length * sp.sin(theta), name="pin x"),
        da.Constraint(
            y + length * sp.cos(theta), name="pin y", nonideal=da.Coulomb(mu, radius * rate, pull, normal="ideal")
        ),
    )
    body = da.System((x, y, theta), sp.diag(mass, mass, inertia), (0, -mass * g, 0), pin)
    angle, turn = 0.8, -1.5
    s, c = np.sin(angle), np.cos(angle)
    point = da.motion(body, (length * s, -length * c, angle), (length * c * turn, length * s * turn, turn))
    whole = inertia + mass * length**2
    smooth = -mass * g * length * s / whole
    normal = mass * (length * smooth * np.array([c, s]) + length * turn**2 * np.array([-s, c]) + np.array([0, g]))
    expected = smooth - mu * radius * np.linalg.norm(normal) * np.sign(turn) / whole
    np.testing.assert_allclose(point.acceleration[2], expected, rtol=1e-12)


def test_formulas_left_in_letters_know_the_multipliers() -> None:
    system = chain(4)
    q = system.coordinates
    turning = q[0] * q[1].diff(da.t) - q[1] * q[0].diff(da.t)
    rods = list(system.constraints)
    pull = sp.sqrt(da.multiplier("rod 1") ** 2 + da.multiplier("rod 2") ** 2)
    rods[0] = replace(rods[0], nonideal=da.Coulomb(0.3, turning, da.multiplier("rod 0"), normal="ideal"))
    rods[2] = replace(rods[2], nonideal=da.Coulomb(0.2, turning + q[3].diff(da.t), pull, normal="ideal"))
    rough = replace(system, constraints=rods)
    derivation = da.derive(rough)
    assert not derivation.expanded
    assert any("denotes its multiplier in the ideal problem" in note for note in derivation.notes)
    state = (*chain_state(4), 0.0, CHAIN_NUMBERS)
    point = da.motion(rough, *state[:3], parameters=CHAIN_NUMBERS)
    np.testing.assert_allclose(derivation.at(*state).nonideal_force, point.nonideal_force, atol=1e-12)


LAWS = {
    "Coulomb": da.Coulomb(0.2),
    "one component": da.Coulomb(0.2, velocity=xd),
    "smoothed": da.Coulomb(0.2, smoothing=0.1),
    "ideal": da.Coulomb(0.2, normal="ideal"),
    "Stribeck": da.Stribeck(0.1, 0.3, 2.0),
    "Quadratic": da.Quadratic(0.2),
    "Viscous": da.Viscous(0.2),
}


@pytest.mark.parametrize("law", LAWS)
def test_at_rest_force_is_zero_and_derivatives_are_finite(law: str) -> None:
    dynamics = da.build(bead(LAWS[law]))
    rest, q = jnp.zeros(2), jnp.array([0.3, 0.09])

    def acceleration(q: jax.Array, qd: jax.Array) -> jax.Array:
        return dynamics.engine.acceleration(q, qd, 0.0, (), dynamics.engine.select_rows(q, qd, 0.0, ()).rows, None)

    ideal = accelerations_and_forces(bead(), *map(np.atleast_2d, (q, rest)), np.zeros(1), {}, None)["acceleration"][0]
    both_ways = (derivative(acceleration, argnums=(0, 1)) for derivative in (jax.jacfwd, jax.jacrev))
    functions = (acceleration, *both_ways)
    found, *slopes = jax.jit(lambda q, qd: [function(q, qd) for function in functions])(q, rest)
    np.testing.assert_allclose(found, ideal, atol=1e-14)
    assert all(np.isfinite(slope).all() for slope in jax.tree.leaves(slopes))


def test_virtual_work_by_constraint() -> None:
    """Each constraint does the work of its own laws, those of the whole system do the rest."""
    floor = da.Constraint(z, name="floor", nonideal=da.Coulomb(0.5))
    rail = da.Constraint(y - x, name="rail", nonideal=(da.Viscous(0.1, velocity=(xd, yd)), da.Proportional(3)))
    system = da.System((x, y, z), 2 * sp.eye(3), (0, 0, -20), (floor, rail), nonideal=da.Quadratic(0.01))
    point = da.motion(system, (1, 1, 0), (2, 2, 0))
    v = np.array([1.0, 1.0, 0.0])
    speed = np.sqrt(8)
    np.testing.assert_allclose(point.virtual_work(v, of="floor"), -0.5 * 20 * np.sqrt(2), atol=1e-12)
    np.testing.assert_allclose(point.virtual_work(v, of="rail"), -0.1 * 4, atol=1e-12)
    np.testing.assert_allclose(
        point.virtual_work(v) - point.virtual_work(v, of="floor"), -0.4 - 0.04 * speed, atol=1e-12
    )
    assert point.laws == (("", "Quadratic"), ("floor", "Coulomb"), ("rail", "Viscous"), ("rail", "Proportional"))
    np.testing.assert_allclose(np.sum(point.law_forces, axis=0), point.nonideal_force, atol=1e-13)
    np.testing.assert_allclose(point.law_forces[3], 0, atol=1e-13)
    with pytest.raises(da.InputError, match=r"has a nonideal law \(`floor`, `rail`\); got 'wall'"):
        point.virtual_work(v, of="wall")


def test_a_law_of_ones_own_with_multipliers() -> None:
    """Föppl's brake: friction that saturates, C = −k N²/(1 + N²) along the wire."""
    normal = da.multiplier("wire") * sp.sqrt(1 + 4 * x**2)
    own = [-0.7 * normal**2 / (1 + normal**2) * v for v in (xd, zd)]
    point = da.motion(bead(da.Prescribed(own)), **STATE)
    N = np.linalg.norm(point.ideal_force)
    np.testing.assert_allclose(point.nonideal, -0.7 * N**2 / (1 + N**2) * np.array(STATE["qd"]), atol=1e-13)


def double_rod(law: object, *, twice: str) -> da.System:
    """A particle on a sphere and a plane, one of them stated twice."""
    sphere = da.Constraint(x**2 + y**2 + z**2 - 1, name="sphere", nonideal=law)
    plane = da.Constraint(x + y, name="plane")
    again = {"sphere": 3 * (x**2 + y**2 + z**2 - 1), "plane": 2 * x + 2 * y}[twice]
    return da.System((x, y, z), sp.eye(3), (0, 0, -10), (sphere, plane, da.Constraint(again, name="again")))


ON_THE_PLANE = {"q": (0.6, -0.6, np.sqrt(0.28)), "qd": (np.sqrt(0.28), -np.sqrt(0.28), -1.2)}
OPEN = (
    r"normal force of a nonideal law must be determined; the multiplier of `sphere` is not unique.*"
    r"Leave the redundant ones out"
)


def test_a_normal_force_that_redundancy_leaves_open_is_refused() -> None:
    regular = double_rod(da.Coulomb(0.1), twice="plane")
    alone = regular.__class__(regular.coordinates, sp.eye(3), (0, 0, -10), regular.constraints[:2])
    expected = da.motion(alone, **ON_THE_PLANE).acceleration
    np.testing.assert_allclose(da.motion(regular, **ON_THE_PLANE).acceleration, expected, atol=1e-12)
    with pytest.raises(da.ConstraintError, match=OPEN):
        da.motion(double_rod(da.Coulomb(0.1), twice="sphere"), **ON_THE_PLANE)
    with pytest.raises(da.ConstraintError, match=OPEN):
        da.derive(double_rod(da.Coulomb(0.1, normal="ideal"), twice="sphere"))


@pytest.mark.slow
def test_a_normal_force_that_redundancy_leaves_open_is_refused_along_a_motion() -> None:
    """By the general integrator, whose programs take long to compile."""
    run = da.simulate(double_rod(da.Coulomb(0.1), twice="plane"), *ON_THE_PLANE.values(), (0, 0.1))
    assert run.rank[-1] == 2
    with pytest.raises(da.ConstraintError, match=OPEN):
        da.simulate(double_rod(da.Coulomb(0.1), twice="sphere"), *ON_THE_PLANE.values(), (0, 0.1))


def rough(**arguments: object) -> da.System:
    return bead(da.Coulomb(0.2, **arguments))


MESSAGES = {
    r"Coulomb of `hoop` must be given its `velocity`: the sliding velocity.*`theta` cannot be identified": lambda: (
        da.System((r, theta), sp.diag(1, r**2), (0, 0), da.Constraint(theta, name="hoop", nonideal=da.Coulomb(1)))
    ),
    r"Coulomb of `hoop` must be given its `normal_force`: .*`da.multiplier\(\"hoop\"\)`.*Cartesian": lambda: da.System(
        (r, theta),
        sp.diag(1, r**2),
        (0, 0),
        da.Constraint(r - 1, name="hoop", nonideal=da.Coulomb(1, velocity=theta.diff(da.t))),
    ),
    r"Coulomb of `wire` must be given its `velocity` relative to the surface, because .* moves with time": lambda: bead(
        constraints=da.Constraint(z - da.t * x, name="wire", nonideal=da.Coulomb(1))
    ),
    r"law Coulomb must be given its `velocity`, `normal_force`, or be the law of a constraint": lambda: bead(
        nonideal=da.Coulomb(1)
    ),
    r"the `velocity` of the nonideal law Coulomb of `wire` must be linear.*`x'\*\*2` is not": lambda: rough(
        velocity=xd**2
    ),
    r"the `velocity` of the nonideal law Coulomb of `wire` must be linear.*`x` is not": lambda: rough(velocity=x),
    r"`velocity` must be an expression, or a sequence of them; got \(\)": lambda: rough(velocity=()),
    r"`normal` must be \"ideal\" or \"actual\"; got 'real'": lambda: rough(normal="real"),
    r"`speed` must be positive, the speed scale on which friction falls; got 0": lambda: da.Stribeck(0.2, 0.4, 0),
    r"`smoothing` must be a positive width, or None for no smoothing; got 0": lambda: rough(smoothing=0),
    r"the `normal_force` of the nonideal law Coulomb of `wire` must be linear in `da.multiplier`s": lambda: rough(
        normal="actual", normal_force=da.multiplier("wire") ** 2
    ),
    r"`da.multiplier` must name only constraints of the model; `wier` is unknown. Did you mean `wire`": lambda: rough(
        normal_force=da.multiplier("wier")
    ),
    r"`applied_force` must not contain `da.multiplier`": lambda: bead(applied_force=(da.multiplier("wire"), 0)),
    r"constraint `wire`: `nonideal` must be a law, several laws, or one expression per coordinate; got 3": lambda: (
        da.Constraint(z, name="wire", nonideal=3)
    ),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_messages(message: str) -> None:
    with pytest.raises(da.ModelError, match=message):
        MESSAGES[message]()


def test_velocity_of_one_particle_among_others_is_found_by_its_mass() -> None:
    """A bead on a wire and another body of another mass: the wire's friction is the bead's alone."""
    m, M = da.parameters("m M")
    wire = da.Constraint(z - x**2, name="wire", nonideal=da.Coulomb(0.2))
    system = da.System((x, z, y), sp.diag(m, m, M), (0, -10 * m, 0), wire)
    assert system.laws[0].law.velocity == (xd, zd)
    assert system.laws[0].remark == "Coulomb of `wire` takes `x`, `z` for the Cartesian coordinates of one particle."
    with pytest.raises(da.ModelError, match="must be given its `velocity`") as caught:
        da.System((x, z, y, r), m * sp.eye(4), (0, 0, 0, 0), wire)
    assert "must be given its `normal_force`" in caught.value.problems[1]


def test_a_check_refuses_a_negative_coefficient() -> None:
    a, b, c = *da.coordinates("a b"), da.parameters("c")
    damped = da.System((a, b), sp.eye(2), (0, 0), da.Constraint(a + b, name="rail"), nonideal=da.Viscous(c))
    with pytest.raises(da.InputError, match=r"must not be negative.*got -1 from `c` = -1"):
        da.check(damped, parameters={"c": -1})
    assert da.check(damped, parameters={"c": 1}).well_posed
