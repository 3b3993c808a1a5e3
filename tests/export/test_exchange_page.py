"""The listings of docs/exchange.md that are not doctests: C, the command line, and fmpy."""

import doctest
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert as da
from export.c_library import needs_compiler

PAGE = (Path(__file__).parents[2] / "docs" / "exchange.md").read_text(encoding="utf-8")

pytestmark = needs_compiler


def listings(language: str) -> list[str]:
    """The code blocks of a language that doctest does not run."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    return [text for text in found if ">>>" not in text]


def section(heading: str) -> str:
    """The first part of the page, and the section with a heading."""
    first, *parts = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    return first + next(part for part in parts if part.startswith(heading))


def files_of(heading: str) -> Path:
    """The folder that the examples of a section write to."""
    names: dict[str, object] = {}
    for example in doctest.DocTestParser().get_examples(section(heading)):
        exec(example.source, names)
    return Path(str(names["folder"]))


def test_the_c_program_prints_what_the_page_says() -> None:
    folder = files_of("C\n")
    (folder / "main.c").write_text(listings("c")[0])
    printed = listings("text")[0]
    subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", "main.c", "-lm"], cwd=folder, check=True)
    assert subprocess.run([str(folder / "a.out")], capture_output=True, text=True, check=True).stdout == printed
    adaptive = re.sub(r"    for \(k.*?\n    }\n", listings("c")[1], listings("c")[0], flags=re.DOTALL)
    (folder / "main.c").write_text(adaptive)
    subprocess.run(["cc", "-std=c99", "main.c", "-lm"], cwd=folder, check=True)
    assert subprocess.run([str(folder / "a.out")], capture_output=True, text=True, check=True).stdout == printed
    shutil.rmtree(folder)


def test_the_c_program_of_two_modes_prints_what_the_page_says() -> None:
    folder = files_of("Contacts and dry friction")
    (folder / "main.c").write_text(listings("c")[2])
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "main.c", "-lm"], cwd=folder, check=True)
    printed = subprocess.run([str(folder / "a.out")], capture_output=True, text=True, check=True).stdout
    assert printed == listings("text")[1]
    shutil.rmtree(folder)


def test_the_commands_write_their_files(tmp_path: Path) -> None:
    for line in listings("sh")[0].splitlines():
        program, *arguments = line.split()
        assert program == "dalembert"
        command = [sys.executable, "-c", "from dalembert.cli import main; main()", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["car_axis.py", "pendulum_case.c", "two_masses.fmu"]


def test_the_scripts_for_fmpy_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("fmpy", reason="fmpy, which runs FMUs, is not installed")
    single, coupled = listings("python")
    folder = files_of("Functional mock-up units")
    monkeypatch.chdir(folder)
    (tmp_path / "single.py").write_text(single)
    runpy.run_path(str(tmp_path / "single.py"))
    x, y = da.coordinates("x y")
    slow = da.System((x, y), [[1, 0], [0, 1]], (0, -1.62), da.Constraint(x**2 + y**2 - 1), da.Viscous(0.1))
    assert float(capsys.readouterr().out) == pytest.approx(da.simulate(slow, (1, 0), (0, 0), [0, 1])["x"][-1], abs=1e-8)
    (tmp_path / "coupled.py").write_text(coupled)
    ends = runpy.run_path(str(tmp_path / "coupled.py"))["ends"]
    force = 4.0 * (y - x - 1)
    both = da.simulate(da.System((x, y), [[1, 0], [0, 2]], (force, -force)), (0, 1.5), (0, 0), [0, 1])
    assert ends == pytest.approx(both.q[-1], abs=2e-6)
    shutil.rmtree(folder)
