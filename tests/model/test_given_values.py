"""Numbers that a user gives, by labels, sets, masks and dates; files whole or not at all; terminals and forks."""

import csv
import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sympy as sp
import xarray as xr

import dalembert as da
from helpers import PATIENCE

x, y = da.coordinates("x y")
m, k = da.parameters("m k")
SYSTEM = da.System((x, y), [[m, 0], [0, m]], (-k * x, -4 * k * y))
NUMBERS = {"m": 1, "k": 1}


def acceleration(q=(1, 2), parameters=NUMBERS, t=0.0):
    return da.motion(SYSTEM, q, (0, 0), t, parameters=parameters).acceleration


LABELLED = {
    "Series": pd.Series({"y": 2.0, "x": 1.0}),
    "Series of symbols": pd.Series([2.0, 1.0], index=[y, x]),
    "counted Series": pd.Series([1.0, 2.0]),
    "named tuple": namedtuple("Start", "y x")(2.0, 1.0),
    "structured scalar": np.array([(2.0, 1.0)], dtype=[("y", float), ("x", float)])[0],
    "DataArray": xr.DataArray([2.0, 1.0], dims="coordinate", coords={"coordinate": ["y", "x"]}),
    "DataArray without labels": xr.DataArray([1.0, 2.0], dims="coordinate"),
    "Dataset": xr.Dataset({"y": 2.0, "x": 1.0}),
    "unmasked": np.ma.array([1.0, 2.0], mask=False),
}


@pytest.mark.parametrize("kind", LABELLED)
def test_labels_are_names(kind: str):
    assert acceleration(LABELLED[kind]) == pytest.approx([-1, -8])


def test_labels_of_parameters_and_members():
    assert acceleration(parameters=pd.Series({"k": 3.0, "m": 1.0})) == pytest.approx([-3, -24])
    states = pd.DataFrame({"y": [0.0, 1.0], "x": [1.0, 2.0]})
    labelled = xr.DataArray(states.to_numpy(), dims=("run", "c"), coords={"c": ["y", "x"], "run": [7, 8]})
    many = [da.simulate_ensemble(SYSTEM, q, (0, 0), [0, 1], parameters=NUMBERS) for q in (states, labelled)]
    for found in many:
        np.testing.assert_allclose(found["q"].values[:, 1], [[np.cos(1), 0], [2 * np.cos(1), np.cos(2)]], atol=1e-8)


@pytest.mark.parametrize("count", [3, 150])
def test_states_by_arrays_of_coordinates(count):
    """In straight-line code and in groups: one number for each member, or one for all."""
    x, y, s = da.coordinates("x", count), da.coordinates("y", count), da.coordinates("s")
    system, numbers = da.System((x, y, s), 1, {x: 2.0}), np.arange(float(count))
    wanted = [*numbers, *[4.0] * count, 5.0]
    for given in (
        {"x": numbers, "y": 4, s: 5},
        {x[1:]: numbers[1:], x[0]: 0, "s": 5, y: 4.0},
    ):
        run = da.simulate(system, given, {"x": 0, "y": 0, "s": 0}, [0, 1])
        np.testing.assert_array_equal(run.q[0], wanted)
    still = {"x": 0, "y": 0, "s": 0}
    for wrong, message in (
        (
            {**still, "x": numbers[1:]},
            rf"`q` must give `x` one number for each of its {count} coord.*got shape \({count - 1},",
        ),
        ({**still, "x[1]": 3}, r"`q` must give each coordinate once; given twice: `x\[1\]`"),
        ({"x": 0, "s": 0}, rf"must give a value for every coordinate; missing: `y\[0\]` … `y\[{count - 1}\]`"),
        ({**still, "z": 0}, "must name only coordinates of the model; `z` is unknown"),
    ):
        with pytest.raises(da.InputError, match=message):
            da.motion(system, wrong, still)


