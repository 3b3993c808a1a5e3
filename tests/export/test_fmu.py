"""Functional mock-up units: validated and simulated by fmpy, alone and coupled."""

import importlib.util
import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.export.compiler import host
from export.c_library import STRICT, needs_compiler

fmpy = pytest.importorskip("fmpy", reason="fmpy, which runs FMUs, is not installed")
from fmpy.fmi2 import (  # noqa: E402
    FMU2Slave,
    calloc,
    fmi2CallbackAllocateMemoryTYPE,
    fmi2CallbackFreeMemoryTYPE,
    fmi2CallbackFunctions,
    fmi2CallbackLoggerTYPE,
    free,
)
from fmpy.validation import validate_fmu  # noqa: E402

pytestmark = needs_compiler


def pendulum():
    x, y = da.coordinates("x y")
    m, g, length = da.parameters("m g l")
    rod = da.Constraint(x**2 + y**2 - length**2, name="rod")
    lagrangian = m * (x.diff(da.t) ** 2 + y.diff(da.t) ** 2) / 2 - m * g * y
    return da.System.from_lagrangian(lagrangian, (x, y), constraints=rod, nonideal=da.Viscous(0.1))


NUMBERS = {"m": 1.5, "g": 9.81, "l": 1.0}
UNITS = {"x": "m", "y": "m", "t": "s", "g": "m/s^2", "force x": "N"}


@pytest.fixture(scope="module")
def unit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fmu") / "pendulum.fmu"
    return da.export_fmu(pendulum(), path, "both", q0=(1, 0), qd0=(0, 0), parameters=NUMBERS, units=UNITS)


def simulated(path: Path, kind: str, **given):
    """The result at every tenth of a second; of two values at an event, the last."""
    run = fmpy.simulate_fmu(
        str(path), fmi_type=kind, stop_time=3.0, output_interval=0.1, relative_tolerance=1e-10, **given
    )
    times = np.round(run["time"], 9)
    last = np.append(times[1:] != times[:-1], True)
    return run[last]


@pytest.mark.parametrize("kind", ["CoSimulation", "ModelExchange"])
def test_a_unit_moves_as_the_library_says(kind: str, unit: Path) -> None:
    assert validate_fmu(str(unit)) == []
    found = simulated(unit, kind)
    run = da.simulate(pendulum(), (1, 0), (0, 0), found["time"], parameters=NUMBERS)
    near = 1e-8 if kind == "CoSimulation" else 1e-6  # CVode integrates with low orders
    assert np.abs(found["x"] - run["x"]).max() < near
    assert np.abs(found["y'"] - run.qd[:, 1]).max() < 10 * near
    assert np.abs(found["multiplier(rod)"] - run.multipliers[:, 0]).max() < 100 * near
    assert np.abs(found["nonideal_force(x)"] - run.nonideal_force[:, 0]).max() < 10 * near
    assert np.abs(found["energy"] - run.energy).max() < 100 * near
    assert np.abs(found["violation(rod)"]).max() < (1e-14 if kind == "CoSimulation" else 1e-7)


def test_variables_have_the_units_that_are_known(unit: Path, tmp_path: Path) -> None:
    found = {own.name: own.unit for own in fmpy.read_model_description(str(unit)).modelVariables}
    expected = {"time": "s", "x": "m", "x'": "m/s", "x''": "m/s^2", "ideal_force(x)": "N", "ideal_force(y)": None}
    assert {name: found[name] for name in expected} == expected
    assert (found["g"], found["m"], found["energy"]) == ("m/s^2", None, None)
    given = {"q0": (1, 0), "qd0": (0, 0), "parameters": NUMBERS}
    with pytest.raises(da.InputError, match="`units` must name only names of the model; `z` is unknown"):
        da.export_fmu(pendulum(), tmp_path / "a.fmu", units={"z": "m"}, **given)
    x, h = da.coordinates("x"), da.parameters("h")
    servo = da.Servo("hold", x - h, by=da.Actuator("motor", x), settle=1)
    held = da.System((x,), [[1]], (0,), servos=servo)
    # the requirement, and with it its parameter, is left out where the motor is driven from outside
    units = {"h": "m", "motor": "N"}
    numbers = {"q0": (0,), "qd0": (0,), "parameters": {"h": 1}}
    driven = da.export_fmu(held, tmp_path / "b.fmu", inputs=["motor"], units=units, **numbers)
    assert "input(motor)" in zipfile.ZipFile(driven).read("modelDescription.xml").decode()
    with pytest.raises(da.InputError, match="`units` must map names to units"):
        da.export_fmu(pendulum(), tmp_path / "a.fmu", units="m", **given)


