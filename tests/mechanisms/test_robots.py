"""Robots from URDF and MJCF files: accelerations of joints, and what is refused, with file and line."""

from pathlib import Path

import numpy as np
import pytest

import dalembert as da

FILES = Path(__file__).parent / "robot_files"

# Accelerations at these states by MuJoCo 4.0.0 (terms, with loops and transmissions as rigid constraints), and for the
# gripper and the Stewart platform also by Pinocchio 4.1.0: see benchmarks/robot_peers.py.
GRIPPER = (
    ({"turn": 0.7, "left finger": 0.02}, {"turn": 1.5, "left finger": -0.3}),
    {
        "turn": -10.14284311838404,
        "left finger": 0.7626702360394362,
        "right finger": 0.3813351180197184,
    },
)
LOOP = (
    ({"bearing": 0.4}, {"bearing": 2.0}),
    {
        "bearing": 27.69930843859004,
        "pin": -36.825798589542046,
        "pivot": -9.67310051818034,
        "axle": -55.3986168771801,
    },
)
ARM = (
    (
        {"shoulder yaw": 0.5, "shoulder pitch": -0.7, "rail": 0.1, "wrist": (0.8, 0.2, -0.4, 0.3)}
        | {"puck": (1, 2, 3, 0.5, 0.5, -0.5, 0.5)},
        {
            "shoulder yaw": 1,
            "shoulder pitch": -2,
            "rail": 0.3,
            "wrist": (0.5, -0.4, 0.3),
            "puck": (1, 0, 0, 0.3, 0.2, 1),
        },
    ),
    {
        "shoulder yaw": -11.062743283913955,
        "shoulder pitch": 47.92847253665502,
        "rail": -18.284406035754376,
        "wrist": (6.873660719213391, 17.145561422098282, -5.478661219905264),
        "puck": (
            *(-0.023372853828306152, 0.49997156763845435, -9.801845707656613),
            *(0.1508609906183804, -0.042714617169381845, -0.036852113386461056),
        ),
    },
)
STEWART = (
    ({"platform": (0.03, -0.02, 0.52, 0.98, 0.06, -0.05, 0.18)}, {"platform": (0.2, -0.3, 0.1, 0.5, 0.4, -0.8)}),
    {
        "platform": (
            *(0.39313578141307254, 0.1725661101477713, -11.566657733337083),
            *(-13.508646860997308, -17.072311584267567, 0.44479529242346355),
        ),
        "yoke_1": 4.1914680355971035,
        "cross_3": 10.628347831865607,
        "cylinder_5": -8.300610346383426,
    },
)


def read(name):
    return (da.Mechanism.from_mjcf if name.endswith(".xml") else da.Mechanism.from_urdf)(FILES / name)


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("gripper.urdf", GRIPPER),
        ("loop.xml", LOOP),
        pytest.param("arm.xml", ARM, marks=pytest.mark.slow),
        pytest.param("stewart.xml", STEWART, marks=pytest.mark.slow),
    ],
)
def test_accelerations_of_joints_are_those_of_other_programs(name, case):
    (where, rates), expected = case
    robot = read(name)
    q, qd = robot.state(where, rates)
    answer = da.motion(robot.system, q, qd)
    found = robot.joint_motion(q, qd, answer.acceleration)
    for joint, value in where.items():
        given = np.array(value, float)
        if given.size in (4, 7):
            given[-4:] /= np.linalg.norm(given[-4:])
        assert np.allclose(found.position[joint], given, atol=1e-12)
        assert np.allclose(found.velocity[joint], rates[joint], atol=1e-12)
    largest = max(np.abs(value).max() for value in expected.values())
    for joint, value in expected.items():
        assert np.allclose(found.acceleration[joint], value, rtol=0, atol=1e-9 * largest), joint


