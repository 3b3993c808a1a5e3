"""The ledger of work and energy: who does what work, and the audit."""

import pickle
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from scipy.integrate import cumulative_simpson

import dalembert as da
from helpers import pendulum

x, y = da.coordinates("x y")
r, theta = da.coordinates("r theta")
G = {"g": 9.81}


def swing(times: object = (0, 1), **options: object) -> da.Trajectory:
    return da.simulate(pendulum(), (1, 0), (0, 0), times, parameters=G, **options)


def test_an_ideal_constraint_that_moves_does_the_work_of_its_motor() -> None:
    """A bead on a rod turning at ω: the motor's power is 2mω²rṙ, hence its work mω²(r² − r₀²)."""
    case = da.gallery.case("rotating-rod")
    run = case.simulate()
    ledger = run.ledger()
    m, omega = case.parameters["m"], case.parameters["omega"]
    radius = np.hypot(run["x"], run["y"])
    np.testing.assert_allclose(ledger["rod"], m * omega**2 * (radius**2 - 1), rtol=1e-9, atol=1e-11)
    outward = np.sum(run.q * run.qd, axis=1) / radius
    np.testing.assert_allclose(ledger.power[:, 2], -0.3 * 2 * m * omega * outward**2, rtol=1e-9)
    np.testing.assert_allclose(ledger.kinetic, m * np.sum(run.qd**2, axis=1) / 2, rtol=1e-12)
    assert ledger.closure < 1


def test_powers_that_are_only_rounding_are_shown_as_zero() -> None:
    """Nobody but the conservative weight does work on a pendulum of ideal rod."""
    lagrangian = (x.diff(da.t) ** 2 + y.diff(da.t) ** 2) / 2 - 9.81 * y
    rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    ledger = da.simulate(
        da.System.from_lagrangian(lagrangian, (x, y), constraints=rod), (0.6, -0.8), (0, 0), np.linspace(0, 2, 21)
    ).ledger()
    assert 0 < abs(ledger.power).max() < 1e-13
    assert [line.split()[-2:] for line in str(ledger).splitlines()[2:4]] == [["0", "0"], ["0", "0"]]


def test_work_does_not_depend_on_how_many_outputs_there_are() -> None:
    case = da.gallery.case("hoop")
    few, many = (case.simulate(times=np.linspace(0, 0.8, count)).ledger() for count in (2, 41))
    np.testing.assert_allclose(few.work[-1], many.work[-1], atol=1e-10)
    np.testing.assert_allclose(many["hoop: Coulomb"], many.energy - many.energy[0], atol=1e-9)


def test_forces_add_up_to_the_equation_of_motion() -> None:
    floor = da.Constraint(y - sp.sin(x), name="floor", nonideal=(da.Coulomb(0.1), da.Viscous(0.2)))
    system = da.System((x, y), 2 * sp.eye(2), (0, -20), floor, nonideal=(da.Quadratic(0.1), da.Quadratic(0.2)))
    run = da.simulate(system, (0, 0), (1, 1), np.linspace(0, 0.5, 11))
    ledger = run.ledger()
    assert ledger.names[1:] == ("floor", "Quadratic", "Quadratic (2)", "floor: Coulomb", "floor: Viscous")
    assert [entry.kind for entry in ledger.entries] == ["applied", "reaction", *["law"] * 4]
    np.testing.assert_allclose(ledger.force.sum(axis=1), 2 * run.acceleration, atol=1e-10)
    slope = np.stack([-np.cos(run["x"]), np.ones(len(run))], axis=1)  # of the floor
    np.testing.assert_allclose(ledger.force[:, 1], run.reactions * slope, atol=1e-10)
    np.testing.assert_allclose(ledger.force[:, 2], -0.1 * np.linalg.norm(run.qd, axis=1)[:, None] * run.qd, atol=1e-10)
    np.testing.assert_allclose(ledger.ideal_power, np.sum(run.ideal_force * run.qd, axis=1), atol=1e-10)
    np.testing.assert_allclose(ledger.nonideal_power, np.sum(run.nonideal_force * run.qd, axis=1), atol=1e-10)
    np.testing.assert_allclose(ledger.split_work.sum(axis=1), ledger.work.sum(axis=1), atol=1e-10)
    np.testing.assert_allclose(ledger.work[:, 3], 2 * ledger.work[:, 2], rtol=1e-12)
    assert ledger.closure < 1


