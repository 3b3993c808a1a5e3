"""Many motions at once: each the same as alone, failures marked, summaries in bounded memory."""

from itertools import pairwise

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.ensembles import native_members, runner
from dalembert.ensembles.members import members_of
from dalembert.ensembles.summary import Summary
from dalembert.integration.row_selection import are_independent_rows
from dalembert.lowering.build import build
from helpers import CHAIN_NUMBERS, chain, chain_state, pendulum

TIMES = np.linspace(0, 1, 5)


def test_members_move_as_alone():
    """From starts of their own, with parameters of their own, or both."""
    q, qd = np.array([chain_state(2, k) for k in range(7)]).transpose(1, 0, 2)
    g = np.linspace(1, 20, 7)
    many = da.simulate_ensemble(chain(2), q, qd, TIMES, parameters=CHAIN_NUMBERS | {"g": g})
    for k in range(7):
        alone = da.simulate(chain(2), q[k], qd[k], TIMES, parameters=CHAIN_NUMBERS | {"g": g[k]})
        np.testing.assert_allclose(many["q"][k], alone.q, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(many["qd"][k], alone.qd, rtol=1e-12, atol=1e-13)
    assert not many["reason"].values.any()
    assert many["q"].dims == ("member", "time", "coordinate")
    ends = da.simulate_ensemble(chain(2), q, qd, TIMES, parameters=CHAIN_NUMBERS | {"g": g}, keep="end")
    np.testing.assert_array_equal(ends["q"][:, 0], many["q"][:, -1])


def test_starts_by_name_and_one_for_all():
    many = da.simulate_ensemble(pendulum(), {"x": [0.6, -0.6], "y": -0.8}, (0, 0), TIMES, parameters={"g": 9.81})
    np.testing.assert_allclose(many["q"].sel(coordinate="x")[0], -many["q"].sel(coordinate="x")[1], atol=1e-9)


def test_a_failing_member_is_marked_and_the_others_go_on():
    """One swings too fast for so few steps, one starts off its rod, one is no number."""
    starts, g = [(1, 0), (1, 0), (1, 1), (np.nan, 0), (0, -1)], [9.81, 1e6, 9.81, 9.81, 9.81]
    many = da.simulate_ensemble(pendulum(), starts, (0, 0), [0, 0.01, 1], parameters={"g": g}, max_steps=100)
    said = many["reason"].values
    assert said[0] == said[4] == ""
    assert "the motion must be continued to t = 1" in said[1]
    assert "`rod` is violated by" in said[2]
    assert "not finite" in said[3]
    assert np.isfinite(many["q"][1, :2]).all() and np.isnan(many["q"][1, 2]).all()
    assert np.isfinite(many["q"][[0, 4]]).all()


def test_a_member_that_machine_code_declines_is_simulated_all_the_same():
    a, b, c, d = coordinates = da.coordinates("a b c d")
    bars = (a**2 + b**2 - 1, (c - 1) ** 2 + d**2 - 1, (c - a) ** 2 + (d - b) ** 2 - 1)
    window = da.System(coordinates, sp.eye(4), (0, -9.81, 0, -9.81), [da.Constraint(e) for e in bars])
    rates = np.array([[r, 0, r, 0] for r in (0.9, 1.0, 1.1)])
    many = da.simulate_ensemble(window, (0, 1, 1, 1), rates, [0, 3])
    alone = da.simulate(window, (0, 1, 1, 1), rates[1], [0, 3])
    np.testing.assert_allclose(many["q"][1], alone.q, atol=1e-12)
    assert not many["reason"].values.any()
    assert many.attrs["handed_over"] == 3
    handed = "The compiled integrator handed 3 of 3 members over to the general one, which is slower: members 0 to 2."
    assert handed in many.attrs["notes"]


def test_a_note_names_the_members_that_are_handed_over(monkeypatch):
    """Members 1 and 4 start off the rod, which the general integrator refuses; blocks of two number them all."""
    monkeypatch.setattr("dalembert.ensembles.runner.CHUNK", 2)
    starts = [(1, 0), (1, 1), (0, -1), (1, 0), (1, 1)]
    many = da.simulate_ensemble(pendulum(), starts, (0, 0), [0, 0.1], parameters={"g": 9.81})
    assert many.attrs["handed_over"] == 2
    assert "handed 2 of 5 members over to the general one, which is slower: members 1, 4." in many.attrs["notes"]
    one = da.simulate_ensemble(pendulum(), starts[:2], (0, 0), [0, 0.1], parameters={"g": 9.81})
    assert one.attrs["notes"].endswith("which is slower: member 1.")


def test_a_summary_is_that_of_all_members(monkeypatch):
    monkeypatch.setattr(runner, "CHUNK", 16)  # several parts
    g = np.random.default_rng(1).uniform(5, 15, 50)
    settings = {"parameters": {"g": g}}
    every = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, **settings)
    short = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, keep="summary", quantiles=(0.1, 0.5), **settings)
    np.testing.assert_allclose(short["mean_q"], every["q"].mean("member"), atol=1e-14)
    np.testing.assert_allclose(short["variance_qd"], every["qd"].var("member", ddof=1), atol=1e-12)
    np.testing.assert_allclose(short["quantile_q"], np.quantile(every["q"], [0.1, 0.5], axis=0), atol=1e-14)
    assert short.attrs["members"] == 50 and short.attrs["failed"] == 0


