"""The seam between a system and its machine code: what is used of it, and who may use it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import dalembert as da
from dalembert.equation.formulation import Formulation
from dalembert.integration.default_tolerances import with_tolerances
from dalembert.integration.run import run
from dalembert.integration.state_answer import answer_at
from dalembert.native.protocol import NativeDynamics
from dalembert.settings import method_of
from helpers import pendulum

OFFERED = {name for name in dir(NativeDynamics) if not name.startswith("_")} | {"usual_rows"}
START = np.array([1.0, 0.0]), np.array([0.0, 0.0])
TIMES, GRAVITY = np.array([0.0, 0.5, 1.0]), (np.array(9.81),)


class OnlyTheProtocol:
    """A system in machine code that has what the protocol states, and nothing else."""

    def __init__(self, native):
        object.__setattr__(self, "_native", native)

    def __getattr__(self, name):
        if name not in OFFERED:
            raise AttributeError(f"{name} is not in the protocol")
        return getattr(self._native, name)

    def __setattr__(self, name, value):
        assert name in OFFERED
        setattr(self._native, name, value)


@dataclass(frozen=True)
class Named(Formulation):
    """Another formulation under a name of its own."""

    name: str
    inner: Formulation

    @property
    def uses_engine(self):
        return self.inner.uses_engine

    def factor(self, M, A, geometry):
        return self.inner.factor(M, A, geometry)

    def ideal(self, factored, Q, b):
        return self.inner.ideal(factored, Q, b)

    def nonideal(self, factored, C):
        return self.inner.nonideal(factored, C)


@pytest.mark.parametrize(
    "drift", [None, da.Projection(), da.Baumgarte(5.0, 5.0)], ids=lambda drift: type(drift).__name__
)
def test_a_run_and_an_answer_need_only_the_protocol(drift):
    built = da.build(pendulum())
    method = method_of(None, drift, None, 1e-9, None, None, 1000)
    found = []
    for dynamics in (built, replace(built, native=OnlyTheProtocol(built.native))):
        exact = with_tolerances(dynamics, method, *START, 0.0, GRAVITY)
        trajectory = run(dynamics, exact, *START, TIMES, GRAVITY, allow_violation=False, progress=False)
        assert trajectory.statistics["program"] == "machine code" and dynamics.knows_energy
        answer = answer_at(dynamics, *START, 0.0, GRAVITY, da.Factored(), exact.drift.gains())
        found.append((trajectory.q, trajectory.ideal_force, trajectory.energy, answer.ideal_force))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_wrapped_formulation_runs_as_the_one_inside():
    inside, wrapped = (
        da.simulate(pendulum(), *START, TIMES, parameters={"g": 9.81}, formulation=formulation)
        for formulation in (da.Factored(), Named("mine", da.Factored()))
    )
    assert wrapped.statistics["program"] == "machine code" and wrapped.statistics["formulation"] == "Named"
    np.testing.assert_array_equal(wrapped.q, inside.q)
    np.testing.assert_array_equal(wrapped.ideal_force, inside.ideal_force)


def test_only_the_default_formulation_uses_the_engine():
    others = (da.PseudoInverse(), da.ExtendedDAlembert(), da.StackedLeastSquares(), da.Multipliers(), da.SingularMass())
    assert da.Factored().uses_engine and not any(formulation.uses_engine for formulation in others)