@pytest.mark.parametrize("formulation", [da.Factored(), da.PseudoInverse()], ids=["machine code", "JAX"])
def test_a_drive_does_what_a_law_takes_from_it(formulation: object) -> None:
    """x = 2t against C = −3ẋ: 12 W from the motor, all of C in the range of Aᵀ, where the papers' split has nothing."""
    pull = da.Constraint(x - 2 * da.t, name="motor"), da.Constraint(2 * x - 4 * da.t, name="again")
    for m in (1, 2) if formulation == da.Factored() else (2,):  # redundant ones share 60 J as 1 : 4
        system = da.System((x,), [[1]], (0,), pull[:m], nonideal=da.Viscous(3))
        ledger = da.simulate(system, [0], [2], (0, 2, 5), formulation=formulation).ledger()
        np.testing.assert_allclose(ledger.work[-1], [0, *[[60], [12, 48]][m - 1], -60], atol=1e-10)
        np.testing.assert_allclose(ledger.power[1].sum(), 0, atol=1e-12)
        np.testing.assert_allclose([ledger.ideal_work, ledger.nonideal_work], 0, atol=1e-12)
        np.testing.assert_allclose(ledger.split_work, 0, atol=1e-12)


def test_potential_energy_is_known_from_a_lagrangian_and_counts_as_work_otherwise() -> None:
    ledger = swing(np.linspace(0, 2, 21)).ledger()
    assert ledger.potential is not None
    np.testing.assert_allclose(ledger.work, 0, atol=1e-14)
    np.testing.assert_allclose(ledger.kinetic + ledger.potential, ledger.energy[0], atol=1e-7)
    plain = replace(pendulum(), lagrangian=None)
    other = da.simulate(plain, (1, 0), (0, 0), np.linspace(0, 2, 21), parameters=G).ledger()
    assert other.potential is None
    np.testing.assert_allclose(other["applied forces"], ledger.potential[0] - ledger.potential, atol=1e-8)
    assert ledger.closure < 1
    assert other.closure < 1


def test_a_mass_matrix_that_changes_does_no_work_of_its_own() -> None:
    """A free particle in polar coordinates, without a Lagrangian: the velocity terms of Q and ½q̇ᵀṀq̇ cancel."""
    rate = theta.diff(da.t)
    free = da.System((r, theta), sp.diag(1, r**2), (r * rate**2, -2 * r * r.diff(da.t) * rate))
    ledger = da.simulate(free, (1, 0), (0.3, 2), np.linspace(0, 1, 5)).ledger()
    np.testing.assert_allclose(ledger.work, 0, atol=1e-14)
    np.testing.assert_allclose(ledger.kinetic, ledger.kinetic[0], rtol=1e-9)


def test_redundant_constraints_share_and_the_ledger_says_so() -> None:
    moving = da.Constraint(x - da.t**2, name="drive")
    again = da.Constraint(2 * x - 2 * da.t**2, name="again")
    run = da.simulate(da.System((x,), [[3]], [0], (moving, again)), [0], [0], (0, 1))
    ledger = run.ledger()
    assert "The split between `drive`, `again` is not unique" in ledger.notes[0]
    # λ₁ + 2λ₂ = 6 at the least length: 6/5 and 12/5; the work, 6 in all, is shared as 1 : 4
    np.testing.assert_allclose(ledger.work[-1], [0, 1.2, 4.8], rtol=1e-9)
    assert "`again` is not unique" in str(ledger)


def test_stabilising_terms_are_in_the_books() -> None:
    run = da.simulate(
        pendulum(), (1.01, 0), (0, 0), (0, 1, 2), parameters=G, drift=da.Baumgarte(5, 5), allow_violation=True
    )
    ledger = run.ledger()
    assert "stabilising" in ledger.notes[0]
    assert abs(ledger["rod"][-1]) > 1e-3
    assert ledger.closure < 1


