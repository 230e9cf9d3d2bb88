"""Stubs and mutants of the shipped source; names and texts that do not exist are errors."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from minispore._course.source import Bug, lines_of, load_mutant, stub, text_of
from minispore.engine import graph

MANY = [f"a_rather_long_name_{i}" for i in range(9)]
SOURCE = f'''"""A module."""

{"; ".join(f"{name} = {i}" for i, name in enumerate(MANY))}

def short(): return 1


def long():
    return {" + ".join(MANY)}


class Kind:
    def method(self):
        return 1
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a new module, since the source of a module is cached."""
    name = f"material_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(SOURCE, "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return name


def test_stub_imports_used_names_within_line_limit(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = stub(module, {"long": "Add them up."})
    assert max(map(len, text.splitlines())) <= 100
    monkeypatch.setitem(sys.modules, module, load_mutant(module))
    scope: dict[str, object] = {}
    exec(text, scope)
    assert [scope[name] for name in MANY] == list(range(9))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: text_of("minispore.nowhere"), "no source of the module 'minispore.nowhere'"),
        (lambda module: lines_of(module, "Kind.other"), "defines no 'Kind.other'"),
        (lambda module: stub(module, {"Kind": ""}), "'Kind' is a class"),
        (lambda module: stub(module, {"short": ""}), "body of 'short' is on the same line"),
        (lambda module: load_mutant(module, Bug("", "Kind", "1", "2\n\n")), "needs more lines"),
        (lambda module: load_mutant(module, Bug("", "Kind", "3", "2")), "'3' occurs 0 times"),
    ],
)
def test_missing_definition_or_text_raises_value_error(
    module: str, make: Callable[[str], object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(module)


def test_mutant_does_not_change_the_module() -> None:
    copy = load_mutant(
        "minispore.engine.graph", Bug("", "backward_pass", "heapify(heap)", "heap.sort()")
    )
    assert copy.backward_pass is not graph.backward_pass
    with pytest.raises(ValueError, match="0 times"):
        load_mutant("minispore.engine.graph", Bug("", "backward_pass", "quicksort", ""))
