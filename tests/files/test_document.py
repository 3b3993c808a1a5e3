"""The listings of docs/files.md: its files are read and run, its commands work, the schema accepts them."""

import re
import shlex
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
import sympy as sp
from typer.testing import CliRunner

import dalembert as da
from dalembert.cli import app
from dalembert.files.json_schema import schema, schema_text
from dalembert.files.load import loads
from dalembert.files.template import template
from dalembert.gallery.file_case import model_of
from fuzz.files import BASES

PAGE = (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8")
LISTINGS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.strip().split("\n")]


def valid(value, own, whole):
    """Return whether a value is valid by the part of JSON Schema that the schema of model files uses."""
    if "$ref" in own:
        return valid(value, whole["$defs"][own["$ref"].rpartition("/")[2]], whole)
    if "anyOf" in own:
        return any(valid(value, one, whole) for one in own["anyOf"])
    if "const" in own:
        return value == own["const"]
    if "enum" in own:
        return value in own["enum"]
    kinds = {"string": str, "number": (int, float), "array": list, "object": dict, "boolean": bool}
    names = own["type"] if isinstance(own["type"], list) else [own["type"]]
    if not any(isinstance(value, kinds[name]) and (name == "boolean" or not isinstance(value, bool)) for name in names):
        return False
    if isinstance(value, list):
        return all(valid(entry, own["items"], whole) for entry in value)
    if isinstance(value, dict):
        if not set(own.get("required", ())) <= set(value):
            return False
        known, other = own.get("properties", {}), own["additionalProperties"]
        if other is False and not set(value) <= set(known):
            return False
        return all(valid(entry, known.get(key, other), whole) for key, entry in value.items())
    return True


@pytest.mark.parametrize("number", range(len(LISTINGS)))
def test_the_files_of_the_page_run(number):
    model = loads(LISTINGS[number])
    run = model.simulate()
    assert model.failed_checks(run) == ()


def test_the_pendulum_has_fifteen_lines():
    assert len([line for line in LISTINGS[0].split("\n") if line]) <= 15


def test_the_commands_of_the_page_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pendulum.toml").write_text(LISTINGS[0])
    for command in COMMANDS:
        program, *arguments = shlex.split(command)
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert (program, result.exit_code) == ("dalembert", 0), command


@pytest.mark.parametrize("text", [*LISTINGS, *BASES, template("a.toml")])
def test_the_schema_accepts_files(text):
    assert valid(tomllib.loads(text), schema(), schema())


def test_the_schema_accepts_systems_by_arrays(tmp_path):
    x, y = da.coordinates("x", 120), da.coordinates("y", 120)
    u, v, s = da.coordinates("u v s")
    m, k = da.parameters("m k")
    masses = da.MassEntries.over({(u, u): 3, (u, v): v / 9, (v, v): m}, {u: x, v: y, m: da.parameters("m", 120)})
    forces = [{x: 1}, da.AppliedForce.over({u: -k * u, v: k}, {u: x[::2], v: s, k: [1 / (1 + i) for i in range(60)]})]
    system = da.System((x, y, s), [masses, {s: 1}], forces, da.Constraint.over(u - v, {u: x, v: y}, name="tie"))
    path = system.save(tmp_path / "a.toml", parameters={"m": range(120)}, q0=range(241), qd0=[0] * 241)
    assert valid(tomllib.loads(path.read_text()), schema(), schema())
    assert da.load(path).q0 == tuple(range(241))


@pytest.mark.parametrize("name", ["swarm", "bead", "measured", "five-bar", "pin-friction", "arm-circle-inertia"])
def test_the_schema_accepts_what_is_written(name, tmp_path):
    path = model_of(da.gallery.case(name)).save(tmp_path / "a.toml")
    assert valid(tomllib.loads(path.read_text()), schema(), schema())


@pytest.mark.parametrize(
    ("old", "new"),
    [("format = 1", "format = 2"), ("coordinates", "coordinate"), ("[0, 0]", "true"), ('"rod"', "3"), ("q0", "p0")],
)
def test_the_schema_refuses_mistakes(old, new):
    assert not valid(tomllib.loads(LISTINGS[0].replace(old, new, 1)), schema(), schema())


def test_the_schema_in_the_package_is_the_current_one():
    shipped = files("dalembert.files").joinpath("schema.json").read_text(encoding="utf-8")
    assert shipped == schema_text(), "write the text of dalembert.files.json_schema.schema_text() to schema.json"


def test_a_condition_that_chooses_between_conditions_is_saved(tmp_path: Path) -> None:
    x = da.coordinates("x")
    choice = sp.ITE(x > 1, x < 2, x > -1)
    system = da.System((x,), [[1]], (sp.Piecewise((1, choice), (0, True)),))
    system.save(tmp_path / "choice.toml")
    (loaded,) = da.load(tmp_path / "choice.toml").system.applied_force
    for place in (-2, -0.5, 0.5, 1.5, 2.5):
        assert loaded.subs(x, place) == system.applied_force[0].subs(x, place)