def test_the_audit_shows_what_a_poor_integration_loses() -> None:
    ledger = swing(step=0.2).ledger()
    assert ledger.closure > 1000
    assert "the integration is inaccurate" in ledger.notes[-1]


def test_a_start_off_the_constraints_is_noted() -> None:
    """Projection takes the velocity along the rod away, which is the work of no force."""
    ledger = da.simulate(pendulum(), (0, -1), (1, 0.5), (0, 1), parameters=G, allow_violation=True).ledger()
    assert abs(ledger.audit[-1]) > 0.1
    assert (
        "The initial state violates `rod`. The projection onto the constraints is not the work of any"
        in ledger.notes[-1]
    )


def test_a_blow_up_has_books_that_say_they_do_not_close() -> None:
    """Steps shrink to nothing before the end, so that time no longer tells them apart."""
    with pytest.raises(da.SimulationError) as caught:
        da.simulate(da.System((x,), [[1]], (50 * x**3,)), (1,), (1,), (0, 0.1, 10))
    notes = caught.value.trajectory.ledger().notes
    assert "tolerances: the integration is inaccurate, as for motions that grow without bound" in notes[-1]


def test_functions_and_failed_runs_have_ledgers_too() -> None:
    brake = da.FunctionSystem(
        lambda q, qd, t, p: jnp.eye(2),
        lambda q, qd, t, p: jnp.array([0.0, -10.0]),
        (da.FunctionConstraint(lambda q, t, p: q[1], "position", "floor"),),
        nonideal=lambda q, qd, t, p, ideal: -0.1 * jnp.abs(ideal[1]) * qd,
    )
    ledger = da.simulate(brake, (0, 0), (2, 0), (0, 1)).ledger()
    assert ledger.names == ("applied forces", "floor", "nonideal")
    np.testing.assert_allclose(ledger["nonideal"][-1], 2 * (np.exp(-2) - 1), rtol=1e-8)
    with pytest.raises(da.SimulationError) as caught:
        swing(np.linspace(0, 100, 11), max_steps=50)
    assert caught.value.trajectory.ledger().closure < 1


def test_dataset_has_labels() -> None:
    data = swing().ledger().to_xarray()
    assert dict(data.sizes) == {"time": 2, "entry": 2, "coordinate": 2}
    assert list(data["kind"].values) == ["applied", "reaction"]
    assert set(data) == {"force", "power", "work", "split_power", "split_work", "kinetic", "potential", "audit"}
    assert float(data["work"].sel(entry="rod").isel(time=-1)) == pytest.approx(0, abs=1e-12)


def test_figure_stacks_the_powers() -> None:
    figure = da.gallery.case("rotating-rod").simulate(times=np.linspace(0, 1, 11)).ledger().plot({"power": "W"})
    powers, audit = figure.axes
    assert powers.get_ylabel() == "power / W"
    assert audit.get_ylabel() == "audit"
    legend = [text.get_text() for text in powers.get_legend().get_texts()]
    assert legend == ["rod (reaction)", "rod: Coulomb", "rate of energy"]


def test_units_are_printed_in_the_heads_of_columns() -> None:
    ledger = swing().ledger()
    span, head, *rows = ledger.to_text({"t": "s", "energy": "kJ", "power": "kW"}).splitlines()
    assert span.endswith(" s") and head.split("  ")[-1].strip() == "largest power / kW" and "work / kJ" in head
    plain = str(ledger).splitlines()
    assert [row.split() for row in rows] == [row.split() for row in plain[2:]]
    assert plain[1].split() == ["kind", "work", "largest", "power"]


