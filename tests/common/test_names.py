"""Names in the source: a constant or a class of one name has one meaning, and small numbers have names."""

import ast
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import dalembert as da

PACKAGE = Path(da.__file__).parent
SMALL = 1e-3
"""Numbers below this are tolerances, steps of differences and the like, whose value needs a reason."""


@cache
def modules():
    """The syntax tree of every module, by its path."""
    return {
        str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
        if "gallery" not in path.parts
    }


def targets(statement):
    """The names that a statement of a module assigns to."""
    found = getattr(statement, "targets", [getattr(statement, "target", None)])
    for target in found:
        yield from (node.id for node in ast.walk(target or ast.Pass()) if isinstance(node, ast.Name))


def defined(kind):
    """Names of classes, or of constants, with the modules that define them."""
    found = defaultdict(set)
    for module, tree in modules().items():
        for statement in tree.body:
            if kind == "class" and isinstance(statement, ast.ClassDef):
                found[statement.name].add(module)
            elif kind == "constant" and isinstance(statement, (ast.Assign, ast.AnnAssign)):
                for name in targets(statement):
                    if name.isupper() and len(name) > 1:
                        found[name].add(module)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def test_a_constant_is_defined_once():
    assert defined("constant") == {}


def test_no_two_files_have_one_name():
    names = Counter(path.name for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_a_class_is_defined_once():
    assert defined("class") == {}


def numbers_in(node, skipped=(ast.Assign, ast.AnnAssign)):
    """Small numbers in the code of functions; defaults of arguments are documented where they are."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.arguments):
            continue
        if isinstance(child, ast.Constant) and isinstance(child.value, float) and 0 < abs(child.value) < SMALL:
            yield child.lineno, child.value
        if not (isinstance(node, (ast.Module, ast.ClassDef)) and isinstance(child, skipped)):
            yield from numbers_in(child)


def test_small_numbers_have_names():
    found = {module: [*numbers_in(tree)] for module, tree in modules().items()}
    assert {module: numbers for module, numbers in found.items() if numbers} == {}
