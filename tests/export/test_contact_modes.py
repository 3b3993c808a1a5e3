"""Exports of single contact modes: their switching quantities, and event loops of a caller beside `da.simulate`."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.export.arguments import model_of
from export.c_library import CLibrary, needs_compiler
from helpers import CONTACTS

pytestmark = needs_compiler

ROUGH = ("bead", "circular-wire", "hoop", "pin-friction", "rotating-rod", "incline", "belt", "painleve-rod")

SAME = 1e-12


def modes_of(case):
    """The contact modes of a case's motion: of each the mode, and the longest segment of the motion."""
    record = case.simulate().source.stick_slip
    found = {}
    for segment in record.segments:
        phase = segment.phase
        if phase.undetermined or (phase.load_sharing and any(phase.load_sharing.values())) or phase.frictionless:
            continue
        active = {*phase.mode.system.constraint_names}
        closed = [c.name for c in case.system.constraints if not c.is_permanent and c.name in active]
        sticking = tuple(dict.fromkeys(c.name for c in phase.mode.sticking))
        sliding = {c.name: d for c, d in phase.directions.items()}
        if any(not d.any() for d in sliding.values()):
            continue
        mode = da.ContactMode(closed=closed, sticking=sticking, sliding=sliding)
        key = (tuple(closed), sticking)
        if key not in found or len(segment.path.t) > len(found[key][1].path.t):
            found[key] = mode, segment
    return list(found.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*ROUGH} | CONTACTS - {"walker"}))
