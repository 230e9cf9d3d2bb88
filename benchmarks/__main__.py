"""Measure everything, print the table, and write it where the documentation shows it."""

import argparse
import os
import platform
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from benchmarks._timing import Row, table

TOPICS = (
    "tutorial",
    "epoch",
    "lenet",
    "summaries",
    "operation",
    "graph",
    "data",
    "imports",
    "memory",
    "checkpoints",
)
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
# The table stands between these in the page.
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"


def main() -> None:
    """Run the topics that are named, all if none is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("topics", nargs="*", choices=[*TOPICS, []], help="all if none is named")
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    options = parser.parse_args()
    rows: list[Row] = []
    for topic in options.topics or TOPICS:
        print(f"measuring: {topic}", file=sys.stderr)
        rows += import_module(f"benchmarks.{topic}").rows()
    text = f"{table(rows)}\n\n{_machine()}\n"
    print(text)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def _machine() -> str:
    return (
        f"Python {platform.python_version()}, numpy {version('numpy')}, "
        f"{os.cpu_count()} cores, {platform.machine()}."
    )


if __name__ == "__main__":
    main()
