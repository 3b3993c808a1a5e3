# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a flow: adaptive ones that end at all outputs, equal ones, and those of an earlier motion."""

from __future__ import annotations

from typing import Any

import diffrax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dalembert.integration.method import Method
from dalembert.native.fixed_members import WHOLE_STEPS_SLACK


class GivenSteps(diffrax.AbstractStepSizeController[Any, Any]):
    """Steps to given times (k + 1,), the first of which is the start; the last one may be repeated.

    ``diffrax.StepTo`` checks by a callback that its times increase, and these, padded to a fixed length, do not.
    """

    times: Array

    def wrap(self, direction: Any) -> GivenSteps:
        # diffrax integrates backward motions in negated time
        return GivenSteps(self.times * direction)

    def init(
        self, terms: Any, t0: Any, t1: Any, y0: Any, dt0: Any, args: Any, func: Any, error_order: Any
    ) -> tuple[Any, Any]:
        return self.times[1], 2

    def adapt_step_size(
        self,
        t0: Any,
        t1: Any,
        y0: Any,
        y1_candidate: Any,
        args: Any,
        y_error: Any,
        error_order: Any,
        controller_state: Any,
    ) -> Any:
        return True, t1, self.times[controller_state], False, controller_state + 1, diffrax.RESULTS.successful


def step_controller(method: Method, stops: Any) -> diffrax.AbstractStepSizeController[Any, Any]:
    """Return a controller whose steps end at all outputs: dense output is of lower order than a high-order solver."""
    if method.step is not None:
        return diffrax.StepTo(ts=_equal_steps(stops, method.step))
    adaptive = diffrax.PIDController(rtol=method.rtol, atol=method.atol)
    return diffrax.ClipStepSizeController(adaptive, step_ts=jnp.asarray(stops))


def _equal_steps(times: Any, step: float) -> Any:
    """Return times with each interval divided into equal steps of at most a given length."""
    # the same division as in the compiled integrator, so that both take the same steps
    counts = np.ceil(np.diff(times) / step * (1 - WHOLE_STEPS_SLACK)).astype(int)
    spans = [np.linspace(a, b, k, endpoint=False) for a, b, k in zip(times[:-1], times[1:], counts, strict=True)]
    return np.append(np.concatenate(spans), times[-1])
