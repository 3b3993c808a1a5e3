"""Figures and animations: what they show is the data, they name their axes, and they say what is wrong."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import colors
from PIL import Image

import dalembert as da
from dalembert.figures.animation import _delay, frame_times
from dalembert.figures.geometry import scaled_vectors
from dalembert.figures.panels import MOST_LINES
from dalembert.figures.points import guessed_points
from dalembert.figures.style import COLOURS, pretty
from helpers import random_spd

UNITS = {"x": "m", "y": "m", "theta": "rad", "t": "s", "force": "N", "force theta": "N m", "rod": "m²"}


def motion(coordinates: str = "x y", constraints: str = "rod", times: int = 11, end: float = 2.0) -> da.Trajectory:
    """Some smooth curves as if they were a motion with ideal constraints."""
    names, rows = tuple(coordinates.split()), tuple(constraints.split())
    t = np.linspace(0, end, times)
    wave = np.arange(1, len(names) + 1) * t[:, None]
    violation = 1e-12 * (1 + np.arange(len(rows))) * np.abs(np.sin(t))[:, None]
    return da.Trajectory(
        t=t,
        q=np.sin(wave),
        qd=np.cos(wave) * np.arange(1, len(names) + 1),
        acceleration=-np.sin(wave),
        ideal_force=10 * np.cos(wave),
        nonideal_force=np.zeros_like(wave),
        multipliers=np.ones_like(violation),
        reactions=np.ones_like(violation),
        violation=violation,
        velocity_violation=violation,
        rank=np.full(times, len(rows)),
        inconsistency=np.zeros(times),
        energy=None,
        coordinates=names,
        constraints=rows,
        parameters={},
        statistics={},
    )


def labels(figure) -> list[str]:
    return [axis.get_ylabel() for axis in figure.axes]


def test_overview_carries_the_data() -> None:
    run = motion("x y", "rod skate")
    figure = run.plot()
    assert labels(figure) == ["coordinates", "constraint force", "violation"]
    for axis, values in zip(figure.axes, (run.q, run.ideal_force, np.maximum(run.violation, 1e-18)), strict=True):
        np.testing.assert_array_equal(np.stack([line.get_ydata() for line in axis.lines], axis=1), values)
        np.testing.assert_array_equal(axis.lines[0].get_xdata(), run.t)
    assert figure.axes[-1].get_yscale() == "log"
    assert figure.axes[-1].get_ylim()[1] >= 1e-12
    assert figure.axes[-1].get_xlabel() == "time t"
    assert [text.get_text() for text in figure.axes[-1].get_legend().get_texts()] == ["rod", "skate"]


def test_ideal_and_nonideal_forces_have_axes_of_their_own() -> None:
    run = motion()
    run = replace(run, nonideal_force=0.1 * run.qd)
    figure = run.plot()
    assert labels(figure) == ["coordinates", "ideal force", "nonideal force", "violation"]
    np.testing.assert_array_equal(figure.axes[2].lines[1].get_ydata(), 0.1 * run.qd[:, 1])


def test_each_unit_has_an_axis() -> None:
    figure = motion("x y theta").plot(UNITS)
    forces = ["constraint force / N", "constraint force on θ / N m"]
    assert labels(figure) == ["coordinates / m", "θ / rad", *forces, "violation / m²"]
    assert figure.axes[-1].get_xlabel() == "time t / s"
    x, y = da.coordinates("x y")
    assert labels(motion().plot({x: "m", y: "m", da.t: "s"}))[0] == "coordinates / m"


@pytest.mark.parametrize(("size", "limits"), [(1e-17, (-1, 1)), (1e-9, (-1e-9, 1e-9))])
def test_forces_of_the_size_of_rounding_are_drawn_as_zero(size: float, limits: tuple[float, float]) -> None:
    run = motion("x y theta")
    run = replace(run, ideal_force=run.ideal_force * np.array([1, 1, size / 10]))
    torque = run.plot(UNITS).axes[3]
    assert torque.get_ylim() == pytest.approx(limits, rel=0.1)


def test_violations_in_different_units_name_them_in_the_legend() -> None:
    legend = motion("x y", "rod skate").plot({"rod": "m²", "skate": "m/s"}).axes[-1].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["rod / m²", "skate / (m/s)"]


@pytest.mark.parametrize("count", [1, 2, 20, 40])
def test_curves_differ_in_colour_and_style_and_legends_lie_beside_them(count: int, tmp_path) -> None:
    figure = motion(" ".join(f"q{k}" for k in range(count)), "").plot()
    (axis,) = figure.axes
    looks = [(line.get_color(), line.get_linestyle()) for line in axis.lines[: min(count, MOST_LINES)]]
    assert len(set(looks)) == len(looks) == min(count, MOST_LINES)
    figure.savefig(tmp_path / "run.png")
    if count == 1:
        assert axis.get_legend() is None
        assert axis.get_ylabel() == "q₀"
    else:
        legend = axis.get_legend().get_window_extent()
        assert axis.get_window_extent().x1 <= legend.x0
        assert legend.y0 >= 0 and legend.x1 <= figure.bbox.x1 and legend.y1 <= figure.bbox.y1
    if count > MOST_LINES:
        assert axis.get_legend().get_texts()[-1].get_text() == f"{count - MOST_LINES} more"


def test_a_legend_of_long_names_counts_those_that_do_not_fit() -> None:
    rows = [f"{part} is perpendicular to its axis".replace(" ", "_") for part in "abcdefghijklmnopqrstu"]
    axis = motion("x", " ".join(rows)).plot().axes[-1]
    names = [text.get_text() for text in axis.get_legend().get_texts()]
    assert names == [*rows[:9], "12 more"] and len(axis.lines) >= len(rows)
    assert axis.get_window_extent().width > 0.5 * axis.figure.bbox.width


def test_names_are_printed_as_on_paper() -> None:
    shown = {
        "x": "x",
        "theta": "θ",
        "theta1": "θ₁",
        "x_12": "x₁₂",
        "lambda": "λ",
        "Omega2": "Ω₂",
        "left rod": "left rod",
        "theta_arm": "θ_arm",
        "x_arm2": "x_arm2",
    }
    assert {name: pretty(name) for name in shown} == shown


def test_phase_plane_shows_velocity_against_coordinate() -> None:
    run = motion("x theta1 cart", "")
    figure = run.plot_phase(units={"x": "m", "theta1": "rad", "t": "s"})
    assert labels(figure) == ["ẋ / (m/s)", "θ\N{COMBINING DOT ABOVE}₁ / (rad/s)", "rate of cart"]
    assert [axis.get_xlabel() for axis in figure.axes] == ["x / m", "θ₁ / rad", "cart"]
    for k, axis in enumerate(figure.axes):
        np.testing.assert_array_equal(axis.lines[0].get_data(), [run.q[:, k], run.qd[:, k]])
    (axis,) = run.plot_phase("cart").axes
    np.testing.assert_array_equal(axis.lines[0].get_ydata(), run.qd[:, 2])


def test_path_has_equal_scales_and_takes_names_and_arrays() -> None:
    run = motion("r theta", "")
    across, up = run["r"] * np.cos(run["theta"]), run["r"] * np.sin(run["theta"])
    (axis,) = run.plot_path(across, up, units={"horizontal": "m", "vertical": "m"}).axes
    np.testing.assert_array_equal(axis.lines[0].get_data(), [across, up])
    assert (axis.get_xlabel(), axis.get_ylabel(), axis.get_aspect()) == ("horizontal / m", "vertical / m", 1)
    (axis,) = run.plot_path("theta", da.coordinates("r"), units={"r": "m"}).axes
    np.testing.assert_array_equal(axis.lines[0].get_data(), [run["theta"], run["r"]])
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("θ", "r / m")


def test_frames_last_as_long_as_the_motion_or_are_300() -> None:
    times = frame_times(np.array([1.0, 1.5, 3.0]), fps=25)
    assert len(times) == 50 and times[0] == 1 and times[-1] == 3
    np.testing.assert_allclose(np.diff(times), 2 / 49)
    assert len(frame_times(np.array([0.0, 1000.0]), fps=25)) == 300
    assert [_delay(fps) for fps in (60, 30, 25, 5)] == [20, 30, 40, 200]  # a GIF counts time by 10 ms
    assert len(frame_times(np.array([0.0, 1e-6]), fps=25)) == 2


@pytest.mark.parametrize(
    ("names", "points"),
    [
        ("x y z", {"": ("x", "y", "z")}),
        ("x1 y1 z1 x2 y2", {"1": ("x1", "y1"), "2": ("x2", "y2")}),
        ("b_x b_y b_z", {"b": ("b_x", "b_y", "b_z")}),
        ("x z", {"": ("x", "z")}),
        ("y z theta", {"": ("y", "z")}),
        ("x1 y1 x_2 y_2 phi", {"1": ("x1", "y1"), "2": ("x_2", "y_2")}),
        ("y1 x1", {"1": ("x1", "y1")}),
        ("bob_x bob_z", {"bob": ("bob_x", "bob_z")}),
    ],
)
def test_particles_are_guessed_from_names(names: str, points: dict) -> None:
    assert guessed_points(tuple(names.split())) == points


def colour_at(image: Image.Image, place: tuple[float, float]) -> tuple[int, ...]:
    return image.convert("RGB").getpixel((round(place[0]), round(place[1])))


def test_gif_has_a_frame_for_each_time_and_shows_points(tmp_path) -> None:
    run = motion("theta", "", times=41)
    across, up = np.cos(run.t * np.pi / 2), np.sin(run.t * np.pi / 2)
    points = {"pivot": (0, 0.0), "bob": (across, up)}
    path = run.animate(tmp_path / "animation.gif", points, [("pivot", "bob")], fps=5)
    assert path == tmp_path / "animation.gif"
    with Image.open(path) as animation:
        assert animation.n_frames == 10
        assert animation.info["duration"] == 200
        assert colour_at(animation, (1, 1)) == (255, 255, 255)
        blue = 255 * np.array(colors.to_rgb(COLOURS[0]))
        middles = []
        for frame in (0, 9):
            animation.seek(frame)
            pixels = np.asarray(animation.convert("RGB"), float)
            _, columns = np.nonzero(np.abs(pixels - blue).max(axis=2) < 12)
            middles.append((np.median(columns), animation.width))
    assert middles[0][0] > 0.7 * middles[0][1]  # starts on the right
    assert middles[1][0] < 0.3 * middles[1][1]  # ends on the left


def test_page_holds_all_its_frames_and_needs_no_network(tmp_path) -> None:
    page = motion("x y").animate(str(tmp_path / "animation.html"), fps=3, trace=0.5).read_text(encoding="utf-8")
    assert "http" not in page
    frames = json.loads(re.search(r"const frames = (\[.*\]);", page)[1])
    assert len(frames) == 6
    assert all(base64.b64decode(frame).startswith(b"\x89PNG") for frame in frames)
    assert len(set(frames)) == 6


def geometry_point(seed: int, nonideal: bool = True, rows: int = 1) -> da.ConstrainedMotion:
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(1, 2)), rng.normal(size=1)
    scale = np.arange(1, rows + 1)
    C = rng.normal(size=2) if nonideal else None
    return da.constrained_motion(random_spd(rng, 2), rng.normal(size=2), scale[:, None] * A, scale * b, C=C)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("nonideal", [True, False])
def test_geometry_vectors_add_up_at_right_angles(seed: int, nonideal: bool) -> None:
    point = geometry_point(seed, nonideal, rows=1 + seed % 2)
    v = scaled_vectors(point)
    np.testing.assert_allclose(v.along_null + v.along_range, v.acceleration, atol=1e-12)
    assert abs(v.along_null @ v.along_range) < 1e-12
    assert abs(v.null_direction @ v.range_direction) < 1e-15
    values, vectors = np.linalg.eigh(point.mass_matrix)
    B = np.asarray(point.constraint_matrix) @ (vectors / np.sqrt(values)) @ vectors.T
    np.testing.assert_allclose(v.along_range, np.linalg.pinv(B, rcond=1e-10) @ point.constraint_rhs, atol=1e-12)
    np.testing.assert_allclose(B @ v.along_null, 0, atol=1e-12)
    np.testing.assert_allclose(v.free @ v.free, point.applied_force @ point.free_acceleration, atol=1e-12)
    assert bool(v.nonideal.any()) == nonideal


def arrows(figure) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(np.array(text.xyann), np.array(text.xy)) for text in figure.axes[0].texts if not text.get_text()]


def captions(figure) -> list:
    return [text for text in figure.axes[0].texts if text.get_text()]


@pytest.mark.parametrize("seed", range(4))
def test_geometry_figure_draws_them_to_scale(seed: int) -> None:
    point = geometry_point(seed)
    vectors = scaled_vectors(point)
    figure = da.plot_geometry(point, unit="m/s²")
    (along, across, change, free, nonideal, total) = arrows(figure)
    np.testing.assert_allclose(along[1] + across[1], total[1], atol=1e-12)
    assert along[1][1] == pytest.approx(0, abs=1e-12) and across[1][0] == pytest.approx(0, abs=1e-12)
    assert along[1][0] > 0 and across[1][1] > 0
    np.testing.assert_array_equal(nonideal[0], free[1])
    np.testing.assert_allclose(change, (free[1], total[1]), atol=1e-12)
    for arrow, vector in ((free, vectors.free), (nonideal, vectors.nonideal), (total, vectors.acceleration)):
        assert np.linalg.norm(arrow[1] - arrow[0]) == pytest.approx(np.linalg.norm(vector), rel=1e-12)
    assert figure.axes[0].get_aspect() == 1
    assert figure.axes[0].get_xlabel() == "scaled acceleration in null$(B)$ / (m/s²)"


@pytest.mark.parametrize("seed", range(12))
def test_geometry_labels_do_not_collide(seed: int) -> None:
    figure = da.plot_geometry(geometry_point(seed))
    boxes = [text.get_window_extent() for text in captions(figure)]
    assert len(boxes) == 6
    assert not any(boxes[i].overlaps(boxes[j]) for i in range(6) for j in range(i))
    window = figure.axes[0].get_window_extent()
    assert all(window.x0 <= box.x0 and box.x1 <= window.x1 for box in boxes)
    assert all(window.y0 <= box.y0 and box.y1 <= window.y1 for box in boxes)


def test_geometry_lists_what_vanishes() -> None:
    point = da.constrained_motion(np.eye(2), [0, -9.81], [[0.6, -0.8]], [0])
    figure = da.plot_geometry(point)
    assert figure.axes[0].get_title(loc="right") == "$B^+b$ $= 0$,  $c_s$ $= 0$"
    assert len(captions(figure)) == 4
    assert not arrows(da.plot_geometry(da.constrained_motion(np.eye(2), [0, 0], [[1, 0]], [0])))


def animation(run: da.Trajectory | None = None, path: str = "animation.gif", **options) -> None:
    (run or motion()).animate(path, **options)


def point(M=((1, 0), (0, 1)), Q=(0, -1), A=((1.0, 0),), b=(0,), **options) -> da.ConstrainedMotion:
    return da.constrained_motion(M, Q, A, b, **options)


MESSAGES = {
    r'`units` must map names to units, as \{"x": "m", "t": "s"\}; got \'m\'': lambda: motion().plot("m"),
    r"`units` must name coordinates, constraints, parameters, `t` or `force`; `w` is unknown\. "
    r"The run has `t`, `x`, `y`, `rod`\.": lambda: motion().plot({"w": "m"}),
    r"`rood` is unknown. Did you mean `rod`\?": lambda: motion().plot_phase(units={"rood": "m"}),
    r"`horizontal` is unknown": lambda: motion().plot({"horizontal": "m"}),
    r"`names` must name coordinates of the run \(`x`, `y`\); got `rod`": lambda: motion().plot_phase("rod"),
    r"`vertical` must be a coordinate of the run \(`x`, `y`\) or an array of its 11 values; got 'z'": (
        lambda: motion().plot_path("x", "z")
    ),
    r"`horizontal` must be a coordinate .* got 3": lambda: motion().plot_path(3, "x"),
    r"`vertical` must have one value for each of the 11 times of the run; got \(3,\)": (
        lambda: motion().plot_path("x", [1, 2, 3])
    ),
    r"`vertical` must hold numbers; got \['a'\]": lambda: motion().plot_path("x", ["a"]),
    r"`path` must end in \.gif, \.html, \.mp4; got `animation.avi`": lambda: animation(path="animation.avi"),
    r"`path` must name a file in a folder that exists; there is no `nowhere`": lambda: animation(
        path="nowhere/animation.gif"
    ),
    r"the coordinates \(`r`, `theta`\) must pair up by name.* Pass `points`": lambda: animation(motion("r theta")),
    r"`points` must map at least one name to a pair \(horizontal, vertical\), or .*; got \[\]": lambda: animation(
        points=[]
    ),
    r"point `bob` must be a pair \(horizontal, vertical\), or a triple in space; got 'x'": lambda: animation(
        points={"bob": "x"}
    ),
    r"the vertical position of point `bob` must be a coordinate of the run \(`x`, `y`\).*got 'z'": (
        lambda: animation(points={"bob": ("x", "z")})
    ),
    r"the horizontal position of point `bob` must have one value for each of the 11 times": (
        lambda: animation(points={"bob": ([0, 1], "x")})
    ),
    r"the horizontal position of point `bob` must be finite": lambda: animation(points={"bob": (np.nan, "x")}),
    r"`links` must hold pairs of names of points; got 'bob'": lambda: animation(
        points={"bob": ("x", "y")}, links=["bob"]
    ),
    r"`links` must hold pairs of names of points; got 3": lambda: animation(points={"bob": ("x", "y")}, links=3),
    r"`links` must join points \(`bob`\); `pivot` is none of them": (
        lambda: animation(points={"bob": ("x", "y")}, links=[("pivot", "bob")])
    ),
    r"`fps` must be a positive number; got 0": lambda: animation(fps=0),
    r"`fps` must be a positive number; got 'fast'": lambda: animation(fps="fast"),
    r"`trace` must be a nonnegative number; got -1": lambda: animation(trace=-1),
    r"the run must have at least two times to be animated; got 1": lambda: animation(motion().until(1)),
    r"`point` must be a result of `da.motion` or `da.constrained_motion`; got 3": lambda: da.plot_geometry(3),
    r"`point` must be the result at one state; got a batch of shape \(2,\)": (
        lambda: da.plot_geometry(point(Q=((0, 1), (1, 0))))
    ),
    r"must have 2 coordinates and constraints of rank 1; got 2 and rank 0\. Only then": (
        lambda: da.plot_geometry(point(A=((0.0, 0),)))
    ),
    r"must have 2 coordinates and constraints of rank 1; got 3 and rank 1": (
        lambda: da.plot_geometry(point(np.eye(3), (0, 0, 1), ((1.0, 0, 0),)))
    ),
    r"must have a positive definite mass matrix; its smallest eigenvalue is -1": (
        lambda: da.plot_geometry(point(np.diag([1.0, -1]), formulation=da.Multipliers()))
    ),
    r"`point` must satisfy q̈ₛ = N\(aₛ \+ cₛ\) \+ B⁺b; it is off by .* contradict": (
        lambda: da.plot_geometry(replace(point(), acceleration=np.array([1.0, 0])))
    ),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_messages(message: str) -> None:
    with pytest.raises(da.InputError, match=message):
        MESSAGES[message]()


def test_matplotlib_is_imported_only_when_something_is_drawn() -> None:
    import subprocess
    import sys

    code = "import sys, dalembert as da; da.Trajectory; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