def test_quantiles_of_a_sample_are_near_those_of_all(monkeypatch):
    from dalembert.ensembles import summary

    monkeypatch.setattr(summary, "SAMPLE", 2000)
    drawn = np.random.default_rng(2).normal(size=(20_000, 1, 1))
    short, numbers = Summary((0.1, 0.9), 20_000), np.arange(20_000)
    for own, part in zip(*(np.split(x, 7 * [0] + [3000, 9000]) for x in (numbers, drawn)), strict=True):
        short.add(own, part)
    assert 1800 < len(short.sample) < 2200
    np.testing.assert_allclose(short.quantile_values().ravel(), [-1.2816, 1.2816], atol=0.1)
    np.testing.assert_allclose(short.variance.ravel(), drawn.var(ddof=1), rtol=1e-12)


def test_progress_counts_members(capsys):
    da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, parameters={"g": [9.0, 10.0]}, progress=True)
    assert "members = 2 of 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        ((pendulum(), (1, 0), (0, 0)), {"parameters": {"g": 9.81}}, "an ensemble must have members"),
        ((pendulum(), np.ones((2, 2)), np.ones((3, 2))), {"parameters": {"g": 9.81}}, "must have one length; got 2, 3"),
        ((pendulum(), np.ones((2, 3)), (0, 0)), {"parameters": {"g": 9.81}}, "must have shape (2,) or (members, 2)"),
        ((pendulum(), np.ones((0, 2)), (0, 0)), {"parameters": {"g": 9.81}}, "the arrays are empty"),
        ((pendulum(), (1, 0), (0, 0)), {"parameters": {"h": [1, 2]}}, "missing: `g`"),
        ((pendulum(), (1, 0), (0, 0)), {"parameters": {"g": "much"}}, "`parameters` must hold numbers"),
        ((pendulum(), (1, 0), (0, 0)), {"parameters": [1, 2]}, "`parameters` must be a mapping"),
        ((pendulum(), (1, 0), (0, 0)), {"parameters": {"g": np.ones((2, 2))}}, "`g` has more than one axis"),
        ((pendulum(), (1, 0), (0, 0)), {"parameters": {"g": [1, 2]}, "keep": "all"}, "`keep` must be"),
        ((pendulum(), (1, 0), (0, 0)), {"parameters": {"g": [1, 2]}, "quantiles": (2,)}, "numbers from 0 to 1"),
        (("pendulum", (1, 0), (0, 0)), {}, "`system` must be a `da.System`"),
    ],
)
def test_bad_input_is_refused(arguments, given, message):
    with pytest.raises(da.InputError) as refusal:
        da.simulate_ensemble(*arguments, TIMES, **given)
    assert message in str(refusal.value)


