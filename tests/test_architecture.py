"""The house's floors, kept true by the import statements: each imports only what lies below it."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "minispore"

# A part imports only parts on lower floors. A name that is missing here fails the test: put it in.
FLOORS = {
    "_typing": 0,
    "_checks": 0,
    "_atomic": 0,
    "_left_out": 0,
    "log": 0,
    "_warn": 0,
    "_threads": 0,
    "_dtype": 1,
    "_array": 1,
    "_rules": 2,
    "_autograd": 2,
    "_functional": 3,
    "common": 4,
    "communication": 5,
    "context": 5,
    "ops": 5,
    "_metrics": 5,
    "nn": 6,
    "dataset": 6,
    "train": 7,
    "drawing": 7,
    "tensorpack": 8,
    "testing": 8,
    "_course": 9,
    "_cli": 10,
    "__main__": 11,
}
# The side buildings: they know tensors or arrays, and nothing of operations or networks.
NARROWER = {
    "dataset": {"_typing", "_checks", "_atomic", "_dtype", "common"},
    "_metrics": {"_checks", "_warn", "common"},
    "communication": {"_array", "_checks", "_left_out", "common"},
}
# Where code may run on a device, only `_array` may name an array library.
DEVICE_PARTS = {"_rules", "_autograd"}

# The loop, and what it knows of callbacks.
LOOP = {"minispore.train.model", "minispore.train._loop"}
PROTOCOL = "minispore.train._protocol"
CALLBACKS = "minispore.train.callback"


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def part_of(module: str) -> str:
    """The part of the house a module belongs to; the package's own `__init__` is ''."""
    return module.split(".")[1] if "." in module else ""


def imports(module: str) -> Iterator[tuple[str, int]]:
    """Each module that `module` names in an import statement, wherever it stands, with its line."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield (inner if inner in MODULES else base), node.lineno


def own_imports(module: str) -> Iterator[tuple[str, int]]:
    """Only the imports of minispore itself."""
    for name, line in imports(module):
        if name.split(".")[0] == "minispore":
            yield name, line


@pytest.mark.parametrize("module", MODULES)
def test_a_floor_imports_only_the_floors_below(module: str) -> None:
    part = part_of(module)
    if not part:
        return  # minispore/__init__.py gathers the public names of every floor
    for name, line in own_imports(module):
        other = part_of(name)
        if other == part:
            continue
        where = f"{MODULES[module].relative_to(ROOT)}:{line} imports {name}"
        assert other or part == "_cli", f"{where}, the roof, from inside the house"
        if other:
            assert FLOORS[other] < FLOORS[part], f"{where}, which is not below it"
            assert other in NARROWER.get(part, FLOORS), f"{where}, which is not for this part"


def test_there_are_no_cycles() -> None:
    graph = {
        module: {name for name, _ in own_imports(module) if name != module} for module in MODULES
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import one another in a circle: {' -> '.join(error.args[1])}")


def test_the_loop_and_the_callbacks_do_not_know_one_another() -> None:
    """They are siblings: what they share is the protocol that both import."""
    callbacks = {m for m in MODULES if m.startswith(CALLBACKS)}
    for module in LOOP | {m for m in MODULES if m.startswith(PROTOCOL)}:
        for name, line in own_imports(module):
            assert name not in callbacks, f"{module}:{line}: {name}"
    for module in callbacks:
        for name, line in own_imports(module):
            assert name not in LOOP | {"minispore.train"}, f"{module}:{line}: {name}"


@pytest.mark.parametrize("module", MODULES)
def test_only_the_array_layer_names_a_device_library(module: str) -> None:
    part = part_of(module)
    for name, line in imports(module):
        library = name.split(".")[0]
        assert library != "cupy" or part == "_array", f"{module}:{line} imports cupy"
        assert library != "numpy" or part not in DEVICE_PARTS, f"{module}:{line} imports numpy"


@pytest.mark.parametrize("module", MODULES)
def test_every_module_says_what_it_holds_and_hides_no_import(module: str) -> None:
    text = MODULES[module].read_text("utf-8")
    assert ast.get_docstring(ast.parse(text)), f"{module} has no docstring"
    assert "TYPE_CHECKING" not in text, f"{module}: an import for the type checker hides a cycle"


def test_what_test_files_share_can_be_imported_without_optional_packages() -> None:
    """A helper that is skipped fails its importers; only files named after PyTorch need it."""
    imported, skipped = set[str](), set[str]()
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                names = {(node.module or "").rpartition(".")[2], *(n.name for n in node.names)}
                assert "torch" in path.name or not any("torch" in name for name in names), path
                imported |= names
            elif isinstance(node, ast.Expr | ast.Assign) and "importorskip(" in ast.unparse(node):
                skipped.add(path.stem)
    assert skipped
    assert not skipped & imported


# Where `open` is not given `opener=regular`: what the system and the package itself provide, and
# new files in new folders.
OPENS = {
    "minispore._atomic",
    "minispore._course.checking",
    "minispore._course.child",
    "minispore.tensorpack.trackers",
    "minispore.testing._page",
}


def opens(call: ast.Call) -> bool:
    """Whether a call opens a file by its name, whatever kind of file that is."""
    called = call.func
    if isinstance(called, ast.Name):
        return called.id == "open" and "regular" not in {
            each.value.id for each in call.keywords if isinstance(each.value, ast.Name)
        }
    names = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "fromfile", "memmap"}
    return isinstance(called, ast.Attribute) and called.attr in names


def test_only_regular_files_are_opened() -> None:
    """By `_atomic.replacing`, or `open` with its `regular`; `os.open` only makes new files."""
    found = {
        module: [
            ast.unparse(node)
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Call) and opens(node)
        ]
        for module, path in MODULES.items()
    }
    others = {module: calls for module, calls in found.items() if calls and module not in OPENS}
    assert others == {
        "minispore._cli": ["os.open(os.devnull, os.O_WRONLY)"],
        "minispore.train.summary._files": ["os.open(self.path, flags, 438)"],
    }


def test_no_file_is_longer_than_400_lines() -> None:
    folders = ("minispore", "tests", "examples", "benchmarks")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    long = {p.name: n for p in files if (n := len(p.read_text("utf-8").splitlines())) > 400}
    assert not long
