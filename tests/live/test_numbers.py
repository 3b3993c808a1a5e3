"""Live pages compute what `da.simulate` computes: by their own scripts, in Node.js."""

import re
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from helpers import CONTACTS, quick_first
from live.browser_numbers import model_of, motions
from live.compared_pages import assert_numbers_of, few_times

NOT_LIVE = {
    "belt": "contacts under dry friction must slide at the start of a live page, .* at rest: `belt`",
    "hidden-constraint": "the default formulation and adaptive steps; got `formulation` Multipliers",
    "indefinite-mass": "got `formulation` Multipliers",
    "measured": r"got `formulation` StackedLeastSquares\. ",
    **dict.fromkeys(CONTACTS, "a live page runs constraints that always hold"),
    "walker": "runs a motion without events",
    "cart-pole": "runs continuous controllers with a known bound; got a sampled controller",
}
"""The cases that a page cannot run, and why."""

LIVE = [name for name in da.gallery.names() if name not in NOT_LIVE]
QUICK = ("particle", "pendulum-rod-twice", "four-bar", "car-axis", "wrong-masses", "incline")


@pytest.mark.parametrize("name", QUICK)
def test_a_page_has_the_numbers_of_simulate(name: str, tmp_path: Path) -> None:
    """Those of all cases are compared in ``test_gallery_pages.py``."""
    case = da.gallery.case(name)
    page, run = case.page(tmp_path / f"{name}.html"), case.simulate(progress=False)
    model = model_of(page)
    (found,) = motions([{"model": model, "times": few_times(run).tolist()}], tmp_path)
    assert_numbers_of(name, run, model, found)


@pytest.mark.parametrize("name", quick_first(NOT_LIVE, set(NOT_LIVE) - CONTACTS | {"bouncing-ball"}))
def test_cases_that_a_page_cannot_run_say_why(name: str, tmp_path: Path) -> None:
    with pytest.raises((da.InputError, da.ModelError), match=NOT_LIVE[name]):
        da.gallery.case(name).page(tmp_path / "page.html")


def test_the_ledger_of_a_page_is_that_of_the_run(tmp_path: Path) -> None:
    for name in ("particle", "two-masses", "hoop"):
        case = da.gallery.case(name)
        (found,) = motions([{"model": model_of(case.page(tmp_path / "page.html"))}], tmp_path)
        ledger = case.simulate(progress=False).ledger()
        kinds = [entry.kind for entry in ledger.entries]
        split = {
            kind: sum(ledger.split_work[-1, k] for k, own in enumerate(kinds) if own == kind) for kind in set(kinds)
        }
        expected = [split.get(kind, 0.0) for kind in ("applied", "input", "reaction", "law")]
        assert found["work"] == pytest.approx(expected, rel=1e-7, abs=1e-8 * np.abs(expected).max())


X, Y = da.coordinates("x y")


def page_of(folder: Path, system: da.System, q0: object, qd0: object, end: float, **options: object) -> Path:
    return da.page(system, q0, qd0, (0, end), folder / "page.html", **options)


def pendulum(folder: Path) -> Path:
    rod = da.Constraint(X**2 + Y**2 - da.parameters("l") ** 2, name="rod")
    system = da.System((X, Y), sp.eye(2), (0, -10), rod)
    return page_of(folder, system, (1, 0), (0, 0), 2, parameters={"l": 1})


def test_other_numbers_give_other_motions_as_in_simulate(tmp_path: Path) -> None:
    x0, mu, g = da.parameters("x0 mu g")
    system = da.System((X,), [[1]], (-g * sp.sin(X - x0) - mu * X.diff(da.t),))
    numbers = {"g": 9.0, "mu": 0.1, "x0": 0.0}
    model = model_of(page_of(tmp_path, system, (1,), (0,), 3, parameters=numbers))
    assert [one["value"] for one in model["parameters"]] == [9.0, 0.1, 0.0]
    other = {"p": [4.0, 0.3, 0.5], "y": [2.0, 1.0], "t1": 5.0}
    (found,) = motions([{"model": model, "times": [2.5, 5.0], "numbers": other}], tmp_path)
    run = da.simulate(system, (2,), (1,), [0, 2.5, 5], parameters={"g": 4.0, "mu": 0.3, "x0": 0.5})
    assert found["steps"] == run.statistics["steps"]
    states = np.array([sample["y"] for sample in found["samples"]])
    assert np.abs(states - np.concatenate([run.q, run.qd], axis=1)[1:]).max() < 1e-12