def test_nothing_to_sum_up():
    with pytest.raises(da.InputError, match="no member could be simulated"):
        da.simulate_ensemble(pendulum(), [(1, 1)], (0, 0), TIMES, parameters={"g": 9.81}, keep="summary")


def test_times_that_lie_apart_in_memory():
    times = np.linspace(0, 1, 11)[::2]
    given = {"parameters": {"g": [9.0, 10.0]}}
    apart, together = (da.simulate_ensemble(pendulum(), (1, 0), (0, 0), t, **given) for t in (times, times.copy()))
    np.testing.assert_array_equal(apart["q"], together["q"])
    alone = da.simulate(pendulum(), (1, 0), (0, 0), times, parameters={"g": 9.0})
    np.testing.assert_allclose(alone.q, apart["q"][0], rtol=1e-12, atol=1e-13)


def test_which_rows_are_left_out_depends_on_nobody_else():
    """One constraint repeats another for b = 0 only, and else holds z."""
    x, y, z = da.coordinates("x y z")
    b = da.parameters("b")
    pair = (da.Constraint(x + y, name="one"), da.Constraint(x + y + b * z, name="two"))
    system = da.System((x, y, z), sp.eye(3), (0.3, -1000, 0.5), pair)
    still = (0, 0, 0)
    for numbers in ([0.0, 1e-5], [1e-5, 0.0]):
        many = da.simulate_ensemble(system, still, still, [0, 1], parameters={"b": numbers})
        for end, number in zip(many["q"].sel(coordinate="z").values[:, -1], numbers, strict=True):
            alone = da.simulate(system, still, still, [0, 1], parameters={"b": number})["z"][-1]
            assert end == pytest.approx(0.0 if number else 0.25, abs=1e-6)
            assert alone == pytest.approx(0.0 if number else 0.25, abs=1e-6)


def test_what_failed_has_no_part_in_a_summary():
    """The mass of the first is gone when it arrives."""
    x = da.coordinates("x")
    shrinking = da.System((x,), [[x]], (0,))
    settings = {"q0": [1.0], "qd0": [[-1.0], [-0.1]], "times": [0, 1.2]}
    every = da.simulate_ensemble(shrinking, **settings)
    assert every["reason"].values[0] and np.isnan(every["q"][0, -1]).all()
    short = da.simulate_ensemble(shrinking, keep="summary", **settings)
    np.testing.assert_allclose(short["mean_q"][-1], every["q"][1, -1])


def test_a_residual_that_is_not_finite():
    x, y = da.coordinates("x y")
    huge = da.System((x, y), sp.eye(2), (0, -1), da.Constraint(x - da.parameters("a") ** 2, name="far"))
    many = da.simulate_ensemble(huge, (1, 0), (0, 0), [0, 1], parameters={"a": [1.0, 1e200]}, drift=None)
    assert "must be finite" in many["reason"].values[1] and not many["reason"].values[0]


def test_rows_of_redundant_systems_are_selected_for_all_members_at_once(monkeypatch):
    """Two rods that are one, with a length of its own for each member; M is diagonal, and then not."""
    x, y = da.coordinates("x y")
    length = da.parameters("l")
    rods = [da.Constraint(k * (x**2 + y**2 - length**2), name=f"rod{k}") for k in (1, 2)]
    asked, original = [], native_members.rows_for
    monkeypatch.setattr(native_members, "rows_for", lambda *given: asked.append(1) or original(*given))
    lengths = np.linspace(1, 2, 200)
    starts = np.stack([0.6 * lengths, -0.8 * lengths], axis=1)
    for mass in (sp.eye(2), sp.Matrix([[2, 1], [1, 2]])):
        asked.clear()
        system = da.System((x, y), mass, (0, -9.81), rods)
        many = da.simulate_ensemble(system, starts, (0, 0), [0, 1], parameters={"l": lengths})
        assert len(asked) < 10 and many.attrs["handed_over"] == 0
        alone = da.simulate(system, starts[7], (0, 0), [0, 1], parameters={"l": lengths[7]})
        np.testing.assert_allclose(many["q"][7], alone.q, rtol=1e-12, atol=1e-13)