def test_start_values_and_parameters_can_be_set(unit: Path) -> None:
    start = {"x": 0.0, "y": -2.0, "x'": 1.0, "l": 2.0, "g": 1.6}
    found = simulated(unit, "CoSimulation", start_values=start)
    times = found["time"]
    run = da.simulate(pendulum(), (0, -2), (1, 0), times, parameters=NUMBERS | {"l": 2.0, "g": 1.6})
    assert np.abs(found["x"] - run["x"]).max() < 1e-8


def test_start_values_off_the_constraints_are_refused(unit: Path) -> None:
    said: list[str] = []

    def logger(_environment, _name, _status, _category, message):
        said.append(message.decode())

    with pytest.raises(Exception, match="fmi2ExitInitializationMode"):
        simulated(unit, "CoSimulation", start_values={"y": 0.5}, logger=logger)
    assert any("the start values must satisfy the constraints" in message for message in said)


def test_the_archive_holds_description_binary_and_source(unit: Path) -> None:
    with zipfile.ZipFile(unit) as archive:
        names = archive.namelist()
        source = archive.read("sources/pendulum.c").decode()
    assert names[:2] == ["modelDescription.xml", "sources/pendulum.c"]
    assert names[2].startswith(f"binaries/{host()}/pendulum.")
    assert "fmi2DoStep" in source and "pendulum_integrate" in source
    assert [path.name for path in unit.parent.iterdir()] == ["pendulum.fmu"]


def test_the_source_compiles_without_warnings_also_without_parameters(unit: Path, tmp_path: Path) -> None:
    x = da.coordinates("x")
    free = da.System((x,), [[1]], (sp.sin(da.t),))
    path = da.export_fmu(free, tmp_path / "free.fmu", q0=(1,), qd0=(0,), t0=2.0)
    assert validate_fmu(str(path)) == []
    for own in (unit, path):
        source = tmp_path / f"{own.stem}.c"
        source.write_bytes(zipfile.ZipFile(own).read(f"sources/{source.name}"))
        command = ["cc", *STRICT, "-fPIC", "-c", "-o", str(tmp_path / "unit.o"), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]
    found = fmpy.simulate_fmu(str(path), start_time=2.0, stop_time=3.0, relative_tolerance=1e-10)
    assert found["x"][-1] == pytest.approx(1 + np.cos(2) + np.sin(2) - np.sin(3), abs=1e-9)


@pytest.mark.slow
def test_equal_models_make_equal_units(unit: Path, tmp_path: Path) -> None:
    given = {"q0": (1, 0), "qd0": (0, 0), "parameters": NUMBERS, "units": UNITS}
    again = da.export_fmu(pendulum(), tmp_path / "pendulum.fmu", "both", **given)
    first, second = (zipfile.ZipFile(path).read("modelDescription.xml") for path in (unit, again))
    assert first == second


def callbacks():
    """Callbacks of their own: the logger that fmpy shares is released with the run that set it last."""
    found = fmi2CallbackFunctions()
    found.logger = fmi2CallbackLoggerTYPE(lambda *_: None)
    found.allocateMemory = fmi2CallbackAllocateMemoryTYPE(calloc)
    found.freeMemory = fmi2CallbackFreeMemoryTYPE(free)
    return found


