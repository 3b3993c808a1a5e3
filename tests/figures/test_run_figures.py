"""Figures of runs on the user's axes, of energies, of paths in space and of reactions; animations without a path."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import sympy as sp
from matplotlib.figure import Figure

import dalembert as da

x, y, z = da.coordinates("x y z")
v, w = x.diff(da.t), y.diff(da.t)
T = np.linspace(0, 2, 41)


def pendulum(lagrangian=True):
    rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    energy = (v**2 + w**2) / 2 - 9.81 * y if lagrangian else None
    return da.simulate(da.System((x, y), sp.eye(2), (0, -9.81), rod, lagrangian=energy), (1, 0), (0, 0), T)


def helix():
    ball = da.Constraint(x**2 + y**2 - 1, name="tube")
    return da.simulate(da.System((x, y, z), sp.eye(3), (0, 0, 0), ball), (1, 0, 0), (0, 3, 0.5), T)


def crank():
    bar = da.PlanarBody("bar", mass=2, inertia=2 / 12, position=(0.5, 0))
    pin = da.Revolute("pin", da.ground.at(0, 0), bar.at(-0.5, 0), nonideal=da.Viscous(0.1))
    mechanism = da.Mechanism((bar,), (pin,), (da.Gravity((0, -9.81)),))
    return mechanism, da.simulate(mechanism.system, *mechanism.assemble(), T)


def lines(axis):
    return {line.get_label(): line.get_ydata() for line in axis.lines}


def test_named_histories_on_an_axis_of_the_user():
    run, ax = pendulum(), Figure().add_subplot()
    assert run.plot({"x": "m", "t": "s"}, of="x'", ax=ax) is ax.figure
    assert (ax.lines[0].get_ydata() == run["x'"]).all()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time t / s", "x′ / (m/s)")
    (both,) = run.plot(of=["x", y.diff(da.t, 2)]).axes
    assert [*lines(both)] == ["x", "y″"]


def test_an_axis_of_the_user_shows_the_coordinates():
    run, ax = pendulum(), Figure().add_subplot()
    assert run.plot({"x": "m", "y": "m"}, ax=ax) is ax.figure
    assert [*lines(ax)] == ["x", "y"] and (lines(ax)["y"] == run["y"]).all() and ax.get_ylabel() == "m"


def test_a_notebook_shows_figures():
    picture, size = pendulum().plot()._repr_png_()
    assert picture.startswith(b"\x89PNG") and size["width"] > size["height"] > 100


def test_energies():
    run = pendulum()
    (axis,) = run.plot_energy({"energy": "J"}).axes
    found = lines(axis)
    kinetic = (run["x'"] ** 2 + run["y'"] ** 2) / 2
    assert np.allclose(found["kinetic"], kinetic) and np.allclose(found["potential"], 9.81 * run["y"], atol=1e-9)
    assert np.allclose(found["total"], run.energy) and axis.get_ylabel() == "energy / J"
    ax = Figure().add_subplot()
    pendulum(lagrangian=False).plot_energy(ax=ax)
    assert len(ax.lines) == 1 and ax.get_ylabel() == "kinetic energy"


def test_paths_in_space():
    run = helix()
    (axis,) = run.plot_path("x", "y", "z", units={"z": "m"}).axes
    drawn = axis.lines[0].get_data_3d()
    assert all((values == run[name]).all() for values, name in zip(drawn, "xyz", strict=True))
    assert axis.get_zlabel() == "z / m"
    ax = Figure().add_subplot(projection="3d")
    assert run.plot_path(run["x"], run["y"], run["z"], ax=ax) is ax.figure and ax.get_zlabel() == "third"


def test_reactions():
    mechanism, run = crank()
    reactions = mechanism.reactions(run)
    force, torque = reactions.plot(units={"force": "N", "t": "s"}).axes
    assert np.allclose(lines(force)["pin"], np.linalg.norm(reactions["pin"].force, axis=1))
    assert np.allclose(lines(torque)["pin"], reactions["pin"].torque)
    assert force.get_legend() and torque.get_legend()
    assert force.get_ylabel() == "force / N" and torque.get_xlabel() == "time t / s"


def test_torques_of_the_size_of_rounding_are_not_drawn():
    rod = da.PlanarBody("rod", 1, 1 / 12, position=(0.3, 0.4), angle=-0.9)
    ends = {"floor": (0.5, lambda x, y: y), "wall": (-0.5, lambda x, y: x)}
    joints = [da.PointOnCurve(name, da.ground.at(0, 0), rod.at(s, 0), curve=f) for name, (s, f) in ends.items()]
    ladder = da.Mechanism(rod, joints, da.Gravity((0, -9.81)))
    reactions = ladder.reactions(da.simulate(ladder.system, *ladder.assemble(), np.linspace(0, 1, 101)))
    assert any(reaction.torque.any() for reaction in reactions.values())  # rounding errors
    assert [axis.get_ylabel() for axis in reactions.plot().axes] == ["force"]


def test_a_picture_of_a_small_driven_motion():
    """The drive moves with its joint and has no path of its own; a narrow motion leaves room for its numbers."""
    arm = da.PlanarBody("arm", mass=1, inertia=0.1)
    slide = da.Prismatic("slide", da.ground.at(0, 0), arm)
    mechanism = da.Mechanism(arm, (slide, da.Drive("motor", slide, da.t / 100)))
    picture = mechanism.plot(da.simulate(mechanism.system, *mechanism.assemble(), [0, 1]))
    assert [text.get_text() for text in picture.legends[0].get_texts()] == ["slide"]
    picture.draw_without_rendering()
    (axis,) = picture.axes
    assert axis.bbox.width > 0.5 * picture.bbox.width and axis.bbox.height > 0.5 * picture.bbox.height


def test_points_of_an_animation_are_those_of_a_page():
    """Expressions, also in pairs beside numbers and coordinates, and points in space."""
    run = pendulum()
    animation = run.animate(points={"middle": (x / 2, y / 2), "pivot": (0, sp.Integer(0)), "bob": ("x", y)})
    assert np.allclose(animation.positions["middle"], run.q / 2) and not animation.positions["pivot"].any()
    assert (animation.positions["bob"] == run.q).all()
    turns = helix()
    above = turns.animate(points={"P": (x, y, 2 * z)}, view=(0, 90))
    from_side = turns.animate(points={"P": (x, y, 2 * z)}, view=(0, 0)).positions["P"]
    assert np.allclose(np.hypot(*above.positions["P"].T), 1) and np.allclose(from_side[:, 1], 2 * turns["z"])
    assert np.allclose(abs(from_side[:, 0]), abs(turns["y"]))
    assert turns.animate(view=(0, 0)).positions[""][-1, 1] == pytest.approx(turns["z"][-1])


def test_speed_and_title_of_an_animation(tmp_path):
    run = pendulum()
    slow = run.animate(points={"bob": ("x", "y")}, fps=10, speed=0.5, title="A pendulum")
    assert len(slow.times) == 40 and len(slow.frames) == 40
    assert slow.save(tmp_path / "slow.gif").stat().st_size > 1000
    page = slow._repr_html_()
    assert page.startswith("<iframe srcdoc=") and "A pendulum" in page
    mechanism, swing = crank()
    assert len(mechanism.animate(swing, fps=10, speed=2).times) == 10
    assert mechanism.animate(swing, tmp_path / "named.html", fps=5, title="Crank").stat().st_size > 1000
    assert mechanism.animate(swing).save(tmp_path / "crank.html").stat().st_size > 1000


ENCODER = """#!{python}
import sys
frames = sys.stdin.buffer.read()
if "fail" in sys.argv[-1]:
    sys.exit("no such codec")
