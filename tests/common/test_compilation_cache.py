"""Compiled programs are kept, unless the user has chosen otherwise."""

import subprocess
import sys
from pathlib import Path

import pytest

MOTION = """
import dalembert as da
def one(q, qd, t, p):
    import jax.numpy as jnp
    return jnp.ones(1)
da.motion(da.FunctionSystem(lambda *state: one(*state)[None], one), [0], [0])
import jax
print(jax.config.jax_compilation_cache_dir)
"""
FIRST_USE = """
from dalembert.common.lazy_jax import jax, jnp
jnp.zeros
print(jax.config.jax_compilation_cache_dir)
"""
"""A call that compiles a program of JAX, as any of the library does that needs it."""


@pytest.mark.parametrize(
    ("program", "choice", "folder"),
    [
        (MOTION, {}, "cache/dalembert/jax"),
        (FIRST_USE, {"JAX_COMPILATION_CACHE_DIR": "elsewhere"}, "elsewhere"),
        (FIRST_USE, {"JAX_ENABLE_COMPILATION_CACHE": "0"}, "None"),
        (FIRST_USE, {"XDG_CACHE_HOME": "/proc/nowhere"}, "None"),
    ],
    ids=["default", "elsewhere", "off", "not writable"],
)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep caches elsewhere")
def test_where_programs_are_kept(program: str, choice: dict[str, str], folder: str, tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path), "PATH": "/usr/bin"} | choice
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().endswith(folder)


def test_machine_code_does_without_jax() -> None:
    """JAX takes longer to import than the motion of a pendulum to be derived, compiled and computed."""
    program = """
import sys
import dalembert as da
x, y = da.coordinates("x y")
pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -9.81), da.Constraint(x**2 + y**2 - 1, name="rod"))
print(da.simulate(pendulum, (1, 0), (0, 0), [0, 1]).statistics["program"])
print(sorted({"jax", "equinox", "diffrax", "scipy", "xarray", "matplotlib"} & {*sys.modules}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "machine code\n[]\n"


def test_a_pendulum_needs_no_modules_of_friction_contacts_controllers_or_large_systems() -> None:
    """They would take half of the time of its first answer."""
    program = """
import sys
import dalembert as da
x, y = da.coordinates("x y")
pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -9.81), da.Constraint(x**2 + y**2 - 1, name="rod"))
da.motion(pendulum, (1, 0), (0, 0))
da.simulate(pendulum, (1, 0), (0, 0), [0, 1])
parts = ("stick_slip", "impacts", "control", "ensembles", "runs.event_run", "runs.large_runs", "native.sparse_system")
print([part for part in parts if f"dalembert.{part}" in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
