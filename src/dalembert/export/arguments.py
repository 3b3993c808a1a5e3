# SPDX-License-Identifier: BSD-3-Clause
"""Validation of the arguments of exports: the system, the file, the start and the drift cure."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.array_types import Floats, vector_of
from dalembert.control.controlled_plant import controlled
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import InputError
from dalembert.export.exported_model import ExportedModel, FileLayout, Start, exported_model
from dalembert.export.inputs import with_inputs
from dalembert.export.mode_system import ModeSystem, mode_system
from dalembert.integration.default_tolerances import USUAL_RTOL
from dalembert.integration.drift import Drift
from dalembert.integration.start_states import require_start
from dalembert.lowering.batch_program import BatchProgram
from dalembert.lowering.build import build
from dalembert.lowering.native_system import NativeSystem
from dalembert.lowering.programs import Programs
from dalembert.lowering.recording import NoMachineCodeError
from dalembert.model.active_system import active_system
from dalembert.model.coefficients import refuse_negative_coefficients
from dalembert.model.friction_contacts import contacts as contacts_of
from dalembert.model.function_system import FunctionSystem
from dalembert.model.input_values import parameter_values, scalar_value, state_values
from dalembert.model.ordering import quoted
from dalembert.model.system import System
from dalembert.native.tape import Program
from dalembert.settings import method_of, prepared, require_system
from dalembert.verbs import motion

MODE_ROUNDING = 1e-12
"""Switching quantity at the start that is rounding of zero."""


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
    mode: Any = None,
) -> ExportedModel:
    """Return the programs of a system for an export, after all checks of the arguments."""
    system, parameters, inputs = with_inputs(_exportable(system), parameters, inputs)
    if control is not None:
        _require_continuous(control, q0, qd0)
        system, q0, qd0, parameters = controlled(system, control, q0, qd0, parameters)
    contacts, start = _mode(system, mode), None
    if contacts is None:
        start = _start(system, q0, qd0, t0, parameters)
    else:
        start, system = _mode_start(contacts, q0, qd0, t0, parameters), contacts.system
    dynamics, cure = build(system), _drift(drift)
    _require_c_functions(dynamics)
    layout = FileLayout.of(dynamics, contacts)
    if start is None:
        return exported_model(dynamics, name, start, cure, inputs, contacts, layout)
    n, p = len(dynamics.coordinates), layout.of_programs(start.p)
    own = tuple(p[: len(dynamics.parameters)])
    require_start(dynamics, start.y[:n], start.y[n:], start.t, own, allow_violation=allow_violation)
    model = exported_model(dynamics, name, start, cure, inputs, contacts, layout)
    _require_valid(system, model, start._replace(p=p))
    if contacts is not None:
        _require_mode(model, start._replace(p=p), allow_violation=allow_violation)
    return model


def _require_valid(system: System, model: ExportedModel, start: Start) -> None:
    """Raise an error unless the exported equations are valid at the start; its parameters are those of the programs."""
    for program in (model.accelerate, model.agree):
        if program is None:
            continue
        found = _value(program, start)
        if np.isfinite(found).all() and found[-1] == 1.0:
            continue
        # raises an error that names the cause, if the equations cannot be solved at all
        values = dict(zip(build(system).parameters, start.p.tolist(), strict=False))
        motion(system, start.y[: model.n], start.y[model.n :], start.t, parameters=values)
        raise InputError(
            "`q0` and `qd0` must be a state where the exported equations are valid; the constraints are nearly "
            "dependent there, or the position is nearly singular. Start elsewhere, or leave out constraints that "
            "follow from others."
        )


def _value(program: Program, start: Start) -> Floats:
    return BatchProgram(program, len(start.y))(start.y[None], np.array([start.t]), start.p[None])[0]


def _require_mode(model: ExportedModel, start: Start, *, allow_violation: bool) -> None:
    """Raise an error unless a contact mode lasts at the start, and its friction forces are determined."""
    assert model.switching is not None
    if len(model.rows) < len(model.constraints):
        left_out = [name for k, name in enumerate(model.constraints) if k not in model.rows]
        raise InputError(
            f"the forces of closed and of sticking contacts must be determined to be exported; {quoted(left_out)} "
            f"follows from the other constraints at the initial state. Leave out what holds the same motion twice."
        )
    values = _value(model.switching, start)[:-1]
    ended = {name: x for name, x in zip(model.switching_names, values, strict=True) if x < -MODE_ROUNDING}
    if ended and not allow_violation:
        listed = ", ".join(f"`{name}` is {value:.3g}" for name, value in ended.items())
        raise InputError(
            f"`mode` must hold at the initial state, where its switching quantities must not be negative; {listed}. "
            f"Pass the mode of that state, or leave out `q0`, `qd0` and `parameters`."
        )


def _exportable(system: Any) -> System:
    require_system(system)
    if isinstance(system, FunctionSystem):
        raise InputError(
            "`system` must be a `da.System` to be exported; got a `da.FunctionSystem`, whose Python functions cannot "
            "be written in another language. State the model with SymPy expressions."
        )
    return system


def _mode(system: System, mode: Any) -> ModeSystem | None:
    """Return the system in its contact mode; None for one without contacts."""
    if mode is not None:
        return mode_system(system, mode)
    opening = [str(constraint.name) for constraint in system.constraints if not constraint.is_permanent]
    if opening:
        raise InputError(
            f"`system` must not have contacts that open and close, or constraints that events switch, since an "
            f"exported step does not locate them; got {quoted(opening)}. Replace a contact by a stiff spring and a "
            f"damper, or export single modes: `da.export_c(..., mode=da.ContactMode(closed=...))`."
        )
    names = dict.fromkeys(contact.name for contact in contacts_of(system))
    if names:
        raise InputError(
            f"`system` must not have contacts that can stick, since an exported step does not switch between sticking "
            f"and sliding; got dry friction at {quoted(names)}. Smooth it: `da.Coulomb(mu, smoothing=...)`; or export "
            f"single modes: `da.export_c(..., mode=da.ContactMode(sticking=...))`."
        )
    return None


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
            f"`system` must use functions of the C library; `{unknown}` is not one. Replace it by elementary functions."
        ) from None


def _start(system: System, q0: Any, qd0: Any, t0: Any, parameters: Any) -> Start | None:
    """Return the start, or None if no numbers are given."""
    if not _is_given(q0, qd0, parameters):
        return None
    _, q0, qd0, p = prepared(system, q0, qd0, parameters, ("q0", "qd0"))
    return Start(float(scalar_value(t0, "t0")), np.concatenate([q0, qd0]).astype(float), vector_of(p))


def _mode_start(own: ModeSystem, q0: Any, qd0: Any, t0: Any, parameters: Any) -> Start | None:
    """Return the start in a contact mode, with the slip directions, or None if no numbers are given."""
    if not _is_given(q0, qd0, parameters):
        return None
    whole = own.whole
    q0, qd0 = (state_values(whole.coordinate_names, x, name) for x, name in ((q0, "q0"), (qd0, "qd0")))
    values = parameter_values(whole.parameter_names, parameters)
    p = {name: float(value) for name, value in zip(whole.parameter_names, values, strict=True)}
    equations = active_system(whole)
    refuse_negative_coefficients(equations, tuple(p[name] for name in equations.parameter_names))
    t, y = float(scalar_value(t0, "t0")), np.concatenate([q0, qd0]).astype(float)
    directions = own.directions(t, y, p)
    return Start(t, y, np.array([*p.values(), *directions.values()]))


def _is_given(q0: Any, qd0: Any, parameters: Any) -> bool:
    if q0 is None and qd0 is None and parameters is None:
        return False
    if q0 is None or qd0 is None:
        raise InputError("`q0` and `qd0` must both be given along with `parameters`, or none of the three.")
    return True
