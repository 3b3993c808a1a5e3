# SPDX-License-Identifier: BSD-3-Clause
"""WebAssembly from LLVM code: an object file becomes a module that a browser can instantiate, without a linker.

LLVM writes relocatable object files. One object alone needs no relocation: LLVM has already written the numbers of its
functions, types and globals, and the addresses of its data from zero on, where a linker would have to change them. What
is missing are the exports; what a browser does not need are the sections for the linker. Memory and stack pointer
are imported from ``env``, and so are functions such as ``sin``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from llvmlite import ir

from dalembert.native.assembly import mark_pure, optimised

TRIPLE = "wasm32-unknown-unknown"
WASM_PASSES, WASM_SELECTION = 1, 2
"""Optimisation levels as in ``assembly``, but never lower: unoptimised functions have more local variables than the
50 000 that browsers allow."""

HEADER = b"\0asm\1\0\0\0"
"""The first bytes of every module: a magic number and the version of the format."""

CUSTOM, IMPORTS, EXPORTS = 0, 2, 7
"""Numbers of sections."""

SECTION_ORDER = (1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11)
"""The order of the sections in a module, by their numbers."""

SYMBOL_TABLE, FUNCTION, DEFINED_ELSEWHERE, EXPLICIT_NAME = 8, 0, 0x10, 0x40
"""The table of symbols in the section for the linker; a kind of symbol and two of their flags."""

FINAL_RELOCATIONS = frozenset({0, 3, 4, 6, 7, 20})
"""Kinds of places that hold their final values already: numbers of functions, types, globals and tables, addresses."""


ADDRESSES = frozenset({3, 4})
"""Those of them that are addresses."""


class WasmModule(NamedTuple):
    """A module in WebAssembly, and the names of the functions that it imports from ``env``."""

    binary: bytes
    imports: tuple[str, ...]


def wasm_module(module: ir.Module, exports: Sequence[str]) -> WasmModule:
    """Compile a module of LLVM code to WebAssembly, with some of its functions exported by name."""
    return linked(_object_file(module), exports)


def _object_file(module: ir.Module) -> bytes:
    machine = _machine()
    module.triple, module.data_layout = TRIPLE, str(machine.target_data)
    mark_pure(module)
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    return machine.emit_object(optimised(parsed, machine, speed=WASM_PASSES))


@lru_cache
def _machine() -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # with instructions to copy memory: otherwise loops that copy become calls of `memcpy`
    return llvm.Target.from_triple(TRIPLE).create_target_machine(features="+bulk-memory", opt=WASM_SELECTION)


def linked(object_file: bytes, exports: Sequence[str]) -> WasmModule:
    """Return an object file as a module with exports."""
    numbers: dict[str, int] = {}
    imports: tuple[str, ...] = ()
    kept: dict[int, bytes] = {}
    for section, content in sections(object_file):
        if section != CUSTOM:
            kept[section] = content
            imports = _imported_functions(content) if section == IMPORTS else imports
            continue
        reader = Reader(content)
        name = reader.text()
        if name == "linking":
            numbers = _function_numbers(reader)
        elif name.startswith("reloc."):
            _require_final(reader)
    kept[EXPORTS] = _vector([_text(name) + bytes([FUNCTION]) + leb(numbers[name]) for name in exports])
    written = [bytes([k]) + leb(len(kept[k])) + kept[k] for k in SECTION_ORDER if k in kept]
    return WasmModule(HEADER + b"".join(written), imports)


def sections(binary: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the numbers and contents of the sections of a module."""
    if not binary.startswith(HEADER):
        raise ValueError("LLVM has not written a module of WebAssembly, version 1.")
    reader = Reader(binary, len(HEADER))
    while reader.place < len(binary):
        section, length = reader.byte(), reader.number()
        yield section, reader.bytes(length)


class Reader:
    """Reads numbers and texts of the binary format one after the other."""

    def __init__(self, content: bytes, place: int = 0):
        self.content, self.place = content, place

    def byte(self) -> int:
        self.place += 1
        return self.content[self.place - 1]

    def bytes(self, count: int) -> bytes:
        self.place += count
        return self.content[self.place - count : self.place]

    def number(self) -> int:
        """Read an unsigned integer in LEB128: seven bits in each byte, the lowest first."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def text(self) -> str:
        return self.bytes(self.number()).decode()

    @property
    def finished(self) -> bool:
        return self.place >= len(self.content)


def leb(value: int) -> bytes:
    """Return an unsigned integer in LEB128."""
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + leb(rest) if rest else bytes([low])


def _text(text: str) -> bytes:
    return leb(len(text.encode())) + text.encode()


def _vector(entries: Sequence[bytes]) -> bytes:
    return leb(len(entries)) + b"".join(entries)


def _imported_functions(content: bytes) -> tuple[str, ...]:
    """Return the names of the functions in a section of imports."""
    reader, names = Reader(content), list[str]()
    for _ in range(reader.number()):
        reader.text()
        name, kind = reader.text(), reader.byte()
        if kind == FUNCTION:
            names.append(name)
            reader.number()
        elif kind == 3:  # a global: its type and whether it is mutable
            reader.bytes(2)
        else:  # a memory, or a table, which has a type before its limits
            if kind == 1:
                reader.byte()
            bounded = reader.byte()
            reader.number()
            if bounded & 1:
                reader.number()
    return tuple(names)


def _function_numbers(reader: Reader) -> dict[str, int]:
    """Return the numbers of the functions that an object file defines, by name, from its section for the linker."""
    reader.number()  # the version
    found: dict[str, int] = {}
    while not reader.finished:
        kind, length = reader.byte(), reader.number()
        content = Reader(reader.bytes(length))
        for _ in range(content.number() if kind == SYMBOL_TABLE else 0):
            symbol, flags = content.byte(), content.number()
            if symbol == 1:  # data: a name and, if defined, its segment, offset and size
                content.text()
                _ = [content.number() for _ in range(0 if flags & DEFINED_ELSEWHERE else 3)]
                continue
            number = content.number()
            named = symbol != 3 and (not flags & DEFINED_ELSEWHERE or flags & EXPLICIT_NAME)  # 3 is a section
            name = content.text() if named else ""
            if symbol == FUNCTION and not flags & DEFINED_ELSEWHERE:
                found[name] = number
    return found


def _require_final(reader: Reader) -> None:
    """Raise an error unless all places that a linker would change hold their final values."""
    reader.number()  # of the section
    for _ in range(reader.number()):
        kind = reader.byte()
        if kind not in FINAL_RELOCATIONS:
            raise ValueError(f"a module for a page must need no linker; LLVM asks for a relocation of kind {kind}.")
        for _ in range(3 if kind in ADDRESSES else 2):  # place, symbol and, to an address, an offset
            reader.number()
