"""The derived formulas and the compiled program are the same, at random states of every case."""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as da
from helpers import accelerations_and_forces, quick_first
from random_systems import random_system

REPORTED = ("acceleration", "ideal_force", "nonideal_force")


FILL_PAGES = ("bricard", "flyball", "rolling-disc", "tumbling-coin", "turntable", "rattleback", "ball-in-cylinder")
FILL_PAGES += ("bicycle", "five-bar")
"""Cases with a closed form that takes long to find, and is not worth writing down."""


@pytest.mark.parametrize("name", FILL_PAGES)
def test_closed_forms_that_fill_pages_are_not_written_down(name: str) -> None:
    assert not da.gallery.case(name).readable


COMBINED = ("crane",)
"""Cases whose inputs act only on combinations of requirements, and have no closed form."""


@pytest.mark.parametrize("name", COMBINED)
def test_inputs_that_act_on_combinations_have_no_closed_form(name: str) -> None:
    assert da.derive(da.gallery.case(name).system).inputs is None


def without_limits(system: da.System) -> da.System:
    """The system whose inputs are those that meet the requirements: limits are not part of a derivation."""
    servos = [replace(s, by=s.by and tuple(replace(a, limit=None) for a in s.by)) for s in system.servos]
    return replace(system, servos=tuple(servos))


DERIVED = [name for name in da.gallery.names() if name not in (*FILL_PAGES, *COMBINED)]
LARGE = {"arm-circle", "arm-circle-inertia", "wrong-masses", "satellites", "swarm-control"}


@pytest.mark.parametrize("name", quick_first(DERIVED, set(DERIVED) - LARGE))
def test_symbols_and_program_agree(name: str) -> None:
    case = da.gallery.case(name)
    if case.no_closed_form:
        with pytest.raises(
            da.DalembertError,
            match=r"implies another acceleration than|must depend on the ideal normal|an equation that always holds",
        ):
            da.derive(case.system)
        return
    derivation = da.derive(case.system, drift=case.drift)
    rng = np.random.default_rng(7)
    n = len(case.system.coordinates)
    states = []
    for _ in range(3):
        q, qd = case.q0 + 0.1 * rng.normal(size=n), case.qd0 + 0.1 * rng.normal(size=n)
        time = case.times[0] + rng.uniform()
        # rows may be redundant only where the constraints hold: compare there
        on = da.consistent_state(case.system, q, qd, time, parameters=case.parameters, metric="euclidean")
        # and off them where stabilising terms count
        states.append((q, qd, time) if isinstance(case.drift, da.Baumgarte) else (*on, time))
    arrays = [np.array(part) for part in zip(*states, strict=True)]
    system = without_limits(case.system)
    numbers = accelerations_and_forces(system, *arrays, dict(case.parameters), case.formulation, case.drift)
    for k, (q, qd, time) in enumerate(states):
        derived = derivation.at(q, qd, time, case.parameters)
        scale = 1 + sum(np.abs(numbers[name][k]).max() for name in REPORTED)
        for name in REPORTED:
            np.testing.assert_allclose(getattr(derived, name), numbers[name][k], atol=1e-10 * scale)


@pytest.mark.parametrize("seed", [1, 4, 5, 9, 11])
def test_stabilised_symbols_and_program_agree(seed: int) -> None:
    """Constraints of all levels, off them."""
    system, q, qd = random_system(seed, off=0.1, redundant=False)
    if any(isinstance(law, da.Coulomb) and law.normal == "actual" for c in system.constraints for law in c.nonideal):
        return
    drift = da.Baumgarte(2.5, 0.3)
    numbers = accelerations_and_forces(system, q[None], qd[None], np.array([0.7]), {}, None, drift)
    derived = da.derive(system, drift=drift).at(q, qd, 0.7)
    for name in REPORTED:
        np.testing.assert_allclose(getattr(derived, name), numbers[name][0], rtol=1e-11, atol=1e-12)
