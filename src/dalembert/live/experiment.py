# SPDX-License-Identifier: BSD-3-Clause
"""The experiment of a live page: a system, a method and a start; and the reasons for which a page cannot run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.names import quoted
from dalembert.control.controller import Controller
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import InputError
from dalembert.integration.method import Method
from dalembert.integration.native_steps import in_machine_code
from dalembert.lowering.build import build
from dalembert.lowering.native_system import NativeSystem
from dalembert.lowering.programs import Programs
from dalembert.lowering.recording import NoMachineCodeError
from dalembert.model.friction_contacts import contacts
from dalembert.model.system import System, kind_of_object
from dalembert.native.dormand_prince import DORMAND_PRINCE
from dalembert.stick_slip.transitions import contacts_at_rest

USE_SIMULATE = "`da.simulate` computes it; `run.animate`, or `animate` of a mechanism, shows it."


@dataclass(frozen=True)
class Experiment:
    """A system with a method of integration, and the numbers with which a page begins.

    p                  the values of the parameters, in their order
    allow_violation    whether a start off the constraints is kept
    """

    system: System
    method: Method
    q0: Floats
    qd0: Floats
    t0: float
    t1: float
    p: tuple[float, ...]
    allow_violation: bool = False

    @property
    def dynamics(self) -> Dynamics:
        return build(self.system)

    @property
    def native(self) -> NativeSystem:
        """The system in machine code; ``refuse`` has made sure that there is one."""
        native = self.dynamics.machine_code
        assert isinstance(native, NativeSystem)
        return native

    @property
    def start(self) -> Floats:
        return np.concatenate([self.q0, self.qd0])


def require_live(system: Any, method: Method, control: Controller | None) -> None:
    """Raise an error that says why a page cannot run a system, if it cannot."""
    if not isinstance(system, System):
        raise InputError(
            f"a live page needs a `da.System`, whose expressions it compiles for the browser; got "
            f"{kind_of_object(system)}. {USE_SIMULATE}"
        )
    contacts_of = [str(one.name) for one in system.constraints if not one.is_permanent]
    if contacts_of:
        raise InputError(
            f"a live page runs constraints that always hold; {quoted(contacts_of)} can open and close, or be switched. "
            f"{USE_SIMULATE}"
        )
    if control is not None and (control.period is not None or control.adaptive is not None):
        kind = "a sampled" if control.period is not None else "an adaptive"
        raise InputError(
            f"a live page runs continuous controllers with a known bound; got {kind} controller. {USE_SIMULATE}"
        )
    if method.drift.integrals:
        raise InputError(
            "a live page does not `conserve` first integrals, since their values change with the initial state; got a "
            "projection that does. Pass `drift=da.Projection()`."
        )
    _require_compiled_integrator(method)
    dynamics = build(system)
    if not in_machine_code(dynamics, method):
        raise InputError(f"a live page runs machine code only; {_missing(system)} cannot be compiled. {USE_SIMULATE}")


def _require_compiled_integrator(method: Method) -> None:
    """Raise an error unless the method is the compiled integrator with adaptive steps."""
    parts = {
        "formulation": method.formulation.uses_engine,
        "drift": method.drift.in_machine_code,
        "step": method.step is None,
        "solver": method.tableau is DORMAND_PRINCE,
    }
    others = [name for name, usual in parts.items() if not usual]
    if others:
        given = getattr(method, others[0])
        shown = given if isinstance(given, float) else type(given).__name__
        raise InputError(
            f"a live page integrates with the compiled integrator, the default formulation and adaptive steps; got "
            f"`{others[0]}` {shown}. {USE_SIMULATE}"
        )


def _missing(system: System) -> str:
    """Return the name of what cannot be compiled in a system."""
    native = build(system).native
    assert isinstance(native, NativeSystem)
    try:
        Programs(native.source, range(len(native.source.levels)), None).outputs()
    except NoMachineCodeError as missing:
        return f"`{missing}`"
    return "a part of the system"


def require_sliding(experiment: Experiment) -> None:
    """Raise an error if a contact under dry friction is at rest at the start: a page computes sliding only."""
    system, touching = experiment.system, contacts(experiment.system)
    if not touching:
        return
    parameters = dict(zip(experiment.dynamics.parameters, experiment.p, strict=True))
    at_rest = contacts_at_rest(system, touching, experiment.start, experiment.t0, parameters)
    if at_rest:
        raise InputError(
            f"contacts under dry friction must slide at the start of a live page, which does not compute sticking; at "
            f"rest: {quoted(contact.name for contact in at_rest)}. Start with a sliding velocity. {USE_SIMULATE}"
        )