class Slave:
    """One instance for a master that is written in Python."""

    def __init__(self, path: Path, folder: Path):
        self.description = fmpy.read_model_description(str(path))
        self.numbers = {variable.name: variable.valueReference for variable in self.description.modelVariables}
        self.unit = FMU2Slave(
            guid=self.description.guid,
            unzipDirectory=fmpy.extract(str(path), unzipdir=str(folder)),
            modelIdentifier=self.description.coSimulation.modelIdentifier,
            instanceName=path.stem,
        )
        self.unit.instantiate(callbacks=callbacks())
        self.unit.setupExperiment(startTime=0.0, tolerance=1e-9)
        self.unit.enterInitializationMode()
        self.unit.exitInitializationMode()

    def get(self, name: str) -> float:
        return self.unit.getReal([self.numbers[name]])[0]

    def set(self, name: str, value: float) -> None:
        self.unit.setReal([self.numbers[name]], [value])

    def close(self) -> None:
        self.unit.terminate()
        self.unit.freeInstance()


def test_two_units_are_coupled_by_a_spring(tmp_path: Path) -> None:
    x, F, m = da.coordinates("x"), *da.parameters("F m")
    mass = da.System((x,), [[m]], (F,))
    files = [
        da.export_fmu(mass, tmp_path / f"{name}.fmu", q0=(q,), qd0=(0,), parameters={"m": own, "F": 0}, inputs=["F"])
        for name, q, own in (("left", 0.0, 1.0), ("right", 1.5, 2.0))
    ]
    left, right = (Slave(file, tmp_path / file.stem) for file in files)
    stiffness, h, positions = 4.0, 1e-3, []
    for k in range(1000):
        stretched = right.get("x") - left.get("x") - 1.0
        rate = right.get("x'") - left.get("x'")
        # the force is held during a step: its value in the middle makes the coupling second order
        force = stiffness * (stretched + rate * h / 2)
        left.set("F", force)
        right.set("F", -force)
        for slave in (left, right):
            slave.unit.doStep(currentCommunicationPoint=k * h, communicationStepSize=h)
        positions.append((left.get("x"), right.get("x")))
    with pytest.raises(Exception, match="fmi2SetReal"):
        left.set("m", 3.0)  # parameters are fixed while the model runs
    for slave in (left, right):
        slave.close()
    a, b = da.coordinates("a b")
    spring = stiffness * (b - a - 1)
    both = da.System((a, b), [[1, 0], [0, 2]], (spring, -spring))
    run = da.simulate(both, (0, 1.5), (0, 0), h * np.arange(1001))
    assert np.abs(np.array(positions) - run.q[1:]).max() < 2e-6


def test_a_state_can_be_saved_and_restored(tmp_path: Path, unit: Path) -> None:
    slave = Slave(unit, tmp_path)
    slave.unit.doStep(0.0, 0.5)
    state, before = slave.unit.getFMUstate(), slave.get("x")
    bytes_ = slave.unit.serializeFMUstate(state)
    slave.unit.doStep(0.5, 0.5)
    later = slave.get("x")
    slave.unit.setFMUstate(slave.unit.deSerializeFMUstate(bytes_))
    assert slave.get("x") == before != later
    slave.unit.doStep(0.5, 0.5)
    assert slave.get("x") == later
    slave.unit.reset()
    assert slave.get("x") == 1.0
    slave.unit.freeInstance()


def test_actuators_as_inputs_follow_a_signal(tmp_path: Path) -> None:
    case = da.gallery.case("two-masses")
    given = {"q0": case.q0, "qd0": case.qd0, "parameters": case.parameters}
    names = [actuator.name for servo in case.system.servos for actuator in servo.by]
    unit = da.export_fmu(case.system, tmp_path / "plant.fmu", inputs=names, **given)
    assert validate_fmu(str(unit)) == []
    run = da.simulate(case.system, case.q0, case.qd0, np.linspace(0, 1, 1001), parameters=case.parameters)
    column = f"input({names[0]})"
    signal = np.array(list(zip(run.t, run.inputs[names[0]], strict=True)), dtype=[("time", float), (column, float)])
    found = fmpy.simulate_fmu(str(unit), stop_time=1.0, output_interval=1e-3, input=signal)
    for k, name in enumerate(case.system.coordinate_names):
        assert np.abs(found[name] - run.q[:, k]).max() < 1e-3 * np.abs(run.q).max()


