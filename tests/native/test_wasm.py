"""Modules of WebAssembly: made from object files without a linker, they compute what machine code computes."""

import base64
import json
import math
from pathlib import Path

import numpy as np
import pytest
from llvmlite import ir

from dalembert.figures.html_page import asset
from dalembert.live.wasm_system import SERVED
from dalembert.native.assembly import write_program
from dalembert.native.tape import ARITHMETIC, LIBRARY, Program, Tape
from dalembert.native.wasm import CUSTOM, HEADER, Reader, leb, linked, sections, wasm_module
from live.browser_numbers import node

CALLED = """
const {binary, states} = JSON.parse(require("fs").readFileSync(process.argv[2], "utf-8"));
const memory = new WebAssembly.Memory({initial: 2});
const compiled = new WebAssembly.Module(Buffer.from(binary, "base64"));
const env = {__linear_memory: memory, __stack_pointer: new WebAssembly.Global({value: "i32", mutable: true}, 65536)};
const {program} = new WebAssembly.Instance(compiled, {env: {...env, ...LIBRARY}}).exports;
const numbers = new Float64Array(memory.buffer, 65536);
console.log(JSON.stringify(states.map(([y, z]) => {
  numbers.set([y, z]);
  program(65536, y, 65536, 65536 + 64);
  return [...numbers.slice(8, 8 + OUTPUTS)].map(x => Number.isFinite(x) ? x : String(x));
})));
"""


def test_every_operation_of_a_tape_has_the_value_of_machine_code(tmp_path: Path) -> None:
    tape = Tape()
    y, z = tape.input("y", 0), tape.input("y", 1)
    names = [name for name in LIBRARY if name not in ("atan2", "pow")]
    outputs = [tape.record(name, y) for name in (*names, "sqrt", "fabs")]
    outputs += [tape.record(name, y, z) for name in ("atan2", "pow", "fadd", "fsub", "fmul", "fdiv")]
    smaller = tape.record("<", y, z)
    outputs += [tape.record("select", tape.record("not", smaller), y, z)]
    module = ir.Module()
    write_program(module, "program", Program(tape, outputs), hot=True)
    compiled = wasm_module(module, ["program"])
    assert set(compiled.imports) <= SERVED
    states = [(0.3, 0.7), (0.9, 0.2), (1.1, 2.5), (2.2, 1.1), (3.4, 0.5), (7.5, 3.0), (25.0, -1.5), (-0.4, 2.0)]
    given = {"binary": base64.b64encode(compiled.binary).decode(), "states": states}
    (tmp_path / "given.json").write_text(json.dumps(given), encoding="utf-8")
    script = asset("dalembert.live", "library.js") + CALLED.replace("OUTPUTS", str(len(outputs)))
    (tmp_path / "called.cjs").write_text(script, encoding="utf-8")
    found = np.array(node(str(tmp_path / "called.cjs"), str(tmp_path / "given.json")), float)
    expected = [[_python(tape, output.line, state) for output in outputs] for state in states]
    np.testing.assert_allclose(found, expected, rtol=2e-14, atol=2e-14)


def _python(tape: Tape, line: int, state: tuple[float, float]) -> float:
    name, arguments = tape.lines[line]
    if name == "input":
        return state[arguments[1]]
    values = [_python(tape, a.line, state) for a in arguments]
    try:
        return ARITHMETIC[name](*values)
    except (ValueError, OverflowError):
        return math.nan


def test_a_page_has_all_functions_that_are_promised(tmp_path: Path) -> None:
    script = asset("dalembert.live", "library.js") + "console.log(JSON.stringify(Object.keys(LIBRARY)));"
    (tmp_path / "names.cjs").write_text(script, encoding="utf-8")
    assert set(node(str(tmp_path / "names.cjs"))) == SERVED


@pytest.mark.parametrize(("number", "code"), [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\1"), (624485, b"\xe5\x8e\x26")])
def test_numbers_in_the_binary_format(number: int, code: bytes) -> None:
    assert leb(number) == code
    assert Reader(code + b"\xff").number() == number


def test_a_module_has_no_sections_for_a_linker() -> None:
    tape = Tape()
    module = ir.Module()
    write_program(module, "double", Program(tape, [tape.input("y", 0) * 2.0]), hot=True)
    binary = wasm_module(module, ["double"]).binary
    found = dict(sections(binary))
    assert CUSTOM not in found and found[7] == b"\1\6double\0\0"


def test_what_is_not_a_module_and_what_needs_a_linker_is_refused() -> None:
    with pytest.raises(ValueError, match="not written a module of WebAssembly, version 1"):
        linked(b"\x7fELF", [])
    content = b"\x0areloc.CODE" + b"\3\1" + b"\5\0\0"  # section 3, one relocation, of kind 5: an absolute address
    with pytest.raises(ValueError, match="must need no linker; LLVM asks for a relocation of kind 5"):
        linked(HEADER + bytes([CUSTOM]) + leb(len(content)) + content, [])
