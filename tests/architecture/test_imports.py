"""The shape of the package, proven: imports go one way, files and functions fit on a few screens."""

from __future__ import annotations

import ast
import graphlib
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import fyke

SOURCE = Path(__file__).parents[2] / "src"
PACKAGE = SOURCE / "fyke"

# A module imports its own rank or lower ones.  What is at the top level of the package stands here by name.
RANKS = {
    "html": 0,
    "errors": 0,
    "limits": 1,
    "techniques": 1,
    "language": 2,
    "logical": 3,
    "reference": 4,
    "plan": 4,
    "engine": 5,
    "spark": 6,
    "call": 8,
    "api": 9,
    "diagnosis": 9,
    "pictures": 9,
    "": 10,  # fyke/__init__.py
    "command": 11,
    "testing": 11,
    "demo": 11,
    "__main__": 11,
}
APART = "datasets"  # imports nothing of the ranks; only commands and the demo may import it
JUDGE = "reference"  # judges plans and engines, so they have nothing to do with one another
KERNELS = "fyke.engine.kernels"
KERNEL_LIBRARIES = {"numpy", "numba", "llvmlite"}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "manager", "factory", "base", "common", "misc"}
LONGEST_FILE = 500
LONGEST_FUNCTION = 80

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules() -> dict[str, Path]:
    """Return the modules of the package by name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def imported(module: str) -> Iterator[tuple[str, ast.stmt]]:
    """Yield what a module imports, wherever it does so: modules of the package in full, others as written."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute"
            source = node.module or ""
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                yield (inner if inner in modules() else source), node


def own(module: str) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the imports from the package itself."""
    return ((name, node) for name, node in imported(module) if name.split(".")[0] == "fyke")


def top(module: str) -> str:
    """Return the part of the package a module is in: ``pattern`` for ``fyke.logical.check``."""
    return module.partition(".")[2].partition(".")[0]


def at(module: str, node: ast.AST) -> str:
    return f"{modules()[module].relative_to(SOURCE)}:{getattr(node, 'lineno', 1)}"


def functions(module: str) -> Iterator[Function]:
    return (node for node in ast.walk(tree(module)) if isinstance(node, Function))


def test_the_package_is_found() -> None:
    assert {"fyke", "fyke.errors", "fyke.language.ast", KERNELS} <= modules().keys()


def test_every_part_of_the_package_has_a_rank() -> None:
    assert {top(module) for module in modules()} - RANKS.keys() == {APART}


def test_imports_go_one_way() -> None:
    wrong = [
        f"{at(module, node)} ({top(module) or 'fyke'}) imports {name}"
        for module in modules()
        if top(module) != APART
        for name, node in own(module)
        if top(name) != APART and RANKS[top(name)] > RANKS[top(module)]
    ]
    assert not wrong, "\n".join(["", *wrong])


def test_the_datasets_stand_apart() -> None:
    wrong = [
        f"{at(module, node)} imports {name}"
        for module in modules()
        for name, node in own(module)
        if (top(module) == APART) != (top(name) == APART)
        and not (top(name) == APART and RANKS[top(module)] == RANKS["command"])
        and not (top(module) == APART and top(name) == "errors")
    ]
    assert not wrong, "\n".join(["", *wrong])


def test_the_reference_knows_the_normal_form_and_nothing_after_it() -> None:
    allowed = {"errors", "limits", "language", "logical", JUDGE}
    wrong = [
        f"{at(module, node)} imports {name}"
        for module in modules()
        for name, node in own(module)
        if (top(module) == JUDGE and top(name) not in allowed)
        or (top(name) == JUDGE and top(module) not in (JUDGE, ""))
    ]
    assert not wrong, "\n".join(["", *wrong])


def test_no_cycles() -> None:
    graph = {module: {name for name, _ in own(module)} - {module} for module in modules()}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the cycle


def test_no_imports_hidden_inside_functions() -> None:
    hidden = [
        f"{at(module, node)} in {function.name}"
        for module in modules()
        for function in functions(module)
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        or (isinstance(node, ast.Name) and node.id in ("__import__", "import_module"))
        or (isinstance(node, ast.Attribute) and node.attr == "import_module")
    ]
    assert not hidden, "\n".join(["", *hidden])


def test_only_the_spark_part_imports_pyspark() -> None:
    wrong = [
        f"{at(module, node)} imports {name}"
        for module in modules()
        if top(module) not in ("spark", "demo")  # the demo is a program that starts Spark, as a user's would
        for name, node in imported(module)
        if name.split(".")[0] in ("pyspark", "py4j")
    ]
    assert not wrong, "\n".join(["", *wrong])


def test_behind_planning_there_is_the_plan_only() -> None:
    """What analysis and push-down make is written into the flat Plan; engines and calls see nothing else."""
    parts = {"Analysed", "NormalForm", "Pushed", "push_down"}
    wrong = [
        f"{at(module, node)} imports {alias.name}"
        for module in modules()
        if top(module) not in ("logical", "plan", "reference")
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in parts
    ]
    assert not wrong, "\n".join(["", *wrong])


def test_kernels_know_arrays_only() -> None:
    allowed = KERNEL_LIBRARIES | set(sys.stdlib_module_names)
    wrong = [
        f"{at(module, node)} imports {name}"
        for module in modules()
        if module.startswith(KERNELS)
        for name, node in imported(module)
        if not name.startswith(KERNELS) and name.split(".")[0] not in allowed
    ]
    assert not wrong, "\n".join(["", *wrong])


ENGINE = "fyke.engine"
# The rooms of the engine, by rank; those of engines come last, and none imports another's.
ROOMS = {
    "kernels": 0,
    "conditions": 1,
    "input": 2,
    "candidates": 2,
    "output": 3,
    "measure": 3,
    "selection": 4,
    "automaton": 5,
    "lazy": 5,
    "tree": 5,
    "row_patterns": 5,
}
ENGINE_ROOMS = ("automaton", "lazy", "tree", "row_patterns")


def room(module: str) -> str:
    """Return the room of the engine that a module is in, "" for what stands in the hall."""
    inner = module.removeprefix(f"{ENGINE}.").split(".")
    return inner[0] if module.startswith(ENGINE) and inner[0] in ROOMS and len(inner) > 1 else ""


def test_rooms_of_engines_do_not_import_each_other() -> None:
    wrong = []
    for module in modules():
        for name, node in own(module):
            for rooms in (room, kernel_room):
                mine, theirs = rooms(module), rooms(name)
                if mine in ENGINE_ROOMS and theirs in ENGINE_ROOMS and mine != theirs:
                    wrong.append(f"{at(module, node)} ({mine}) imports {name}")
                if mine in ROOMS and theirs in ENGINE_ROOMS and mine not in ENGINE_ROOMS:
                    wrong.append(f"{at(module, node)} ({mine}) imports {name} of an engine")
    assert not wrong, "\n".join(["", *wrong])


def test_imports_between_rooms_go_one_way() -> None:
    wrong = [
        f"{at(module, node)} ({mine}) imports {name}"
        for module in modules()
        for name, node in own(module)
        for mine, theirs in ((room(module), room(name)), (kernel_room(module), kernel_room(name)))
        if mine and theirs and ROOMS[theirs] > ROOMS[mine]
    ]
    assert not wrong, "\n".join(["", *wrong])


def kernel_room(module: str) -> str:
    """Return the room of kernels that a module is in."""
    return room(ENGINE + module.removeprefix(KERNELS)) if module.startswith(f"{KERNELS}.") else ""


def test_only_the_list_of_engines_knows_them() -> None:
    """The door and what is around it import no engine: a new one touches ``engines.py`` alone."""
    wrong = [
        f"{at(module, node)} imports {name}"
        for module in modules()
        if module.startswith(ENGINE) and room(module) == "" and module != f"{ENGINE}.engines"
        for name, node in own(module)
        if room(name) in ENGINE_ROOMS
    ]
    assert not wrong, "\n".join(["", *wrong])


def test_every_room_is_known() -> None:
    folders = {path.name for path in (PACKAGE / "engine").iterdir() if (path / "__init__.py").exists()}
    assert folders == ROOMS.keys()
    kernels = {path.name for path in (PACKAGE / "engine" / "kernels").iterdir() if path.is_dir()}
    assert kernels - {"__pycache__"} <= ROOMS.keys()


def test_files_are_short() -> None:
    lengths = {
        module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in modules().items()
    }
    assert {module: length for module, length in lengths.items() if length > LONGEST_FILE} == {}


def test_functions_are_short() -> None:
    lengths = {
        f"{at(module, function)} {function.name}": _code_lines(function)
        for module in modules()
        for function in functions(module)
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST_FUNCTION} == {}


def _code_lines(function: Function) -> int:
    """Return the lines of a function, its docstring aside: that of a public one may be long."""
    length = (function.end_lineno or 0) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return length
    return length - ((function.body[0].end_lineno or 0) - function.body[0].lineno + 1)


def test_names_say_something() -> None:
    words = {module: set(module.rpartition(".")[2].split("_")) for module in modules()}
    assert [module for module, parts in words.items() if parts & FORBIDDEN_NAMES] == []


def test_errors_are_of_the_tree() -> None:
    """No bare ``raise Exception``: what Fyke raises on purpose is a FykeError, or Python's own protocol."""
    wrong = []
    for module in modules():
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.Raise):
                raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                if isinstance(raised, ast.Name) and raised.id in (
                    "Exception",
                    "BaseException",
                    "RuntimeError",
                ):
                    wrong.append(at(module, node))
    assert not wrong, "\n".join(["", *wrong])