def test_a_drive_and_a_force_are_inputs_and_reactions_are_outputs(tmp_path: Path) -> None:
    """A trolley with a pendulum: its acceleration is an input, as the drive of the page on exchange."""
    s, theta = da.coordinates("s theta")
    a, F = da.parameters("a F")
    mass = [[3, sp.cos(theta)], [sp.cos(theta), 1]]
    force = (F + sp.sin(theta) * theta.diff(da.t) ** 2, -9.81 * sp.sin(theta))
    system = da.System((s, theta), mass, force, da.Constraint(s.diff(da.t, 2) - a, name="drive"))
    given = {"q0": (0, 0.3), "qd0": (0, 0), "parameters": {"a": 0, "F": 0}}
    unit = da.export_fmu(system, tmp_path / "trolley.fmu", "both", inputs=["a", "F"], **given)
    assert validate_fmu(str(unit)) == []
    signal = np.array([(0.0, 2.0, 5.0), (1.0, 2.0, 5.0)], dtype=[("time", float), ("a", float), ("F", float)])
    times = np.linspace(0, 1, 11)
    run = da.simulate(system, times=times, **(given | {"parameters": {"a": 2, "F": 5}}))
    for kind in ("CoSimulation", "ModelExchange"):
        found = fmpy.simulate_fmu(
            str(unit), fmi_type=kind, stop_time=1.0, output_interval=0.1, input=signal, relative_tolerance=1e-10
        )
        np.testing.assert_allclose(found["s"], found["time"] ** 2, rtol=0, atol=1e-8)
        assert found["theta"][-1] == pytest.approx(run["theta"][-1], abs=1e-7)
        angle, rate, more = (found[name][-1] for name in ("theta", "theta'", "theta''"))
        reaction = 3 * 2 + np.cos(angle) * more - np.sin(angle) * rate**2 - 5
        assert found["reaction(drive)"][-1] == pytest.approx(reaction, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["andrews", "five-bar", "four-bar", "rattleback", "crane", "swarm-control", "heavy-top"]
)
def test_cases_of_the_gallery_are_valid_units(name: str, tmp_path: Path) -> None:
    case = da.gallery.case(name)
    unit = da.export_fmu(case.system, tmp_path / "model.fmu", "both", **case.export_arguments)
    assert validate_fmu(str(unit)) == []
    start, end = float(case.times[0]), float(case.times[0] + (case.times[-1] - case.times[0]) / 20)
    found = fmpy.simulate_fmu(
        str(unit), fmi_type="CoSimulation", start_time=start, stop_time=end, output_interval=end - start
    )
    run = da.simulate(case.system, case.q0, case.qd0, [start, end], parameters=case.parameters, drift=case.drift)
    for k, coordinate in enumerate(run.coordinates):
        assert found[coordinate][-1] == pytest.approx(run.q[-1, k], abs=1e-6 * max(np.abs(run.q[-1]).max(), 1e-3))


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="ziglang is not installed")
def test_zig_compiles_for_other_platforms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)  # as on a computer without a C compiler
    everywhere = ("linux64", "win64", "darwin64")
    unit = da.export_fmu(
        pendulum(), tmp_path / "pendulum.fmu", q0=(1, 0), qd0=(0, 0), parameters=NUMBERS, platforms=everywhere
    )
    with zipfile.ZipFile(unit) as archive:
        heads = {name.split("/")[1]: archive.read(name)[:4] for name in archive.namelist() if "binaries" in name}
    assert heads == {"linux64": b"\x7fELF", "win64": heads["win64"], "darwin64": b"\xcf\xfa\xed\xfe"}
    assert heads["win64"][:2] == b"MZ"
    if host() == "linux64":
        found = fmpy.simulate_fmu(str(unit), stop_time=1.0)
        run = da.simulate(pendulum(), (1, 0), (0, 0), [0, 1], parameters=NUMBERS)
        assert found["x"][-1] == pytest.approx(run["x"][-1], abs=1e-8)
