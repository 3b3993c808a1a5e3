"""Inertia of bodies whose shapes are meshes: exact integrals, with MuJoCo's numbers where its rule is another one."""

import struct

import numpy as np
import pytest

import dalembert as da

OUTLINE = [(0, 0), (3, 0), (3, 2), (2, 2), (2, 1), (1, 1), (1, 2), (0, 2)]
CAPS = [(0, 1, 4), (0, 4, 5), (1, 2, 3), (1, 3, 4), (0, 5, 6), (0, 6, 7)]
BOXES = [((1.5, 0.5, 0.5), (3, 1, 1)), ((0.5, 1.5, 0.5), (1, 1, 1)), ((2.5, 1.5, 0.5), (1, 1, 1))]
"""A bracket with the outline of a U and the height one, and the same as boxes: centres and edges."""


def triangles():
    n = len(OUTLINE)
    points = np.array([(x, y, z) for z in (0, 1) for x, y in OUTLINE], float)
    faces = [(a, c, b) for a, b, c in CAPS] + [(a + n, b + n, c + n) for a, b, c in CAPS]
    for i in range(n):
        j = (i + 1) % n
        faces += [(i, j, j + n), (i, j + n, i + n)]
    return points, faces


def write_mesh(path):
    points, faces = triangles()
    corners = [points[list(face)] for face in faces]
    if path.suffix == ".obj":
        lines = [f"v {x} {y} {z}" for x, y, z in points]
        path.write_text("\n".join([*lines, *("f " + " ".join(f"{k + 1}//1" for k in face) for face in faces)]))
    elif path.stem == "text":
        facets = ("\n".join(f"vertex {x} {y} {z}" for x, y, z in own) for own in corners)
        path.write_text("solid U\n" + "\n".join(facets) + "\nendsolid U\n")
    else:
        records = [struct.pack("<12fH", 0, 0, 0, *own.ravel(), 0) for own in corners]
        path.write_bytes(bytes(80) + struct.pack("<I", len(faces)) + b"".join(records))


def body_of(folder, name="U.stl", mesh="", geom='density="10"', compiler=""):
    write_mesh(folder / name)
    file = folder / "robot.xml"
    file.write_text(
        f'<mujoco>{compiler}<asset><mesh name="U" file="{name}" {mesh}/></asset><worldbody><body name="bracket">\n'
        f'<joint axis="1 0 0"/><geom type="mesh" mesh="U" {geom}/></body></worldbody></mujoco>'
    )
    return da.Mechanism.from_mjcf(file).bodies[0]


def inertia_of(body):
    return np.array(body.inertia.tolist(), float)


def of_boxes(density):
    """Return mass, centre and inertia about it of the boxes."""
    masses = density * np.array([np.prod(edges) for _, edges in BOXES])
    centers = np.array([center for center, _ in BOXES])
    middle = masses @ centers / masses.sum()
    total = np.zeros((3, 3))
    for mass, center, (_, edges) in zip(masses, centers, BOXES, strict=True):
        squares, away = np.square(edges), center - middle
        total += mass * (np.diag(squares.sum() - squares) / 12 + away @ away * np.eye(3) - np.outer(away, away))
    return masses.sum(), middle, total


@pytest.mark.parametrize("name", ["U.stl", "text.stl", "U.obj"])
def test_an_exact_mesh_has_the_inertia_of_its_boxes(tmp_path, name):
    body, (mass, center, inertia) = body_of(tmp_path, name, 'inertia="exact"'), of_boxes(10)
    assert float(body.mass) == pytest.approx(mass, rel=1e-14)
    np.testing.assert_allclose(np.array(body.center, float).ravel(), center, rtol=0, atol=1e-14)
    np.testing.assert_allclose(inertia_of(body), inertia, rtol=0, atol=1e-12)


def test_mass_scale_and_reference(tmp_path):
    """A mass in place of a density; a mirror image, stretched; the origin of the mesh at another point."""
    body = body_of(tmp_path, mesh='inertia="exact" scale="1 -1 2" refpos="0.5 0 0"', geom='mass="5" pos="0 0 3"')
    assert float(body.mass) == pytest.approx(5, rel=1e-14)
    _, center, _ = of_boxes(1)
    wanted = (center - (0.5, 0, 0)) * (1, -1, 2) + (0, 0, 3)
    np.testing.assert_allclose(np.array(body.center, float).ravel(), wanted, rtol=0, atol=1e-14)


def test_the_usual_rule_of_mujoco_counts_pyramids_as_positive(tmp_path):
    """MuJoCo 4.0.0: mass and centre of this mesh, at twice the height, reflected and moved by `refpos`."""
    body = body_of(tmp_path, mesh='scale="1 -1 2" refpos="0.1 0.2 0.3"')
    assert float(body.mass) == pytest.approx(113.33333333333334, rel=1e-14)


def test_meshes_are_looked_for_in_their_folder(tmp_path):
    (tmp_path / "assets").mkdir()
    write_mesh(tmp_path / "assets" / "U.stl")
    body = body_of(tmp_path, "U.stl", 'inertia="exact"', compiler='<compiler meshdir="assets"/>')
    (tmp_path / "U.stl").unlink()
    again = da.Mechanism.from_mjcf(tmp_path / "robot.xml").bodies[0]
    assert float(body.mass) == float(again.mass) == pytest.approx(50, rel=1e-14)


@pytest.mark.parametrize(
    ("mesh", "geom", "message"),
    [
        ('inertia="convex"', "", 'inertia="convex".* is not supported: use "exact" or "legacy"'),
        (
            'inertia="exact" scale="1 0 1"',
            "",
            "must be a closed surface with normals that point outwards; its volume is 0",
        ),
    ],
)
def test_meshes_without_a_volume_are_refused(tmp_path, mesh, geom, message):
    with pytest.raises(da.FileError, match=message):
        body_of(tmp_path, mesh=mesh, geom=geom)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.stl", None, "there is no such file"),
        ("a.msh", b"", "its extension `.msh` is neither .stl nor .obj"),
        ("a.stl", bytes(90), "its length is not that of the triangles that it announces"),
        ("a.stl", bytes(84), "it has no triangles"),
        ("a.stl", b"solid a vertex 0 0 0", "the corners of its triangles are not complete"),
        ("a.obj", b"v 0 0 0\nv 1 0\nf 1 2 1", "a point must have three numbers"),
        ("a.obj", b"v 0 0 0\nf 1 2 3", "a face names a point that does not exist"),
        ("a.obj", b"v 0 0 0\nf a b c", "a face must name points by their numbers; got `a`"),
        ("a.obj", b"v 0 0 nan\nf 1 1 1", "it has numbers that are not finite"),
    ],
)
def test_mesh_files_that_cannot_be_read(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    file = tmp_path / "robot.xml"
    file.write_text(
        f'<mujoco><asset><mesh name="a" file="{name}"/></asset><worldbody><body name="b"><joint/>'
        f'<geom type="mesh" mesh="a"/></body></worldbody></mujoco>'
    )
    with pytest.raises(da.FileError, match=message) as error:
        da.Mechanism.from_mjcf(file)
    assert "Give the body an <inertial>" in str(error.value)