def test_notes_tell_what_was_assumed_and_what_was_not_read():
    robot = read("gripper.urdf")
    notes = "\n".join(robot.notes)
    for part in ("is fixed to the ground", "(0, 0, -9.81)", "upper 0.04", "friction 0.1", "column.stl", "mount"):
        assert part in notes
    assert [body.name for body in robot.bodies] == ["column", "left", "right"]
    assert [(a.name, float(a.limit)) for a in robot.actuators] == [("motor of left finger", 20)]
    assert "7 notes" in repr(robot)
    arm = read("arm.xml")
    assert [a.name for a in arm.actuators] == ["yaw", "motor of rail"]
    assert float(arm.actuators[0].limit) == 10 and arm.actuators[1].limit is None
    assert "upper_arm" in "\n".join(arm.notes) and "<position>" in "\n".join(arm.notes)


def test_transmissions_of_other_parts_of_a_robot_are_left_out(tmp_path):
    other = '<transmission name="t"><joint name="jj"/></transmission><transmission name="s"><joint name="j"/>'
    text = TWO_LINKS.replace("</robot>", f"{other}</transmission></robot>")
    robot = da.Mechanism.from_urdf(write(tmp_path, "r.urdf", text))
    assert '<transmission name="t"> is left out: the robot has no joint `jj`. Did you mean `j`?' in robot.notes
    assert [actuator.name for actuator in robot.actuators] == ["motor of j"]


def test_a_floating_base_moves_freely(tmp_path):
    text = TWO_LINKS.replace('type="revolute"', 'type="fixed"')
    robot = da.Mechanism.from_urdf(write(tmp_path, "r.urdf", text), floating=True, gravity=(0, 0, -2))
    q, qd = robot.state({"base": (1, 2, 3, 1, 0, 0, 0)}, {"base": (0, 0, 0, 0, 0, 1)})
    found = robot.joint_motion(q, qd, da.motion(robot.system, q, qd).acceleration)
    assert np.allclose(found.acceleration["base"], (0, 0, -2, 0, 0, 0), atol=1e-12)


def test_planar_joints_are_two_sliders_and_a_hinge(tmp_path):
    robot = da.Mechanism.from_urdf(write(tmp_path, "r.urdf", TWO_LINKS.replace("revolute", "planar")))
    q, qd = robot.state({"j x": 1.0, "j y": 2.0, "j angle": 0.5}, {"j angle": 1.0, "j x": 0.5})
    found = robot.joint_motion(q, qd, da.motion(robot.system, q, qd).acceleration)
    assert found.position["j y"] == pytest.approx(2.0)
    assert max(abs(found.acceleration[f"j {about}"]) for about in ("x", "y", "angle")) < 1e-9  # gravity is normal to it


TWO_LINKS = """<robot name="r">
  <link name="base"/>
  <link name="bar"><inertial><mass value="2"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="bar"/><axis xyz="0 0 1"/></joint>
</robot>"""

ONE_BODY = """<mujoco>
  <worldbody>
    <body name="bar"><joint name="j" axis="0 1 0"/><geom type="box" size="0.1 0.1 0.1"/></body>
  </worldbody>
</mujoco>"""


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


URDF_MISTAKES = [
    ('type="revolute"', 'type="revolut"', r":5:3: `type` of <joint name=\"j\"> must be one .* Did you mean `revolute`"),
    ('child link="bar"', 'child link="bra"', r"`link` of <child> .* `bra` is unknown. Did you mean `bar`"),
    ('<mass value="2"/>', '<mass value="two"/>', r":3:30: `value` of <mass> must be 1 finite number; got `two`"),
    ('<mass value="2"/>', "", r"must have <mass>"),
    ('axis xyz="0 0 1"', 'axis xyz="0 0 0"', r"`xyz` of <axis> .* must be a direction"),
    ("<axis", "<axiss", r"has no part <axiss>. Did you mean <axis>"),
    ('iyy="1"', 'iyy="5"', r"may exceed the sum of the other two"),
    ("<inertial>", '<inertial><origin xzy="0 0 0"/>', r"<origin> has no attribute `xzy`. Did you mean `xyz`"),
    ('<robot name="r">', '<!DOCTYPE robot [<!ENTITY a "b">]><robot name="r">', "must not declare a document type"),
    ("</robot>", "", "must be well-formed XML"),
    ('<link name="base"/>', '<link name="base"/><link name="other"/>', "must form one tree; 2 links"),
    ('<link name="base"/>', '<link name="base"/><link name="base"/>', "links must differ in name"),
    ("<link", "<xacro:macro/><link", "macro of xacro"),
    ("</joint>", '<mimic joint="k"/></joint>', "`k` is unknown"),
    ("</joint>", '<mimic joint="j"/></joint>', "must follow another joint"),
    ('type="revolute"', 'type="fixed"', "must have a part that moves"),
    ("<robot", "<model", "must be well-formed|must begin with <robot>"),
]


