"""Springs, supports and pins in drawings of mechanisms."""

import numpy as np

import dalembert as da
from dalembert.figures.spring_line import zigzag
from dalembert.mechanisms.drawing import drawing_of
from dalembert.mechanisms.layout import scene_of_layout


def test_a_zigzag_joins_its_ends_and_keeps_its_width():
    start, end = np.array([1.0, 2.0]), np.array([4.0, 6.0])
    corners = zigzag(np.array([start, end]), 0.1)
    assert np.allclose(corners[[0, -1]], [start, end])
    along = (end - start) / 5
    away = (corners - start) @ np.array([-along[1], along[0]])
    assert np.allclose(abs(away[2:-2]), 0.1) and abs(away.sum()) < 1e-12  # to both sides
    assert (np.diff((corners - start) @ along) > 0).all()
    assert (zigzag(np.array([start, start]), 0.1) == start).all()


def swing():
    bar = da.PlanarBody("bar", mass=1, inertia=0.1, position=(0.5, 0))
    pin = da.Revolute("pin", da.ground.at(0, 0), bar.at(-0.5, 0))
    spring = da.Spring(da.ground.at(1, 1), bar.at(0.5, 0), stiffness=3, length=1)
    mechanism = da.Mechanism(bar, pin, (da.Gravity((0, -10)), spring))
    return mechanism, da.simulate(mechanism.system, *mechanism.assemble(), [0, 0.5, 1])


def test_springs_and_fixed_pins_of_a_page_and_a_figure():
    mechanism, run = swing()
    drawing = drawing_of(mechanism, run)
    assert drawing.layout.springs == [len(drawing.lines) - 1]
    scene = scene_of_layout(mechanism, drawing.layout, (30, 20)).described()
    assert scene["springs"] == drawing.layout.springs and set(scene["marks"]) <= set(scene["fixed"])
    corners = [len(line.get_xdata()) for line in mechanism.plot(run, positions=1).axes[0].lines]
    assert max(corners) == len(zigzag(np.eye(2), 1.0))
    film = mechanism.animate(run, title="swing", fps=5)
    assert [line.is_spring for line in film.lines] == [False, True] and len(film.frames) == len(film.times)


def test_a_blade_has_no_support():
    sledge = da.PlanarBody("sledge", mass=1, inertia=0.1, velocity=(1, 0))
    mechanism = da.Mechanism(sledge, da.KnifeEdge("blade", da.ground, sledge.at(-0.2, 0)))
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 1])
    assert not mechanism.plot(run).axes[0].collections
