"""Exported Python modules: NumPy alone, one state or many, and the library's own numbers."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from export.test_c_file import functions_of


def module_of(system, folder: Path, **given):
    return runpy.run_path(str(da.export_python(system, folder / "model.py", **given)))


@pytest.mark.parametrize(
    "name", ["pendulum-rod-twice", "car-axis", "two-masses", "sleigh", pytest.param("swarm", marks=pytest.mark.slow)]
)
def test_steps_and_forces_are_those_of_the_library(name: str, tmp_path: Path) -> None:
    case = da.gallery.case(name)
    module = module_of(case.system, tmp_path, **case.export_arguments)
    t, y, p = module["START"]
    h = float(case.times[-1] - case.times[0]) / 2000
    times = t + h * np.arange(6)
    given = {key: value for key, value in case.export_arguments.items() if key != "t0"}
    run = da.simulate(case.system, times=times, step=h, **given)
    states = [np.array(y)]
    for time in times[:-1]:
        y, valid = module["step"](states[-1], time, h, p)
        assert valid
        states.append(y)
    found = np.array(states)
    n = len(case.q0)
    assert module["STATES"] == (*run.coordinates, *(f"{own}'" for own in run.coordinates))
    for own, reference in ((found[:, :n], run.q), (found[:, n:], run.qd)):
        assert np.abs(own - reference).max() <= 1e-13 * max(np.abs(reference).max(), 1e-3)
    # all states at once, as columns
    out, valid = module["outputs"](found.T, times, p)
    assert valid.shape == (6,) and valid.all()
    by_name = dict(zip(module["OUTPUTS"], out, strict=True))
    for k, coordinate in enumerate(run.coordinates):
        scale = max(np.abs(run.acceleration).max(), 1e-9)
        assert np.abs(by_name[f"{coordinate}''"] - run.acceleration[:, k]).max() < 1e-12 * scale


def test_every_function_has_its_numpy_form(tmp_path: Path) -> None:
    x, p = da.coordinates("x"), da.parameters("p")
    system = da.System((x,), [[1 + x**2]], (functions_of(x, x.diff(da.t), p) + sp.cos(da.t),))
    module = module_of(system, tmp_path)
    for q, qd in ((0.3, 0.7), (0.3, -0.2), (0.9, 0.9), (0.5, 0.0)):
        (found,), valid = module["acceleration"]([q, qd], 0.4, [1.5])
        assert valid
        point = da.motion(system, (q,), (qd,), 0.4, parameters={"p": 1.5})
        assert found == pytest.approx(point.acceleration[0], rel=1e-13)
    assert module["START"] is None


def test_a_result_that_is_not_valid_is_flagged(tmp_path: Path) -> None:
    case = da.gallery.case("pendulum")
    module = module_of(case.system, tmp_path, **case.export_arguments)
    _, y, p = module["START"]
    states = np.array([y, [0, 0, 1, 0], [np.nan, 1, 0, 0]]).T
    assert module["acceleration"](states, 0.0, p)[1].tolist() == [True, False, False]
    assert module["step"](states, 0.0, 0.01, p)[1].tolist() == [True, False, False]


def test_the_module_needs_numpy_only(tmp_path: Path) -> None:
    file = da.export_python(da.gallery.case("bar-linkage").system, tmp_path / "linkage.py")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import linkage; print('dalembert' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
    assert "import numpy as np" in file.read_text()
