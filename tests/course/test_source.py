"""Material for exercises: it is made of the source as it is, and what has drifted is an error."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minispore._course.source import Bug, lines_of, mutated, stub, text_of
from minispore._course.words import Wrong, expect, in_sentence

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
    """A module of this test's own: what is known of a module is known for good."""
    name = f"material_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(SOURCE, "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return name


def test_a_stub_has_what_it_uses_on_lines_that_are_not_too_long(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = stub(module, {"long": "Add them up."})
    assert max(map(len, text.splitlines())) <= 100
    monkeypatch.setitem(sys.modules, module, mutated(module))
    scope: dict[str, object] = {}
    exec(text, scope)
    assert [scope[name] for name in MANY] == list(range(9))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda _: text_of("minispore.nowhere"), "no source of the module 'minispore.nowhere'"),
        (lambda module: lines_of(module, "Kind.other"), "defines no 'Kind.other'"),
        (lambda module: stub(module, {"Kind": ""}), "'Kind' is a class"),
        (lambda module: stub(module, {"short": ""}), "body of 'short' stands on one line"),
        (lambda module: mutated(module, Bug("", "Kind", "1", "2\n\n")), "needs more lines"),
        (lambda module: mutated(module, Bug("", "Kind", "3", "2")), "'3' is there 0 times"),
    ],
)
def test_what_the_source_does_not_have_is_an_error(
    module: str, make: Callable[[str], object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        make(module)


def test_a_result_of_another_kind_is_told_as_it_is() -> None:
    with pytest.raises(Wrong, match="it gave 'one', but 1.0 was expected"):
        expect("it", "one", np.float64(1))


def test_a_case_that_cannot_be_shown_is_told_by_its_repr() -> None:
    assert in_sentence(lambda case: str(1 // case), 0) == "0"
