"""The distribution: wheel and source distribution, built and installed as by a user, and the versions they ask for."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def command(*words: object, cwd: Path | None = None, status: int = 0) -> str:
    """Standard output of a command that must end with a status; this test run's own path is not passed on."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, cwd=cwd, env=clean
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def wheel_of(source: Path, folder: Path) -> Path:
    """Build a wheel with the tools that are installed: without an isolated environment nothing is downloaded."""
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", folder)
    command(sys.executable, "-m", "pip", "wheel", *options, source)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    command(sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", folder, cwd=ROOT)
    return next(folder.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the source distribution, as installers do where no wheel fits."""
    return wheel_of(sdist, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment with the wheel; dependencies are those of this test run."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    # a plain path in a .pth file: .pth files there, such as that of an editable install, are not read
    site = Path(command(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    options = ("--no-deps", "--no-index", "--quiet", "--ignore-installed")
    command(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel)
    return python


def modules() -> set[str]:
    return {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/dalembert").rglob("*.py")}


def assets() -> set[str]:
    folders = (ROOT / "src/dalembert").glob("*/assets")
    return {path.relative_to(ROOT / "src").as_posix() for folder in folders for path in folder.iterdir()}


@pytest.mark.slow
def test_wheel_holds_all_modules_their_types_and_the_licence(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in names if name.endswith(".py")} == modules()
    assert assets() <= names and len(assets()) > 10  # the scripts and style sheets of pages
    assert "dalembert/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_source_distribution_holds_what_its_tests_need(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in modules()} <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "tests/helpers.py", "constraints.txt"} <= names
    assert not any(".venv" in name or "__pycache__" in name or name.startswith("out/") for name in names)


@pytest.mark.slow
def test_an_installed_wheel_computes_and_has_its_command(python: Path, tmp_path: Path) -> None:
    code = (
        "import dalembert as da; x, y = da.coordinates('x y');"
        "s = da.System((x, y), [[1, 0], [0, 1]], (0, -1), da.Constraint(y, name='floor'));"
        "print(da.__file__, da.simulate(s, (0, 0), (3, 0), [0, 2])['x'][-1])"
    )
    file, end = command(python, "-c", code, cwd=tmp_path).split()
    assert Path(file).is_relative_to(python.parents[1])
    assert float(end) == pytest.approx(6, abs=1e-12)
    script = python.parent / ("dalembert.exe" if os.name == "nt" else "dalembert")
    assert re.search(r"\d+\.\d+\.\d+", command(script, "--version", cwd=tmp_path))


@pytest.mark.slow
def test_a_type_checker_sees_the_types_of_an_installed_wheel(python: Path, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(
        "import dalembert as da\n"
        "x, y = da.coordinates('x y')\n"
        "system = da.System((x, y), [[1, 0], [0, 1]], (0, -1))\n"
        "reveal_type(da.simulate(system, (0, 0), (3, 0), [0, 2]))\n"
        "da.simulate(system, (0, 0), (3, 0), [0, 2], rtol='small')\n"
    )
    checker = ("-m", "pyright", "--outputjson", "--pythonpath", python)
    report = json.loads(command(sys.executable, *checker, "user.py", cwd=tmp_path, status=1))
    said = [diagnostic["message"] for diagnostic in report["generalDiagnostics"]]
    assert 'Type of "da.simulate(system, (0, 0), (3, 0), [0, 2])" is "Trajectory"' in said
    assert any("rtol" in message for message in said)


def test_the_floor_file_holds_the_lowest_versions_that_are_allowed() -> None:
    extras = PROJECT["optional-dependencies"]
    optional = [entry for name in ("jax", "plot", "cli", "files", "cluster") for entry in extras[name]]
    required = [*PROJECT["dependencies"], *optional]
    floors = dict(entry.split(">=") for entry in required)
    lines = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert pinned.pop("jaxlib") == pinned["jax"] and pinned.pop("dask") == pinned["distributed"]
    assert floors.keys() == pinned.keys()
    for name, floor in floors.items():
        assert f"{pinned[name]}.".startswith(f"{floor}."), name


def test_all_extras_are_in_all_and_in_dev() -> None:
    extras = PROJECT["optional-dependencies"]
    apart = ("all", "docs", "dev", "fmu")  # the compiler of the extra `fmu` is large, and most systems have one
    assert extras["all"] == [f"dalembert[{','.join(name for name in extras if name not in apart)}]"]
    assert "dalembert[all,docs]" in extras["dev"]
