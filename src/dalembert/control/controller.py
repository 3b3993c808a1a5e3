# SPDX-License-Identifier: BSD-3-Clause
"""Controllers as values: compiled functions from the state to the inputs of actuators."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.names import listed, summary
from dalembert.control.controller_arguments import limit_value, noise_values, number_value, require_layers
from dalembert.control.controller_programs import ControllerPrograms, controller_source
from dalembert.errors import ConstraintError, InputError
from dalembert.integration.control_outputs import unmet
from dalembert.lowering.batch_program import BatchProgram
from dalembert.lowering.build import build
from dalembert.lowering.source import Source
from dalembert.model.coefficients import refuse_negative_coefficients
from dalembert.model.control_form import distinct_actuators
from dalembert.model.input_values import as_numbers, parameter_values, state_values
from dalembert.model.ordering import by_name, name_problems
from dalembert.model.system import System, kind_of_object
from dalembert.model.uncertainty import AdaptiveBound, BoundedUncertainty


@dataclass(frozen=True, eq=False)
class Controller:
    """A compiled controller: see ``da.controller``.

    system          the model
    parameters      values of its parameters, by name
    robust          ``da.BoundedUncertainty`` or None
    adaptive        ``da.AdaptiveBound`` or None
    period, delay   of a sampled controller; None and 0 for a continuous one
    noise           standard deviations (2n,) of the measured coordinates and velocities, or None
    seed            of the noise
    """

    system: System
    parameters: dict[str, float]
    robust: BoundedUncertainty | None = None
    adaptive: AdaptiveBound | None = None
    period: float | None = None
    delay: float = 0.0
    noise: Floats | None = None
    seed: int = 0

    def __repr__(self) -> str:
        return summary(
            f"Controller of {listed(self.coordinates)}",
            listed(self.actuators, "inputs"),
            listed((servo.name for servo in self.system.servos), "servos"),
            "" if self.robust is None else repr(self.robust),
            "" if self.adaptive is None else repr(self.adaptive),
            "continuous" if self.period is None else f"period {self.period:g}, delay {self.delay:g}",
            "" if self.noise is None else "noisy",
        )

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The names of the coordinates of the model."""
        return self.system.coordinate_names

    @property
    def actuators(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return build(self.system).actuators

    @property
    def values(self) -> tuple[float, ...]:
        """The values of the parameters, in the order of the compiled functions."""
        return tuple(self.parameters[name] for name in self.system.parameter_names)

    @cached_property
    def limits(self) -> dict[str, float]:
        """The largest |u| of each actuator by its name; infinite without a limit."""
        given = {actuator.name: actuator.limit for actuator in distinct_actuators(self.system.servos)}
        found = {name: given.get(name) for name in self.actuators}
        return {name: limit_value(name, limit, self.parameters) for name, limit in found.items()}

    def __call__(self, q: Any, qd: Any, t: Any = 0.0, *, bound: float | None = None) -> dict[str, Any]:
        """Return the input of each actuator by its name, at one state, or at k states of shape (k, n).

        ``bound`` is the present estimate of an adaptive controller, by default its start.

        Raises
        ------
        InputError         wrong shapes
        ConstraintError    if no inputs meet the requirements at the state
        """
        q, qd = self._in_order(q, "q"), self._in_order(qd, "qd")
        if len(q) and hasattr(q[0], "__len__"):
            return self._at_many(q, qd, t, bound, self._programs.at_states)
        found = self.evaluate(q, qd, t, bound)[0]
        return dict(zip(self._names, found, strict=True))

    def _in_order(self, given: Any, argument: str) -> Any:
        """Return one state or several in the order of the coordinates; lists and arrays, which are, as they are."""
        if type(given) in (tuple, list, np.ndarray) and len(given):
            return given
        if getattr(given, "ndim", 1) == 1:
            return state_values(self.coordinates, given, argument)
        named, problems = by_name(given, argument, "coordinate")
        if named is None:
            return as_numbers(given, argument)
        problems += name_problems(self.coordinates, named, argument, "coordinate")
        if problems:
            raise InputError(" ".join(problems))
        return np.stack([as_numbers(named[name], argument) for name in self.coordinates], axis=-1)

    def _at_many(self, q: Any, qd: Any, t: Any, bound: Any, program: BatchProgram) -> dict[str, Any]:
        n = len(self.coordinates)
        try:
            q = np.asarray(q, float)
            qd = np.broadcast_to(np.asarray(qd, float), q.shape)
            times = np.broadcast_to(np.asarray(t, float), q.shape[:1])
        except (TypeError, ValueError):
            q = times = np.empty(0)
        if q.ndim != 2 or q.shape[1] != n:
            raise InputError(
                f"`q` and `qd` must hold {n} numbers, or k rows of {n}, and `t` one number or k; got other shapes."
            )
        found = self._batch(q, qd, times, bound, program)
        bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
        if len(bad):
            k = int(bad[0])
            raise ConstraintError(f"state {k}: {self._reason(q[k], qd[k], float(times[k]))}")
        return dict(zip(self.actuators, found.T, strict=True))

    def layers(self, q: Any, qd: Any, t: Any = 0.0, *, bound: Any = None) -> dict[str, dict[str, Any]]:
        """Return the inputs before limits by layer and actuator, at one state or at k states; their sum is the input.

        ``"nominal"`` is the input that would keep the highest derivatives of errors zero, ``"settling"`` what makes
        errors decay, ``"robust"`` that of a robust or adaptive layer, if there is one. Arguments and errors are those
        of a call; along a run they are ``run.q``, ``run.qd``, ``run.t`` and, if the layer is adaptive,
        ``bound=run.estimated_bound``.
        """
        q, qd = self._in_order(q, "q"), self._in_order(qd, "qd")
        one = np.ndim(q) == 1
        if one:
            q, qd = [q], [qd]
        found: dict[str, dict[str, Any]] = {}
        below = dict.fromkeys(self.actuators, 0.0)
        for layer, program in self._programs.layers.items():
            total = self._at_many(q, qd, t, bound, program)
            found[layer] = {name: float(u[0] - below[name]) if one else u - below[name] for name, u in total.items()}
            below = {name: u[0] if one else u for name, u in total.items()}
        return found

    def _reason(self, q: Any, qd: Any, t: float) -> str:
        reason = unmet(build(self.system), np.array(q, float), np.array(qd, float), t, self.values)
        return reason or f"the state and the time must be finite; got q = {q}, qd = {qd}, t = {t}."

    def evaluate(self, q: Any, qd: Any, t: float, bound: float | None = None) -> tuple[list[float], float]:
        """Return the inputs at one state, and ‖z‖ of ``da.BoundedUncertainty``."""
        _, run, size, count = self._programs.at_state
        n = size // 2
        numbers = self._numbers if bound is None else (*self._numbers[:-1], bound)
        found = (ctypes.c_double * count)()
        try:
            if len(q) != n or len(qd) != n:
                raise TypeError
            run((ctypes.c_double * size)(*q, *qd), t, (ctypes.c_double * len(numbers))(*numbers), found)
        except (TypeError, ctypes.ArgumentError):
            raise InputError(
                f"`q` and `qd` must hold {n} numbers each, and `t` must be a number; got q = {q}, qd = {qd}, t = {t}."
            ) from None
        *inputs, length = found
        if any(u != u for u in inputs):  # NaN
            raise ConstraintError(self._reason(q, qd, t))
        return inputs, length

    def next_bound(self, bound: float, size: float) -> float:
        """Return the estimated bound one period later, with ‖z‖ held: the solution of α̇ = k₁‖z‖ − k₂ α."""
        growth, leakage = self._rates
        decay = float(np.exp(-leakage * float(self.period or 0.0)))
        return bound * decay + growth * size / leakage * (1 - decay)

    @cached_property
    def _rates(self) -> tuple[float, float]:
        assert self.adaptive is not None
        return float(self.adaptive.growth.subs(self.parameters)), float(self.adaptive.leakage.subs(self.parameters))

    @cached_property
    def _programs(self) -> ControllerPrograms:
        return ControllerPrograms(self.source)

    def _batch(self, q: Floats, qd: Floats, t: Floats, bound: Any, program: BatchProgram) -> Floats:
        p = np.tile(self._numbers, (len(q), 1))
        if bound is not None:
            p[:, -1] = bound
        return program(np.concatenate([q, qd], axis=1), t, p)[:, :-1]

    def __getstate__(self) -> dict[str, Any]:
        # compiled programs cannot be pickled, and are compiled again where they are needed
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return self.actuators

    @cached_property
    def _numbers(self) -> tuple[float, ...]:
        return (*self.values, 0.0 if self.adaptive is None else float(self.adaptive.start))

    @cached_property
    def source(self) -> Source:
        """The model in plain symbols, with the layers of the controller."""
        return controller_source(self.system, self.robust, self.adaptive)


def controller(
    system: System,
    *,
    parameters: Any = None,
    robust: BoundedUncertainty | None = None,
    adaptive: AdaptiveBound | None = None,
    period: float | None = None,
    delay: float = 0.0,
    noise: Any = None,
    seed: int = 0,
) -> Controller:
    """Return the controller that meets the servo constraints of a model, for use on another plant.

    Parameters
    ----------
    system        the nominal model, with ``servos``
    parameters    nominal values of its parameters
    robust        a layer for an uncertainty of known bound
    adaptive      a layer that estimates the bound
    period        of a sampled controller, which holds its inputs between two samples; None for a continuous one
    delay         time between a sample and the change of the inputs that follows from it; needs a ``period``
    noise         standard deviation of the measured state: a number, n numbers for coordinates and velocities alike, or
                  2n; needs a ``period``
    seed          of the noise

    Raises
    ------
    InputError    a system without servos, missing or unknown parameters, a period that is not positive, or a negative
                  delay

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> m = da.parameters("m")
    >>> motor = da.Actuator("motor", x)
    >>> model = da.System((x,), [[m]], (0,), servos=da.Servo("hold", x - 1, by=motor, settle=2))
    >>> control = da.controller(model, parameters={"m": 3})
    >>> control([0.0], [0.0])
    {'motor': 12.0}
    """
    if not isinstance(system, System) or not system.servos:
        got = "one without servos" if isinstance(system, System) else kind_of_object(system)
        raise InputError(f"`system` must be a `da.System` with `servos`; got {got}.")
    require_layers(system, robust, adaptive)
    if robust is not None and adaptive is not None:
        raise InputError("`robust` and `adaptive` must not be given together; an adaptive bound replaces a known one.")
    if period is not None and not number_value(period, "period") > 0:
        raise InputError(f"`period` must be positive; got {period!r}.")
    if number_value(delay, "delay") < 0:
        raise InputError(f"`delay` must not be negative; got {delay!r}.")
    if period is None and (float(delay) > 0 or noise is not None):
        raise InputError("`delay` and `noise` must belong to a sampled controller; pass a `period`.")
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"`seed` must be a whole number, zero or positive; got {seed!r}.")
    values = [float(value) for value in parameter_values(system.parameter_names, parameters)]
    refuse_negative_coefficients(system, values)
    found = Controller(
        system,
        dict(zip(system.parameter_names, values, strict=True)),
        robust,
        adaptive,
        None if period is None else float(period),
        float(delay),
        None if noise is None else noise_values(noise, len(system.coordinates)),
        seed,
    )
    _refuse_matrices(found)
    return found


def _refuse_matrices(found: Controller) -> None:
    form = found.source.control
    if form is None or form.robust is None:
        return
    for requirement in form.requirements:
        if requirement.rate is None:
            raise InputError(
                f"`settle` of servo `{form.servos[requirement.servo]}` must be a rate for a robust or adaptive "
                f"controller; got matrices."
            )
