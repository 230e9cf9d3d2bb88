"""The tables of the differences from MindSpore, from docs/compatibility.toml.

A fence `differences` with the word `common` becomes a table of those that programs meet first, and
one with the word `all` a table of all of them, in which docs/assets/filter.js lets readers search.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FILE = Path(__file__).parents[1] / "compatibility.toml"
FENCE = re.compile(r"^```differences\n(common|all)\n```$", flags=re.MULTILINE)
# For pages in the folder docs.
SCRIPT = '<script defer src="assets/filter.js"></script>'


@dataclass(frozen=True)
class Difference:
    """What MindSpore or tensorpack does, what minispore does, and the test that shows it."""

    topic: str
    theirs: str
    ours: str
    test: str
    common: bool = False
    # The names and calls for which `minispore check-script` shows it.
    refused: list[str] = field(default_factory=list[str])
    differs: list[str] = field(default_factory=list[str])


def differences() -> list[Difference]:
    """Return the differences, by topic.

    Raises:
        TypeError: An entry of the file lacks a field, or has an unknown one.
    """
    return [Difference(**entry) for entry in tomllib.loads(FILE.read_text("utf-8"))["difference"]]


def on_page_markdown(markdown: str, **_: object) -> str:
    """Expand the fences of a page."""
    return FENCE.sub(lambda match: common() if match[1] == "common" else everything(), markdown)


def common() -> str:
    """Return the table of the differences that programs meet first."""
    lines = ["| MindSpore | minispore, and the test |", "|---|---|"]
    lines += [row(difference) for difference in differences() if difference.common]
    return "\n".join(lines)


def everything() -> str:
    """Return the table of all differences, in which a reader can search."""
    lines = ["| topic | MindSpore | minispore, and the test |", "|---|---|---|"]
    lines += [f"| {difference.topic} {row(difference)}" for difference in differences()]
    return "\n".join(['<div class="filtered" markdown>\n', *lines, f"\n</div>\n\n{SCRIPT}"])


def row(difference: Difference) -> str:
    """Return the row of a difference."""
    return f"| {difference.theirs} | {difference.ours} <small>`{difference.test}`</small> |"


def tests() -> Iterator[tuple[str, str]]:
    """Yield the file and the name of each test; the name is empty if it is the whole file."""
    for difference in differences():
        file, _, name = difference.test.partition("::")
        yield file, name
