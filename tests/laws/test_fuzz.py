"""A short slice of the random comparisons; ``make fuzz`` runs many more (docs/fuzz.md)."""

import pytest

from fuzz.compare import FORMULATIONS, faults, motions, simulations
from fuzz.rough import contacts, rough
from fuzz.tasks import WAYS
from helpers import quick_first


@pytest.mark.parametrize("seed", [*range(12), 361, 5032])  # redundant rows in units 1e12 apart; contradictory rows
def test_accelerations(seed: int) -> None:
    assert not faults(list(motions(seed, FORMULATIONS)))


@pytest.mark.parametrize("seed", [861, *range(1000, 1006), 1063])  # units 1e5 apart; a slow motion
def test_motions(seed: int) -> None:
    """By machine code, with every drift cure, and as a member of an ensemble."""
    adaptive = {name: way for name, way in WAYS.items() if name != "fixed step"}
    assert not faults(list(simulations(seed, adaptive)))


@pytest.mark.slow
def test_motions_by_fixed_steps() -> None:
    assert not faults(list(simulations(2000, {"fixed step": WAYS["fixed step"]})))


@pytest.mark.parametrize("seed", quick_first(range(6), [0]))
def test_friction_and_impacts(seed: int) -> None:
    """By events, as members of an ensemble, and in time steps."""
    assert not faults(list(rough(seed)))


@pytest.mark.parametrize("seed", quick_first(range(6), [5]))
def test_contacts_ropes_and_rolling(seed: int) -> None:
    """By events, and as members of an ensemble."""
    found = list(contacts(seed))
    assert found and not faults(found)
