"""`da.page`, `run.page` and pages of mechanisms: what they hold, and what they refuse."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.live import html, wasm_system
from dalembert.live.description import usual_range
from dalembert.live.labels import name_label
from live.browser_numbers import model_of, motions

X, Y, Z = da.coordinates("x y z")
L = da.parameters("l")
ROD = da.Constraint(X**2 + Y**2 - L**2, name="rod")
PENDULUM = da.System((X, Y), sp.eye(2), (0, -10), ROD)
START = ((1, 0), (0, 0), (0, 2))
LENGTH = {"l": 1}


def test_a_page_is_one_file_without_links(tmp_path: Path) -> None:
    path = da.page(PENDULUM, *START, tmp_path / "p.html", parameters=LENGTH, title="<Rod>", about="a < b")
    text = path.read_text(encoding="utf-8")
    assert path == tmp_path / "p.html" and len(text) < 100_000
    assert "<title>&lt;Rod&gt;</title>" in text and "<h1>&lt;Rod&gt;</h1>" in text and "a &lt; b" in text
    assert not re.search(r"https?:|\bsrc=|\bhref=|@import|url\(", text)
    assert "{{" not in text.split("<script")[0]


def test_controls_have_ranges_about_their_values(tmp_path: Path) -> None:
    ranges = {"l": (0.1, 3), X: (-1, 1), "y'": (-2, 2), "t": (1, 50)}
    model = model_of(da.page(PENDULUM, *START, tmp_path / "p.html", parameters=LENGTH, ranges=ranges))
    controls = {
        one["label"]["text"]: (one["low"], one["high"]) for group in model["groups"] for one in group["controls"]
    }
    assert controls == {"l": (0.1, 3), "x": (-1, 1), "y": (-1, 1), "x′": (-1, 1), "y′": (-2, 2), "end": (1, 50)}
    assert usual_range(-3.0) == (-6.0, -1.5) and usual_range(0.0) == (-1.0, 1.0) and usual_range(2.0) == (1.0, 4.0)
    assert name_label("theta_1")["base"] == "θ₁" and name_label("x_left_end")["index"] == "left end"


def test_points_are_guessed_or_given_as_expressions(tmp_path: Path) -> None:
    path, theta = tmp_path / "p.html", da.coordinates("theta")
    model = model_of(da.page(PENDULUM, *START, path, parameters=LENGTH))
    assert (model["scene"]["count"], model["scene"]["dimension"], model["scene"]["traced"]) == (1, 2, [0])
    free = da.System((X, Y, Z), sp.eye(3), (0, 0, -10))
    assert model_of(da.page(free, (0, 0, 0), (1, 0, 0), (0, 1), path))["scene"]["dimension"] == 3
    swing = da.System((theta,), [[L**2]], (-10 * L * sp.sin(theta),))
    assert model_of(da.page(swing, (1,), (0,), (0, 1), path, parameters=LENGTH))["scene"]["count"] == 0
    points = {"pivot": (0, 0), "bob": (L * sp.sin(theta), -L * sp.cos(theta))}
    options = {"parameters": {"l": 2}, "points": points, "links": [("pivot", "bob")]}
    model = model_of(da.page(swing, (1,), (0,), (0, 1), path, **options))
    assert model["scene"]["fixed"] == [0] and model["scene"]["lines"] == [[0, [0, 1]]]
    (found,) = motions([{"model": model, "times": [0.5]}], tmp_path)
    (angle, _), drawn = found["samples"][0]["y"], found["samples"][0]["outputs"][slice(*model["outputs"]["points"])]
    assert drawn == pytest.approx([0, 0, 2 * np.sin(angle), -2 * np.cos(angle)])


def test_a_mechanism_is_drawn_with_its_bodies_and_joints(tmp_path: Path) -> None:
    wheel = da.Body("wheel", 1, (0.1, 0.2, 0.1), position=(0, 0, 0.5), velocity=(1, 0, 0), spin=(0, 2, 0))
    edge = da.RollingDisc("edge", da.ground.at(0, 0, 0), wheel, radius=0.5)
    mechanism = da.Mechanism(wheel, edge, da.Gravity((0, 0, -10)))
    model = model_of(da.page(mechanism, *mechanism.assemble(), (0, 1), tmp_path / "wheel.html"))
    scene = model["scene"]
    assert scene["dimension"] == 3 and scene["up"] == [0, 0, 1] and len(scene["lines"]) == 2
    (found,) = motions([{"model": model, "times": [0.3]}], tmp_path)
    points = np.reshape(found["samples"][0]["outputs"][slice(*model["outputs"]["points"])], (-1, 3))
    centre, rim = points[scene["marks"][0]], points[scene["lines"][1][1][1:]]
    assert np.linalg.norm(rim - centre, axis=1) == pytest.approx(0.5)
    assert rim[:, 2].min() == pytest.approx(0, abs=0.02)


def test_a_run_writes_its_page(tmp_path: Path) -> None:
    run = da.simulate(PENDULUM, (1, 0), (0, 0), [0, 1, 3], parameters=LENGTH, rtol=1e-7)
    model = model_of(run.page(tmp_path / "run.html", {"bob": ("x", Y)}, title="run"))
    assert (model["t0"], model["t1"], model["rtol"], model["atol"]) == (0, 3, 1e-7, None)
    assert model["start"] == [1, 0, 0, 0] and model["scene"]["count"] == 1
    (found,) = motions([{"model": model, "times": [3.0]}], tmp_path)
    assert found["samples"][0]["y"][0] == pytest.approx(run["x"][-1], abs=1e-13)
    run.save(tmp_path / "run.nc")
    again = da.Trajectory.load(tmp_path / "run.nc").page(tmp_path / "again.html", {"bob": ("x", Y)}, title="run")
    assert model_of(again) == model
    with pytest.raises(da.InputError, match="a live page needs the system that the run is a motion of"):
        pickle.loads(pickle.dumps(run)).page(tmp_path / "again.html")


def test_off_the_constraints_and_with_stabilising_terms(tmp_path: Path) -> None:
    options = {"parameters": LENGTH, "drift": da.Baumgarte(2, 2), "allow_violation": True}
    model = model_of(da.page(PENDULUM, (1.1, 0), (0, 0), (0, 2), tmp_path / "p.html", **options))
    (found,) = motions([{"model": model, "times": [2.0]}], tmp_path)
    run = da.simulate(PENDULUM, (1.1, 0), (0, 0), [0, 2], **options)
    assert found["moved"]["most"] == 0
    assert found["samples"][0]["y"] == pytest.approx([*run.q[-1], *run.qd[-1]], abs=1e-12)
    with pytest.raises(da.StateError, match="the initial state must satisfy the constraints; `rod` is violated"):
        da.page(PENDULUM, (1.1, 0), (0, 0), (0, 2), tmp_path / "p.html", parameters=LENGTH)


def controller(**options: object) -> da.Controller:
    servo = da.Servo("hold", X, by=da.Actuator("push", (1,)), settle=3)
    return da.controller(da.System((X,), [[1]], (0,), servos=servo), **options)


def refused(system: object = PENDULUM, start: object = START, path: str = "p.html", **options: object) -> object:
    usual = {"parameters": LENGTH} if system is PENDULUM else {}
    return lambda folder: da.page(system, *start, folder / path, **{**usual, **options})


LINE = ((1,), (0,), (0, 1))
MECHANISM = da.Mechanism(da.Particle("p", 1, position=(0, 0)))
MESSAGES = {
    r"`path` must end in \.html; got `.*p\.pdf`": refused(path="p.pdf"),
    r"`path` must name a file in a folder that exists; there is no `.*nowhere`": refused(path="nowhere/p.html"),
    r"a live page needs a `da\.System`, .*; got FunctionSystem\. `da\.simulate` computes it": refused(
        da.FunctionSystem(mass_matrix=lambda q, qd, t, p: np.eye(1), applied_force=lambda q, qd, t, p: -q), LINE
    ),
    r"a live page runs machine code only; `factorial` cannot be compiled": refused(
        da.System((X,), [[1]], (-sp.factorial(X),)), LINE
    ),
    r"a live page runs constraints that always hold; `floor` can open and close, or be switched": refused(
        da.System((X,), [[1]], (-1,), da.Constraint(X >= 0, name="floor", restitution=0.5)), LINE
    ),
    r"hold all the time, without `events`\. `da\.simulate` computes it; `run\.animate`": refused(events=[da.Event(X)]),
    "a live page does not `conserve` first integrals": refused(drift=da.Projection(conserve=X)),
    "runs continuous controllers with a known bound; got a sampled controller": refused(
        da.System((X,), [[1]], (0,)), LINE, control=controller(period=0.1)
    ),
    "`times` must be a sequence of at least two times; got shape": refused(start=(*START[:2], (0,))),
    r"`ranges` must map names to pairs \(lowest, highest\); got 3": refused(ranges=3),
    "`ranges` must name parameters and coordinates; `w` is none of `l`, `x`": refused(ranges={"w": (0, 1)}),
    r"the range of `l` must be two finite numbers, the lower one first; got \(3, 1\)": refused(ranges={"l": (3, 1)}),
    r"the range of `l` must be two finite numbers, .*; got 'wide'": refused(ranges={"l": "wide"}),
    "`points` must map names to pairs .* or triples of expressions; got 3": refused(points=3),
    "`points` must be all in the plane or all in space; got pairs and triples": refused(
        points={"a": (0, 0), "b": (0, 0, 0)}
    ),
    "point `a` must be two or three numbers, coordinates or expressions; got 3": refused(points={"a": 3}),
    "point `a` must consist of finite numbers, coordinates and parameters of the system; `z` is not one": refused(
        points={"a": (X, Z)}
    ),
    "point `a` must consist of finite numbers, .*; `w` is not one": refused(points={"a": (X, sp.Symbol("w"))}),
    "point `a` must consist of finite numbers, .*; got .1, None.": refused(points={"a": (1, None)}),
    "the points must consist of functions that can be compiled; `besselj` cannot": refused(
        points={"a": (X, sp.besselj(0, X))}
    ),
    "`links` must hold pairs of names of points; got 3": refused(links=3),
    r"`links` must join points \(`bob`\); `pin` is none of them": refused(
        points={"bob": (X, Y)}, links=[("bob", "pin")]
    ),
    "`view` must be an azimuth and an elevation in degrees; got 3": refused(view=3),
    "`points` and `links` must be left out for a `da.Mechanism`": refused(
        MECHANISM, ((0, 0), (1, 0), (0, 1)), points={"a": (0, 0)}
    ),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_messages(message: str, tmp_path: Path) -> None:
    with pytest.raises(da.InputError, match=message):
        MESSAGES[message](tmp_path)
    assert not (tmp_path / "p.html").exists()


def test_runs_that_a_page_cannot_repeat_say_why(tmp_path: Path) -> None:
    options = {"parameters": LENGTH, "times": [0, 1]}
    fixed = da.simulate(PENDULUM, (1, 0), (0, 0), step=0.01, **options)
    with pytest.raises(da.InputError, match=r"adaptive steps; got `step` 0\.01\. `da\.simulate` computes it"):
        fixed.page(tmp_path / "p.html")


def test_functions_and_sizes_beyond_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MOST_BYTES", 1000)
    with pytest.raises(da.InputError, match=r"at most 0\.001 MB; this system of 2 coordinates needs 0\.1 MB"):
        refused()(tmp_path)
    monkeypatch.setattr(wasm_system, "SERVED", frozenset({"fmin"}))
    with pytest.raises(da.InputError, match="must have every function of the system; it lacks `fmax`"):
        refused()(tmp_path)
