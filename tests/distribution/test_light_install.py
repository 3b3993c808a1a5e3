"""Without the extras: what works, and errors that name the extra for the rest."""

import json
import subprocess
import sys

import pytest

ABSENT = ("jax", "jaxlib", "equinox", "diffrax", "matplotlib", "PIL", "typer", "rich", "pyarrow", "zarr", "ziglang")

WITHOUT = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Absent())
"""

FEATURES = """
import json, numpy as np, dalembert as da
x, y = da.coordinates("x y")
rod = da.Constraint(x**2 + y**2 - 1, name="rod")
pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -9.81), rod, da.Viscous(0.1))
start, K = ((1, 0), (0, 0)), 2000
block = da.System((x, y), [[1, 0], [0, 1]], (0, -9.81), da.Constraint(y, name="floor", nonideal=da.Coulomb(0.5)))
run = da.simulate(pendulum, *start, [0, 1])
features = {
    "simulate": lambda: run,
    "motion": lambda: da.motion(pendulum, *start),
    "sticking": lambda: da.simulate(block, (0, 0), (1, 0), [0, 1]),
    "simulate_ensemble": lambda: da.simulate_ensemble(pendulum, (1, 0), np.zeros((3, 2)), [0, 1]),
    "constrained_motion": lambda: da.constrained_motion([[1]], [2], [[1]], [0]),
    "check": lambda: da.check(pendulum),
    "classify": lambda: da.classify(pendulum),
    "derive": lambda: da.derive(pendulum).to_html(),
    "page": lambda: run.page("motion.html"),
    "progress": lambda: da.simulate(pendulum, *start, [0, 1], progress=True),
    "flow": lambda: da.flow(pendulum, [0, 1]),
    "linearize": lambda: da.linearize(pendulum, (0, -1), (0, 0)),
    "formulation": lambda: da.simulate(pendulum, *start, [0, 1], formulation=da.PseudoInverse()),
    "batch": lambda: da.constrained_motion(*(np.ones(s) for s in ((K, 1, 1), (K, 1), (K, 1, 1), (K, 1)))),
    "solver": lambda: da.simulate(pendulum, *start, [0, 1], solver=object()),
    "ledger": lambda: run.ledger(),
    "plot": lambda: run.plot(),
    "animate": lambda: run.animate("motion.gif"),
    "export_c": lambda: da.export_c(pendulum, "pendulum.c"),
    "export_python": lambda: da.export_python(pendulum, "pendulum.py"),
    "parquet": lambda: run.save("run.parquet"),
    "zarr": lambda: run.save("run.zarr"),
}
found = {}
for name, feature in features.items():
    try:
        feature()
        found[name] = "works"
    except ImportError as error:
        found[name] = str(error)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    command = [sys.executable, "-c", WITHOUT + FEATURES]
    folder = tmp_path_factory.mktemp("light")
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def message(package: str, extra: str) -> str:
    return f"`{package}` must be installed for this; it is not. Run `pip install 'dalembert[{extra}]'`."


WORKING = ("simulate", "motion", "sticking", "simulate_ensemble", "constrained_motion", "check", "classify", "derive")


@pytest.mark.parametrize("feature", [*WORKING, "page", "progress", "export_c", "export_python"])
def test_machine_code_and_symbols_need_no_extra(found: dict[str, str], feature: str) -> None:
    assert found[feature] == "works"


@pytest.mark.parametrize("feature", ["flow", "linearize", "formulation", "batch", "solver", "ledger"])
def test_what_needs_jax_names_its_extra(found: dict[str, str], feature: str) -> None:
    assert found[feature] in (message("jax", "jax"), message("diffrax", "jax"))


@pytest.mark.parametrize("feature", ["plot", "animate"])
def test_figures_name_their_extra(found: dict[str, str], feature: str) -> None:
    assert found[feature] == message("matplotlib", "plot")


@pytest.mark.parametrize(("feature", "package"), [("parquet", "pyarrow"), ("zarr", "zarr")])
def test_formats_of_files_name_their_extra(found: dict[str, str], feature: str, package: str) -> None:
    assert found[feature] == message(package, "files")


def test_the_command_line_names_its_extra() -> None:
    code = WITHOUT + "from dalembert.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == f"error: {message('typer', 'cli')}"


def test_other_missing_packages_are_not_touched() -> None:
    from dalembert.common.extras import with_extra

    missing = ModuleNotFoundError("No module named 'scipy'", name="scipy")
    assert with_extra(missing) is missing