@pytest.mark.parametrize(("old", "new", "message"), URDF_MISTAKES)
def test_mistakes_in_urdf_files(tmp_path, old, new, message):
    path = write(tmp_path, "r.urdf", TWO_LINKS.replace(old, new, 1))
    with pytest.raises(da.FileError, match=message) as error:
        da.Mechanism.from_urdf(path)
    assert str(error.value).startswith(str(path))


def test_a_moving_link_without_mass_is_refused(tmp_path):
    text = TWO_LINKS.replace('<mass value="2"/>', '<mass value="0"/>').replace('="1"', '="0"')
    with pytest.raises(da.FileError, match="must have a mass, since it moves"):
        da.Mechanism.from_urdf(write(tmp_path, "r.urdf", text))


MJCF_MISTAKES = [
    ('type="box"', 'type="bo"', "`type` of <geom> must be one .* Did you mean `box`"),
    ('type="box" size="0.1 0.1 0.1"', 'type="sdf" mesh="m"', r":3:\d+: <body name=\"bar\"> must state its inertia"),
    ('type="box" size="0.1 0.1 0.1"', 'type="mesh" mesh="m"', "must name a mesh of <asset>; `m` is unknown"),
    ('size="0.1 0.1 0.1"', 'size="0.1 0.1"', "`size` of <geom> must be 3"),
    ('size="0.1 0.1 0.1"', 'size="0.1 0.1 0"', "`size` of <geom> must be positive"),
    ("<worldbody>", "<worldbdy/><worldbody>", "has no section <worldbdy>. Did you mean `worldbody`"),
    ("<worldbody>", '<compiler coordinate="global"/><worldbody>', "is not supported, as in MuJoCo"),
    ("<worldbody>", '<compiler eulerseq="xya"/><worldbody>', "`eulerseq` must be three letters"),
    ("<worldbody>", '<include file="none.xml"/><worldbody>', "`file` of <include> must name a file"),
    ('axis="0 1 0"', 'axis="0 0 0"', "`axis` of .* must be a direction"),
    ('axis="0 1 0"', 'axis="0 1 0" dampin="1"', "has no attribute `dampin`. Did you mean `damping`"),
    ('axis="0 1 0"', 'axis="0 1 0" class="a"', "must be a default class of the file; `a` is unknown"),
    ('axis="0 1 0"', 'axis="0 1 0" springdamper="1 1"', "`springdamper` .* is not supported"),
    ('axis="0 1 0"', 'type="ball" stiffness="1"', "`stiffness` of a ball joint is not supported"),
    ('axis="0 1 0"', 'type="free" damping="1"', "must have neither damping"),
    ('axis="0 1 0"', 'axis="0 1 0" damping="1 2"', "a polynomial is not supported"),
    ("<joint", "<composite/><joint", "must not have <composite>. It is not supported"),
    ('name="bar"', 'name="bar" quat="1 0 0 0" euler="0 0 0"', "must state its orientation once"),
    ('name="bar"', 'name="bar" quat="0 0 0 0"', "must state directions that are not zero"),
    ("</worldbody>", '</worldbody><equality><tendon tendon1="a"/></equality>', "<tendon> is not supported"),
    ("</worldbody>", '</worldbody><equality><connect body1="ba" anchor="0 0 0"/></equality>', "Did you mean `bar`"),
    ("</worldbody>", '</worldbody><actuator><motr joint="j"/></actuator>', "Did you mean `motor`"),
    ("</worldbody>", '</worldbody><tendon><fixed stiffness="1"/></tendon>', "forces of tendons are not supported"),
    ("</worldbody>", "</worldbody><deformable><flex/></deformable>", "bodies must be rigid"),
    (
        "</worldbody>",
        '</worldbody><equality><weld body1="bar" relpose="0 0 0 1 0 0 0"/></equality>',
        "`relpose` of .* is not supported",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), MJCF_MISTAKES)
