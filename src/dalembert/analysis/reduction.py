# SPDX-License-Identifier: BSD-3-Clause
"""`da.reduce`: a system with its hidden constraints added."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.analysis.constraint_states import Fixed
from dalembert.analysis.evaluated_terms import model_of
from dalembert.analysis.feasibility import conflicts
from dalembert.analysis.hidden_constraints import hidden_constraints
from dalembert.analysis.sampled_states import random_starts
from dalembert.analysis.symbolic_errors import report_symbolic_errors
from dalembert.errors import ConstraintError
from dalembert.model.input_values import parameter_values
from dalembert.model.ordering import quoted
from dalembert.model.standard_form import standard_form
from dalembert.model.system import System


@report_symbolic_errors
def reduce(system: System, *, parameters: Any = None) -> System:
    """Return the system with its hidden constraints added, ready to simulate.

    Parameters
    ----------
    parameters    a value for every constant of the model. If left out, the hidden constraints for generic values are
                  added; special values, such as a mass of zero, may imply further ones.

    Raises
    ------
    InputError         if ``system`` is not stated in symbols; missing or unknown parameters
    ConstraintError    if the constraints contradict one another, or a hidden condition cannot be met by any state

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> L = x.diff(da.t)**2 / 2 + y * (x - 1)   # y has no mass: it is a multiplier in disguise
    >>> da.reduce(da.System.from_lagrangian(L, (x, y))).constraint_names
    ('hidden 1', 'hidden 2')
    """
    given = isinstance(system, System) and parameters is not None
    fixed = Fixed(np.array(parameter_values(system.parameter_names, parameters)) if given else None)
    found = hidden_constraints(system, fixed)
    if found.impossible is not None:
        raise ConstraintError(
            f"the constraints must leave some motion possible; they imply `{found.impossible} = 0`. "
            f"See `da.check(system)`."
        )
    # without hidden constraints a contradiction has not been looked for yet
    if found.data_before is None:
        _refuse_contradiction(system, fixed)
    if found.failure:
        raise ConstraintError(
            f"the hidden constraints must be found to be added; the search failed: {found.failure}. "
            f"See `da.check(system)`."
        )
    return found.system


def _refuse_contradiction(system: System, fixed: Fixed) -> None:
    """Raise an error that names constraints which contradict one another, if there are any."""
    model = model_of(standard_form(system), system.parameter_names)
    start = next(random_starts(model, fixed), None)
    found = [] if start is None else conflicts(model, start, model, random=fixed.p is None, given=False)
    if found:
        level, rows = found[0]
        names = quoted(system.constraint_names[i] for i in rows)
        conflict = f"{names} contradict one another" if len(rows) > 1 else f"{names} cannot be met"
        raise ConstraintError(
            f"the constraints must leave some motion possible; {conflict} at {level} level. "
            f"Remove or correct one of them."
        )
