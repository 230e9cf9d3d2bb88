"""The layers of minispore: each package imports only packages of lower layers."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "minispore"

# The layer of each package or module of minispore. It imports only from lower layers.
LAYERS = {
    "utils": 0,
    "log": 1,
    "engine": 1,
    "ops": 2,
    "common": 3,
    "numpy": 4,
    "context": 4,
    "communication": 4,
    "_metrics": 4,
    "dataset": 4,
    "nn": 5,
    "graph": 6,
    "drawing": 7,
    "train": 7,
    "amp": 8,
    "tensorpack": 8,
    "testing": 8,
    "_hypothesis": 9,
    "_course": 9,
    "_cli": 10,
    "__main__": 11,
}
# The one import for type checkers only: a method of `Tensor` is an operation, which returns one.
TENSOR = "from minispore.ops.tensors import Tensor"
# Leaf packages, which import only these packages and modules.
ALLOWED_IMPORTS = {
    "dataset": {"utils", "engine", "ops.tensors", "ops.seed", "common"},
    "_metrics": {"utils", "ops.tensors"},
    "communication": {"utils", "engine", "ops.tensors", "ops.parameter", "ops.seed", "common"},
}
# Only `engine.array` imports CuPy, and the packages that may run on a device do not import numpy.
ARRAYS = "minispore.engine.array"
DEVICE_PACKAGES = ("minispore.engine.rules", "minispore.engine.graph")

# The training loop and the callbacks do not import each other: both import the protocol.
LOOP = {"minispore.train.model", "minispore.train.loop"}
PROTOCOL = "minispore.train.protocol"
CALLBACKS = "minispore.train.callback"

# The packages that use only the public names of the others, as user code does.
CLIENTS = ("tensorpack", "testing", "_course")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text("utf-8"))


@cache
def nodes(module: str) -> list[ast.AST]:
    return list(ast.walk(tree(module)))


@pytest.fixture(scope="module", autouse=True)
def free_the_trees() -> Iterator[None]:
    """Leave few objects to the garbage collector, which other tests call."""
    yield
    tree.cache_clear()
    nodes.cache_clear()


def package_of(module: str) -> str:
    """Return the part of a module's name after "minispore."; "" for `minispore` itself."""
    return module.split(".")[1] if "." in module else ""


@cache
def imported_names(module: str) -> list[tuple[str, str, int]]:
    """Return each import of a module, at its top or in functions: the module, the name, the line.

    The name is "" where a module is imported, also by `import_module` with a literal argument.
    """
    return list(_imported_names(module))


def _imported_names(module: str) -> Iterator[tuple[str, str, int]]:
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    hidden = {id(node) for node in hidden_imports(module)}
    for node in nodes(module):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, "", node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                if inner in MODULES:
                    yield inner, "", node.lineno
                else:
                    yield base, alias.name, node.lineno
        elif isinstance(node, ast.Call) and called_name(node) == "import_module" and node.args:
            name = literal_start(node.args[0])
            if name:
                yield name, "", node.lineno


