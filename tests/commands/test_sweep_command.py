"""The command `dalembert sweep`: designs from options, stores that are continued, messages without a traceback."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import dalembert as da
from dalembert import gallery
from dalembert.cli import app, main

RUNNER = CliRunner()
BEAD = ("bead", "--times", "0:0.5:3")


def sweep(*arguments: str) -> str:
    result = RUNNER.invoke(app, ["sweep", *arguments], env={"COLUMNS": "200"}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_grid_and_a_scatter_are_combined(tmp_path: Path) -> None:
    pytest.importorskip("zarr", reason="zarr is an optional dependency")
    path = tmp_path / "pendulum.zarr"
    drawn = ("--scatter", "g=normal(9.81,0.01)", "--members", "4", "--outputs", "q,multipliers,energy", "-o", str(path))
    command = ("pendulum", "--times", "0:1:3", "--grid", "m=1:2:3", *drawn)
    printed = sweep(*command)
    assert "12 members, 0 failed." in printed and f"wrote {path}" in printed and "multipliers(rod)" in printed
    found = xr.open_zarr(path, chunks=None)
    assert found["q"].dims == ("m", "member", "time", "coordinate")
    assert found["g"].dims == ("member",)
    alone = da.gallery.case("pendulum").simulate(parameters={"m": 1.5, "g": float(found["g"][1])}, times=[0, 0.5, 1])
    np.testing.assert_allclose(found["q"].sel(m=1.5).isel(member=1, time=-1), alone.q[-1], rtol=1e-12)
    before = {file: file.stat().st_mtime_ns for file in path.rglob("*")}
    assert sweep(*command) == printed
    assert before == {file: file.stat().st_mtime_ns for file in path.rglob("*")}


@pytest.mark.parametrize("keep", ["end", "summary"])
def test_the_ledger_is_shown_by_entry(keep: str) -> None:
    printed = sweep(*BEAD, "--grid", "mu=0.1,0.2", "--outputs", "ledger", "--keep", keep)
    rows = {line.split("│")[1].strip(): line.split("│")[2].strip() for line in printed.splitlines() if "│" in line}
    case = da.gallery.case("bead")
    ledgers = [case.simulate(parameters={"mu": mu}, times=[0, 0.25, 0.5]).ledger() for mu in (0.1, 0.2)]
    for name in ledgers[0].names:
        assert float(rows[f"work({name})"]) == pytest.approx(np.mean([own[name][-1] for own in ledgers]), abs=1e-5)
    assert "audit" in rows


def test_a_model_file_starts_and_a_netcdf_file(tmp_path: Path) -> None:
    RUNNER.invoke(app, ["new", str(tmp_path / "pendulum.toml")], catch_exceptions=False)
    path = tmp_path / "sweep.nc"
    swept = ("--grid", "x'=0,1", "--set", "m=2", "--q0", "x=1,y=0", "--times", "0,1", "-o", str(path))
    printed = sweep(str(tmp_path / "pendulum.toml"), *swept)
    assert "members were moved onto the constraints" in printed
    with xr.open_dataset(path, engine="scipy") as found:
        assert found.sizes["x'"] == 2


def test_a_summary_shows_mean_and_deviation() -> None:
    printed = sweep(
        *BEAD, "--scatter", "mu=uniform(0.1,0.2)", "--members", "8", "--sampling", "sobol", "--keep", "summary"
    )
    assert "8 members, 0 failed." in printed and "q(x)" in printed
    assert printed != sweep(
        *BEAD, "--scatter", "mu=uniform(0.1,0.2)", "--members", "8", "--keep", "summary", "--seed", "3"
    )


def test_why_members_failed_is_printed() -> None:
    printed = sweep(*BEAD, "--grid", "mu=0.1,-1")
    assert "2 members, 1 failed. The first of them: `mu` of" in printed


@pytest.mark.parametrize(("name", "why"), [("measured", "`formulation`"), ("swarm", "`allow_violation`")])
def test_cases_with_methods_of_their_own_are_swept(name: str, why: str, tmp_path: Path) -> None:
    """Another formulation, and a start off the constraints: each member is the single run."""
    case, path = gallery.case(name), tmp_path / "sweep.nc"
    times = [float(case.times[0]), float(case.times[0]) + 0.1]
    swept = ["--grid", "m=1,2", "--times", f"{times[0]},{times[1]}", "-o", str(path)]
    printed = sweep(name, *swept)
    assert "2 members, 0 failed." in printed and f"as by `da.simulate`, for {why}." in printed
    given = {"drift": case.drift, "formulation": case.formulation, "rtol": case.rtol, "atol": case.atol}
    alone = da.simulate(
        case.system,
        case.q0,
        case.qd0,
        times,
        parameters={**case.parameters, "m": 2.0},
        allow_violation=case.allow_violation,
        **given,
        **case.settings,
    )
    np.testing.assert_array_equal(xr.open_dataset(path, engine="scipy")["q"].sel(m=2.0)[-1], alone.q[-1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bead",), "a sweep must vary something"),
        (("bead", "--grid", "mu"), "`--grid` must look like g=9:10:101 or g=9,9.5,10; got `mu`"),
        (("bead", "--grid", "mu=a:b"), "`--grid` must look like"),
        (("bead", "--grid", "nu=1,2"), "`nu` is unknown. The model has: `g`, `mu`, `x`, `z`"),
        (("bead", "--scatter", "mu=normal(0,1)"), "`--members` must be given with `--scatter`"),
        (("bead", "--grid", "mu=0,1", "--members", "3"), "`--members` must be given with `--scatter`"),
        (("bead", "--scatter", "mu=cauchy(0,1)", "--members", "3"), "`--scatter` must look like"),
        (("bead", "--scatter", "mu=normal(0,exit())", "--members", "3"), "`--scatter` must look like"),
        (("bead", "--scatter", "mu=normal(0,-1)", "--members", "3"), "must be positive; got `mu=normal(0,-1)`"),
        (("bead", "--scatter", "mu=uniform(0,1)", "--members", "2.5"), "`members` must be a whole number"),
        (("bead", "--grid", "mu=0,1", "--scatter", "mu=uniform(0,1)", "--members", "2"), "got both"),
        (("bead", "--grid", "mu=0,1", "-o", "study.csv"), "`--output` must end in .zarr, .nc"),
        (("bead", "--grid", "mu=0,1", "--device", "tpu"), '`device` must be "cpu" or "gpu"'),
        (("bead", "--grid", "mu=0,1", "--outputs", "speed"), "`outputs` must be expressions, or among"),
    ],
)
def test_mistakes_get_a_message_and_exit_code_2(
    arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["dalembert", "sweep", *arguments])
    with pytest.raises(SystemExit) as exit:
        main()
    assert exit.value.code == 2
    assert message in re.sub(r"\s+", " ", capsys.readouterr().err)
