"""The command line as a user types it: what it prints, writes, and how it exits."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest
import xarray as xr
from typer.testing import CliRunner

import dalembert as da
from dalembert.cli import app, main
from dalembert.commands.watching import changes
from dalembert.figures.animation_files import WRITERS
from dalembert.integration.trajectory_files import FORMATS

RUNNER = CliRunner()


def invoke(*arguments: str) -> str:
    result = RUNNER.invoke(app, list(arguments), env={"COLUMNS": "200"}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def shell(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A process of its own, for what happens outside the commands: messages, exit codes, no traceback."""
    command = [sys.executable, "-c", "from dalembert.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_list_names_every_case() -> None:
    printed = invoke("list")
    assert all(name in printed for name in da.gallery.names())
    assert "\x1b" not in printed  # colours only on a terminal


def test_show_tells_numbers_and_checks() -> None:
    printed = invoke("show", "bead")
    for expected in ("Bead on a wire", "mu = 0.2", "wire (position)", "x = -1", "-0.08829871"):
        assert expected in printed
    assert "Projection()" in printed
    assert "ellipse (position) by left motor and right motor" in invoke("show", "five-bar")


@pytest.mark.parametrize(
    ("form", "ending", "mark"),
    [("markdown", "md", "$$"), ("latex", "tex", r"\documentclass"), ("html", "html", "<!DOCTYPE html>")],
)
def test_derive_writes_each_format(form: str, ending: str, mark: str, tmp_path: Path) -> None:
    file = tmp_path / f"bead.{ending}"
    assert f"wrote {file}\n" in invoke("derive", "bead", "-o", str(file))
    assert mark in file.read_text(encoding="utf-8")
    assert mark in invoke("derive", "bead", "--format", form)


def test_page_writes_a_live_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "live.html"
    assert invoke("page", "bead", "-o", str(file)) == f"wrote {file}\n"
    assert "runPage();" in file.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert invoke("page", "bead") == "wrote bead.html\n"


def test_run_checks_its_own_numbers_and_writes_files(tmp_path: Path) -> None:
    plot, animation, data = tmp_path / "a.png", tmp_path / "a.gif", tmp_path / "a.nc"
    printed = invoke("run", "bead", "--plot", str(plot), "--animate", str(animation), "--save", str(data))
    assert "NO" not in printed and printed.count("yes") == 3
    assert plot.stat().st_size > 10_000 and animation.stat().st_size > 1_000
    assert da.Trajectory.load(data)["x"][-1] == pytest.approx(-0.08829871, abs=5e-9)


def test_run_with_other_numbers_is_not_checked() -> None:
    printed = invoke("run", "bead", "--set", "mu=0", "--times", "0:0.5:3", "--ledger")
    assert "Work and energy from t = 0 to 0.5 s" in printed
    assert re.search(r"kind +work / J +largest power / W", printed)
    assert "pass" not in printed
    assert "At t = 0.5" in printed
    # without friction energy decides: ẋ² + ż² = 1.25 + 2g(1 − z)
    x, xd = (float(v) for v in re.search(r"x\s+│\s+(\S+) m\s+│\s+(\S+) m/s", printed).groups())
    assert xd**2 * (1 + 4 * x**2) == pytest.approx(1.25 + 2 * 9.81 * (1 - x**2), rel=1e-8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "baed"), "there is no `baed`. Did you mean `bead`?"),
        (("show", "zzz"), "There are: projectile,"),
        (("run", "bead", "--set", "muu=1"), "`muu` is unknown. Did you mean `mu`?"),
        (("run", "bead", "--set", "mu"), "`--set` must look like a0=0.2; got `mu`."),
        (
            ("run", "bead", "--set", "mu=much"),
            "`--set` must look like a0=0.2; got `mu=much`. column 1: a number or an expression of numbers",
        ),
        (("run", "bead", "--q0", "x=1;y"), "`--q0` must look like x=1,y=0 or 1,0; got `x=1;y`."),
        (
            ("run", "bead", "--q0", "1,a"),
            "`--q0` must look like x=1,y=0 or 1,0; got `1,a`. column 1: a number or an",
        ),
        (("run", "bead", "--q0", "1,2,3"), "`q0` must have one entry per coordinate"),
        (("run", "bead", "--times", "0:1:9**9**9"), "`--times` must look like 0:10:101 or 0,1,2"),
        (("run", "bead", "--watch"), "`--watch` must be used with a model file; `bead` is a case of the gallery."),
        (("run", "no/such.toml"), "there is no `no/such.toml`."),
        (("new", "x.json"), "`path` must end in .toml; got `x.json`."),
        (("run", "bead", "--times", "0:1"), "`--times` must look like 0:10:101 or 0,1,2; got `0:1`."),
        (("run", "bead", "--times", "1,0"), "`times` must increase"),
        (("run", "bead", "--plot", "x.doc"), "`--plot` must end in .png, .pdf, .svg; got `x.doc`."),
        (("run", "bead", "--animate", "x.avi"), "`--animate` must end in .gif, .html, .mp4; got `x.avi`."),
        (("run", "hidden-constraint", "--animate", "x.gif"), "`hidden-constraint` has none."),
        (("run", "bead", "--save", "x.txt"), "`--save` must end in .nc, .csv, .parquet, .zarr; got `x.txt`."),
        (("export", "pendulum", "-o", "x.h"), "`--output` must end in .c, .py, .fmu; got `x.h`."),
        (("export", "pendulum", "-o", "/no/such/x.c"), "there is no `/no/such`."),
        (("export", "bead", "-o", "x.c"), "got dry friction at `wire`."),
        (("export", "pendulum", "--input", "gg", "-o", "x.c"), "`gg` is unknown. Did you mean `g`?"),
        (("derive", "bead", "-o", "x.txt"), "`--output` must end in .md, .tex, .html; got `x.txt`."),
        (("derive", "bead", "--format", "latex", "-o", "x.html"), "`--format` must agree with the file extension"),
        (("run", "bead", "--plot", "/no/such/x.png"), "there is no `/no/such`."),
        (("page", "bead", "-o", "x.pdf"), "`--output` must end in .html; got `x.pdf`."),
        (("page", "cart-pole", "-o", "x.html"), "a live page runs continuous controllers with a known bound"),
        (("derive", "bead", "-o", "/no/such/folder/x.md"), "there is no `/no/such/folder`."),
    ],
)
def test_mistakes_get_a_message_and_exit_code_2(
    arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["dalembert", *arguments])
    with pytest.raises(SystemExit) as exit:
        main()
    assert exit.value.code == 2
    assert message in re.sub(r"\s+", " ", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("ending", "mark"), [("c", b"int model_step("), ("py", b"def step("), ("fmu", b"modelDescription.xml")]
)
def test_export_writes_each_format(ending: str, mark: bytes, tmp_path: Path) -> None:
    if ending == "fmu" and shutil.which("cc") is None:
        pytest.skip("no C compiler `cc` was found")
    file = tmp_path / f"model.{ending}"
    assert f"wrote {file}\n" in invoke("export", "pendulum", "-o", str(file), "--input", "g")
    assert mark in file.read_bytes()


