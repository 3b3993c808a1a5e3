"""Assembly: what it changes is reported, what is to be kept is kept, contradictions are named."""

import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert.mechanisms.rotations import Rotation


def slider_crank(**crank):
    one = da.PlanarBody("crank", 1, 1 / 12, position=(0.5, 0), **crank)
    rod = da.PlanarBody("rod", 2, 1.5, position=(2.4, 0.3))
    slider = da.PlanarBody("slider", 1, 0.1, position=(4, 0))
    joints = (
        da.Revolute("bearing", da.ground.at(0, 0), one.at(-0.5, 0)),
        da.Revolute("crank pin", one.at(0.5, 0), rod.at(-1.5, 0)),
        da.Revolute("wrist pin", rod.at(1.5, 0), slider),
        da.Prismatic("guide", da.ground.at(0, 0), slider),
    )
    return da.Mechanism((one, rod, slider), joints)


def test_every_change_is_reported_with_its_values():
    mechanism = slider_crank(angle=0.4, spin=5)
    start = mechanism.assemble(keep=("angle of crank", "spin of crank"))
    changes = {change.quantity: change for change in start.changes}
    names = mechanism.system.coordinate_names
    assert start.q[names.index("theta_crank")] == pytest.approx(0.4, abs=1e-14)
    assert start.qd[names.index("theta_crank")] == pytest.approx(5, abs=1e-13)
    assert start.kept == ("angle of crank", "spin of crank")
    assert {"angle of crank", "spin of crank", "angle of slider", "spin of slider"}.isdisjoint(changes)
    tip = np.array([np.cos(0.4), np.sin(0.4)])
    moved = changes["position of crank"]
    assert (moved.given, moved.found) == ((0.5, 0.0), pytest.approx(tip / 2))
    assert moved.amount == pytest.approx(np.linalg.norm(tip / 2 - [0.5, 0]))
    assert changes["velocity of crank"].found == pytest.approx((-2.5 * np.sin(0.4), 2.5 * np.cos(0.4)))
    turned = changes["spin of rod"]
    assert turned.found == pytest.approx((-5 * np.cos(0.4) / (3 * np.sqrt(1 - (np.sin(0.4) / 3) ** 2)),))
    assert str(turned).startswith("spin of rod from 0 to -1.5")
    assert pickle.loads(pickle.dumps(start.changes)) == start.changes


@pytest.mark.parametrize("links", [2, 110])
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_small_mechanisms_report_the_same_changes(links, unit):
    """A chain with pins off by 1e-4 of a link, in metres and in another unit; many links are compared at once."""

    def changes(unit):
        bodies = [da.PlanarBody(f"b{k}", 1, unit**2 / 12, position=((k + 0.5001) * unit, 0)) for k in range(links)]
        ends = [da.ground.at(0, 0), *(body.at(unit / 2, 0) for body in bodies[:-1])]
        joints = [
            da.Revolute(f"j{k}", end, body.at(-unit / 2, 0))
            for k, (end, body) in enumerate(zip(ends, bodies, strict=True))
        ]
        return da.Mechanism(bodies, joints).assemble().changes

    found, wanted = changes(unit), changes(1.0)
    assert [change.quantity for change in found] == [change.quantity for change in wanted] and found
    assert [change.amount / unit for change in found] == pytest.approx([change.amount for change in wanted], rel=1e-6)


def test_the_report_as_text_and_in_a_notebook():
    start = slider_crank(spin=5).assemble(keep="theta_crank")
    lines = repr(start).splitlines()
    assert lines[0] == "Assembly with 4 given quantities changed; kept: theta_crank"
    assert "  velocity of crank  (0, 0) → (0, 2.5), by 2.5" in lines
    assert "<td" in start._repr_html_() and "velocity of crank" in start._repr_html_()
    q, qd = start
    assert q is start.q and qd is start.qd
    still = da.Mechanism(
        da.Particle("p", 1, (1, 0)), da.Rod("rod", da.ground.at(0, 0), da.Particle("p", 1, (1, 0)), length=1)
    )
    assert repr(still.assemble()) == "Assembly without changes: the given state satisfies all joints"