def test_arrays_of_starts_are_read_in_place() -> None:
    """A copy for a million members takes longer than their motion on a GPU; the caller's arrays are not changed."""
    q0, qd0 = np.array([[1.0, 0.0], [0.6, -0.8]]), np.zeros((2, 2))
    found = members_of(("x", "y"), (), q0, qd0, {})
    assert np.shares_memory(found.q, q0) and np.shares_memory(found.qd, qd0)
    np.testing.assert_array_equal(found.y, np.concatenate([q0, qd0], axis=1).T)
    x, y = da.coordinates("x y")
    rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    da.simulate_ensemble(da.System((x, y), sp.eye(2), (0, -9.81), rod), q0, qd0, [0, 1])
    np.testing.assert_array_equal(q0, [[1.0, 0.0], [0.6, -0.8]])
    assert not qd0.any()


def repeated_rods(count):
    """A chain of rods, of which the first is stated twice and the last a third time, mixed with the first."""
    q = da.coordinates([f"{axis}{k}" for k in range(count) for axis in "xy"])
    points = [(sp.S.Zero, sp.S.Zero), *zip(q[::2], q[1::2], strict=True)]
    rods = [(b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - 1 for a, b in pairwise(points)]
    stated = [*rods, 2 * rods[0], 3 * rods[-1] + rods[0]]
    return da.System(q, sp.eye(2 * count), [0, -da.parameters("g")] * count, [da.Constraint(rod) for rod in stated])


def test_members_that_rounding_gives_other_rows_are_not_handed_over():
    """Which of two equal rows is selected is rounding, and differs from member to member."""
    links, angles = 3, np.linspace(0.1, 2.9, 400)
    rod = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    starts = np.concatenate([rod * (k + 1) for k in range(links)], axis=1)
    system, times = repeated_rods(links), [0, 0.3]
    many = da.simulate_ensemble(system, starts, np.zeros(2 * links), times, parameters={"g": 9.81})
    assert many.attrs["handed_over"] == 0
    for k in range(0, 400, 40):
        alone = da.simulate(system, starts[k], np.zeros(2 * links), times, parameters={"g": 9.81})
        np.testing.assert_allclose(many["q"][k], alone.q, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("levels", [("position",) * 4, ("velocity", "position", "velocity", "position")])
def test_rows_that_may_be_used_span_the_others(levels):
    """Beside ranks by singular values, level by level: rows of a level must depend on those of it and of lower ones."""
    rng, x = np.random.default_rng(4), da.coordinates("x y z")
    a = da.parameters([f"a{i}{j}" for i in range(4) for j in range(3)])
    rates = [q.diff(da.t) for q in x]
    rows = [
        sum(c * q for c, q in zip(a[3 * i : 3 * i + 3], x if level == "position" else rates, strict=True))
        for i, level in enumerate(levels)
    ]
    system = da.System(x, sp.diag(1, 2, 3), (0, 0, 0), [da.Constraint(row) for row in rows])
    dynamics, A = build(system), rng.integers(-1, 2, (500, 4, 3)).astype(float)
    numbers = dict(zip(map(str, a), A.reshape(500, 12).T, strict=True))
    p = np.stack([numbers[name] for name in dynamics.parameters], axis=1)
    found_any = np.zeros(2, bool)
    for chosen in [(0, 1), (1, 3), (0, 1, 3), (2,), ()]:
        found = are_independent_rows(dynamics, chosen, np.zeros((500, 6)), 0.0, p)
        numbers_of_levels = np.array([level == "velocity" for level in levels], int)
        for k, own in enumerate(found):
            fit = len(chosen) == np.linalg.matrix_rank(A[k][list(chosen)]) if chosen else True
            for level in (0, 1):
                below = numbers_of_levels <= level
                used = [i for i in chosen if below[i]]
                fit &= np.linalg.matrix_rank(A[k][below]) == (np.linalg.matrix_rank(A[k][used]) if used else 0)
            assert own == fit
        found_any |= [found.any(), (~found).any()]
    assert found_any.all()