def test_mistakes_in_mjcf_files(tmp_path, old, new, message):
    path = write(tmp_path, "r.xml", ONE_BODY.replace(old, new, 1))
    with pytest.raises(da.FileError, match=message):
        da.Mechanism.from_mjcf(path)


def test_a_file_is_included_once(tmp_path):
    path = write(tmp_path, "r.xml", ONE_BODY.replace("<worldbody>", '<include file="r.xml"/><worldbody>'))
    with pytest.raises(da.FileError, match="must be included once"):
        da.Mechanism.from_mjcf(path)


def test_files_of_the_other_format_and_missing_ones(tmp_path):
    with pytest.raises(da.FileError, match=r"Read it with `da.Mechanism.from_urdf`"):
        da.Mechanism.from_mjcf(write(tmp_path, "r.xml", TWO_LINKS))
    with pytest.raises(da.FileError, match=r"Read it with `da.Mechanism.from_mjcf`"):
        da.Mechanism.from_urdf(write(tmp_path, "s.urdf", ONE_BODY))
    with pytest.raises(da.InputError, match="there is no"):
        da.Mechanism.from_urdf(tmp_path / "none.urdf")


def test_names_and_sizes_of_joint_positions(tmp_path):
    robot = da.Mechanism.from_urdf(write(tmp_path, "r.urdf", TWO_LINKS))
    with pytest.raises(da.InputError, match="Did you mean `j`"):
        robot.state({"jj": 1.0})
    with pytest.raises(da.InputError, match="`positions` of `j` must be 1 finite number; got"):
        robot.state({"j": (1.0, 2.0)})
    with pytest.raises(da.InputError, match="must be a mapping"):
        robot.state([1.0])
    with pytest.raises(da.InputError, match=r"`q` must have shape \(7,\)"):
        robot.joint_motion([1.0])
    bar = da.PlanarBody("bar", 1, 1)
    with pytest.raises(da.InputError, match="this one is in the plane"):
        da.Mechanism(bar).state()


def test_a_driven_joint_must_follow():
    with pytest.raises(da.StateError, match=r"must be 0.02, by transmission `mimic of right finger`"):
        read("gripper.urdf").state({"left finger": 0.02, "right finger": 0.03})


def test_named_motions_of_balls_and_free_bodies_are_kept_where_loops_are_closed():
    plate = da.Body("plate", 1, (0.1, 0.1, 0.2))
    bar = da.Body("bar", 1, (0.1, 0.1, 0.1), position=(2, 0, 0))
    hinge = da.Revolute("hinge", da.ground.at(2, 0, 0), bar, axis=(0, 1, 0))
    rod = da.Rod("rod", plate.at(1, 0, 0), bar.at(0, 0, 1), length=1.3)
    turned = np.array([0.98, 0.1, -0.1, 0.12]) / np.linalg.norm([0.98, 0.1, -0.1, 0.12])
    spin = (0.3, -0.2, 0.5)
    ball = da.Spherical("ball", da.ground.at(0, 0, 0), plate)
    carried = da.Spherical("ball", bar.at(0, 0, 1), plate.at(1, 0, 0))
    tied = da.Rod("rod", plate, da.ground.at(0, 0, 0.1), length=1.3)
    for name, where, rates, joints in (
        ("ball", turned, spin, [ball, hinge, rod]),
        ("ball", turned, spin, [hinge, carried, tied]),
        ("plate", (0.1, 0.2, -0.1, *turned), (0.4, 0.1, -0.2, *spin), [hinge, rod]),
    ):
        mechanism = da.Mechanism([plate, bar], joints)
        found = mechanism.joint_motion(*mechanism.state({name: where}, {name: rates}))
        assert np.allclose(found.position[name], where, rtol=0, atol=1e-12)
        assert np.allclose(found.velocity[name], rates, rtol=0, atol=1e-12)
        assert found.position["hinge"] != 0 and found.velocity["hinge"] != 0