def hidden_imports(module: str) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports of minispore that only type checkers read."""
    for block in nodes(module):
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test):
            for node in ast.walk(block):
                if not isinstance(node, ast.Import | ast.ImportFrom):
                    continue
                if "minispore" in ast.unparse(node):
                    yield node


def called_name(call: ast.Call) -> str:
    """Return the last part of the name of a called function."""
    return ast.unparse(call.func).rpartition(".")[2]


def literal_start(argument: ast.expr) -> str:
    """Return a literal string, or the literal modules at the start of an f-string; else ""."""
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return argument.value
    if isinstance(argument, ast.JoinedStr) and argument.values:
        return literal_start(argument.values[0]).rpartition(".")[0]
    return ""


def imports(module: str) -> Iterator[tuple[str, int]]:
    """Each module that `module` imports, with the line."""
    for name, _, line in imported_names(module):
        yield name, line


def own_imports(module: str) -> Iterator[tuple[str, int]]:
    """The imports of minispore itself."""
    for name, line in imports(module):
        if name.split(".")[0] == "minispore":
            yield name, line


def test_layers_are_those_of_all_packages() -> None:
    assert LAYERS.keys() == {package_of(module) for module in MODULES} - {""}
    assert set(LAYERS.values()) == set(range(max(LAYERS.values()) + 1))
    assert ALLOWED_IMPORTS.keys() | set(CLIENTS) <= LAYERS.keys()


def test_design_page_lists_the_layers() -> None:
    page = (ROOT / "docs" / "design.md").read_text("utf-8")
    rows = re.findall(r"^(\d+) \| minispore\.(\w+) \|", page, flags=re.MULTILINE)
    modules = {"_hypothesis", "amp", "log", "context", "__main__"}
    assert {name: int(layer) for layer, name in rows} == {
        name: layer for name, layer in LAYERS.items() if name not in modules
    }


def test_import_module_with_a_literal_is_seen() -> None:
    """The start of an f-string counts as the package that it names."""
    calls = ("import_module('minispore.train')", "f(f'minispore.train.{name}')", "f(name)", "f(1)")
    arguments = [ast.parse(call, mode="eval").body for call in calls]
    modules = [literal_start(call.args[0]) for call in arguments if isinstance(call, ast.Call)]
    assert modules == ["minispore.train", "minispore.train", "", ""]


def layer_of(module: str) -> int:
    return LAYERS[package_of(module)]


def upward_imports(module: str) -> Iterator[str]:
    package = package_of(module)
    for name, line in own_imports(module):
        other = package_of(name)
        if other == package:
            continue
        where = f"{module}:{line} imports {name}"
        if not other:
            if package != "_cli":
                yield f"{where}, the package that exports all layers"
        elif layer_of(name) >= layer_of(module):
            yield f"{where}, which is not in a lower layer"
        elif not {other, name.removeprefix("minispore.")} & {*ALLOWED_IMPORTS.get(package, LAYERS)}:
            yield f"{where}, which the leaf package '{package}' must not import"


def test_packages_import_only_lower_layers() -> None:
    """Except minispore/__init__.py, which exports the public names of all layers."""
    assert not [line for module in MODULES if package_of(module) for line in upward_imports(module)]


def upward_names(module: str) -> Iterator[str]:
    """Each string in a module with the path of a package that is not below its own."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        id(first.value)
        for node in nodes(module)
        if isinstance(node, documented) and isinstance(first := node.body[0], ast.Expr)
    }
    package = package_of(module)
    for node in nodes(module):
        if not isinstance(node, ast.Constant) or id(node) in docstrings:
            continue
        for path, name in paths_in(node.value):
            if name != package and LAYERS.get(name, -1) >= layer_of(module):
                yield f"{module}:{node.lineno} names {path}"


def paths_in(value: object) -> Iterator[tuple[str, str]]:
    """Return the paths of packages in a string, as `minispore.nn` or `nn/`, with their names."""
    found = re.finditer(r"minispore\.(\w+)|(?<![\w./])(?:minispore/)?(\w+)/", str(value))
    return ((match[0], match[1] or match[2]) for match in found)


def test_packages_name_only_lower_layers_in_strings() -> None:
    """A name in a string is a dependency that no import shows."""
    assert not [line for module in MODULES if package_of(module) for line in upward_names(module)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("minispore.train.model", "train"),
        ("of minispore.train.", "train"),
        ("_cli/tutorial.py", "_cli"),
        ("minispore/nn/", "nn"),
    ],
)
def test_path_in_a_string_is_seen(text: str, name: str) -> None:
    assert [found for _, found in paths_in(text)] == [name]


def test_url_is_no_path_of_a_package() -> None:
    assert list(paths_in("https://host/train/nn")) == []


def private_imports(module: str) -> Iterator[str]:
    for name, attribute, line in imported_names(module):
        parts = [*name.split("."), attribute]
        if (
            parts[0] == "minispore"
            and package_of(name) != package_of(module)
            and any(part.startswith("_") and not part.endswith("__") for part in parts)
        ):
            yield f"{module}:{line} imports {'.'.join(parts)}"


def test_client_packages_import_only_public_names() -> None:
    """They show that user code can do the same."""
    clients = [module for module in MODULES if package_of(module) in CLIENTS]
    assert not [line for module in clients for line in private_imports(module)]
    assert [line for module in MODULES for line in private_imports(module)]


FOLDERS = [name for name, path in MODULES.items() if path.stem == "__init__"]