def test_a_mistake_prints_no_traceback() -> None:
    done = shell("show", "zzz")
    assert done.returncode == 2
    assert "there is no `zzz`" in done.stderr
    assert "Traceback" not in done.stderr


def test_check_prints_the_report_and_exits_by_the_verdict() -> None:
    assert "well posed" in invoke("check", "pendulum-rod-twice")
    refused = RUNNER.invoke(app, ["check", "measured"])
    assert refused.exit_code == 1
    assert "`first sensor`, `second sensor` contradict one another at acceleration level" in refused.output


def test_every_command_has_help_with_an_example() -> None:
    for command in ("list", "show", "check", "derive", "classify", "new", "run", "sweep", "page", "export", "demo"):
        helped = invoke(command, "--help")
        assert f"dalembert {command}" in helped
        assert not any(ord(character) > 0xFFFF for character in helped)  # `:end:` would become a picture
    assert da.__version__ in invoke("--version")


def test_help_names_every_format_of_files() -> None:
    helped = invoke("run", "--help")
    assert {ending.removeprefix(".") for ending in (*FORMATS, *WRITERS)} <= set(re.findall(r"\w+", helped))


def test_check_of_a_start_that_violates_on_purpose() -> None:
    """One line for ten constraints, and no alarm."""
    printed = invoke("check", "swarm")
    assert printed.startswith("The question is well posed.")
    (line,) = (line for line in printed.splitlines() if "`robot 5 y`" in line)
    assert "are violated by up to 2.3e+01 at `qd`; this was allowed." in line


