"""The rows of docs/compatibility.toml that name what they are about.

A row has the names or calls for which it is shown: `refused`, those that raise an error here, and
`differs`, those that do something else. An argument `...` stands for any that is given, and a class
also for its subclasses.
"""

import ast
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from pkgutil import get_data, resolve_name
from typing import Any, Literal, NamedTuple

from minispore.utils.atomic import open_regular_file

ANY = object()


class Pattern(NamedTuple):
    """A name, or a call of it: the object, and what arguments must be."""

    target: object
    arguments: Mapping[str, object] | None


class Row(NamedTuple):
    """A difference from MindSpore, and a name or call that it is about."""

    kind: Literal["refused", "differs"]
    topic: str
    text: str
    pattern: Pattern


def differences() -> list[dict[str, Any]]:
    """Return the rows as they are in the file; none if this installation has no such file."""
    rows: list[dict[str, Any]] = tomllib.loads(_text()).get("difference", [])
    return rows


@cache
def rows() -> tuple[Row, ...]:
    """Return the rows with names or calls, one for each of these."""
    kinds: tuple[Literal["refused", "differs"], ...] = ("refused", "differs")
    return tuple(
        Row(kind, row["topic"], f"MindSpore: {row['theirs']} Here: {row['ours']}", pattern)
        for row in differences()
        for kind in kinds
        for pattern in map(parse_pattern, row.get(kind, []))
    )


def parse_pattern(text: str) -> Pattern:
    """Return the pattern of a name below minispore, or of its call with keywords.

    >>> parse_pattern("train.EarlyStopping(patience=0)").arguments
    {'patience': 0}
    """
    return _pattern(ast.parse(text, mode="eval").body)


def _pattern(node: ast.expr) -> Pattern:
    called = node.func if isinstance(node, ast.Call) else node
    target = resolve_name(f"minispore.{ast.unparse(called)}")
    if not isinstance(node, ast.Call):
        return Pattern(target, None)
    return Pattern(target, {str(each.arg): _argument(each.value) for each in node.keywords})


def _argument(node: ast.expr) -> object:
    if isinstance(node, ast.Call):
        return _pattern(node)
    value = ast.literal_eval(node)
    return ANY if value is ... else value


def _text() -> str:
    """Return the text of the file, which a wheel has in this package; "" if there is none."""
    try:
        return (get_data("minispore._cli", "compatibility.toml") or b"").decode()
    except OSError:
        file = Path(__file__).parents[2] / "docs" / "compatibility.toml"
    if not file.is_file():
        return ""
    with open(file, encoding="utf-8", opener=open_regular_file) as stream:
        return stream.read()
