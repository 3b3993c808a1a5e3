# SPDX-License-Identifier: BSD-3-Clause
"""What is asked of a system at single states, compiled by JAX; imported only where machine code does not answer."""

from __future__ import annotations

from typing import Any

import equinox as eqx

from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.equation.formulation import Formulation


@eqx.filter_jit
def compiled_terms(dynamics: Dynamics, q: Any, qd: Any, t: Any, p: Any) -> Terms:
    """The terms at one state."""
    return dynamics.terms(q, qd, t, p)


# As in ``sampling``: it runs once or a few times, so that compiling is nearly all that it costs.
@eqx.filter_jit(compiler_options={"xla_backend_optimization_level": 0})  # pyright: ignore
def compiled_answer(dynamics: Dynamics, q: Any, qd: Any, t: Any, p: Any, formulation: Formulation) -> ConstrainedMotion:
    """The answer at one state."""
    return dynamics.answer(q, qd, t, p, formulation)