open(sys.argv[-1], "w").write(f"{{len(frames)}} {{' '.join(sys.argv[1:-1])}}")
"""


@pytest.fixture
def encoder(tmp_path, monkeypatch):
    """A program in the place of ffmpeg, which writes down what it was given."""
    program = tmp_path / "bin" / "ffmpeg"
    program.parent.mkdir()
    program.write_text(ENCODER.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for ffmpeg is a script with a Unix heading")
def test_mp4_is_encoded_by_ffmpeg(encoder, tmp_path):
    animation = pendulum().animate(points={"bob": ("x", "y")}, fps=10)
    width, height = animation.frames[0].size
    size, *options = animation.save(tmp_path / "animation.mp4").read_text().split()
    assert int(size) == len(animation.frames) * width * height * 3
    assert f"{width}x{height}" in options and "1000/100" in options
    with pytest.raises(da.InputError, match=r"`ffmpeg` must be able to write .*fail.mp4; it failed: no such codec"):
        animation.save(tmp_path / "fail.mp4")


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg, which encodes and decodes videos, is not installed")
def test_mp4_shows_the_frames(tmp_path):
    """Decoded, the video has all frames, and they are those that were drawn, as well as its compression keeps them."""
    animation = pendulum().animate(points={"bob": ("x", "y")}, fps=10, title="swing")
    path = animation.save(tmp_path / "animation.mp4")
    command = ["ffmpeg", "-loglevel", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    decoded = subprocess.run(command, capture_output=True, check=True).stdout
    width, height = (side - side % 2 for side in animation.frames[0].size)
    shown = np.frombuffer(decoded, np.uint8).reshape(-1, height, width, 3)
    sent = np.array([np.asarray(frame.convert("RGB"))[:height, :width] for frame in animation.frames])
    assert shown.shape == sent.shape
    assert np.abs(shown.astype(int) - sent).mean() < 3
    assert np.abs(sent[0].astype(int) - sent[-1]).max() > 100


def test_mp4_needs_ffmpeg(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(da.InputError, match=r"a file `.mp4` is encoded by the program `ffmpeg`, which must be on the"):
        pendulum().animate(tmp_path / "animation.mp4", points={"bob": ("x", "y")})


MESSAGES = {
    "`of` must name at least one history": lambda: pendulum().plot(of=[]),
    "`q` must be a coordinate or a constraint": lambda: pendulum().plot(of="q"),
    "`units` must name `t` or `energy`; got `force`": lambda: pendulum().plot_energy({"force": "N"}),
    "`units` must name `t`, `force` or `torque`; got `x`": lambda: (
        crank()[0].reactions(crank()[1]).plot(units={"x": ""})
    ),
    "`pen` must be a joint of the mechanism": lambda: crank()[0].reactions(crank()[1]).plot("pen"),
    r"`ax` must have 3 dimensions; got an axis with 2. Make it by `figure.add_subplot\(projection": lambda: (
        helix().plot_path("x", "y", "z", ax=Figure().add_subplot())
    ),
    "`ax` must have 2 dimensions; got an axis with 3": lambda: helix().plot_path(
        "x", "y", ax=Figure().add_subplot(projection="3d")
    ),
    "`points` must be all in the plane or all in space; got pairs and triples": lambda: helix().animate(
        points={"O": (0, 0), "P": (x, y, z)}
    ),
    "`view` must be an azimuth and an elevation in degrees; got 3": lambda: helix().animate(view=3),
    "the z position of point `P` must be finite": lambda: helix().animate(points={"P": (x, y, np.inf)}),
    "`speed` must be a positive number; got 0": lambda: pendulum().animate(speed=0),
    "`speed` must leave at most 3000 frames; 0.001 needs 50000": lambda: pendulum().animate(speed=0.001),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_messages(message):
    with pytest.raises(da.InputError, match=message):
        MESSAGES[message]()
