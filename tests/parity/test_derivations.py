"""The derived formulas and the compiled program are the same, at random states of every case."""

import numpy as np
import pytest

import dalembert as da
from helpers import accelerations_and_forces

TOLD = ("acceleration", "ideal_force", "nonideal_force")


@pytest.mark.parametrize("name", da.gallery.names())
def test_symbols_and_program_agree(name: str) -> None:
    case = da.gallery.case(name)
    if case.no_closed_form:
        with pytest.raises(
            da.DalembertError, match=r"asks for another acceleration than|must depend on the ideal normal"
        ):
            da.derive(case.system)
        return
    if not case.readable:
        pytest.skip("its closed form fills pages, and takes long to find")
    derivation = da.derive(case.system)
    rng = np.random.default_rng(7)
    n = len(case.system.coordinates)
    states = []
    for _ in range(3):
        q, qd = case.q0 + 0.1 * rng.normal(size=n), case.qd0 + 0.1 * rng.normal(size=n)
        time = case.times[0] + rng.uniform()
        # rows may be redundant only where the constraints hold: compare there
        states.append((*da.consistent_state(case.system, q, qd, time, parameters=case.parameters), time))
    arrays = [np.array(part) for part in zip(*states, strict=True)]
    numbers = accelerations_and_forces(case.system, *arrays, dict(case.parameters), case.formulation)
    for k, (q, qd, time) in enumerate(states):
        derived = derivation.at(q, qd, time, case.parameters)
        scale = 1 + sum(np.abs(numbers[name][k]).max() for name in TOLD)
        for name in TOLD:
            np.testing.assert_allclose(getattr(derived, name), numbers[name][k], atol=1e-10 * scale)
