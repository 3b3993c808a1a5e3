# SPDX-License-Identifier: BSD-3-Clause
"""Errors for servo constraints whose structure does not allow their actuators to meet them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalembert.errors import ModelError
from dalembert.lowering.control_structure import ControlStructure
from dalembert.model.control_form import ControlForm


def refusal(names: Sequence[str], actuators: Sequence[str], i: int, basis: list[int], order: int) -> ModelError:
    """Return the error for a row on which inputs do not act independently of other rows."""
    others = quoted_names([names[j] for j in basis])
    by, do = quoted_names(actuators), "does" if len(actuators) == 1 else "do"
    if basis:
        return ModelError(
            [
                f"servo `{names[i]}` must be met by inputs that act on it independently of {others}; {by} {do} not, up "
                f"to its derivative of order {order}. Add an actuator, or leave out one of the requirements: they "
                f"depend on each other, contradict each other, or settle at different rates."
            ]
        )
    return ModelError(
        [
            f"servo `{names[i]}` must be influenced by its actuators; {by} {do} not act on its derivatives up to order "
            f"{order}. Choose another actuator, or another requirement: there is no relative degree up to that order."
        ]
    )


def too_few(names: Sequence[str], actuators: Sequence[str], i: int, others: list[int]) -> ModelError:
    """Return the error for a row that needs an input while other rows use all of them."""
    by, are = quoted_names(actuators), "is" if len(actuators) == 1 else "are"
    met = quoted_names(dict.fromkeys(names[j] for j in others))
    return ModelError(
        [
            f"servo `{names[i]}` must have an input of its own, and {by} {are} in use for {met}. Add "
            f"an actuator, or leave out one of the requirements."
        ]
    )


def determined(name: str, constraints: Sequence[str]) -> ModelError:
    """Return the error for a row that constraints determine."""
    return ModelError(
        [
            f"servo `{name}` must require something that constraints leave free; "
            f"{quoted_names(constraints)} {'determines' if len(constraints) == 1 else 'determine'} it, so that no "
            f"input acts on it. Leave out the requirement or the constraint."
        ]
    )


def quoted_names(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def require_gains(form: ControlForm, found: ControlStructure) -> None:
    """Raise if errors do not settle in the order in which inputs appear."""
    for i, requirement in enumerate(form.requirements):
        order, combined = found.relative_degree(i), found.owners.count(i) > 1
        if order == 0 and requirement.rate not in (None, 0):
            raise ModelError(
                [
                    f"`settle` of servo `{form.servos[requirement.servo]}` must be left out: inputs meet a requirement "
                    f"at acceleration level at once, and no error remains that could settle. State the requirement at "
                    f"position or velocity level to let errors settle."
                ]
            )
        if requirement.rate is None and combined:
            raise ModelError(
                [
                    f"`settle` of servo `{form.servos[requirement.servo]}` must be a rate, since inputs act only on "
                    f"combinations of its requirements; got matrices."
                ]
            )
        if requirement.rate is None and len(requirement.settling[0][1]) != order:
            raise ModelError(
                [
                    f"`settle` of servo `{form.servos[requirement.servo]}` must hold {order} matrices, one per "
                    f"derivative below the order {order} in which inputs appear; got "
                    f"{len(requirement.settling[0][1])}. A rate serves any order."
                ]
            )
