"""Findings on servo constraints: realisation, relative degree, starts, limits and internal dynamics."""

from __future__ import annotations

import time

import numpy as np
import pytest
import sympy as sp

import dalembert as da

t = da.t
x, y = da.coordinates("x y")
PUSH = da.Actuator("push", x)


def system(*servos: da.Servo, force: object = (0, 0), constraints: object = (), mass: object = None) -> da.System:
    return da.System((x, y), sp.eye(2) if mass is None else mass, force, constraints, servos=servos)


def about(verdict: da.Verdict, subject: str) -> str:
    return " ".join(finding.message for finding in verdict.findings if finding.about == subject)


def two_masses() -> da.System:
    m1, m2, k = da.parameters("m1 m2 k")
    servo = da.Servo("follow", y - sp.sin(t), by=PUSH, settle=2.0)
    return system(servo, force=(-k * (x - y), k * (x - y)), mass=sp.diag(m1, m2))


def crane() -> da.System:
    q = x, rope, theta = da.coordinates("x l theta")
    X, Z = x + rope * sp.sin(theta), -rope * sp.cos(theta)
    L = 5 * x.diff(t) ** 2 / 2 + rope.diff(t) ** 2 / 4 + (X.diff(t) ** 2 + Z.diff(t) ** 2) / 2 - 9.81 * Z
    by = da.Actuator("trolley", x), da.Actuator("winch", rope)
    servo = da.Servo("load", (X - sp.sin(t) / 3, Z + 2), by=by, settle=3.0)
    return da.System.from_lagrangian(L, q, servos=servo)


def elastic_arm(damping: float = 0.0, height: object = 0, **changes: object) -> da.System:
    """Two equal rods with a spring in place of the second motor; the height of the tip is required."""
    a, b = da.coordinates("a b")
    k = da.parameters("k")
    x1, y1 = sp.cos(a) / 2, sp.sin(a) / 2
    x2, y2 = sp.cos(a) + sp.cos(a + b) / 2, sp.sin(a) + sp.sin(a + b) / 2
    T = (x1.diff(t) ** 2 + y1.diff(t) ** 2 + x2.diff(t) ** 2 + y2.diff(t) ** 2) / 2
    T += (a.diff(t) ** 2 + (a + b).diff(t) ** 2) / 24
    tip = sp.sin(a) + sp.sin(a + b) - height
    servo = da.Servo("tip", tip, by=da.Actuator("motor", a), settle=4.0)
    options = {"applied_force": (0, -damping * b.diff(t)), "servos": servo, **changes}
    return da.System.from_lagrangian(sp.expand((T - k * b**2 / 2).doit()), (a, b), **options)


def test_relative_degree_four_and_no_internal_dynamics():
    for model, degrees in ((two_masses(), {"follow": 4}), (crane(), {"load[0]": 4, "load[1]": 2})):
        begin = time.process_time()
        verdict = da.check(model)
        assert time.process_time() - begin < 10
        assert verdict.well_posed
        assert verdict.relative_degree == degrees
        name = next(iter(degrees)).partition("[")[0]
        text = about(verdict, f"servo `{name}`")
        assert "Tangent realisation" in text
        assert "2 conditions on higher derivatives: `da.consistent_state(..., servos=True)` finds" in text
        assert about(verdict, "internal dynamics") == (
            f"With `{name}` met, no motion remains: the requirements determine it."
        )
        assert verdict.degrees_of_freedom == len(model.coordinates)  # the ordinary verdict as well


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_tip_of_an_elastic_arm_is_not_minimum_phase(damping):
    k = 5.0
    verdict = da.check(elastic_arm(damping), parameters={"k": k})
    assert verdict.well_posed  # the motion exists and is unique
    text = about(verdict, "internal dynamics")
    assert "of dimension 2 remains. It is unstable about a = " in text
    assert "(non-minimum phase)" in text
    # by hand: the tip stays if 2 δa + δb = 0, and the second row of M q̈ = −K q − damping is (M21, M22) = (5/6, 1/3)
    inertia = 1 / 3 - 5 / 6 / 2
    by_hand = np.sort(np.roots([inertia, damping, k]))
    np.testing.assert_allclose(np.sort(verdict.internal_eigenvalues.real), by_hand, rtol=1e-9)
    for value in by_hand:
        assert f"{value:.3g}" in text