def test_a_start_off_the_constraints_is_moved_onto_them(tmp_path: Path) -> None:
    model = model_of(pendulum(tmp_path))
    starts = [{"p": [2.0]}, {"y": [3.0, 4.0, 0.0, 5.0]}, {"y": [0.0, 0.0, 0.0, 0.0]}]
    longer, farther, lost = motions([{"model": model, "numbers": numbers} for numbers in starts], tmp_path)
    assert longer["y"] == pytest.approx([2, 0, 0, 0]) and longer["moved"] == {"most": pytest.approx(1), "place": 0}
    # the nearest point of the circle, and the part of the velocity along it
    assert farther["y"] == pytest.approx([0.6, 0.8, -2.4, 1.8])
    assert "No start on the constraints was found near these values" in lost["refusal"]


def test_signs_that_simulate_refuses_are_refused_by_the_page(tmp_path: Path) -> None:
    mu, m = da.parameters("mu"), sp.Symbol("m", positive=True)
    floor = da.Constraint(Y, name="floor", nonideal=da.Coulomb(mu))
    system = da.System((X, Y), m * sp.eye(2), (0, -10 * m), floor)
    model = model_of(page_of(tmp_path, system, (0, 0), (9, 0), 0.5, parameters={"m": 1, "mu": 0.2}))
    jobs = [{"model": model, "numbers": {"p": p}} for p in ([1.0, 0.2], [1.0, -0.1], [-1.0, 0.2])]
    fine, pushing, light = motions(jobs, tmp_path)
    assert fine["refusal"] == "" and fine["reached"] == 0.5
    for found, p in ((pushing, {"m": 1.0, "mu": -0.1}), (light, {"m": -1.0, "mu": 0.2})):
        with pytest.raises(da.InputError) as refused:
            da.simulate(system, (0, 0), (9, 0), [0, 0.5], parameters=p)
        assert found["refusal"].split(";")[0] == str(refused.value).split(";")[0].replace("`", "")


def test_masses_that_simulate_refuses_are_refused_by_the_page(tmp_path: Path) -> None:
    m = da.parameters("m")
    rod = da.Constraint(X**2 + Y**2 - 1, name="rod")
    system = da.System((X, Y), sp.diag(1, m), (0, -10), rod)
    model = model_of(page_of(tmp_path, system, (1, 0), (0, 0), 0.5, parameters={"m": 1}))
    fine, negative, massless = motions([{"model": model, "numbers": {"p": [p]}} for p in (1.0, -1.0, 0.0)], tmp_path)
    assert fine["refusal"] == "" and fine["reached"] == 0.5
    for found in (negative, massless):
        assert "The mass matrix is not positive definite for these values" in found["refusal"]
    with pytest.raises(da.MassMatrixError, match="must be positive definite"):
        da.simulate(system, (1, 0), (0, 0), [0, 0.5], parameters={"m": -1})


def test_a_page_of_redundant_constraints_says_when_its_selection_no_longer_holds(tmp_path: Path) -> None:
    c = da.parameters("c")
    floors = (da.Constraint(Y, name="floor"), da.Constraint(Y - c * X**2, name="bowl"))
    system = da.System((X, Y), sp.eye(2), (0, -10), floors)
    model = model_of(page_of(tmp_path, system, (0, 0), (1, 0), 1, parameters={"c": 0}))
    assert model["leftOut"] == ["bowl"]
    flat, bent, off = motions(
        [{"model": model, "numbers": numbers} for numbers in ({}, {"p": [1.0]}, {"p": [1.0], "y": [1.0, 0, 0, 0]})],
        tmp_path,
    )
    assert flat["notes"] == [] and flat["reached"] == 1
    assert "the constraints that were selected at the start no longer imply bowl" in bent["notes"][0]
    assert "violates a constraint that the selected ones do not imply" in off["refusal"]