def test_public_names_shadow_no_module() -> None:
    """``fyke.x`` and ``import fyke.x`` mean the same, whatever has been imported."""
    clashes = [
        name
        for name in fyke.__all__
        if f"fyke.{name}" in modules() and getattr(fyke, name) is not import_module(f"fyke.{name}")
    ]
    assert not clashes
    renamed = [
        name
        for name, thing in vars(fyke).items()
        if isinstance(thing, ModuleType)
        and thing.__name__.startswith("fyke.")
        and thing.__name__ != f"fyke.{name}"
        and f"fyke.{name}" in modules()
    ]
    assert not renamed


def test_what_is_public_is_documented() -> None:
    missing = []
    for module in modules():
        if ast.get_docstring(tree(module)) is None:
            missing.append(f"{at(module, tree(module))} module {module}")
        missing += [
            f"{at(module, node)} {node.name}" for node in _public(tree(module)) if not _documented(node)
        ]
    assert not missing, "\n".join(["", *missing])


def _public(node: ast.Module | ast.ClassDef) -> Iterator[Function | ast.ClassDef]:
    for child in node.body:
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and child.name[0] != "_":
            yield child
            if isinstance(child, ast.ClassDef) and not _reads_grammar(child):
                yield from _public(child)


def _reads_grammar(node: ast.ClassDef) -> bool:
    """Say whether the methods of a class are the grammar rules of their names, described there."""
    readers = ("Transformer_NonRecursive", "ExpressionReader", "ClauseReader")
    return any(isinstance(kind, ast.Name) and kind.id in readers for kind in node.bases)


def _documented(node: Function | ast.ClassDef) -> bool:
    """Say whether there is a docstring; an overload has none, its implementation has."""
    overload = any(isinstance(mark, ast.Name) and mark.id == "overload" for mark in node.decorator_list)
    return overload or ast.get_docstring(node) is not None