def test_check_of_measurements_that_disagree_names_a_way_out() -> None:
    result = RUNNER.invoke(app, ["check", "measured"])
    assert result.exit_code == 1 and "`formulation=da.StackedLeastSquares(...)` finds a compromise" in result.output


def test_model_files_run_like_cases(tmp_path: Path) -> None:
    file, animation = tmp_path / "swing.toml", tmp_path / "swing.gif"
    assert f"wrote {file}" in invoke("new", str(file))
    printed = invoke("run", str(file), "--animate", str(animation))
    assert "the rod keeps its length" in printed and "yes" in printed
    assert animation.stat().st_size > 1_000
    other = tmp_path / "other.html"
    assert f"wrote {other}" in invoke("animate", str(file), "-o", str(other), "--times", "0,0.1")
    assert "<html" in other.read_text(encoding="utf-8")
    changed = invoke("run", str(file), "--set", "l=2*1", "--q0", "x=2*cos(0.1),y=2*sin(0.1)", "--qd0", "0,0")
    assert "pass" not in changed
    assert "well posed" in invoke("check", str(file))
    assert "rod" in invoke("classify", str(file))
    assert "rod (position)" in invoke("show", str(file))
    assert "$$" in invoke("derive", str(file))
    refused = RUNNER.invoke(app, ["new", str(file)])
    assert "Pass `--force` to overwrite it" in str(refused.exception)
    assert "wrote" in invoke("new", str(file), "--force", "--from", "belt")
    assert da.load(file).title == da.gallery.case("belt").title
    invoke("new", str(file), "--force", "--from", "cart-pole")
    assert "control = { period = 0.001 }" in file.read_text(encoding="utf-8")


def test_new_files_from_model_files(template: Path) -> None:
    """Everything is copied, also the checks and the drawing, which cases of the gallery lose."""
    copy = template.with_name("copy.toml")
    assert f"wrote {copy}" in invoke("new", str(copy), "--from", str(template))
    one, other = da.load(template), da.load(copy)
    assert (other.system, other.title, dict(other.parameters)) == (one.system, one.title, dict(one.parameters))
    assert other.checks == one.checks != () and other.points.keys() == one.points.keys() != set()
    refused = RUNNER.invoke(app, ["new", str(template.with_name("b.toml")), "--from", "no/such.toml"])
    assert "there is no `no/such.toml`" in str(refused.exception)
    assert not template.with_name("b.toml").exists()


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """The file that `dalembert new` writes, with a short motion."""
    file = tmp_path / "swing.toml"
    invoke("new", str(file))
    file.write_text(file.read_text(encoding="utf-8").replace("0:10:201", "0:0.2:3"), encoding="utf-8")
    return file


def test_page_of_the_template_draws_its_points(template: Path) -> None:
    target = template.with_suffix(".html")
    assert invoke("page", str(template), "-o", str(target)) == f"wrote {target}\n"
    assert '"count":2' in target.read_text(encoding="utf-8").replace(" ", "")  # pivot and bob