def test_modes_of_the_gallery_are_those_of_the_library(name: str, tmp_path: Path) -> None:
    case = da.gallery.case(name)
    modes = modes_of(case)
    assert modes
    for number, (mode, segment) in enumerate(modes):
        path, n = segment.path, len(case.q0)
        # the last step goes beyond the end of the phase
        k = min(len(path.t) // 2, int(np.searchsorted(path.t, segment.end, side="right")) - 1)
        y, t = path.y[k], float(path.t[k])
        start = {"q0": y[:n], "qd0": y[n:], "t0": t, "parameters": case.parameters, "allow_violation": True}
        # each in a file of its own: a library that is in use cannot be replaced
        library = CLibrary(da.export_c(case.system, tmp_path / f"model{number}.c", mode=mode, **start), "-O0")
        model = model_of(case.system, "model", drift=da.Projection(), control=None, inputs=(), mode=mode, **start)
        out, valid = library.at("outputs", len(model.output_names), y, t, model.start.p)
        assert valid
        compare_with_phase(dict(zip(model.output_names, out, strict=True)), model, segment.phase, y, t)
        h = 1e-5
        y1, valid = library.step(y, t, h, model.start.p)
        run = da.simulate(
            case.system, y[:n], y[n:], [t, t + h], step=h, parameters=case.parameters, allow_violation=True
        )
        assert valid
        assert np.abs(y1 - np.concatenate([run.q[-1], run.qd[-1]])).max() < 1e-13 * max(1.0, np.abs(y1).max())


def compare_with_phase(found, model, phase, y, t):
    """Reactions, margins and sliding velocities by the functions that `da.simulate` uses."""
    here = np.array([t])
    _, reactions = phase.outputs_at(None, here, y[None], here)
    own = [found[f"reaction({label})"] for label in model.constraints]
    assert np.abs(own - reactions[0]).max(initial=0.0) < SAME * max(np.abs(reactions).max(initial=0.0), 1e-3)
    for contact in phase.mode.sticking:
        margin = float(phase.load(contact, t, y, reactions[0]).margin)
        assert found[f"margin({contact.name})"] == pytest.approx(margin, abs=1e-11)  # both allow for rounding
    for contact, direction in phase.directions.items():
        speed = float(phase.velocity(contact, t, y) @ direction)
        assert found[f"speed({contact.name})"] == pytest.approx(speed, abs=1e-12, rel=1e-12)


def test_an_event_loop_of_a_caller_sticks_and_slips_like_the_library(tmp_path: Path) -> None:
    case, end = da.gallery.case("belt"), 20.0
    start = {"q0": case.q0, "qd0": case.qd0, "parameters": case.parameters}
    stick = CLibrary(da.export_c(case.system, tmp_path / "stick.c", mode=da.ContactMode(sticking="belt"), **start))
    slide = CLibrary(da.export_c(case.system, tmp_path / "slide.c", mode=da.ContactMode()))
    names = model_of(
        case.system,
        "stick",
        drift=da.Projection(),
        control=None,
        inputs=(),
        t0=0,
        allow_violation=False,
        mode=da.ContactMode(sticking="belt"),
        **start,
    ).output_names
    t, y, p = stick.start(4, 7)
    mode, times = stick, []
    while True:
        y, t, ended, valid = mode.integrate_to_switch(y, t, end, p, 1e-12, [1e-14] * 4)
        assert valid
        if ended < 0:
            break
        times.append(t)
        y, _ = stick.at("project", 4, y, t, p)
        margin, _ = stick.at("switching", 1, y, t, p)
        out, _ = stick.at("outputs", len(names), y, t, p)
        # friction that cannot hold the load gives way against the force that held it
        mode = slide if mode is stick or margin < 0 else stick
        p[-1] = -np.sign(out[names.index("reaction(sticking(belt))")])
    run = da.simulate(case.system, times=[0, end], rtol=1e-13, atol=1e-15, **start)
    assert t == end and len(times) == 9
    assert times == pytest.approx([event.t for event in run.events], abs=2e-12)
    assert y == pytest.approx([*run.q[-1], *run.qd[-1]], abs=1e-11)


def test_the_projection_of_the_closed_mode_is_an_impact_without_rebound(tmp_path: Path) -> None:
    case, end = da.gallery.case("bouncing-ball"), 2.8
    start = {"q0": case.q0, "qd0": case.qd0, "parameters": case.parameters}
    flying = CLibrary(da.export_c(case.system, tmp_path / "flying.c", mode=da.ContactMode(), **start))
    closed = CLibrary(da.export_c(case.system, tmp_path / "closed.c", mode=da.ContactMode(closed="floor")))
    run = da.simulate(case.system, times=[0, end], rtol=1e-13, atol=1e-15, **start)
    n, count = len(case.q0), len(case.system.parameter_names)
    t, y, p = flying.start(2 * n, count)
    e = float(sp.sympify(case.system.constraints[0].restitution).subs(case.parameters))
    times = []
    while True:
        y, t, ended, valid = flying.integrate_to_switch(y, t, end, p, 1e-12, [1e-14] * 2 * n)
        assert valid
        if ended < 0:
            break
        times.append(t)
        still, _ = closed.at("project", 2 * n, y, t, p)
        y = np.concatenate([still[:n], y[n:] + (1 + e) * (still[n:] - y[n:])])
    impacts = [event.t for event in run.events if event.kind == "impact"]
    assert len(times) == len(impacts) >= 2
    assert times == pytest.approx(impacts, abs=1e-12)
    assert y == pytest.approx([*run.q[-1], *run.qd[-1]], abs=1e-11)


def block(*, restitution=None):
    """A block on a rough floor, which it may leave; the wind pushes it."""
    x, y = da.coordinates("x y")
    m, g, mu, wind = da.parameters("m g mu wind")
    gap = sp.Ge(y, 0) if restitution is not None else y
    floor = da.Constraint(gap, name="floor", nonideal=da.Coulomb(mu, mu_static=2 * mu), restitution=restitution)
    return da.System((x, y), [[m, 0], [0, m]], (wind * da.t, -m * g), floor)


VALUES = {"m": 2.0, "g": 10.0, "mu": 0.25, "wind": 2.0}


def test_steps_in_python_end_with_the_mode(tmp_path: Path) -> None:
    mode = da.ContactMode(closed="floor", sticking="floor")
    path = da.export_python(
        block(restitution=0), tmp_path / "block.py", q0=(0, 0), qd0=(0, 0), parameters=VALUES, mode=mode
    )
    module = runpy.run_path(str(path))
    assert module["SWITCHING"] == ("margin(floor)", "reaction(floor)")
    assert module["SLIDING_VELOCITIES"] == {"floor": "-x'"}
    assert module["PARAMETERS"][-1] == "direction(floor)"
    t, y, p = module["START"]
    ended = None
    while ended is None:
        t, y, ended, valid = module["step_to_switch"](y, t, 0.7, p)
        assert valid
    # static friction 0.5 · 20 = 10 is reached by the force 2 t, and 1e-12 of it is rounding
    assert t == pytest.approx(5.0, rel=2e-12) and ended == 0
    assert np.abs(y).max() == 0.0


def test_both_steps_to_a_switch_find_the_same_end(tmp_path: Path) -> None:
    mode = da.ContactMode()  # slides with the velocity of the start
    library = CLibrary(
        da.export_c(block(), tmp_path / "block.c", q0=(0, 0), qd0=(3, 0), parameters=VALUES | {"wind": 0}, mode=mode)
    )
    t, y, p = library.start(4, 5)
    assert p[-1] == -1.0  # the sliding velocity is that along the tangent, -x'
    assert "floor: sliding velocity -x'" in (tmp_path / "block.c").read_text()
    # sliding with 3 at a deceleration of 2.5 ends at t = 1.2, after a path of 1.8
    for found in (library.step_to_switch(y, t, 2.0, p), library.integrate_to_switch(y, t, 2.0, p, 1e-12, [1e-14] * 4)):
        state, time, ended, valid = found
        assert valid and ended == 0
        assert time == pytest.approx(1.2, rel=1e-15)
        assert state == pytest.approx([1.8, 0, 0, 0], abs=1e-14)
    state, time, ended, valid = library.step_to_switch(y, t, 1.0, p)
    assert valid and ended == -1 and time == 1.0 and state[0] == pytest.approx(1.75, rel=1e-15)
    state, time, ended, valid = library.integrate_to_switch(y, t, 2.0, p, 1e-12, [1e-14] * 4, most=1)
    assert not valid and ended == -1 and time < 0.1


def test_modes_of_contacts_in_a_plane_have_two_components(tmp_path: Path) -> None:
    x, y, z = da.coordinates("x y z")
    floor = da.Constraint(z, name="floor", nonideal=da.Coulomb(0.25))
    puck = da.System((x, y, z), sp.diag(2, 2, 2), (0, 0, -20), floor)
    library = CLibrary(
        da.export_c(puck, tmp_path / "puck.c", q0=(0, 0, 0), qd0=(3, 4, 0), parameters={}, mode=da.ContactMode())
    )
    t, y, p = library.start(6, 2)
    assert p == pytest.approx([0.6, 0.8], rel=1e-15)
    state, time, ended, valid = library.integrate_to_switch(y, t, 9.0, p, 1e-12, [1e-14] * 6)
    # the direction of a velocity in a plane is lost in rounding where it vanishes
    assert valid and ended == 0 and time == pytest.approx(2.0, rel=1e-8)
    assert state[:3] == pytest.approx([3, 4, 0], abs=1e-9)


MISTAKES = [
    ({"mode": "sticking"}, r"`mode` must be a contact mode such as .*; got 'sticking'"),
    (
        {"mode": da.ContactMode(closed="flor")},
        r"`closed` must name only contacts of the model; `flor` is unknown\. Did",
    ),
    ({"mode": da.ContactMode(sticking="wall")}, r"`sticking` must name only .*; `wall` is unknown\. The model has: `f"),
    ({"mode": da.ContactMode(sliding={"wall": 1})}, r"`sliding` must name only .*; `wall` is unknown"),
    ({"mode": da.ContactMode(sticking="floor")}, r"that stick or slide must be closed; `floor` is not in `closed`"),
    (
        {"mode": da.ContactMode(closed="floor")},
        r"directions of contacts that start to slide from rest; missing: `floor`",
    ),
    (
        {"mode": da.ContactMode(closed="floor", sliding={"floor": 0})},
        r"a direction with 1 components, not all of them zero; got 0 for `floor`",
    ),
    (
        {"mode": da.ContactMode(closed="floor", sliding={"floor": "left"})},
        r"a direction with 1 components, .* got 'left'",
    ),
    (
        {"mode": da.ContactMode(closed="floor", sticking="floor"), "t0": 9.0},
        r"`mode` must hold at the initial state, .* `margin\(floor\)` is -0\.286\. Pass the mode",
    ),
    ({"mode": da.ContactMode(), "q0": (0, -1)}, r"`mode` must hold at the initial state, .* `gap\(floor\)` is -1"),
]


@pytest.mark.parametrize(("given", "message"), MISTAKES)
def test_mistakes_in_modes(given, message, tmp_path: Path) -> None:
    start = {"q0": (0, 0), "qd0": (0, 0), "parameters": VALUES}
    for export, suffix in ((da.export_c, "c"), (da.export_python, "py")):
        with pytest.raises(da.InputError, match=message):
            export(block(restitution=0), tmp_path / f"block.{suffix}", **start | given)
    assert not list(tmp_path.iterdir())


def test_other_mistakes_in_modes(tmp_path: Path) -> None:
    x, y = da.coordinates("x y")
    smooth = da.System((x, y), sp.eye(2), (0, 0))
    with pytest.raises(da.InputError, match=r"`mode` must belong to a system with contacts; this one has none\. Leave"):
        da.export_c(smooth, tmp_path / "model.c", mode=da.ContactMode())
    twice = block().constrain(da.Constraint(x, name="stop"))
    start = {"q0": (0, 0), "qd0": (0, 0), "parameters": VALUES, "mode": da.ContactMode(sticking="floor")}
    with pytest.raises(da.InputError, match=r"must be determined to be exported; `sticking\(floor\)` follows from"):
        da.export_c(twice, tmp_path / "model.c", **start)
    with pytest.raises(da.InputError, match=r'`closed` must be names of constraints, as \("floor",\); got 3'):
        da.ContactMode(closed=3)
    with pytest.raises(da.InputError, match=r"`sliding` must map names to directions, .* got 'floor'"):
        da.ContactMode(sliding="floor")
    with pytest.raises(da.InputError, match=r"must either stick or slide; `floor` is in `sticking` and in `sliding`"):
        da.ContactMode(sticking="floor", sliding={"floor": 1})