def test_internal_dynamics_does_not_depend_on_the_coordinates():
    """The same arm in the coordinates of its two bodies, with joints as constraints, one of them stated twice."""
    q = x1, y1, a1, x2, y2, a2 = da.coordinates("x1 y1 a1 x2 y2 a2")
    half = sp.Rational(1, 2)
    joints = [x1 - half * sp.cos(a1), y1 - half * sp.sin(a1)]
    joints += [x1 + half * sp.cos(a1) - x2 + half * sp.cos(a2), y1 + half * sp.sin(a1) - y2 + half * sp.sin(a2)]
    spring = 5 * (a2 - a1)
    servo = da.Servo("tip", y2 + half * sp.sin(a2), by=da.Actuator("motor", a1), settle=4.0)
    mass = sp.diag(1, 1, sp.Rational(1, 12), 1, 1, sp.Rational(1, 12))
    constraints = [da.Constraint(e, name=f"joint {i}") for i, e in enumerate((*joints, joints[0] + joints[1]))]
    verdict = da.check(da.System(q, mass, (0, 0, spring, 0, 0, -spring), constraints, servos=servo))
    assert "It is unstable about x1 = " in about(verdict, "internal dynamics")
    np.testing.assert_allclose(verdict.internal_eigenvalues, [np.sqrt(60), -np.sqrt(60)], rtol=1e-8)


def test_unstable_for_sampled_parameters():
    verdict = da.check(elastic_arm())
    assert "Pass `parameters` to decide it for their values." in about(verdict, "internal dynamics")


def test_a_motor_at_the_elbow_removes_the_finding():
    a, b = da.coordinates("a b")
    motors = da.Actuator("shoulder", a), da.Actuator("elbow", b)
    servo = da.Servo("tip", sp.sin(a) + sp.sin(a + b), by=motors, settle=4.0)
    verdict = da.check(elastic_arm(0.3, servos=servo), parameters={"k": 5.0})
    assert "unstable" not in about(verdict, "internal dynamics")
    assert (verdict.internal_eigenvalues.real < 1e-6).all()


def test_closed_loop_eigenvalues_are_those_of_error_and_internal_dynamics():
    servo = da.Servo("follow", x - 1, by=PUSH, settle=3.0)
    model = system(servo, force=(-2 * x + y, x - 2 * y - y.diff(t) / 2))
    verdict = da.check(model)
    by_hand = np.roots([1, 0.5, 2])
    np.testing.assert_allclose(np.sort_complex(verdict.internal_eigenvalues), np.sort_complex(by_hand), atol=1e-9)
    closed = da.linearize(model, (1, 0.5)).eigenvalues
    np.testing.assert_allclose(np.sort_complex(closed), np.sort_complex([-3, -3, *by_hand]), atol=1e-6)
    assert "It decays about x = 1, y = 0.5: eigenvalues -0.25 ± 1.39i." in about(verdict, "internal dynamics")


def test_references_are_held_and_cyclic_coordinates_may_move():
    cruise = da.Servo("cruise", x.diff(t) - sp.sin(t), by=PUSH, settle=2.0)
    verdict = da.check(system(cruise, force=(0, x.diff(t) - y - y.diff(t))), t=0.5)
    values = verdict.internal_eigenvalues  # of x, which is free, and of y
    np.testing.assert_allclose(np.sort_complex(values), np.sort_complex([0, *np.roots([1, 1, 1])]), atol=1e-9)
    speed = f"{np.sin(0.5):.3g}"
    text = about(verdict, "internal dynamics")
    assert f"y = {speed}, x' = {speed}, with references as at t = 0.5" in text
    energy = da.Servo("energy", x.diff(t) ** 2 / 2 + x**2 / 2 - 1, by=PUSH, settle=2.0)
    verdict = da.check(system(energy, force=(-x, -y)))
    assert "dimension 3 remains. It was not linearised, since no steady" in about(verdict, "internal dynamics")
    assert verdict.internal_eigenvalues is None


def test_free_motions_are_not_unstable():
    """A rolling disc, whose zero eigenvalues are defective, and a free third coordinate driven by the second."""
    theta = da.coordinates("theta")
    law = (x.diff(t) - theta.diff(t) * sp.cos(y), y.diff(t) - 1)
    verdict = da.check(da.System((x, y, theta), sp.eye(3), (0, 0, 0), servos=da.Servo("roll", law, settle=1)))
    assert "unstable" not in about(verdict, "internal dynamics")
    chain = da.System((x, y, theta), sp.eye(3), (0, 0, y.diff(t)), servos=da.Servo("s", x - 1, by=PUSH, settle=1))
    verdict = da.check(chain)
    assert "eigenvalues 0, 0, 0, 0." in about(verdict, "internal dynamics")