def test_pages_of_the_files_in_the_documentation(tmp_path: Path) -> None:
    text = (Path(__file__).parent.parent / "docs" / "files.md").read_text(encoding="utf-8")
    models = [block for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL) if "[drawing]" in block]
    assert models
    for number, model in enumerate(models):
        file = tmp_path / f"model{number}.toml"
        file.write_text(model, encoding="utf-8")
        target = file.with_suffix(".html")
        assert invoke("page", str(file), "-o", str(target)) == f"wrote {target}\n"


def test_plot_of_a_file_whose_parameters_have_units(template: Path) -> None:
    figure = template.with_suffix(".svg")
    assert f"wrote {figure}" in invoke("run", str(template), "--plot", str(figure))
    assert figure.stat().st_size > 1_000


def test_units_of_a_file_are_printed_and_saved(template: Path) -> None:
    saved = template.with_suffix(".nc")
    assert "m = 1 kg" in invoke("show", str(template))
    assert " m/s" in invoke("run", str(template), "--save", str(saved))
    with xr.open_dataset(saved, engine="scipy", decode_times=False) as data:
        assert data["qd"].attrs["units"] == "m/s"


def test_the_trajectory_is_saved_before_the_figure(template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object, **options: object) -> None:
        raise da.InputError("no figure")

    monkeypatch.setattr(da.Trajectory, "plot", refuse)
    table, figure = template.with_suffix(".csv"), template.with_suffix(".png")
    result = RUNNER.invoke(app, ["run", str(template), "--plot", str(figure), "--save", str(table)])
    assert "no figure" in str(result.exception)
    assert table.exists()


def test_checks_of_a_file_show_both_values_and_the_time(template: Path) -> None:
    good = template.read_text(encoding="utf-8")
    assert "l ± 1e-10" in invoke("show", str(template))
    template.write_text(good.replace('expected = "l"', 'expected = "l + 5*t"'), encoding="utf-8")
    result = RUNNER.invoke(app, ["run", str(template)], env={"COLUMNS": "200"})
    assert result.exit_code == 1
    assert "2 ± 1e-10" in result.output
    assert "1 (largest difference 1.0e+00, at t = 0.2)" in result.output
    template.write_text(good[: good.index("# What is known")], encoding="utf-8")
    assert "pass" not in invoke("run", str(template))  # no empty table


