# SPDX-License-Identifier: BSD-3-Clause
"""The systems of the papers and published problems, ready to run: ``da.gallery.names()`` and ``da.gallery.case(name)``.

>>> import dalembert as da
>>> da.gallery.names()[:4]
('projectile', 'projectile-polar', 'spiral', 'swarm')
>>> da.gallery.case("spiral").source
'Zhao et al. 2018, section 8.1'
"""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING

from dalembert.errors import InputError

if TYPE_CHECKING:
    from dalembert.gallery.definition import Case as Case

# Title and builder of each case: those of the papers in their order, then published problems. A builder is imported
# when its case is requested, because building some of them takes seconds.
_CASES = {
    "projectile": ("Projectile in Cartesian coordinates", "projectile.cartesian"),
    "projectile-polar": ("Projectile in polar coordinates", "projectile.polar"),
    "spiral": ("Particle driven along a logarithmic spiral", "projectile.spiral"),
    "swarm": ("Swarm of five robots", "swarm.stabilised"),
    "swarm-as-printed": ("Swarm of five robots, equation as printed", "swarm.as_printed"),
    "manipulator": ("Two-link manipulator: links under a servo constraint", "manipulator.links"),
    "manipulator-plant": ("Two-link manipulator: the whole fourth-order plant", "manipulator.plant"),
    "particle": ("Particle under ẏ = z²ẋ, with a constraint force that does work", "nonideal.particle"),
    "block-viscous": ("Block on a rough plane, viscous law", "block.viscous"),
    "block-quadratic": ("Block on a rough plane, quadratic law", "block.quadratic"),
    "block-proportional": ("Block on a rough plane, proportional law", "block.proportional"),
    "bead": ("Bead on a wire with sliding friction", "nonideal.bead"),
    "circular-wire": ("Bead on a horizontal circular wire with Coulomb friction", "friction_cases.circular_wire"),
    "hoop": ("Bead on a vertical hoop with Coulomb friction", "friction_cases.hoop"),
    "pin-friction": ("Pendulum with friction in its pin", "friction_cases.pin"),
    "rotating-rod": ("Bead on a rotating rod with Coulomb friction", "friction_cases.rotating_rod"),
    "incline": ("Block on a rough incline that comes to rest and stays", "stick_slip_cases.incline"),
    "belt": ("Stick and slip on a moving belt", "stick_slip_cases.belt"),
    "painleve-rod": ("Painlevé's rod: friction by the actual reaction", "friction_cases.painleve_rod"),
    "hidden-constraint": ("A hidden constraint, found and added", "ill_posed.hidden_constraint"),
    "indefinite-mass": ("An indefinite mass matrix", "ill_posed.indefinite_mass"),
    "rolling-coin": ("Upright rolling coin", "coin_and_skate.coin"),
    "weber": ("Weber's electrodynamics", "ill_posed.weber"),
    "rigid-body": ("Rigid body about an arbitrary point", "rigid_body.about_a_point"),
    "pendulum": ("Pendulum over 1000 s", "pendulum.single"),
    "pendulum-rod-twice": ("Pendulum with its rod stated twice", "pendulum.rod_twice"),
    "four-bar": ("Four-bar with redundant joints in space", "redundant.four_bar"),
    "constant-speed": ("Constant speed under gravity", "nonlinear.constant_speed"),
    "appell-hamel": ("Appell and Hamel's machine", "nonlinear.appell_hamel"),
    "perpendicular": ("Two particles with perpendicular velocities", "nonlinear.perpendicular"),
    "measured": ("Two sensors that disagree", "weighted.measured"),
    "skate": ("Skate on an incline", "coin_and_skate.skate"),
    "andrews": ("Andrews' squeezing mechanism", "ivp_test_set.andrews"),
    "car-axis": ("Car axis on a bumpy road", "car_axis.car_axis"),
    "iftomm-pendulum": ("Pendulum in the plane", "iftomm.pendulum"),
    "four-bars": ("Four-bar windows through singular positions", "iftomm.four_bars"),
    "bricard": ("Bricard's mechanism", "iftomm.bricard"),
    "flyball": ("Flyball governor with stiff springs", "governor.flyball"),
    "sleigh": ("Chaplygin's sleigh", "nonholonomic.sleigh"),
    "disc-on-incline": ("Upright disc on an incline", "nonholonomic.incline"),
    "snakeboard": ("Snakeboard, driven by its rider", "nonholonomic.snakeboard"),
    "rolling-disc": ("Rolling disc, free to lean", "rolling_bodies.disc"),
    "tumbling-coin": ("Coin that spins, leans and tumbles", "rolling_bodies.coin"),
    "turntable": ("Ball on a turntable", "rolling_bodies.turntable"),
    "rattleback": ("Rattleback, which reverses its spin", "rolling_curiosities.rattleback"),
    "ball-in-cylinder": ("Ball in an upright cylinder", "rolling_curiosities.cylinder"),
    "heavy-top": ("Heavy top as a free body on a pivot", "references.heavy_top"),
    "bar-linkage": ("Four-bar linkage in the plane", "references.linkage"),
    "swarm-control": ("Swarm of five robots as a control problem", "swarm.as_control"),
    "two-masses": ("Two masses and a spring: push one, move the other", "control_cases.two_masses"),
    "crane": ("Overhead crane that carries its load around an obstacle", "crane.crane"),
    "arm-circle": ("Three-link arm on a circle, least torques", "control_arms.least_torques"),
    "arm-circle-inertia": (
        "Three-link arm on a circle, cost M⁻¹",
        "control_arms.least_inertia",
    ),
    "wrong-masses": ("Arm with wrong masses under three controllers", "control_arms.wrong_masses"),
    "satellites": ("Satellites on a ring", "control_cases.satellites"),
    "synchronised-pendulums": ("Pendulums that swing as one", "control_cases.pendulums"),
    "cart-pole": ("Swing-up of a cart-pole by a sampled controller", "control_cases.cart_pole"),
    "bicycle": ("Whipple's bicycle, leaning a little", "bicycle.leaning"),
    "bouncing-ball": ("Bouncing ball that comes to rest", "contact_cases.bouncing_ball"),
    "falling-bead": ("Bead that leaves a sphere", "contact_cases.falling_bead"),
    "hemisphere": ("Block that leaves a moving hemisphere", "contact_cases.hemisphere"),
    "ladder": ("Ladder that leaves the wall", "contact_cases.ladder"),
    "rod-impact": ("Rod that hits rough ground", "impact_cases.rod_impact"),
    "rocking-block": ("Rocking block", "impact_cases.rocking_block"),
    "cradle": ("Balls in a row: which law gives which answer", "impact_cases.cradle"),
    "bowling-ball": ("Bowling ball that slides and rolls", "contact_mechanisms.bowling_ball"),
    "slack-rope": ("Pendulum whose rope goes slack", "contact_mechanisms.slack_rope"),
    "walker": ("Simplest walker on a slope", "walker.simplest"),
    "woodpecker": ("Woodpecker toy", "woodpecker.toy"),
    "slider-clearance": ("Slider crank with clearance in its guide", "slider_crank.clearance"),
    "five-bar": ("Five-bar robot: two motors move its end point along an ellipse", "five_bar.ellipse"),
}


def names() -> tuple[str, ...]:
    """Return the names of all cases: those of the papers in their order, then published problems."""
    return tuple(_CASES)


def titles() -> dict[str, str]:
    """Return the title of each case, by name."""
    return {name: title for name, (title, _) in _CASES.items()}


def case(name: str) -> Case:
    """Return a case by its name.

    Raises
    ------
    InputError    if there is no case of that name; the most similar name is suggested
    """
    if name not in _CASES:
        nearest = difflib.get_close_matches(str(name), _CASES, n=1)
        hint = f"Did you mean `{nearest[0]}`?" if nearest else f"There are: {', '.join(_CASES)}."
        raise InputError(f"`name` must be one of the gallery's; there is no `{name}`. {hint}")
    title, builder = _CASES[name]
    module, function = builder.split(".")
    return getattr(importlib.import_module(f"dalembert.gallery.{module}"), function)(name, title)