REFUSED = {
    r"`q` must name only coordinates of the model; `z` is unknown": pd.Series({"x": 1.0, "z": 1.0}),
    r"`q` must give a value for every coordinate; missing: `x`, `y`": pd.Series([1.0, 2.0], index=[1, 0]),
    r"`q` must give each coordinate once; given twice: `x`": {"x": 1, x: 2, "y": 0},
    r"`q` must be a sequence or a mapping by name; got \{": {1.0, 2.0},
    r"`q` must be a sequence or a mapping by name; got frozenset": frozenset([1.0, 2.0]),
    r"`q` must be a sequence or a mapping by name; got '12'": "12",
    r"`q` must be a sequence or a mapping by name; got b'12'": b"12",
    r"`q\[y\]` must hold a number everywhere; it has masked entries": np.ma.array([1.0, 2.0], mask=[False, True]),
    r"`q\[x\]` must hold numbers; got b'1'": [b"1", 2],
    r"`q\[x\]` must hold numbers; got booleans": [True, 2],
    r"`q\[x\]` must hold plain numbers; got .*64\[D\]. Turn dates into seconds": np.array(["2020-01-01"] * 2, "M8[D]"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_no_sequence_of_numbers_is_refused(message: str):
    with pytest.raises(da.InputError, match=message):
        acceleration(REFUSED[message])


def test_times_and_parameters_are_numbers():
    hours = np.array(["2020-01-01T00", "2020-01-01T01"], "datetime64[h]")
    for times in (hours, hours - hours[0]):
        with pytest.raises(da.InputError, match=r"`times` must hold plain numbers; got .* Turn dates into seconds"):
            da.simulate(SYSTEM, (1, 2), (0, 0), times, parameters=NUMBERS)
    with pytest.raises(da.InputError, match="`times` must hold a number everywhere; it has masked entries"):
        da.simulate(SYSTEM, (1, 2), (0, 0), np.ma.array([0.0, 1.0], mask=[0, 1]), parameters=NUMBERS)
    with pytest.raises(da.InputError, match="`parameters` must give each parameter once; given twice: `k`"):
        acceleration(parameters={"m": 1, "k": 1, k: 2})
    with pytest.raises(da.InputError, match="`parameters` must give each parameter once; given twice: `k`"):
        da.simulate_ensemble(SYSTEM, [[1, 2]], (0, 0), [0, 1], parameters={"m": 1, "k": 1, k: 2})
    with pytest.raises(da.InputError, match="`parameters` must give each parameter once; given twice: `k`"):
        da.Observation([0, 1], {"x": [1, 2]}, (1, 2), (0, 0), parameters={"k": 1, k: 2})


@pytest.fixture(scope="module")
def run() -> da.Trajectory:
    rod = da.Constraint(x**2 + y**2 - 1, name="rod, of steel")
    pendulum = da.System.from_lagrangian((x.diff(da.t) ** 2 + y.diff(da.t) ** 2) / 2 - 10 * y, (x, y), constraints=rod)
    return da.simulate(pendulum, (1, 0), (0, 0), [0, 0.5, 1])


def test_a_table(run: da.Trajectory, tmp_path: Path):
    run.save(tmp_path / "run.csv")
    with (tmp_path / "run.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    columns = dict(zip(head, np.array(rows, float).T, strict=True))
    assert head[:7] == ["t", "x", "x'", "x''", "y", "y'", "y''"]
    for name, values in {
        "t": run.t,
        "y'": run.qd[:, 1],
        "x''": run.acceleration[:, 0],
        "ideal_force(y)": run.ideal_force[:, 1],
        "multiplier(rod, of steel)": run["rod, of steel"],
        "energy": run.energy,
    }.items():
        np.testing.assert_array_equal(columns[name], values)
    with pytest.raises(da.InputError, match=r"`path` must name a NetCDF file that `save` wrote; .*run.csv is a table"):
        da.Trajectory.load(tmp_path / "run.csv")


@pytest.mark.parametrize("name", ["run", "run.txt", "run.nc.gz", "run.xlsx"])
def test_an_unknown_ending_is_refused(run: da.Trajectory, tmp_path: Path, name: str):
    with pytest.raises(da.InputError, match=r"`path` must end in .nc \(NetCDF.*, .csv \(a table\), .*, .zarr .*; got"):
        run.save(tmp_path / name)
    with pytest.raises(da.InputError, match="`path` must name a file in a folder that exists"):
        run.save(tmp_path / "nowhere" / "run.nc")
    assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_whole_or_not_at_all(run: da.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "run.nc"
    run.save(path)
    before = path.read_bytes()

    def broken(self: object, path: Path, **_: object) -> None:
        Path(path).write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(xr.Dataset, "to_netcdf", broken)
    with pytest.raises(OSError, match="disk full"):
        run.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc"]


def test_damaged_files_are_refused(run: da.Trajectory, tmp_path: Path):
    whole, path = tmp_path / "whole.nc", tmp_path / "cut.nc"
    run.save(whole)
    data = whole.read_bytes()
    for size in range(0, len(data) - 3, 7):  # the last three bytes only fill up a word
        path.write_bytes(data[:size])
        with pytest.raises(da.InputError, match="holds something else, or is damaged"):
            da.Trajectory.load(path)
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(500))
    with pytest.raises(da.InputError, match="holds something else, or is damaged"):
        da.Trajectory.load(path)
    xr.Dataset({"a": [1.0]}).to_netcdf(path, engine="scipy")
    with pytest.raises(da.InputError, match="holds something else, or is damaged"):
        da.Trajectory.load(path)


COMMANDS = """
import sys
from dalembert.cli import main
for words in (["--help"], ["show", "bead"], ["check", "bead"], ["derive", "bead"], ["list"]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as ended:
        print("exit", words, ended.code or 0, file=sys.stderr)
"""


def test_output_on_an_ascii_terminal():
    ascii_only = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0", "COLUMNS": "100"}
    call = [sys.executable, "-c", COMMANDS]
    done = subprocess.run(call, capture_output=True, env=os.environ | ascii_only, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr.count(b"exit") == done.stderr.count(b" 0\n") == 5, done.stderr.decode()
    assert done.stdout.isascii()
    assert b"Traceback" not in done.stderr
    assert b"Udwadia-Kalaba" in done.stdout


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ẋ at t = 0.5", "x' at t = 0.5"),
        ("q̈ = M⁻¹Q, θ̈", "q'' = M^-1Q, theta''"),
        ("z = x²", "z = x^2"),
        ("‖β‖ e^(kt), Aᵀλ₁", "||beta|| e^(kt), A^Tlambda1"),
        ("3.5 ± 5e-07 ≤ 1½ ≠ ∞", "3.5 +- 5e-07 <= 11/2 != inf"),
        ("Painlevé, Störmer", "Painleve, Stoermer"),
    ],
)
def test_formulas_keep_their_meaning_on_an_ascii_terminal(text, plain):
    """A velocity is not printed as its coordinate, nor a square as a product."""
    from dalembert.commands.terminal import transliterate_output

    transliterate_output()
    assert text.encode("ascii", "transliterate").decode() == plain


def test_the_ending_of_the_file_decides_the_format(tmp_path: Path):
    from dalembert.commands.output_files import DerivationFormat, derivation_format

    assert derivation_format(None, tmp_path / "bead.html") is DerivationFormat.html
    assert derivation_format(DerivationFormat.latex, tmp_path / "bead.tex") is DerivationFormat.latex
    assert derivation_format(None, None) is DerivationFormat.markdown
    with pytest.raises(da.InputError, match=r"`--output` must end in .md, .tex, .html; got"):
        derivation_format(None, tmp_path / "bead.txt")
    with pytest.raises(da.InputError, match="`--format` must agree with the file extension; got latex and"):
        derivation_format(DerivationFormat.latex, tmp_path / "bead.html")


FORKED = """
import multiprocessing, diffrax, jax.numpy as jnp, numpy as np, sympy as sp, dalembert as da
x, y = da.coordinates("x y")
rod = da.Constraint(x**2 + y**2 - 1, name="rod")
pendulum = da.System((x, y), sp.eye(2), (0, -10), rod)
arrays = [jnp.array(a, float) for a in ([[1, 0], [0, 1]], [0, -10], [[1, 1]], [0])]
da.constrained_motion(*arrays)  # by JAX
flow = da.flow(pendulum, [0, 1])

def work(kind):
    try:
        if kind == "arrays":
            return da.constrained_motion(*arrays)
        if kind == "flow":
            return flow((1, 0), (0, 0), {})
        if kind == "motion":
            return float(da.motion(pendulum, (0, -1), (2, 0)).ideal_force[1])
        solver = diffrax.Tsit5() if kind == "diffrax" else None
        return float(da.simulate(pendulum, (1, 0), (0, 0), [0, 1], solver=solver).q[-1, 0])
    except da.DeviceError as error:
        return str(error)

with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.map(work, ["machine code", "motion", "arrays", "diffrax", "flow"]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_process_forked_after_jax_answers():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, timeout=PATIENCE, check=True
    )
    found = done.stdout.decode()
    assert found.count("JAX must not be used in a process that was forked") == 3
    alone = da.simulate(da.System((x, y), sp.eye(2), (0, -10), da.Constraint(x**2 + y**2 - 1)), (1, 0), (0, 0), [0, 1])
    end, steps = (float(number) for number in found.strip("[").split(",")[:2])
    assert end == pytest.approx(alone.q[-1, 0], rel=1e-14) and steps == 14  # tests compile with less optimisation


MASKED = np.ma.array([1.0, 2.0], mask=[False, True])


def test_masked_entries_are_no_numbers_anywhere():
    """NumPy would use what lies under the mask, or zero."""
    mass, message = np.ma.array(2 * np.eye(2), mask=[[0, 0], [0, 1]]), "must hold a number everywhere; it has masked"
    with pytest.raises(da.ModelError, match=f"`mass_matrix` {message}"):
        da.System((x, y), mass, (0, 0))
    with pytest.raises(da.ModelError, match=f"`applied_force` {message}"):
        da.System((x, y), np.eye(2), MASKED)
    for name, arrays in {
        "mass_matrix": (mass, [1, 2], [[1, 1]], [0]),
        "applied_force": (np.eye(2), MASKED, [[1, 1]], [0]),
        "constraint_matrix": (np.eye(2), [1, 2], MASKED[None], [0]),
    }.items():
        with pytest.raises(da.InputError, match=f"`{name}` {message}"):
            da.constrained_motion(*arrays)
    assert da.System((x, y), np.ma.array(np.eye(2)), (0, 0)).mass_matrix[1, 1].equals(1)


@pytest.mark.parametrize("raw", [bytearray(b"ab"), memoryview(b"ab")], ids=["bytearray", "memoryview"])
def test_bytes_are_no_numbers(raw: object):
    for name, arguments in {"q0": (raw, (0, 0), [0, 1]), "times": ((0, 0), (0, 0), raw)}.items():
        with pytest.raises(da.InputError, match=f"`{name}` must hold numbers; got"):
            da.simulate(SYSTEM, *arguments, parameters=NUMBERS)
    with pytest.raises(da.InputError, match="`applied_force` must hold numbers; got"):
        da.constrained_motion(np.eye(2), raw, [[1, 1]], [0])


def test_other_names_of_a_named_tuple_are_refused() -> None:
    with pytest.raises(da.InputError, match=r"`q` must give a value for every coordinate; missing: `x`, `y`\."):
        acceleration(namedtuple("Start", "a b")(2.0, 1.0))


NOT_REAL = {
    r"must be real; got complex numbers": lambda shape: np.full(shape, 1j),
    r"must hold plain numbers; got timedelta64": lambda shape: np.ones(shape, "m8[s]"),
    r"must hold numbers; got array": lambda shape: np.full(shape, b"1"),
    r"must hold numbers; got booleans": lambda shape: np.ones(shape, bool),
}


@pytest.mark.parametrize("message", NOT_REAL)
def test_arrays_that_numpy_would_convert_are_refused(message: str) -> None:
    """NumPy drops imaginary parts with a warning and reads dates, bytes and booleans as numbers."""
    given = {"mass_matrix": np.eye(2), "applied_force": np.ones(2), "constraint_matrix": np.ones((1, 2))}
    given |= {"constraint_rhs": np.zeros(1), "C": np.zeros(2)}
    for name, array in given.items():
        with pytest.raises(da.InputError, match=f"`{name}` {message}"):
            da.constrained_motion(**given | {name: NOT_REAL[message](array.shape)})


def test_a_parameter_is_not_time() -> None:
    for names in ("t", "g t", ("g", "t")):
        with pytest.raises(da.ModelError, match=r"`t` is the symbol of time, `da\.t`; choose another name"):
            da.parameters(names)
