"""Messages on `da.Projection(conserve=...)`: what is no first integral, and what cannot conserve one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.integration.drift import Drift

t = da.t
x, y = da.coordinates("x y")
k = da.parameters("k")
v = x.diff(t)
ENERGY = da.Projection(conserve="energy")


def oscillator(**further):
    return da.System.from_lagrangian((v**2 - x**2) / 2, (x,), **further)


def run(system=None, drift=ENERGY, q0=(1,), qd0=(0.5,), times=(0, 1, 2), **options):
    return da.simulate(oscillator() if system is None else system, q0, qd0, times, drift=drift, **options)


def conserve(given, **options):
    return run(drift=da.Projection(conserve=given), **options)


CHANGES = r"`conserve` must hold first integrals of the motion; `{}` changes at the rate {} at t = {}\. "
MOTOR = da.Actuator("motor", x)
CART = da.System.from_lagrangian(v**2 / 2, (x,), servos=da.Servo("follow", x - 1, by=MOTOR, settle=3.0))
FREE = (x.diff(t) ** 2 + y.diff(t) ** 2) / 2

NOT_CONSERVED = {
    "damping": (lambda: run(oscillator(applied_force=(-0.2 * v,))), CHANGES.format("energy", "-0.05", 0)),
    "a nonideal law": (
        lambda: run(
            da.System.from_lagrangian(FREE, (x, y), constraints=da.Constraint(y, nonideal=da.Viscous(0.2))),
            q0=(0, 0),
            qd0=(0.5, 0),
        ),
        CHANGES.format("energy", "-0.05", 0),
    ),
    "damping from rest": (
        lambda: run(oscillator(applied_force=(-0.2 * v,)), qd0=(0,)),
        CHANGES.format("energy", r"-0\.\d+", r"[\d.]+"),
    ),
    "damping so weak that a step does not show it": (
        lambda: run(oscillator(applied_force=(-1e-9 * v,))),
        CHANGES.format("energy", "-2.5e-10", 0),
    ),
    "explicit time": (
        lambda: run(da.System.from_lagrangian((v**2 - (1 + t) * x**2) / 2, (x,))),
        CHANGES.format("energy", "0.5", 0),
    ),
    "a pulse between two outputs": (
        lambda: run(oscillator(applied_force=(sp.exp(-100 * (t - 5) ** 2),)), times=(0, 10)),
        CHANGES.format("energy", r"-?[\d.e-]+", r"[\d.]+"),
    ),
    "a drive": (
        lambda: run(
            da.System.from_lagrangian(FREE - x**2, (x, y), constraints=da.Constraint(x - y - sp.sin(t), name="drive")),
            q0=(1, 1),
            qd0=(1, 0),
        ),
        CHANGES.format("energy", r"-?[\d.]+", 0),
    ),
    "an actuator": (lambda: run(CART, q0=(0,), qd0=(1,)), CHANGES.format("energy", "3", 0)),
    "another function": (lambda: conserve(x * v), CHANGES.format("x\\*x'", "-0.75", 0)),
    "one of two": (lambda: conserve(("energy", v)), CHANGES.format("x'", "-1", 0)),
    "a member of an ensemble": (
        lambda: da.simulate_ensemble(
            oscillator(applied_force=(-k * v,)),
            (1,),
            (0.5,),
            (0, 1),
            parameters={"k": np.array([0, 0.1])},
            drift=ENERGY,
        ),
        "member 1: " + CHANGES.format("energy", r"-0\.\d+", 1),
    ),
}


@pytest.mark.parametrize("case", NOT_CONSERVED)
def test_what_the_motion_does_not_conserve_is_refused_with_its_rate(case):
    call, message = NOT_CONSERVED[case]
    with pytest.raises(da.InputError, match=message):
        call()


def test_a_conserved_system_with_the_same_parts_is_accepted():
    """The law behind it: no rate, no refusal, whatever else the system has."""
    assert run(oscillator(applied_force=(-k * v,)), parameters={"k": 0}).energy == pytest.approx(0.625, rel=1e-14)
    assert run(CART, q0=(1,), qd0=(0,)).energy == pytest.approx(0, abs=1e-14)
    at_rest = run(oscillator(), q0=(0,), qd0=(0,))
    assert at_rest.energy == pytest.approx(0, abs=1e-15)


DRY = da.System.from_lagrangian(
    FREE - 10 * y, (x, y), constraints=da.Constraint(y, name="floor", nonideal=da.Coulomb(0.1, velocity=(v,)))
)
ALONE = r"`conserve` must be used with the compiled integrator alone; got {}"


def with_sampled_controller():
    control = da.controller(CART, parameters={}, period=0.1)
    return run(CART, control=control)


def with_diffrax():
    import diffrax

    return run(solver=diffrax.Tsit5())


@dataclass(frozen=True)
class Unprojected(Drift):
    def gains(self):
        return None

    @property
    def integrals(self):
        return ("energy",)


UNSUPPORTED = {
    "no projection": (lambda: run(drift=Unprojected()), ALONE.format("the drift cure Unprojected, which does not")),
    "text": (lambda: conserve("momentum"), "`conserve` must be \"energy\" or expressions; got the text 'momentum'"),
    "no Lagrangian": (
        lambda: run(da.System((x,), [[1]], (-x,))),
        "must find the energy of a Lagrangian; this system has none. Make it by `da.System.from_lagrangian`",
    ),
    "unknown parameter": (lambda: conserve(k * v**2), "only parameters of the system .*; unknown: `k`"),
    "constant": (lambda: conserve(3), "`conserve` must depend on coordinates or velocities; got `3`"),
    "not finite": (
        lambda: conserve(sp.log(x - 2)),
        r"`conserve` must be finite at the initial state; `log\(x - 2\)` is not",
    ),
    "friction": (lambda: run(DRY, q0=(0, 0), qd0=(1, 0)), ALONE.format("dry friction that can stick")),
    "sampled": (with_sampled_controller, ALONE.format("a sampled controller")),
    "solver": (with_diffrax, ALONE.format("the solver Tsit5. Leave `solver` out")),
    "formulation": (lambda: run(formulation=da.Multipliers()), ALONE.format("the formulation Multipliers")),
    "function": (
        lambda: conserve(v * sp.besselj(0, x)),
        ALONE.format("a function or a law that cannot be compiled"),
    ),
    "function system": (
        lambda: run(da.FunctionSystem(lambda q, qd, t, p: np.eye(1), lambda q, qd, t, p: -q)),
        "`conserve` must be used with a `da.System`; got FunctionSystem",
    ),
    "flow": (lambda: da.flow(oscillator(), [0, 1], drift=ENERGY), "must not `conserve` first integrals in `da.flow`"),
}


@pytest.mark.parametrize("case", UNSUPPORTED)
def test_what_cannot_conserve_is_named(case):
    call, message = UNSUPPORTED[case]
    with pytest.raises(da.InputError, match=message):
        call()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (y, "must use only the system's coordinates .*; unknown: `y`"),
        (x.diff(t, 2), "`conserve` must not contain accelerations"),
        (object(), "`conserve` must be an expression; got"),
        (sp.Matrix([x, v]), "`conserve` must be an expression; got"),
    ],
)
def test_what_is_no_expression_of_the_state_is_refused(given, message):
    with pytest.raises(da.ModelError, match=message):
        conserve(given)


def test_a_hand_over_ends_the_run_by_name():
    """A constraint whose gradient vanishes for good at t = 1."""
    ramp = sp.Piecewise((x**4, x > 0), (0, True))
    system = da.System.from_lagrangian(FREE, (x, y), constraints=da.Constraint(y * ramp, name="gate"))
    with pytest.raises(da.SimulationError, match=r"it ended at t = 1: .* does not `conserve` first integrals") as ended:
        run(system, q0=(1, 0), qd0=(-1, 0))
    assert ended.value.trajectory.energy == pytest.approx(0.5, rel=1e-12)


def test_a_fixed_step_that_is_too_long_is_refused():
    stiff = da.System.from_lagrangian((v**2 - 1e4 * x**2) / 2, (x,))
    with pytest.raises(da.SimulationError, match="or the step is too long"):
        run(stiff, step=0.05)
