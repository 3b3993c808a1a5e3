"""Drawings show the curve, slot, profile or surface on which a point moves, as far as the motion goes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.mechanisms.drawing import Drawing, drawing_of
from live.browser_numbers import model_of, motions

SIZE = da.parameters("r")


def guides(drawing: Drawing) -> list[Any]:
    """The positions (points, T, d) along each line that shows what a point moves on."""
    lines = [names for k, (_, names) in enumerate(drawing.lines) if k in drawing.layout.thin]
    return [np.array([drawing.points[name] for name in names]) for names in lines]


def drawn(mechanism: da.Mechanism, end: float = 1.0, **parameters: float) -> tuple[Any, Any]:
    """The trajectory of a mechanism and its drawing."""
    start = mechanism.assemble(parameters=parameters)
    run = da.simulate(mechanism.system, *start, np.linspace(0, end, 11), parameters=parameters)
    return run, drawing_of(mechanism, run)


def bead_on(curve: Any, at: Any, velocity: Any = None) -> da.Mechanism:
    bead = da.Particle("bead", 1, position=at, velocity=velocity or (0,) * len(at))
    fall = da.Gravity((*(0,) * (len(at) - 1), -10))
    return da.Mechanism(bead, da.PointOnCurve("wire", da.ground.at(*(0,) * len(at)), bead, curve=curve), fall)


def test_an_open_curve_reaches_beyond_the_motion_on_both_sides():
    run, drawing = drawn(bead_on(lambda x, y: y - SIZE * x**2, (1, 2)), r=2)
    (line,) = guides(drawing)
    assert (line[:, 0] == line[:, -1]).all()
    x, y = line[:, 0].T
    np.testing.assert_allclose(y, 2 * x**2, atol=1e-9)
    assert x.min() < run["x_bead"].min() < run["x_bead"].max() < x.max()
    assert np.linalg.norm(np.diff(line[:, 0], axis=0), axis=1).max() < 0.1


def test_a_closed_curve_is_drawn_around():
    mechanism = bead_on(lambda x, y: x**2 + y**2 - SIZE**2, (0, -3), velocity=(14, 0))
    _, drawing = drawn(mechanism, r=3)
    (line,) = guides(drawing)
    np.testing.assert_allclose(np.linalg.norm(line[:, 0], axis=1), 3, rtol=1e-9)
    assert (line[0] == line[-1]).all()
    turned = np.unwrap(np.arctan2(line[:, 0, 1], line[:, 0, 0]))
    assert abs(turned[-1] - turned[0]) == pytest.approx(2 * np.pi)


def test_a_curve_in_space_satisfies_both_equations():
    run, drawing = drawn(bead_on(lambda x, y, z: (x - sp.cos(3 * z), y - sp.sin(3 * z)), (1, 0, 0)))
    (line,) = guides(drawing)
    x, y, z = line[:, 0].T
    np.testing.assert_allclose([x, y], [np.cos(3 * z), np.sin(3 * z)], atol=1e-9)
    assert z.min() < run["z_bead"].min() < 0 < z.max()


def test_a_slot_moves_with_its_body():
    disc = da.PlanarBody("disc", 1, 1, position=(1, 0), angle=0.3, spin=2)
    bead = da.Particle("bead", 1, position=(1 + 0.5 * np.cos(0.3), 0.5 * np.sin(0.3)))
    slot = da.PointOnCurve("slot", disc.at(0, 0), bead, curve=lambda x, y: y)
    mechanism = da.Mechanism((disc, bead), (da.Revolute("axle", da.ground.at(1, 0), disc.at(0, 0)), slot))
    run, drawing = drawn(mechanism)
    (line,) = guides(drawing)
    across = np.array([-np.sin(run["theta_disc"]), np.cos(run["theta_disc"])])
    np.testing.assert_allclose(np.einsum("kti,it->kt", line - [1, 0], across), 0, atol=1e-9)
    bead_positions = drawing.points["joint slot"]
    reach = np.linalg.norm(line - [1, 0], axis=2).max()
    assert reach > np.linalg.norm(bead_positions - [1, 0], axis=1).max()


def test_a_curve_that_changes_with_time_is_drawn_at_each_time():
    run, drawing = drawn(bead_on(lambda x, y: y - (x - sp.sin(da.t)) ** 2, (1, 1)))
    (line,) = guides(drawing)
    np.testing.assert_allclose(line[:, :, 1], (line[:, :, 0] - np.sin(run.t)) ** 2, atol=1e-9)


def test_a_surface_is_drawn_as_a_grid():
    ball = da.Particle("ball", 1, position=(1, 0, 0.5), velocity=(0, 1, 0))
    bowl = da.PointOnSurface("bowl", da.ground.at(0, 0, -0.5), ball, surface=lambda x, y, z: z - x**2 + y**2)
    _, drawing = drawn(da.Mechanism(ball, bowl, da.Gravity((0, 0, -10))), 0.1)
    lines = guides(drawing)
    assert len(lines) == 18
    for line in lines:
        x, y, z = line[:, 0].T
        np.testing.assert_allclose(z + 0.5, x**2 - y**2, atol=1e-9)


def test_lines_and_profiles_are_drawn_below_a_wheel():
    wheel = da.PlanarBody("wheel", 1, 1, position=(0, 2), velocity=(1, 0), spin=-1)
    (road,) = guides(drawn(da.Mechanism(wheel, da.RollingOnLine("road", da.ground.at(0, 1), wheel, radius=1)))[1])
    np.testing.assert_allclose(road[:, 0, 1], 1)
    assert road[0, 0, 0] < 0 < 1 < road[-1, 0, 0]
    track = da.RollingOnProfile("hill", da.ground.at(0, 1), wheel, radius=1, profile=lambda s: (s, -(s**2) / 10))
    (hill,) = guides(drawn(da.Mechanism(wheel, track))[1])
    np.testing.assert_allclose(hill[:, 0, 1], 1 - hill[:, 0, 0] ** 2 / 10)
    assert hill[0, 0, 0] < 0 < 1 < hill[-1, 0, 0]


@pytest.mark.parametrize(
    ("curve", "at"),
    [
        pytest.param(lambda x, y: y - SIZE * x**2, (1, 1), marks=pytest.mark.slow),
        (lambda x, y: x**2 + y**2 - 2 * SIZE, (1, 1)),
        pytest.param(lambda x, y: SIZE * y**3 + y - 2 * x, (1, 1), marks=pytest.mark.slow),
    ],
    ids=["solved for a component", "of second degree", "by Newton's method"],
)
def test_a_slider_of_a_live_page_moves_the_curve(curve, at, tmp_path: Path):
    mechanism = bead_on(curve, at)
    path = da.page(
        mechanism, *mechanism.assemble(parameters={"r": 1}), (0, 0.5), tmp_path / "p.html", parameters={"r": 1}
    )
    model = model_of(path)
    (found,) = motions([{"model": model, "times": [0], "numbers": {"p": [1.1]}}], tmp_path)
    points = np.reshape(found["samples"][0]["outputs"][slice(*model["outputs"]["points"])], (-1, 2))
    (line,) = [np.array(names) for k, (_, names) in enumerate(model["scene"]["lines"]) if k in model["scene"]["thin"]]
    off = [float(curve(*points[k]).subs(SIZE, 1.1)) for k in line]
    np.testing.assert_allclose(off, 0, atol=1e-4)
    assert len(line) > 20


def test_pictures_and_pages_of_recorded_motions_show_the_curve(tmp_path: Path):
    mechanism = bead_on(lambda x, y: y - x**2, (1, 1))
    run, drawing = drawn(mechanism)
    lines = mechanism.plot(run, positions=1).axes[0].lines
    assert len(guides(drawing)[0]) in [len(line.get_xydata()) for line in lines]
    page = mechanism.animate(run, tmp_path / "p.html")
    assert f'"thin":{drawing.layout.thin}' in page.read_text(encoding="utf-8") and drawing.layout.thin


def test_a_knife_edge_is_drawn_as_a_line_along_its_blade() -> None:
    """A skate across the y axis of a sledge that has turned by a quarter: its blade points along y."""
    sledge = da.PlanarBody("sledge", mass=1, inertia=1, position=(3, 0), angle=np.pi / 2, velocity=(0, 1))
    blade = da.KnifeEdge("blade", da.ground.at(0, 0), sledge.at(1, 0))
    mechanism = da.Mechanism(sledge, blade)
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 1])
    drawing = drawing_of(mechanism, run)
    ((_, names),) = (line for line in drawing.lines if line[1][0].startswith("line 0 of blade"))
    ends = np.array([drawing.points[name][0] for name in names])
    np.testing.assert_allclose(ends, [[3, 0.8], [3, 1.2]], atol=1e-12)
