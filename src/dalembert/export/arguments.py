# SPDX-License-Identifier: BSD-3-Clause
"""Validation of the arguments of exports: the system, the file, the start and the drift cure."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.array_types import vector_of
from dalembert.control.controlled_plant import controlled
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import InputError
from dalembert.export.exported_model import ExportedModel, Start, exported_model
from dalembert.export.inputs import with_inputs
from dalembert.integration.default_tolerances import USUAL_RTOL
from dalembert.integration.drift import Drift
from dalembert.integration.start_states import require_start
from dalembert.lowering.batch_program import BatchProgram
from dalembert.lowering.build import build
from dalembert.lowering.native_system import NativeSystem
from dalembert.lowering.programs import Programs
from dalembert.lowering.recording import NoMachineCodeError
from dalembert.model.friction_contacts import contacts
from dalembert.model.function_system import FunctionSystem
from dalembert.model.input_values import scalar_value
from dalembert.model.ordering import quoted
from dalembert.model.system import System
from dalembert.settings import method_of, prepared, require_system
from dalembert.verbs import motion


def model_of(
    system: Any,
    name: str,
    *,
    q0: Any,
    qd0: Any,
    t0: Any,
    parameters: Any,
    drift: Any,
    control: Any,
    allow_violation: bool,
    inputs: Any,
) -> ExportedModel:
    """Return the programs of a system for an export, after all checks of the arguments."""
    system, parameters, inputs = with_inputs(_exportable(system), parameters, inputs)
    if control is not None:
        _require_continuous(control, q0, qd0)
        system, q0, qd0, parameters = controlled(system, control, q0, qd0, parameters)
    _refuse_contacts(system)
    dynamics, cure = build(system), _drift(drift)
    _require_c_functions(dynamics)
    start = _start(system, q0, qd0, t0, parameters)
    if start is not None:
        n = len(dynamics.coordinates)
        require_start(dynamics, start.y[:n], start.y[n:], start.t, tuple(start.p), allow_violation=allow_violation)
    model = exported_model(dynamics, name, start, cure, inputs)
    if start is not None:
        _require_valid(system, model, start)
    return model


def _require_valid(system: System, model: ExportedModel, start: Start) -> None:
    """Raise an error unless the exported equations are valid at the start."""
    for program in (model.accelerate, model.agree):
        if program is None:
            continue
        found = BatchProgram(program, 2 * model.n)(start.y[None], np.array([start.t]), start.p[None])[0]
        if np.isfinite(found).all() and found[-1] == 1.0:
            continue
        # raises an error that names the cause, if the equations cannot be solved at all
        values = dict(zip(model.parameters, start.p.tolist(), strict=True))
        motion(system, start.y[: model.n], start.y[model.n :], start.t, parameters=values)
        raise InputError(
            "`q0` and `qd0` must be a state where the exported equations are valid; the constraints are nearly "
            "dependent there, or the position is nearly singular. Start elsewhere, or leave out constraints that "
            "follow from others."
        )


def _exportable(system: Any) -> System:
    require_system(system)
    if isinstance(system, FunctionSystem):
        raise InputError(
            "`system` must be a `da.System` to be exported; got a `da.FunctionSystem`, whose Python functions cannot "
            "be written in another language. State the model with SymPy expressions."
        )
    return system


def _refuse_contacts(system: System) -> None:
    """Raise an error for contacts that open and close, or stick and slide."""
    opening = [str(constraint.name) for constraint in system.constraints if not constraint.is_permanent]
    if opening:
        raise InputError(
            f"`system` must not have contacts that open and close, or constraints that events switch, since an "
            f"exported step does not locate them; got {quoted(opening)}. Replace a contact by a stiff "
            f"spring and a damper."
        )
    names = dict.fromkeys(contact.name for contact in contacts(system))
    if names:
        raise InputError(
            f"`system` must not have contacts that can stick, since an exported step does not switch between sticking "
            f"and sliding; got dry friction at {quoted(names)}. Smooth it: `da.Coulomb(mu, smoothing=...)`."
        )


def _require_continuous(control: Any, q0: Any, qd0: Any) -> None:
    if getattr(control, "period", None) is not None:
        raise InputError(
            "`control` must be a continuous controller to be exported with its plant; got a sampled one. Export its "
            "model, `control.system`, whose function `..._inputs` computes the inputs, and call it once per period."
        )
    if q0 is None or qd0 is None:
        raise InputError("`q0` and `qd0` must be given along with `control`; got none.")


def _drift(drift: Any) -> Drift:
    cure = method_of(None, drift, None, USUAL_RTOL, None, None, 1).drift
    if cure.integrals:
        raise InputError("`drift` of an export must not conserve first integrals; leave out `conserve`.")
    if not cure.in_machine_code:
        raise InputError(
            f"`drift` of an export must consist of gains and projections, as those of the library; got {cure!r}."
        )
    return cure


def _require_c_functions(dynamics: Dynamics) -> None:
    native = dynamics.native
    assert isinstance(native, NativeSystem)
    try:
        Programs.of_all_rows(native.source).outputs()
    except NoMachineCodeError as unknown:
        raise InputError(
            f"`system` must use functions of the C library; `{unknown}` is none. Replace it by elementary functions."
        ) from None


def _start(system: System, q0: Any, qd0: Any, t0: Any, parameters: Any) -> Start | None:
    """Return the start, or None if no numbers are given."""
    if q0 is None and qd0 is None and parameters is None:
        return None
    if q0 is None or qd0 is None:
        raise InputError("`q0` and `qd0` must both be given along with `parameters`, or none of the three.")
    _, q0, qd0, p = prepared(system, q0, qd0, parameters, ("q0", "qd0"))
    return Start(float(scalar_value(t0, "t0")), np.concatenate([q0, qd0]).astype(float), vector_of(p))