def test_without_keep_the_changes_are_shared():
    """In the mass metric: a heavy crank keeps more of its spin than a light one."""
    found = slider_crank(spin=5).assemble()
    (change,) = [change for change in found.changes if change.quantity == "spin of crank"]
    assert change.given == (5.0,) and 0 < change.found[0] < 5
    assert change.amount == pytest.approx(5 - change.found[0])


def test_a_position_is_kept_without_its_velocity():
    mechanism = slider_crank(velocity=(3, 4), spin=1)
    start = mechanism.assemble(keep="position of crank")
    assert start.q[:2] == pytest.approx((0.5, 0), abs=1e-13)
    assert "velocity of crank" in [change.quantity for change in start.changes]


def test_orientations_and_spins_in_space():
    """A wheel on a tilted axle: its orientation is kept, and the change of another is an angle."""
    turned = da.quaternion((1, 0, 0), 0.3)
    body = da.Body("b", 1, (1, 2, 2.5), orientation=turned, spin=(1, 2, 3))
    hinge = da.Revolute("hinge", da.ground.at(0, 0, 0), body, axis=(0, 0, 1))
    mechanism = da.Mechanism(body, hinge)
    start = mechanism.assemble()
    changes = {change.quantity: change for change in start.changes}
    assert set(changes) == {"orientation of b", "spin of b"}
    assert changes["orientation of b"].amount == pytest.approx(0.3)
    assert Rotation(changes["orientation of b"].found).apply((0, 0, 1)) == pytest.approx((0, 0, 1))
    assert changes["spin of b"].found == pytest.approx((0, 0, 3))
    ball = da.Mechanism(body, da.Spherical("ball", da.ground.at(0, 0, 0), body.at(0, 0, -1)))
    start = ball.assemble(keep=("orientation of b", "spin of b"))
    assert start.q[3:] == pytest.approx(turned, abs=1e-13)
    assert {change.quantity for change in start.changes} == {"position of b", "velocity of b"}
    spin = da.motion(ball.system, *start)
    arm = Rotation(turned).apply((0, 0, 1))
    assert start.qd[:3] == pytest.approx(np.cross((1, 2, 3), arm)) and spin.rank == 4


def test_contradictions_are_named():
    mechanism = slider_crank(spin=5)
    with pytest.raises(da.StateError) as refusal:
        mechanism.assemble(keep=("position of slider", "spin of crank", "spin of rod"))
    assert "`spin of crank`, `spin of rod` contradict one another or the joints" in str(refusal.value)
    assert "position of slider" not in str(refusal.value)
    with pytest.raises(da.StateError, match=r"`velocity of crank` contradicts the joints\. Leave it out"):
        slider_crank(velocity=(1, 0)).assemble(keep=("velocity of crank", "angle of slider"))
    far = da.Mechanism(
        mechanism.bodies, (*mechanism.joints, da.Rod("rod", da.ground.at(99, 0), mechanism.bodies[0], length=1))
    )
    with pytest.raises(da.StateError, match=r"cannot be assembled from the given poses .* `rod: length` remains"):
        far.assemble(keep="spin of crank")


def test_unknown_quantities_are_refused():
    with pytest.raises(da.InputError, match=r"`spin of crnk` is unknown\. Did you mean `spin of crank`\?"):
        slider_crank().assemble(keep="spin of crnk")
    with pytest.raises(
        da.InputError, match=r"given quantities such as `position of crank`; `\?%` is unknown\. It has: `x"
    ):
        slider_crank().assemble(keep="?%")


def test_positions_of_atoms_are_shown():
    """Zero is what is small beside the other values of a quantity, not below some number of metres."""
    length = 1e-10
    bar = da.PlanarBody("bar", 1, 1e-20, (length / 2, length / 10))
    pin = da.Revolute("pin", da.ground.at(0, 0), bar.at(-length / 2, 0))
    moved = da.Mechanism([bar], [pin]).assemble().changes[0]
    assert str(moved) == "position of bar from (5e-11, 1e-11) to (4.996e-11, 1.998e-12)"