def test_messages(tmp_path: object) -> None:
    run = swing()
    ledger = run.ledger()
    with pytest.raises(da.InputError, match=r"`rood` must be an entry of the ledger; it has `applied forces`, `rod`"):
        ledger["rood"]
    with pytest.raises(da.InputError, match=r"`units` must name `t`, `power` or `energy`; got `force`"):
        ledger.plot({"force": "N"})
    with pytest.raises(da.InputError, match=r"`units` must name `t`, `power` or `energy`; got `work`"):
        ledger.to_text({"work": "J"})
    with pytest.raises(da.InputError, match="a ledger needs a run of at least two times; this one has 1"):
        run.until(1).ledger()
    run.save(f"{tmp_path}/run.nc")
    with pytest.raises(da.InputError, match=r"a ledger needs the system that the run is a motion of"):
        pickle.loads(pickle.dumps(run)).ledger()


def loaded_bar() -> da.Mechanism:
    bar = da.PlanarBody("bar", mass=2, inertia=2 / 12, position=(0.5, 0))
    pin = da.Revolute("pin", da.ground.at(0, 0), bar.at(-0.5, 0))
    forces = (
        da.Gravity((0, -9.81)),
        da.Spring(da.ground.at(1, 1), bar.at(0.5, 0), stiffness=20, length=0.5, damping=1, name="strut"),
        da.TorsionSpring(pin, stiffness=3),
        da.Force(bar.at(0.5, 0), (0, 3 * da.t), name="push"),
        da.Drag(bar, linear=0.2),
        da.Drag(bar.at(0.5, 0), linear=0.1),
    )
    return da.Mechanism(bar, pin, forces)


def test_every_force_of_a_mechanism_has_an_entry() -> None:
    """Each work is compared with the integral of force times velocity, evaluated along the run."""
    mechanism = loaded_bar()
    (bar,), (_, strut, *_) = mechanism.bodies, mechanism.forces
    run = da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 2, 2001))
    ledger = run.ledger()
    assert ledger.names[:5] == ("strut", "push", "Drag on bar", "Drag on bar (2)", "pin: x")
    tip = run.evaluate(bar.at(0.5, 0).velocity)
    rate = run.evaluate(strut.extension.diff(da.t))
    powers = {
        "strut": -(rate**2),
        "push": 3 * run.t * tip[:, 1],
        "Drag on bar": -0.2 * (run.evaluate(bar.velocity) ** 2).sum(axis=1),
        "Drag on bar (2)": -0.1 * (tip**2).sum(axis=1),
    }
    for name, power in powers.items():
        np.testing.assert_allclose(ledger.power[:, ledger.names.index(name)], power, atol=1e-10)
        np.testing.assert_allclose(ledger[name], cumulative_simpson(power, x=run.t, initial=0), atol=1e-8)
    assert tuple(ledger.potentials) == ("Gravity", "strut", "TorsionSpring on bar")
    np.testing.assert_allclose(ledger.potentials["strut"], 10 * run.evaluate(strut.extension) ** 2, atol=1e-10)
    np.testing.assert_allclose(sum(ledger.potentials.values()), ledger.potential, atol=1e-10)
    np.testing.assert_allclose(ledger["applied forces"], ledger.work[:, :4].sum(axis=1))
    np.testing.assert_allclose(ledger.force[:, 1, 1], 3 * run.t)
    assert "potential energy of strut" in str(ledger) and ledger.closure < 100


def test_forces_given_by_name_have_entries() -> None:
    x, y = da.coordinates("x y")
    rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    forces = {"weight": (0, -9.81), "wind": {"x": 2, "y": 0}}
    named = da.System((x, y), sp.eye(2), forces, rod)
    assert named == da.System((x, y), sp.eye(2), (2, -9.81), rod)
    run = da.simulate(named, (1, 0), (0, 0), np.linspace(0, 2, 5))
    ledger = run.ledger()
    assert ledger.names == ("weight", "wind", "rod")
    np.testing.assert_allclose(ledger["weight"], -9.81 * run["y"], atol=1e-8)
    np.testing.assert_allclose(ledger["wind"], 2 * (run["x"] - 1), atol=1e-8)


