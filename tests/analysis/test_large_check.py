"""`da.check` of large systems, by numbers, beside the same systems term by term."""

import numpy as np
from benchmarks.large_systems import chain, truss

import dalembert as da
from dalembert.analysis.large_check import large_check


def test_redundant_rods_are_combinations_of_others():
    system, q, qd = truss(3)
    found = large_check(system.statement, q, qd, None, None, allow_violation=False)
    wanted = da.check(system, q, qd)
    assert found.well_posed and (found.rank, found.degrees_of_freedom) == (wanted.rank, wanted.degrees_of_freedom)
    assert len(found.redundant) == len(wanted.redundant) == 3
    A = np.asarray(da.motion(system, q, qd).constraint_matrix)
    number = {name: i for i, name in enumerate(system.constraint_names)}
    for name, parts in found.redundant.items():
        sums = sum(share * A[number[other]] for other, share in parts.items())
        np.testing.assert_allclose(sums, A[number[name]], atol=1e-9)
    assert found.unique_multipliers == wanted.unique_multipliers


def test_violations_are_reported():
    system, q, qd = chain(120)
    qd[3] = 1.0
    verdict = da.check(system, q, qd)
    assert not verdict.well_posed
    assert set(verdict.violations) == {("rod[2]", "velocity"), ("rod[3]", "velocity")}
    assert "and 1 more violated by up to 2.0e+00 at `qd`; see `da.consistent_state`" in str(verdict)
    assert da.check(system, q, qd, allow_violation=True).well_posed


def test_contradictions_are_minimal():
    x = da.coordinates("x", 300)
    u, v = da.coordinates("u v")
    steps = da.Constraint.over(u.diff(da.t, 2) - v.diff(da.t, 2), {u: x[:-1], v: x[1:]}, name="step")
    ends = da.Constraint(x[3].diff(da.t, 2) - x[6].diff(da.t, 2) - 1, name="span")
    system = da.System(x, 1, 0, (steps, ends))
    verdict = da.check(system, np.zeros(300), np.zeros(300))
    assert not verdict.well_posed
    assert {frozenset(conflict.names) for conflict in verdict.conflicts} == {
        frozenset({"span", "step[3]", "step[4]", "step[5]"})
    }