def test_realisations():
    circle = x**2 + y**2 - 1
    assert "Orthogonal" in about(da.check(system(da.Servo("s", circle, settle=1))), "servo `s`")
    assert "Oblique" in about(da.check(system(da.Servo("s", circle, by=PUSH, settle=1))), "servo `s`")
    # within the rod only one motion is left, so that every force acts as the ideal one
    rod = da.Constraint(circle, name="rod")
    verdict = da.check(system(da.Servo("s", y + 0.5, by=PUSH, settle=1), constraints=rod))
    assert "Orthogonal realisation" in about(verdict, "servo `s`")
    assert "Relative degree 2." in about(verdict, "servo `s`")


def test_starts_and_settling():
    follow = da.Servo("s", x - sp.sin(t), by=PUSH, settle=3.0)
    text = about(da.check(system(follow), (0, 0), (1, 0)), "servo `s`")
    assert "any other error settles with all poles at -3." in text
    assert text.endswith("The given state matches.")
    text = about(da.check(system(follow), (0.25, 0), (1, 0)), "servo `s`")
    assert text.endswith("The given state does not match: `s` is off by 2.5e-01 in the requirement.")
    loose = da.Servo("s", x - sp.sin(t), by=PUSH)
    text = about(da.check(system(loose)), "servo `s`")
    assert "any other error remains or grows, since `settle` is None." in text
    verdict = da.check(two_masses(), (0, 0), (0, 1), 0.0, parameters={"m1": 1, "m2": 1, "k": 4})
    # the third derivative is k/m2 (ẋ1 − ẋ2) = −4, and that of the reference −1
    assert "`follow` is off by -3.0e+00 in a condition on higher" in about(verdict, "servo `follow`")


def test_redundant_and_impossible_requirements():
    verdict = da.check(system(da.Servo("s", (x - 1, 2 * x - 2), by=PUSH, settle=1)))
    assert verdict.well_posed
    assert "`s[1]` follows from the other requirements; it is met with them." in about(verdict, "servo `s`")
    verdict = da.check(system(da.Servo("s", y - 1, by=PUSH, settle=1)))
    assert not verdict.well_posed
    assert about(verdict, "servo `s`") == (
        "servo `s` must be influenced by its actuators; `push` does not act on its derivatives up to order 8. Choose "
        "another actuator, or another requirement: there is no relative degree up to that order."
    )
    one, other = da.Servo("one", x - 1, by=PUSH, settle=1), da.Servo("other", x - 2, by=PUSH, settle=1)
    verdict = da.check(system(one, other))
    assert not verdict.well_posed
    assert "servo `other` must be met by inputs that act on it independently of `one`" in about(
        verdict, "servo `other`"
    )
    gains = da.Servo("s", (y - x, x - 1), by=PUSH, settle=([[1, 0], [0, 1]],) * 2)
    verdict = da.check(system(gains, force=(0, x - y)))
    assert "servo `s[1]` must be met by inputs that act on it independently" in about(verdict, "servo `s`")


def test_states_at_which_inputs_do_not_act():
    rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    model = system(da.Servo("s", y + 0.5, by=PUSH, settle=1), force=(0, -9.81), constraints=rod)
    verdict = da.check(model, (0, -1), (0, 0))
    assert not verdict.well_posed
    found = about(verdict, "inputs")
    assert (
        "At this state servo `s` must be met by inputs of `push`, which at t = 0 have no effect on it, unlike" in found
    )


def test_limits():
    most = da.parameters("most")
    motor = da.Actuator("motor", x, limit=most)
    model = system(da.Servo("s", x - 1, by=motor, settle=3))
    verdict = da.check(model, (0, 0), (0, 0), parameters={"most": 5})
    text = about(verdict, "limits")
    assert "`motor` has a limit: where more is needed, the requirements are not met." in text
    assert "`motor` is at its limit of 5 at this state." in text  # it needs ω² = 9
    assert verdict.well_posed
    assert "at this state" not in about(da.check(model, (0, 0), (0, 0), parameters={"most": 10}), "limits")
    with pytest.raises(da.InputError, match="`limit` of actuator `motor` must be positive; got -1 from `most` = -1"):
        da.check(model, (0, 0), (0, 0), parameters={"most": -1})


def test_servos_do_not_change_the_verdict_on_constraints():
    rods = [da.Constraint(x**2 + y**2 - c, name=f"rod {c}") for c in (1, 2)]
    plain = da.check(da.System((x, y), sp.eye(2), (0, -10), rods), (1, 0), (0, 0))
    steered = da.check(system(da.Servo("s", y, by=PUSH, settle=1), force=(0, -10), constraints=rods), (1, 0), (0, 0))
    assert steered.conflicts == plain.conflicts
    assert set(plain.findings) <= set(steered.findings)
