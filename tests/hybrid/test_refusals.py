"""Refusals of contacts, by name: models, starts, impacts, and functions that cannot follow them."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y, z, a = da.coordinates("x y z a")
t = da.t
FLOOR = da.Constraint(sp.Ge(y, 0), name="floor", restitution=0.5)
BALL = da.System.from_lagrangian((x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - y, (x, y), constraints=FLOOR)

g = da.parameters("g")
HEAVY = da.System((y,), [[1]], (-g,), FLOOR)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"expression": sp.Ge(y, 0)}, "an inequality needs a `restitution`"),
        ({"expression": sp.Ge(y, 0), "restitution": -0.1}, "`restitution` must be from 0 .* got -0.1"),
        ({"expression": sp.Ge(y, 0), "restitution": 1.1}, "no loss of energy; got 1.1"),
        ({"expression": sp.Ge(y, 0), "restitution": x}, "a number or an expression of parameters"),
        ({"expression": sp.Ge(y.diff(t), 0), "restitution": 0}, "must be at position level; this one is at velocity"),
        ({"expression": sp.Ge(y, 0), "restitution": 0, "releases": True}, "leave out `releases`"),
        ({"expression": y, "releases": "no"}, "`releases` must be True or False; got 'no'"),
        ({"expression": y, "active": "no"}, "`active` must be True or False; got 'no'"),
        (
            {"expression": sp.Ge(y, 0), "restitution": 0, "impact": "hertz"},
            '`impact` must be "newton", "poisson" or "moreau"',
        ),
        ({"expression": y, "restitution": 0}, "`restitution` belongs to a one-sided constraint"),
    ],
)
def test_constraints(given, message: str) -> None:
    with pytest.raises(da.ModelError, match=f"constraint `floor`: .*{message}"):
        da.Constraint(name="floor", **given)


def test_how_a_one_sided_constraint_is_shown() -> None:
    assert repr(FLOOR) == "Constraint(y, name='floor', restitution=0.5, one_sided=True)"
    assert r"y \geq 0" in str(FLOOR._repr_latex_())
    assert r"y &\geq 0" in str(BALL._repr_latex_())


def test_a_penetrating_start() -> None:
    with pytest.raises(
        da.StateError, match="must not penetrate one another; at t = 0 they do at `floor`, whose gap is -1"
    ):
        da.simulate(BALL, (0, -1), (0, 0), [0, 1])


@pytest.mark.parametrize("value", [-0.5, 1.5])
def test_a_restitution_from_parameters(value: float) -> None:
    e = da.parameters("e")
    ball = da.System((y,), [[1]], (-1,), da.Constraint(sp.Ge(y, 0), name="floor", restitution=e))
    with pytest.raises(da.InputError, match=f"constraint `floor`: `restitution` must be .* got {value}"):
        da.simulate(ball, (1,), (0,), [0, 1], parameters={"e": value})


def test_a_releasing_constraint_without_a_force() -> None:
    pendulum = da.System((x, y), sp.eye(2), (0, -1), da.Constraint(x**2 + y**2 - 1, name="rope", releases=True))
    with pytest.raises(da.InputError, match="`rope` must have a force at the initial state"):
        da.simulate(pendulum, (1, 0), (0, 0), [0, 1])


VERBS = {
    "motion": lambda: da.motion(BALL, (0, 1), (0, 0)),
    "consistent_state": lambda: da.consistent_state(BALL, (0, 1), (0, 0)),
    "build": lambda: da.build(BALL),
    "derive": lambda: da.derive(BALL),
    "check": lambda: da.check(BALL),
    "classify": lambda: da.classify(BALL),
    "reduce": lambda: da.reduce(BALL),
    "linearize": lambda: da.linearize(BALL, (0, 0)),
    "flow": lambda: da.flow(BALL, [0, 1]),
    "page": lambda: da.page(BALL, (0, 1), (0, 0), [0, 1], "page.html"),
    "export_c": lambda: da.export_c(BALL, "ball.c"),
    "export_python": lambda: da.export_python(BALL, "ball.py"),
    "export_fmu": lambda: da.export_fmu(BALL, "ball.fmu", q0=(0, 1), qd0=(0, 0)),
    "vakonomic": lambda: da.vakonomic(BALL),
    "fit": lambda: da.fit(HEAVY, da.Observation([0, 1, 2], {"y": [1, 1, 1]}, (1,), (0,)), [g], guess={g: 1}),
}


NO_EXPORT = "`system` must not have contacts that open and close, .*; got `floor`"
REASONS = {
    "page": "a live page runs constraints that always hold; `floor` can open and close",
    **dict.fromkeys(("export_c", "export_python", "export_fmu"), NO_EXPORT),
}


@pytest.mark.parametrize("verb", VERBS)
def test_functions_that_cannot_follow_contacts(verb: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    kind = da.InputError if verb in REASONS else da.ModelError
    with pytest.raises(kind, match=REASONS.get(verb, "`floor` must be an equation that always holds")):
        VERBS[verb]()


def test_a_slip_that_turns_out_of_a_plane() -> None:
    velocity = (x.diff(t), y.diff(t), z.diff(t) + y.diff(t))
    friction = da.Coulomb(0.3, velocity=velocity, normal_force=da.multiplier("floor"))
    floor = da.Constraint(sp.Ge(z, 0), name="floor", restitution=0.5, nonideal=friction)
    particle = da.System((x, y, z), sp.diag(1, 3, 1), (0, 0, -1), floor)
    with pytest.raises(da.SimulationError, match=r"must lie in a plane, .* `floor` turns, .* Give `velocity` the"):
        da.simulate(particle, (0, 0, 1), (1, 1, 0), [0, 2])


def test_smoothed_friction_has_no_impulse() -> None:
    friction = da.Coulomb(0.3, smoothing=0.01)
    floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=0.5, nonideal=friction)
    with pytest.raises(
        da.InputError, match="must be dry friction without `smoothing` in an impact; Coulomb of `floor`"
    ):
        da.simulate(da.System((x, y), sp.eye(2), (0, -1), floor), (0, 1), (1, 0), [0, 2])


def test_a_law_of_another_contact() -> None:
    law = da.Coulomb(0.3, velocity=x.diff(t), normal_force=da.multiplier("floor"))
    with pytest.raises(da.InputError, match=r"must not depend on the reaction of another constraint .* `floor`"):
        da.simulate(da.System((x, y), sp.eye(2), (0, -1), FLOOR, nonideal=law), (0, 1), (1, 0), [0, 2])


def test_friction_of_a_pin_at_the_end_of_its_motion() -> None:
    bar = da.PlanarBody("bar", mass=1, inertia=1, spin=2)
    friction = {"radius": 0.1, "nonideal": da.Coulomb(0.3)}
    pin = da.Revolute("pin", da.ground.at(0, 0), bar.at(-1, 0), limits=(-1, 1), restitution=0.5, **friction)
    arm = da.Mechanism(bar, pin)
    with pytest.raises(da.DalembertError, match=r"`pin: x` depends on others.* such as a pin, cannot act in an impact"):
        da.simulate(arm.system, *arm.assemble(), [0, 2])


def test_newtons_law_that_creates_energy() -> None:
    """Kane's paradox: a pendulum's tip that slips, reverses and is thrown back."""
    angle = 1.1
    tip = (x - sp.cos(a), y - sp.sin(a))

    def falling(law: str) -> da.Trajectory:
        friction = da.Coulomb(1, velocity=tip[0].diff(t), normal_force=da.multiplier("ground"))
        ground = da.Constraint(sp.Ge(tip[1], 0), name="ground", restitution=0.9, nonideal=friction, impact=law)
        rod = da.System((x, y, a), sp.diag(1, 1, sp.Rational(1, 20)), (0, 0, 0), ground)
        return da.simulate(rod, (0, np.sin(angle) + 0.1, angle), (1.5, -1, 0), [0, 0.11])

    message = r"an impact must not create energy; {}'s law with .*`ground` .*impact=\"poisson\""
    for law in ("newton", "moreau"):
        with pytest.raises(da.SimulationError, match=message.format(law.capitalize())):
            falling(law)
    assert falling("poisson").ledger().energy[-1] < falling("poisson").ledger().energy[0]


def test_painleves_paradox_in_contact() -> None:
    """A rod that slides on the ground at a steep angle with strong friction: closed it pulls, open it penetrates."""
    tip = (x - sp.cos(a), y - sp.sin(a))
    friction = da.Coulomb(2.5, velocity=tip[0].diff(t), normal_force=da.multiplier("ground"))
    ground = da.Constraint(sp.Ge(tip[1], 0), name="ground", restitution=0, nonideal=friction)
    rod = da.System((x, y, a), sp.diag(1, 1, sp.Rational(1, 3)), (0, -1, 0), ground)
    angle = 1.1
    with pytest.raises((da.PainleveError, da.ConstraintError), match=r"Painlevé|paradox"):
        da.simulate(rod, (0, np.sin(angle), angle), (-1, 0, 0), [0, 0.1])


def test_an_ensemble_of_a_system_stated_by_arrays() -> None:
    many = da.coordinates("x", 3)
    u, w = da.coordinates("u w")
    links = da.Constraint.over(w - u - 1, {u: many[:-1], w: many[1:]}, name="link")
    train = da.System((many,), mass_matrix=1, applied_force={many: 1}, constraints=links)
    with pytest.raises(da.InputError, match="`events` need a system that is stated term by term"):
        da.simulate_ensemble(train, [(0, 1, 2)], [(0, 0, 0)], [0, 1], events=[da.Event(many[0] - 1)])


def test_impacts_without_end_that_do_not_come_to_rest() -> None:
    """A ball between walls that meet at t = 1: ever faster, its impacts are infinitely many, and no contact closes."""
    walls = [
        da.Constraint(sp.Ge(gap, 0), name=name, restitution=1) for name, gap in (("left", x), ("right", 1 - t - x))
    ]
    with pytest.raises(
        da.SimulationError, match=r"impacts must not follow one another .* at `(left|right)`, which do not slow down"
    ):
        da.simulate(da.System((x,), [[1]], (0,), walls), (0.5,), (1,), [0, 2])


def test_a_drive_into_a_stop_is_refused() -> None:
    stop = da.Constraint(sp.Ge(1 - x, 0), name="stop", restitution=0.5)
    driven = da.System((x,), [[1]], (0,), (stop, da.Constraint(x - 2 * t, name="motor")))
    with pytest.raises(da.SimulationError, match=r"`stop` must have .* or constraints drive the bodies together"):
        da.simulate(driven, (0,), (2,), [0, 1])


def test_friction_that_alternates_without_end_is_named() -> None:
    """An event on the velocity that sticking holds at zero: rounding would decide when it occurs."""
    slip = x.diff(t) - sp.Rational(1, 2)
    friction = da.Coulomb(0.3, velocity=slip, normal_force=da.multiplier("belt"), mu_static=0.4)
    belt = da.Constraint(y, name="belt", nonideal=friction)
    block = da.System((x, y), sp.eye(2), (-4 * x, -10), belt)
    with pytest.raises(da.SimulationError, match=r"alternate without end; .* Friction of `belt` can neither"):
        da.simulate(block, (0, 0), (0.5, 0), [0, 3], events=[da.Event(slip)])


MASSLESS = sp.diag(1, 0), (-10, 0), da.Constraint(y - 2 * x, name="tie")


def test_impulses_with_a_massless_coordinate() -> None:
    M, Q, tie = MASSLESS
    falling = da.System((x, y), M, Q, (tie, FLOOR))
    with pytest.raises(
        da.MassMatrixError, match=r"positive definite where impulses act: .* the mass of `y`, .* Give it a mass"
    ):
        da.simulate(falling, (0.1, 0.2), (0, 0), [0, 1])
    members = da.simulate_ensemble(falling, [[0.1, 0.2]] * 2, (0, 0), [0, 1])
    assert all("positive definite where impulses act" in str(reason) for reason in members.reason.values)


@pytest.mark.parametrize(
    "options",
    [{"events": [da.Event(x)]}, {"nonideal": da.Coulomb(0.1, velocity=x.diff(t), normal_force=10)}],
    ids=["events", "friction"],
)
def test_phases_with_a_massless_coordinate(options: Any) -> None:
    events = {"events": options.pop("events")} if "events" in options else {}
    system = da.System((x, y), *MASSLESS, **options)
    with pytest.raises(da.InputError, match=r"`formulation` must be one for .* got `da.SingularMass\(\)`. Give every"):
        da.simulate(system, (0.1, 0.2), (1, 2), [0, 1], formulation=da.SingularMass(), **events)
