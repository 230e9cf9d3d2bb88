"""Measure, print the table of results, and write it to README.md in this folder."""

import argparse
import sys
from importlib import import_module
from pathlib import Path

from benchmarks._machine import description, prepare
from benchmarks._timing import Row, table, write_table

TOPICS = (
    "tutorial",
    "epoch",
    "graph_mode",
    "summaries",
    "operation",
    "operations",
    "graph",
    "data",
    "imports",
    "memory",
    "checkpoints",
)
PAGE = Path(__file__).parent / "README.md"


def main() -> None:
    """Run the given topics; all topics by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("topics", nargs="*", choices=[*TOPICS, []], help="all by default")
    parser.add_argument("--write", action="store_true", help=f"write the rows to {PAGE.name}")
    options = parser.parse_args()
    prepare()
    rows: list[Row] = []
    for topic in options.topics or TOPICS:
        print(f"measuring: {topic}", file=sys.stderr)
        rows += import_module(f"benchmarks.{topic}").rows()
    text = f"{table(rows)}\n\n{description()}\n"
    print(text)
    if options.write:
        # The rows of other topics stay.
        write_table(PAGE, "table", text, keeps=bool(options.topics))


if __name__ == "__main__":
    main()
