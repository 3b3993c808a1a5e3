"""Coefficients that would add energy, and sliding velocities that must not be guessed."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da

x, y, z = da.coordinates("x y z")
xd, yd, zd = (q.diff(da.t) for q in (x, y, z))
mu, c = da.parameters("mu c")

NEGATIVE = {
    r"`coefficient` of Viscous must not be negative, or it adds energy; got -1": lambda: da.Viscous(-1),
    r"`coefficient` of Quadratic must not be negative.*got -0.5": lambda: da.Quadratic(-0.5),
    r"`mu` of Coulomb must not be negative.*got -0.1": lambda: da.Coulomb(-0.1),
    r"`mu_static` of Coulomb must not be negative.*got -0.2": lambda: da.Coulomb(0.1, mu_static=-0.2),
    r"`mu` of Stribeck must not be negative.*got -1": lambda: da.Stribeck(-1, 0.2, 1),
    r"`mu_static` of Stribeck must not be negative.*got -1": lambda: da.Stribeck(0.1, -1, 1),
    r"`damping` of Spring must not be negative.*got -2": lambda: da.Spring(
        da.ground.at(0, 0), da.Particle("m", 1, (1, 0)), stiffness=-1, damping=-2
    ),
    r"`quadratic` of Drag must not be negative.*got -3": lambda: da.Drag(da.Particle("m", 1, (1, 0)), quadratic=-3),
}


@pytest.mark.parametrize("message", NEGATIVE)
def test_negative_coefficients_are_refused_where_they_are_given(message: str) -> None:
    with pytest.raises(da.ModelError, match=message):
        NEGATIVE[message]()


def floor(law: object, *force: object) -> da.System:
    return da.System((x, y), sp.eye(2), force or (0, -10), da.Constraint(y, name="floor", nonideal=law))


SYSTEMS = {
    r"`mu` of Coulomb of `floor` must not be negative, or the law adds energy; got -1 from `mu` = -1": (
        floor(da.Coulomb(mu)),
        {"mu": -1},
    ),
    r"`coefficient` of Viscous of `floor` must not be negative.*got -2 from `c` = 1": (
        floor(da.Viscous(c - 3, velocity=xd)),
        {"c": 1},
    ),
    r"`speed` of Stribeck of `floor` must be positive; got 0 from `c` = 0": (
        floor(da.Stribeck(0.1, 0.2, c)),
        {"c": 0},
    ),
    r"`damping` of Spring must not be negative.*got -1 from `c` = -1": (
        da.Mechanism(
            da.Particle("m", 1, (1, 0)), (), da.Spring(da.ground.at(0, 0), da.Particle("m", 1, (1, 0)), -5, damping=c)
        ).system,
        {"c": -1},
    ),
}


VERBS = {
    "simulate": lambda system, numbers: da.simulate(system, (1, 0), (1, 0), (0, 1), parameters=numbers),
    "motion": lambda system, numbers: da.motion(system, (1, 0), (1, 0), parameters=numbers),
    "flow": lambda system, numbers: da.flow(system, [0, 1])((1, 0), (1, 0), numbers),
}


@pytest.mark.parametrize("message", SYSTEMS)
@pytest.mark.parametrize("verb", VERBS)
def test_parameters_that_make_a_coefficient_negative_are_refused(message: str, verb: str) -> None:
    with pytest.raises(da.InputError, match=message):
        VERBS[verb](*SYSTEMS[message])


def test_a_coefficient_that_changes_on_the_way_is_left_to_the_user() -> None:
    """It may be negative for a while, as that of a self-excited oscillator is; zero is no negative number."""
    da.simulate(floor(da.Viscous(x**2 - 1, velocity=xd), -x, -10), (0.1, 0), (0, 0), (0, 1))
    run = da.simulate(floor(da.Coulomb(mu)), (0, 0), (1, 0), (0, 2), parameters={"mu": 0})
    assert run["x"][-1] == pytest.approx(2, abs=1e-12)


def test_members_with_a_negative_coefficient_say_so() -> None:
    many = da.simulate_ensemble(
        floor(da.Viscous(c, velocity=xd)), (0, 0), (1, 0), [0, 1], parameters={"c": [0.5, -0.5, 1.0]}
    )
    assert [bool(reason) for reason in many["reason"].values] == [False, True, False]
    assert "`coefficient` of Viscous of `floor` must not be negative" in str(many["reason"].values[1])
    assert np.isnan(many["q"].values[1]).all()


def ring(**law: object) -> da.System:
    """A bead on a hoop of radius 0.6 that turns at 5 rad/s: a rough sphere and a smooth plane through its axis."""
    sphere = da.Constraint(x**2 + y**2 + z**2 - 0.36, name="sphere", nonideal=da.Coulomb(0.3, **law))
    plane = da.Constraint(y * sp.cos(5 * da.t) - x * sp.sin(5 * da.t), name="plane")
    return da.System((x, y, z), sp.eye(3), (0, 0, -10), (sphere, plane))


def test_a_particle_on_something_that_moves_must_be_told_its_sliding_velocity() -> None:
    message = r"Coulomb of `sphere` must be given its `velocity`, relative to .*: `plane`, .* moves with time"
    with pytest.raises(da.ModelError, match=message):
        ring()
    lever = da.coordinates("phi")
    tied = da.Constraint(y - x * sp.tan(lever), name="lever")
    sphere = da.Constraint(x**2 + y**2 + z**2 - 1, name="sphere", nonideal=da.Viscous(0.3))
    with pytest.raises(da.ModelError, match=r"its `velocity`, .*`lever`, which holds .*, depends on `phi` too"):
        da.System((x, y, z, lever), sp.diag(1, 1, 1, 2), (0, 0, -10, 0), (sphere, tied))
    fixed = da.System((x, y, z), sp.eye(3), (0, 0, -10), (sphere, da.Constraint(y - x, name="plane")))
    assert fixed.laws[0].law.velocity == (xd, yd, zd)


@pytest.mark.parametrize("relative", [True, False])
def test_relative_and_absolute_velocity_on_a_turning_hoop(relative: bool) -> None:
    """R θ̈ = R ω² sin θ cos θ − g sin θ − μ N v_θ/(m|v|), N of the sphere; what was guessed is off by 0.1 rad."""
    radius, turn, friction, gravity = 0.6, 5.0, 0.3, 10.0

    def swing(t: float, u: np.ndarray) -> list[float]:
        s, c = np.sin(u[0]), np.cos(u[0])
        normal = radius * (u[1] ** 2 + turn**2 * s**2) + gravity * c
        share = np.sign(u[1]) if relative else u[1] / np.hypot(u[1], turn * s)
        return [u[1], turn**2 * s * c - gravity / radius * s - friction * normal / radius * share]

    exact = solve_ivp(swing, (0, 0.3), (0.4, 3.0), method="DOP853", rtol=1e-12, atol=1e-12)
    sliding = xd + 5 * y, yd - 5 * x, zd  # less ω × r
    system = ring(velocity=sliding if relative else (xd, yd, zd))
    s, c = np.sin(0.4), np.cos(0.4)
    start = radius * np.array([s, 0, -c]), radius * np.array([3 * c, 5 * s, 3 * s])
    run = da.simulate(system, *start, (0, 0.3))
    assert np.arccos(-run.q[-1, 2] / radius) == pytest.approx(exact.y[0, -1], abs=1e-9)
    assert exact.y[0, -1] == pytest.approx(0.98571511 if relative else 1.10060522, abs=1e-8)


def test_small_motions_about_a_place_where_dry_friction_rests_are_refused() -> None:
    """A pendulum with a rough rod: it would be said to swing for ever."""
    rod = da.Constraint(x**2 + y**2 - 1, name="rod", nonideal=da.Coulomb(0.1))
    pendulum = da.System((x, y), sp.eye(2), (0, -10), rod)
    with pytest.raises(
        da.StateError, match=r"small motions must be smooth; .* friction of `rod` is at rest.*smoothing"
    ):
        da.linearize(pendulum, (0, -1))
