"""URDF and MJCF files that are made to do harm: each is refused, with its place, and runs no code."""

import struct

import pytest

import dalembert as da

ENTITIES = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
BODY = '<body><joint/><geom type="mesh" mesh="m"/></body>'


def urdf(mass="1", inertia="1", axis="0 0 1", kind="continuous"):
    return f"""<robot name="r"><link name="world"/><link name="bar"><inertial><mass value="{mass}"/>
<inertia ixx="{inertia}" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j" type="{kind}"><parent link="world"/><child link="bar"/><axis xyz="{axis}"/></joint></robot>"""


def mjcf(bodies, before=""):
    return f"<mujoco>{before}<worldbody>{bodies}</worldbody></mujoco>"


def mesh(file):
    return mjcf(BODY, f'<asset><mesh name="m" file="{file}"/></asset>')


FILES = {
    "entities.urdf": (f'{ENTITIES}<robot name="&b;"/>', "must not declare a document type or entities"),
    "external.urdf": ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hosts">]><robot/>', "must not declare a document"),
    "deep.urdf": ("<robot>" + "<a>" * 10_000 + "</a>" * 10_000 + "</robot>", "must not be nested deeper than 400"),
    "deep.xml": (mjcf("<body>" * 3000 + "</body>" * 3000), "must not be nested deeper than 400"),
    "many.urdf": (
        "<robot>" + "".join(f'<link name="l{k}"/>' for k in range(1001)) + "</robot>",
        "must have at most 1000 links or bodies; it has more.",
    ),
    "nan.urdf": (urdf(mass="nan"), "`value` of <mass> must be 1 finite number; got `nan`"),
    "infinite.urdf": (urdf(inertia="inf"), "`ixx` of <inertia> must be 1 finite number; got `inf`"),
    "long.urdf": (urdf(mass="9" * 100_000), "`value` of <mass> must be 1 finite number; got `999"),
    "negative.urdf": (urdf(mass="-1"), "must not be negative; got -1"),
    "code.urdf": (urdf(mass="__import__('os').getcwd()"), "must be 1 finite number; got `__import__"),
    "axis.urdf": (urdf(axis="0 0 0"), "must be a direction; got zero"),
    "kind.urdf": (urdf(kind="continous"), "Did you mean `continuous`?"),
    "empty.urdf": ("", "the file must be well-formed XML: no element found"),
    "binary.urdf": ("\x00\x01", "the file must be well-formed XML"),
    "nan.xml": (mjcf('<body><joint/><geom size="nan"/></body>'), "finite numbers; got `nan`"),
    "quaternion.xml": (mjcf('<body quat="0 0 0 0"><joint/><geom size="1"/></body>'), "directions that are not zero"),
    "replicate.xml": (mjcf('<replicate count="100000000"><body/></replicate>'), "must not have <replicate>"),
    "composite.xml": (mjcf('<body><composite count="1000000 1000000 1"/></body>'), "must not have <composite>"),
    "include.xml": ('<mujoco><include file="include.xml"/></mujoco>', "a file must be included once"),
    "text.xml": (mesh("/etc/hosts"), "its extension `` is neither .stl nor .obj"),
    "large_mesh.xml": (mesh("large.stl"), "its length is not that of the triangles"),
    "nan_mesh.xml": (mesh("nan.stl"), "it has numbers that are not finite"),
}


@pytest.mark.parametrize("name", FILES)
def test_hostile_robots_are_refused(name, tmp_path):
    text, message = FILES[name]
    triangles = struct.pack("<12fH", *[float("nan")] * 12, 0) * 4
    (tmp_path / "large.stl").write_bytes(b" " * 80 + struct.pack("<I", 4_000_000_000))
    (tmp_path / "nan.stl").write_bytes(b" " * 80 + struct.pack("<I", 4) + triangles)
    (tmp_path / name).write_text(text)
    read = da.Mechanism.from_urdf if name.endswith("urdf") else da.Mechanism.from_mjcf
    with pytest.raises(da.FileError) as error:
        read(tmp_path / name)
    assert message in error.value.problem
    assert error.value.line >= 1 and error.value.column >= 1


def test_a_robot_that_is_not_hostile_is_read(tmp_path):
    (tmp_path / "bar.urdf").write_text(urdf())
    assert da.Mechanism.from_urdf(tmp_path / "bar.urdf").bodies[0].name == "bar"


def test_robot_descriptions_have_a_largest_size(tmp_path):
    (tmp_path / "long.urdf").write_bytes(b" " * 20_000_001)
    with pytest.raises(da.InputError, match=r"must have at most 20000000 bytes; `.*long\.urdf` is larger"):
        da.Mechanism.from_urdf(tmp_path / "long.urdf")