def test_a_start_that_violates_constraints_can_be_projected(
    template: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start = ("run", str(template), "--q0", "0,-3", "--times", "0,1")
    monkeypatch.setattr(sys, "argv", ["dalembert", *start])
    with pytest.raises(SystemExit):
        main()
    message = re.sub(r"\s+", " ", capsys.readouterr().err)
    assert "`dalembert run --project` starts from the nearest state that does, and prints it, or, if" in message
    assert "`dalembert check` names them" in message and "da." not in message
    printed = invoke(*start[:-1], "0,0.1", "--project")
    assert "started from --q0 x=0.0,y=-1.0 --qd0 x=0.0,y=0.0" in printed
    assert re.search(r"y\s+│\s+-1\s", printed)
    assert re.search(r"At t = 0.1 s \(\d+ steps?, computed", printed)


def test_messages_contain_no_emoji(
    template: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    template.write_text(template.read_text(encoding="utf-8").replace("0:0.2:3", "0:3"), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["dalembert", "run", str(template)])
    with pytest.raises(SystemExit):
        main()
    assert "start:end:count" in capsys.readouterr().err


def test_a_mechanism_in_a_file_is_assembled_and_drawn(tmp_path: Path) -> None:
    bar = da.PlanarBody("bar", 1, 0.1, (0.4, 0))
    pin = da.Revolute("pin", da.ground.at(0, 0), bar.at(-da.parameters("l") / 2, 0))
    file, animation = tmp_path / "bar.toml", tmp_path / "bar.gif"
    da.Mechanism(bar, pin, da.Gravity((0, -9.81))).save(file, parameters={"l": 1}, times=[0, 0.1, 0.2])
    assert "x_bar" in invoke("run", str(file), "--set", "l=0.8", "--animate", str(animation))
    assert animation.stat().st_size > 1_000


def test_a_file_without_a_start_is_checked_in_general(tmp_path: Path) -> None:
    file = tmp_path / "bare.toml"
    x = da.coordinates("x")
    da.System((x,), [[1]], (-x,)).save(file)
    assert "well posed" in invoke("check", str(file))
    assert "start" in invoke("show", str(file))
    result = RUNNER.invoke(app, ["run", str(file)])
    assert "`q0` must have one entry per coordinate" in str(result.exception)
    assert "At t = 1" in invoke("run", str(file), "--q0", "1", "--qd0", "x=0", "--times", "0,1")


def test_watch_runs_again_after_each_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "swing.toml"
    invoke("new", str(file))
    good = file.read_text()

    def edits(path: Path) -> Iterator[None]:
        yield
        path.write_text(good.replace("-m*g", "-m*gg"))
        yield
        path.write_text(good.replace("0:10:201", "0:1:3"))
        yield

    monkeypatch.setattr("dalembert.commands.simulations.changes", edits)
    result = RUNNER.invoke(app, ["run", str(file), "--watch"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert "At t = 10 s (" in result.output and "At t = 1 s (" in result.output
    assert result.output.count("waiting for changes") == 3


def test_watch_needs_a_file_that_exists(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["run", str(tmp_path / "none.toml"), "--watch"])
    assert "`--watch` must be used with a model file that exists; there is no" in str(result.exception)


HOSTILE = {
    "attribute": "m.__class__",
    "call": "__import__('os').getcwd()",
    "power": "9**9**9**9",
    "deep": "(" * 3000 + "1" + ")" * 3000,
    "signs": "-" * 5000 + "1",
    "long": "1+" * 40000 + "1",
    "digits": "1" * 100_000,
    "nan": "nan",
    "infinite": "-inf",
    "too large": "1e999",
    "look-alike": "\uff11",
    "subscript": "[1,2][0]",
    "control": "1\x01",
    "nothing": "",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_arguments_are_parsed_and_not_evaluated(name: str, tmp_path: Path) -> None:
    file, text = str(tmp_path / "swing.toml"), HOSTILE[name]
    invoke("new", file)
    for arguments in (
        ("run", file, "--set", f"l={text}"),
        ("run", file, "--q0", f"x={text},y=0"),
        ("run", file, "--q0", text),
        ("run", file, "--times", f"0:{text}:5"),
        ("run", file, "--times", f"0:1:{text}"),
        ("sweep", file, "--grid", f"g={text}"),
        ("sweep", file, "--grid", f"g=1:{text}:2"),
        ("sweep", file, "--scatter", f"g=normal({text},1)", "--members", "2"),
    ):
        result = RUNNER.invoke(app, list(arguments))
        assert isinstance(result.exception, da.InputError), (arguments, result.output)
        assert "must look like" in str(result.exception) and len(str(result.exception)) < 700


def test_unknown_names_are_repeated_in_part(tmp_path: Path) -> None:
    file = str(tmp_path / "swing.toml")
    invoke("new", file)
    result = RUNNER.invoke(app, ["run", file, "--set", f"{'l' * 100_000}=1"])
    assert "must name only parameters of the model" in str(result.exception) and len(str(result.exception)) < 700


def test_changes_of_a_file_are_seen(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    seen = changes(file, pause=0.01)
    file.write_text("a")
    next(seen)
    file.write_text("longer")
    next(seen)
    file.unlink()
    Timer(0.1, file.write_text, ("again, longer",)).start()
    next(seen)
    assert file.exists()
