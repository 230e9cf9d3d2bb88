"""`import minispore` loads numpy, and no modules that only some programs need."""

import ast
import builtins
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import minispore
from tests.helpers.processes import run_python

# Modules that are imported where they are used, since few programs use them.
LATER = {
    "argparse", "asyncio", "cupy", "email", "gzip", "http", "hypothesis", "inspect", "json",
    "matplotlib", "pooch", "requests", "safetensors", "scipy", "socket", "tempfile", "torch",
    "tqdm", "typing_extensions", "unittest", "urllib.request",
}  # fmt: skip


@cache
def modules_after(statement: str) -> set[str]:
    """Return the modules that a new interpreter has loaded after one statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    run = run_python("-c", code)
    return set(run.stdout.split())


@pytest.mark.parametrize("name", ["minispore", "minispore.testing"])
def test_import_loads_only_necessary_modules(name: str) -> None:
    """And no package of third parties but numpy, whose submodules load Cython's run time."""
    new = modules_after(f"import {name}") - modules_after("import numpy")
    if name == "minispore":
        assert not {name for name in new if {name, name.partition(".")[0]} & LATER}
    tops = {name.partition(".")[0] for name in new} - set(sys.stdlib_module_names)
    assert {top for top in tops if "cython" not in top} <= {"minispore", "numpy"}


def test_import_loads_no_subpackage_with_names() -> None:
    found = {name for name in modules_after("import minispore") if name.startswith("minispore.")}
    assert found == {"minispore.utils", "minispore.utils.facade"}


def test_training_in_pynative_mode_loads_no_module_of_graph_mode() -> None:
    statement = "from minispore import jit, nn, train; jit(nn.TrainOneStepCell)"
    later = {f"graph.{name}" for name in ("cache", "capture", "guards", "plan", "program", "tape")}
    assert not {f"minispore.{name}" for name in later} & modules_after(statement)


def test_lazy_names_equal_those_of_the_stub() -> None:
    stub = ast.parse(Path(minispore.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    # A star import hides no name of Python's.
    assert set(imported) - set(dir(builtins)) == set(minispore.__all__)
    for name, source in imported.items():
        home, _, attribute = source.rpartition(".")
        given = getattr(minispore, name)
        if isinstance(given, ModuleType):
            assert given.__name__ == source
        else:
            assert given is getattr(import_module(home), attribute)


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Tenser'"):
        minispore.Tenser  # type: ignore[attr-defined]  # noqa: B018
