# SPDX-License-Identifier: BSD-3-Clause
"""C compilers: that of the system, or the one in the package ``ziglang``, which compiles for other platforms too."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from dalembert.errors import DeviceError

SYSTEM_COMPILERS = ("cc", "gcc", "clang")

TARGETS = {"linux64": "x86_64-linux-gnu.2.17", "win64": "x86_64-windows-gnu", "darwin64": "x86_64-macos"}
"""The platforms of FMI as zig names them; an old C library runs everywhere."""

SUFFIXES = {"linux64": ".so", "win64": ".dll", "darwin64": ".dylib"}

HOSTS = {"Linux": "linux64", "Windows": "win64", "Darwin": "darwin64"}

# without fused operations, so that the results are the same on every processor
OPTIONS = ("-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fvisibility=hidden")


def host() -> str:
    """Return the platform of this computer in the words of FMI."""
    return HOSTS.get(platform.system(), platform.system())


def compile_library(source: Path, target: Path, name: str) -> None:
    """Compile a C file to a shared library for a platform."""
    command = [*_compiler(name), *OPTIONS]
    if name != "win64":
        command.append("-fPIC")
    command += ["-o", str(target), str(source)]
    if name != "win64":
        command.append("-lm")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DeviceError(
            f"the C compiler `{command[0]}` must compile the model; it failed:\n{done.stderr.strip()[:2000]}"
        )


def _compiler(name: str) -> list[str]:
    """Return the command of a compiler for a platform."""
    own = next(filter(None, map(shutil.which, SYSTEM_COMPILERS)), None)
    if name == host() and own is not None:
        return [own]
    if name in TARGETS and importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc", "-target", TARGETS[name]]
    wanted = " or ".join(f"`{command}`" for command in SYSTEM_COMPILERS) if name == host() else "`ziglang`"
    raise DeviceError(
        f"a C compiler for {name} must be installed; {wanted} was not found. Install one, or run "
        f"`pip install 'dalembert[fmu]'`."
    )