def folder_of(module: str) -> str:
    return module if module in FOLDERS else folder_of(module.rpartition(".")[0])


@pytest.mark.parametrize("folder", FOLDERS[1:])
def test_each_folder_says_which_packages_its_modules_import(folder: str) -> None:
    """Without its own package, and the packages in the folder."""
    imported = {
        package_of(name) or "minispore"
        for module in MODULES
        if folder_of(module) == folder
        for name, _ in own_imports(module)
    }
    text = " ".join((ast.get_docstring(tree(folder)) or "").split())
    sentence = re.search(r"Its modules import (no other package|[^.]*)\.", text)
    assert sentence is not None
    assert re.findall(r"`(\w+)`", sentence[1]) == sorted(imported - {package_of(folder)})


def test_modules_do_not_import_one_another_in_cycles() -> None:
    graph = {
        module: {name for name, _ in own_imports(module) if name != module} for module in MODULES
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import one another in a cycle: {' -> '.join(error.args[1])}")


def test_loop_and_callbacks_do_not_import_each_other() -> None:
    """Both import the protocol."""
    callbacks = {m for m in MODULES if m.startswith(CALLBACKS)}
    for module in LOOP | {m for m in MODULES if m.startswith(PROTOCOL)}:
        for name, line in own_imports(module):
            assert name not in callbacks, f"{module}:{line}: {name}"
    for module in callbacks:
        for name, line in own_imports(module):
            assert name not in LOOP | {"minispore.train"}, f"{module}:{line}: {name}"


def test_only_the_array_package_imports_device_libraries() -> None:
    for module in MODULES:
        for name, line in imports(module):
            library = name.split(".")[0]
            assert library != "cupy" or module.startswith(ARRAYS), f"{module}:{line} imports cupy"
            assert library != "numpy" or not module.startswith(DEVICE_PACKAGES), (
                f"{module}:{line} imports numpy"
            )


def test_modules_have_docstrings() -> None:
    assert [module for module in MODULES if not ast.get_docstring(tree(module))] == []


def test_no_import_is_hidden_from_the_interpreter() -> None:
    """An import for the type checker only would hide a cycle."""
    hidden = [
        f"{module}:{node.lineno}"
        for module in MODULES
        for node in hidden_imports(module)
        if ast.unparse(node) != TENSOR or package_of(module) != "ops"
    ]
    assert hidden == []


@pytest.mark.full
def test_test_helpers_need_no_optional_packages() -> None:
    """Importing a skipped helper fails; only files with "torch" in their names need PyTorch."""
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


# Modules that open files without `opener=open_regular_file`: files of the system or of minispore
# itself, and new files in new folders.
OPENERS = {
    "minispore.utils.atomic",
    "minispore._course.browser",
    "minispore._course.lessons.lesson_11_persist",
    "minispore._course.pages",
    "minispore._course.playground",
    "minispore._course.sandbox",
    "minispore._course.solutions.run_log_11",
    "minispore._course.worker",
    "minispore.tensorpack.trackers",
    "minispore.testing._page",
}


def opens_any_file(call: ast.Call) -> bool:
    """Return whether a call opens a file by its name without a check that it is a regular file."""
    called = call.func
    if isinstance(called, ast.Name):
        return called.id == "open" and "open_regular_file" not in {
            keyword.value.id for keyword in call.keywords if isinstance(keyword.value, ast.Name)
        }
    names = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "fromfile", "memmap"}
    return isinstance(called, ast.Attribute) and called.attr in names


def test_only_regular_files_are_opened() -> None:
    """With `atomic_write`, or `open_regular_file` as opener; `os.open` only creates new files."""
    calls_by_module = {
        module: [
            ast.unparse(node)
            for node in nodes(module)
            if isinstance(node, ast.Call) and opens_any_file(node)
        ]
        for module in MODULES
    }
    others = {
        module: calls
        for module, calls in calls_by_module.items()
        if calls and module not in OPENERS
    }
    assert others == {
        "minispore._cli.output": ["os.open(os.devnull, os.O_WRONLY)"],
        "minispore._course.playground_server": ["webbrowser.open(server.address)"],
        "minispore.train.summary.event_writer": ["os.open(self.path, flags, 438)"],
    }
