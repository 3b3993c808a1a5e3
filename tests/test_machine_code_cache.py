"""Machine code that tests keep on disk: taken from there, and compiled again where a file is damaged."""

import ctypes

from llvmlite import ir

import machine_code_cache
from dalembert.native import assembly


def twice() -> assembly.MachineCode:
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(assembly.DOUBLE, [assembly.DOUBLE]), "twice")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(builder.fadd(function.args[0], function.args[0]))
    return assembly.MachineCode(module)


def test_machine_code_is_kept_and_replaced_where_it_is_damaged(tmp_path, monkeypatch):
    asked = []

    def compiled(text, selection):
        asked.append(selection)
        return with_files(text, selection)

    with_files = assembly.object_code
    monkeypatch.setattr(assembly, "object_code", machine_code_cache.kept(compiled, tmp_path))
    for damage in (None, b"", bytes(4), bytes(9)):
        for file in (path for path in tmp_path.glob("*/*") if damage is not None):
            file.write_bytes(damage)
        for _ in range(2):
            code = twice()
            assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.address("twice"))(1.5) == 3
    assert len(asked) == 4
    monkeypatch.setattr(assembly, "PASSES", assembly.PASSES + 1)
    twice()
    assert len(asked) == 5
