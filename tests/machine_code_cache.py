"""Machine code of the tests, kept on disk: most modules that LLVM compiles for them are those of the run before.

Machine code is a function of the text of a module, of the levels of optimisation, of LLVM and of the processor. A file
is named after all of them, and begins with a checksum.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable
from functools import wraps
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from dalembert.native import assembly

FOLDER = Path(__file__).parent.parent / ".machine_code_cache"
CHECKSUM = 4


def kept(object_code: Callable[[str, int], bytes], folder: Path = FOLDER) -> Callable[[str, int], bytes]:
    """Return `assembly.object_code` that looks into a folder first."""
    target = f"{llvmlite.__version__} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"

    @wraps(object_code)
    def found(text: str, selection: int) -> bytes:
        key = hashlib.sha256(f"{assembly.PASSES} {selection} {target} {text}".encode()).hexdigest()
        file = folder / key[:2] / key[2:]
        code = _read(file)
        if code is None:
            code = object_code(text, selection)
            _write(file, code)
        return code

    return found


def _read(file: Path) -> bytes | None:
    """Return the code of a file, or None if there is none, or it was not written to its end."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    checksum, code = data[:CHECKSUM], data[CHECKSUM:]
    return code if code and zlib.crc32(code).to_bytes(CHECKSUM, "big") == checksum else None


def _write(file: Path, code: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.{os.getpid()}")  # another worker may write the same
    part.write_bytes(zlib.crc32(code).to_bytes(CHECKSUM, "big") + code)
    part.replace(file)