def test_functions_of_time_are_followed_across_jumps_and_pulses(tmp_path: Path) -> None:
    late, width = da.parameters("late width")
    push = 5 * sp.Heaviside(da.t - late) + 40 * sp.exp(-(((da.t - 7) / width) ** 2))
    system, numbers = da.System((X,), [[1]], (push - X,)), {"late": 1 / 3, "width": 0.01}
    model = model_of(page_of(tmp_path, system, (0,), (0,), 10, parameters=numbers))
    times = np.linspace(0, 10, 30)
    (found,) = motions([{"model": model, "times": times.tolist()}], tmp_path)
    run = da.simulate(system, (0,), (0,), times, parameters=numbers)
    assert found["notes"] == [] and len(found["samples"]) == 30
    assert np.abs(np.array([sample["y"][0] for sample in found["samples"]]) - run["x"]).max() < 1e-9


def test_reasons_for_which_a_page_stops(tmp_path: Path) -> None:
    jump = da.System((X,), [[1]], (0,), da.Constraint(X.diff(da.t) - sp.Heaviside(da.t - 1), name="belt"))
    kink = da.System((X, Y), sp.eye(2), (0, 0), da.Constraint(Y - sp.Abs(X), name="roof"))
    jobs = [
        {"model": model_of(page_of(tmp_path, jump, (0,), (0,), 2))},
        {"model": model_of(page_of(tmp_path, kink, (-1, 1), (1, -1), 2))},
        {"model": model_of(pendulum(tmp_path)), "numbers": {"t1": 100.0}, "most": 1000},
    ]
    jumped, kinked, full = motions(jobs, tmp_path)
    assert "At t = 1 a constraint jumps in time. The page cannot follow it" in jumped["notes"][0]
    assert "no step is short enough: a force or a constraint jumps or has a kink there" in kinked["notes"][0]
    assert kinked["reached"] == pytest.approx(1, abs=1e-6)
    assert re.search(r"The page stops at t = \d+.*: its memory is full after \d+ steps", full["notes"][0])


def test_a_page_looks_up_signals(tmp_path: Path) -> None:
    x = da.coordinates("x")
    times = np.linspace(0, 6, 25)
    steps = da.signal(times, np.round(np.sin(3 * times), 3), "previous", name="steps")
    table = da.signal([-9, -1, 0, 1, 9], [3, 1, 0, -1, -3], name="table", of=x)
    system = da.System((x,), [[1]], (steps + table,))
    run = da.simulate(system, (0,), (0,), np.linspace(0, 6, 13))
    page = da.page(system, (0,), (0,), (0, 6), tmp_path / "page.html", points={"mass": (x, 0)})
    (found,) = motions([{"model": model_of(page), "times": run.t.tolist()}], tmp_path)
    states = np.array([sample["y"] for sample in found["samples"]])
    assert np.abs(states - np.concatenate([run.q, run.qd], axis=1)).max() < 1e-12
    assert found["reached"] == 6


def test_a_page_refuses_signals_that_do_not_fit(tmp_path: Path) -> None:
    x = da.coordinates("x")
    times = np.linspace(0, 6, 20_000)
    system = da.System((x,), [[1]], (da.signal(times, np.sin(times), name="long"),))
    with pytest.raises(da.InputError, match=r"signals of a live page must have at most 65536 .*; those of `long` are"):
        da.page(system, (0,), (0,), (0, 6), tmp_path / "page.html", points={"mass": (x, 0)})