def test_named_forces_beside_a_lagrangian() -> None:
    x = da.coordinates("x")
    v = x.diff(da.t)
    swing = da.System.from_lagrangian(v**2 / 2 - x**2, (x,), applied_force={"brake": (-v,), "push": (sp.sin(da.t),)})
    ledger = da.simulate(swing, (1,), (0,), np.linspace(0, 3, 4)).ledger()
    assert ledger.names == ("brake", "push") and ledger.closure < 100
    assert (np.diff(ledger["brake"]) < 0).all()


def test_damping_of_rotors_is_among_the_other_applied_forces() -> None:
    bar = da.PlanarBody("bar", mass=2, inertia=2 / 12, position=(0.5, 0))
    pin = da.Revolute("pin", da.ground.at(0, 0), bar.at(-0.5, 0))
    mechanism = da.Mechanism(bar, pin, (da.Force(bar, (0, 1)), da.Rotor(pin, 1, damping=2)))
    run = da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 2, 2001))
    ledger = run.ledger()
    assert ledger.names[:2] == ("Force on bar", "other applied forces")
    spent = cumulative_simpson(-2 * run.evaluate(pin.rate) ** 2, x=run.t, initial=0)
    np.testing.assert_allclose(ledger["other applied forces"], spent, atol=1e-8)


def test_names_of_forces_must_be_texts_and_differ() -> None:
    x, y = da.coordinates("x y")
    ball = da.Particle("ball", 1, (0, 0))
    with pytest.raises(da.ModelError, match="forces must differ in name; given twice: `push`"):
        da.Mechanism(ball, (), [da.Force(ball, (k, 0), name="push") for k in (1, 2)])
    with pytest.raises(
        da.ModelError, match="the name of a force must be a text, and not `other applied forces`; got 3"
    ):
        da.Mechanism(ball, (), da.Force(ball, (1, 0), name=3))
    with pytest.raises(da.ModelError, match=r"the name of an applied force must be a text, .*; got 3"):
        da.System((x, y), sp.eye(2), {3: (1, 0)})
    with pytest.raises(da.ModelError, match=r"`applied_force of push` must have one entry per coordinate"):
        da.System((x, y), sp.eye(2), {"push": (1,)})
    with pytest.raises(da.ModelError, match="an applied force by names must be without `lagrangian`"):
        da.System((x, y), sp.eye(2), {"push": (1, 0)}, lagrangian=x.diff(da.t) ** 2 / 2 + y.diff(da.t) ** 2 / 2)


def test_named_forces_after_a_constraint_with_a_law_is_released() -> None:
    """After the release, the coefficient of the law is no parameter of the motion."""
    mu = da.parameters("mu")
    hoop = da.Constraint(x**2 + y**2 - 1, name="hoop", releases=True, nonideal=da.Coulomb(mu))
    start = (np.sin(0.5), np.cos(0.5)), (1e-2 * np.cos(0.5), -1e-2 * np.sin(0.5))
    run = da.simulate(da.System((x, y), sp.eye(2), {"weight": (0, -1)}, hoop), *start, [0, 3], parameters={"mu": 0.1})
    assert [event.kind for event in run.events] == ["releases"]
    ledger = run.ledger()
    assert ledger["weight"][-1] == pytest.approx(run["y"][0] - run["y"][-1], rel=1e-9)
    assert abs(ledger.audit[-1]) < 1e-9


def test_a_printed_ledger_has_one_row_for_each_joint() -> None:
    bar = da.PlanarBody("bar", mass=2, inertia=2 / 12, position=(0.5, 0))
    pin = da.Revolute("pin", da.ground.at(0, 0), bar.at(-0.5, 0), radius=0.1, nonideal=da.Coulomb(0.1))
    mechanism = da.Mechanism(bar, (pin, da.Drive("motor", pin, 2 * da.t)))
    ledger = da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 2, 21)).ledger()
    assert {"pin: x", "pin: y"} <= {*ledger.names}
    rows = {row[0]: row for row in ledger.rows()}
    assert [name for name, row in rows.items() if row[1] == "reaction"] == ["pin", "motor"]
    assert float(rows["motor"][2]) == pytest.approx(ledger["motor"][-1], rel=1e-5)
    assert "pin: x" not in str(ledger)
