"""Every message of an export: what must hold, what was found, what to do."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import jax.numpy as jnp
import pytest
import sympy as sp

import dalembert as da
from dalembert.export.compiler import host

EXPORTS = {".c": da.export_c, ".py": da.export_python, ".fmu": da.export_fmu}


def pendulum(*further):
    x, y = da.coordinates("x y")
    rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    return da.System((x, y), [[1, 0], [0, 1]], (0, -da.parameters("g")), (rod, *further))


HANGING = {"q0": (0, -1), "qd0": (0, 0), "parameters": {"g": 9.81}}


@pytest.mark.parametrize("suffix", EXPORTS)
def test_files(suffix: str, tmp_path: Path) -> None:
    export = EXPORTS[suffix]
    with pytest.raises(da.InputError, match=rf"`path` must end in \{suffix}; got `.*model.txt`\."):
        export(pendulum(), tmp_path / "model.txt", **HANGING)
    with pytest.raises(
        da.InputError, match=r"`path` must name a file in a folder that exists; there is no `.*nowhere`\."
    ):
        export(pendulum(), tmp_path / "nowhere" / f"model{suffix}", **HANGING)
    with pytest.raises(da.InputError, match=r"`path` must name a file in a folder that exists"):
        export(pendulum(), f"{tmp_path}/nowhere/model{suffix}", **HANGING)


@pytest.mark.parametrize("suffix", EXPORTS)
def test_systems(suffix: str, tmp_path: Path) -> None:
    export, path = EXPORTS[suffix], tmp_path / f"model{suffix}"
    functions = da.FunctionSystem(
        lambda q, qd, t, p: jnp.eye(1), lambda q, qd, t, p: -q, coordinates="x", parameters=""
    )
    with pytest.raises(da.InputError, match=r"got a `da.FunctionSystem`, whose Python functions cannot be written in"):
        export(functions, path, q0=(1,), qd0=(0,))
    with pytest.raises(da.InputError, match=r"`system` must be a `da.System` or `da.FunctionSystem`; got str"):
        export("pendulum", path, q0=(1,), qd0=(0,))
    bead = da.gallery.case("bead")
    numbers = {"q0": bead.q0, "qd0": bead.qd0, "parameters": bead.parameters}
    with pytest.raises(da.InputError, match=r"contacts that can stick, .* got dry friction at `wire`\. Smooth it"):
        export(bead.system, path, **numbers)
    ball = da.gallery.case("bouncing-ball").system
    with pytest.raises(da.InputError, match=r"must not have contacts that open and close, .* got `floor`\. Replace"):
        export(ball, path, q0=(1,), qd0=(0,))
    with pytest.raises(da.InputError, match=r"`walker` must have no events to be exported, .* got `heel strike`"):
        export(ball, path, **da.gallery.case("walker").export_arguments)
    x = da.coordinates("x")
    bessel = da.System((x,), [[1]], (sp.besselj(0, x),))
    with pytest.raises(da.DalembertError, match=r"`besselj`"):
        export(bessel, path, q0=(1,), qd0=(0,))
    digamma = da.System((x,), [[1]], (sp.polygamma(0, 1 + x**2),))
    with pytest.raises(
        da.InputError, match=r"must use functions of the C library; `polygamma` is not one\. Replace it"
    ):
        export(digamma, path, q0=(1,), qd0=(0,))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", EXPORTS)
def test_numbers(suffix: str, tmp_path: Path) -> None:
    export, path = EXPORTS[suffix], tmp_path / f"model{suffix}"
    with pytest.raises(da.InputError, match="`parameters` must give a value for every parameter; missing: `g`"):
        export(pendulum(), path, q0=(0, -1), qd0=(0, 0), parameters={})
    with pytest.raises(da.InputError, match="`k` is unknown"):
        export(pendulum(), path, q0=(0, -1), qd0=(0, 0), parameters={"g": 1, "k": 2})
    with pytest.raises(da.InputError, match="`q0` and `qd0` must both be given along with `parameters`"):
        export(pendulum(), path, q0=None, qd0=(0, 0), parameters={"g": 1})
    with pytest.raises(da.StateError, match="the initial state must satisfy the constraints; `rod` is violated by"):
        export(pendulum(), path, q0=(0, -2), qd0=(0, 0), parameters={"g": 1})
    with pytest.raises(da.InputError, match="`t0` must be one finite number"):
        export(pendulum(), path, t0=float("nan"), **HANGING)


def test_drift_cures(tmp_path: Path) -> None:
    from dalembert.integration.drift import Drift

    class Own(Drift):
        def gains(self):
            return None

        def correct(self, dynamics, q, qd, t, p, rows):
            return q, qd

    with pytest.raises(da.InputError, match="`drift` must be a drift cure"):
        da.export_c(pendulum(), tmp_path / "model.c", drift="projection")
    with pytest.raises(da.InputError, match="`drift` of an export must not conserve first integrals; leave out"):
        da.export_c(pendulum(), tmp_path / "model.c", drift=da.Projection(conserve="energy"))
    with pytest.raises(da.InputError, match="`drift` of an export must consist of gains and projections"):
        da.export_c(pendulum(), tmp_path / "model.c", drift=Own())


def test_equations_that_are_not_valid_at_the_start(tmp_path: Path) -> None:
    x, y = da.coordinates("x y")
    indefinite = da.System((x, y), [[1, 0], [0, -1]], (0, 0))
    with pytest.raises(da.MassMatrixError, match="must be positive definite"):
        da.export_c(indefinite, tmp_path / "model.c", q0=(0, 0), qd0=(0, 0))
    rows = (da.Constraint(x + y - 1, name="first"), da.Constraint(x + 1.0001 * y - 1, name="second"))
    nearly = da.System((x, y), [[1, 0], [0, 1]], (0, 0), rows)
    with pytest.raises(
        da.InputError, match="a state where the exported equations are valid; the constraints are nearly"
    ):
        da.export_c(nearly, tmp_path / "model.c", q0=(1, 0), qd0=(0, 0))


def test_controllers(tmp_path: Path) -> None:
    case = da.gallery.case("cart-pole")
    with pytest.raises(
        da.InputError, match=r"`control` must be a continuous controller .* Export its model, `control.sy"
    ):
        da.export_c(case.system, tmp_path / "model.c", control=case.control)
    arm = da.gallery.case("wrong-masses")
    with pytest.raises(da.InputError, match="`q0` and `qd0` must be given along with `control`; got none"):
        da.export_c(arm.system, tmp_path / "model.c", control=arm.control)


def test_inputs(tmp_path: Path) -> None:
    with pytest.raises(
        da.InputError, match=r"`inputs` must name only .* of the model; `G` is unknown\. The model has: `g`"
    ):
        da.export_fmu(pendulum(), tmp_path / "model.fmu", inputs=["G"], **HANGING)
    x, _ = da.coordinates("x y")
    driven = pendulum(da.Constraint(x - da.parameters("u"), name="drive"))
    numbers = HANGING | {"parameters": {"g": 1, "u": 0}}
    with pytest.raises(da.InputError, match=r"which would need the derivatives of the inputs; `u` occurs in `drive`\."):
        da.export_fmu(driven, tmp_path / "model.fmu", inputs=["u"], **numbers)
    five = da.gallery.case("five-bar")
    names = [actuator.name for servo in five.system.servos for actuator in servo.by]
    start = {"q0": five.q0, "qd0": five.qd0, "parameters": five.parameters}
    with pytest.raises(da.InputError, match=rf"`inputs` must name all actuators or none, .* missing: `{names[1]}`\."):
        da.export_fmu(five.system, tmp_path / "model.fmu", inputs=names[:1], **start)


def test_kinds_and_platforms(tmp_path: Path) -> None:
    with pytest.raises(
        da.InputError, match="`kind` must be one of `co-simulation`, `model-exchange`, `both`; got 'cosim'"
    ):
        da.export_fmu(pendulum(), tmp_path / "model.fmu", "cosim", **HANGING)
    with pytest.raises(da.InputError, match="`platforms` must be among `linux64`, `win64`, `darwin64`; got `amiga`"):
        da.export_fmu(pendulum(), tmp_path / "model.fmu", platforms="amiga", **HANGING)
    with pytest.raises(da.InputError, match=r"`platforms` must be among .* got none"):
        da.export_fmu(pendulum(), tmp_path / "model.fmu", platforms=(), **HANGING)


def test_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failed:
        returncode, stderr = 1, "error: something"

    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: Failed())
    with pytest.raises(
        da.DeviceError, match="the C compiler `/usr/bin/cc` must compile the model; it failed:\nerror: some"
    ):
        da.export_fmu(pendulum(), tmp_path / "model.fmu", **HANGING)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    message = (
        rf"a C compiler for {host()} must be installed; `cc` or `gcc` or `clang` was not found\. .*dalembert\[fmu\]"
    )
    with pytest.raises(da.DeviceError, match=message):
        da.export_fmu(pendulum(), tmp_path / "model.fmu", **HANGING)
    other = "win64" if host() != "win64" else "linux64"
    with pytest.raises(da.DeviceError, match=f"a C compiler for {other} must be installed; `ziglang` was not found"):
        da.export_fmu(pendulum(), tmp_path / "model.fmu", platforms=[other], **HANGING)
    assert list(tmp_path.iterdir()) == []
