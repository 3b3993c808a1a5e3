# SPDX-License-Identifier: BSD-3-Clause
"""The cases of the gallery by theme, for its index."""

from __future__ import annotations

from collections.abc import Iterable

OTHERS = "Further cases"
"""Theme of the cases that belong to no other one."""

THEMES = {
    "Systems of the review": "projectile projectile-polar spiral swarm swarm-as-printed manipulator manipulator-plant "
    "rigid-body",
    "Nonideal constraints and friction": "particle block-viscous block-quadratic block-proportional bead circular-wire "
    "hoop pin-friction rotating-rod incline belt painleve-rod",
    "Is the question well posed?": "hidden-constraint indefinite-mass weber measured pendulum-rod-twice four-bar "
    "four-bars",
    "Rolling and nonholonomic constraints": "rolling-coin skate sleigh disc-on-incline snakeboard rolling-disc "
    "tumbling-coin turntable rattleback ball-in-cylinder bicycle",
    "Constraints nonlinear in velocity": "constant-speed appell-hamel perpendicular",
    "Mechanisms and published problems": "pendulum iftomm-pendulum andrews car-axis bricard flyball heavy-top "
    "bar-linkage",
    "Contacts that open and close": "bouncing-ball falling-bead hemisphere ladder rod-impact rocking-block cradle "
    "bowling-ball slack-rope walker woodpecker slider-clearance",
    "Control by constraints": "swarm-control two-masses crane arm-circle arm-circle-inertia wrong-masses satellites "
    "synchronised-pendulums cart-pole five-bar",
}
"""Names of cases by theme, in the order of the index."""


def by_theme(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return some cases by theme, in the order of the themes; themes without any are left out.

    >>> by_theme(["bead", "spiral", "mine"])
    {'Systems of the review': ('spiral',), 'Nonideal constraints and friction': ('bead',), 'Further cases': ('mine',)}
    """
    given = tuple(names)
    listed = {theme: tuple(name for name in text.split() if name in given) for theme, text in THEMES.items()}
    known = {name for text in THEMES.values() for name in text.split()}
    listed[OTHERS] = tuple(name for name in given if name not in known)
    return {theme: cases for theme, cases in listed.items() if cases}
