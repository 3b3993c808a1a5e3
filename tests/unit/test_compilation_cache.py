"""Compiled programs are kept, unless the user has chosen otherwise."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import dalembert as da
x = da.coordinates("x")
da.motion(da.System((x,), [[1]], [2]), [0], [0])
import jax
print(jax.config.jax_compilation_cache_dir)
"""


@pytest.mark.parametrize(
    ("choice", "folder"),
    [
        ({}, "cache/dalembert/jax"),
        ({"JAX_COMPILATION_CACHE_DIR": "elsewhere"}, "elsewhere"),
        ({"JAX_ENABLE_COMPILATION_CACHE": "0"}, "None"),
        ({"XDG_CACHE_HOME": "/proc/nowhere"}, "None"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep caches elsewhere")
def test_where_programs_are_kept(choice: dict[str, str], folder: str, tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path), "PATH": "/usr/bin"} | choice
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().endswith(folder)
