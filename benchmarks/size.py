"""The size of minispore: code lines of each package and their share of logic, and of one step.

A code line is a line of a `.py` file that is not blank and belongs neither to a comment nor to a
docstring. The *core* is what the smallest training imports, in `benchmarks.smallest_training`.
`python -m benchmarks.size` prints the tables; equal sources give equal tables.
"""

import ast
import gc
import io
import json
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import NamedTuple, TypeAlias

import numpy as np

import minispore
from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import Callback, Model, RunContext

PACKAGE = Path(minispore.__file__).parent
SATELLITES = ("_course", "drawing", "tensorpack", "testing")
KINDS = ("imports", "signatures", "checks", "tables", "logic")
_NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
_Tracer: TypeAlias = Callable[[FrameType, str, object], "_Tracer | None"]
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(source: str) -> set[int]:
    r"""Return the numbers of the code lines of a Python source.

    Examples:
        >>> sorted(code_lines('"A docstring."\n# A comment.\nx = [\n\n    1,\n]\n'))
        [3, 5, 6]
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            lines.difference_update(_lines_of(node.body[0]))
    return lines


def line_kinds(source: str) -> Counter[str]:
    r"""Return the number of code lines of a Python source by their purpose, one of `KINDS`.

    Signatures include decorators, overloads, protocols and headers of classes; a check is a call of
    a function `check_...`, or a condition that only raises; tables are what is assigned outside of
    functions. All other lines are logic.

    Examples:
        >>> source = "import os\ndef f(x):\n    if x < 0:\n        raise ValueError\n    return x\n"
        >>> sorted(line_kinds(source).items())
        [('checks', 2), ('imports', 1), ('logic', 1), ('signatures', 1)]
    """
    kinds = dict.fromkeys(code_lines(source), "logic")

    def mark(kind: str, first: int, last: int | None) -> None:
        kinds.update((line, kind) for line in range(first, (last or first) + 1) if line in kinds)

    def visit(node: ast.AST, *, in_function: bool) -> None:
        for child in ast.iter_child_nodes(node):
            inside = in_function
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                decorators = [ast.unparse(decorator) for decorator in child.decorator_list]
                bases = child.bases if isinstance(child, ast.ClassDef) else []
                whole = "overload" in decorators or "Protocol" in map(ast.unparse, bases)
                first = min([child.lineno, *(expr.lineno for expr in child.decorator_list)])
                mark("signatures", first, child.end_lineno if whole else child.body[0].lineno - 1)
                if whole:
                    continue
                inside = in_function or isinstance(child, ast.FunctionDef)
            elif isinstance(child, ast.Import | ast.ImportFrom):
                mark("imports", child.lineno, child.end_lineno)
            elif isinstance(child, ast.stmt) and _is_check(child):
                mark("checks", child.lineno, child.end_lineno)
                continue
            elif isinstance(child, ast.Assign | ast.AnnAssign) and not in_function:
                mark("tables", child.lineno, child.end_lineno)
            visit(child, in_function=inside)

    visit(ast.parse(source), in_function=False)
    return Counter(kinds.values())


def _is_check(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        only_raises = all(isinstance(inner, ast.Raise) for inner in statement.body)
        return only_raises and not statement.orelse
    value = getattr(statement, "value", None)
    called = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
    return called.rpartition(".")[2].lstrip("_").startswith("check_")


def package_sizes() -> dict[str, tuple[int, int]]:
    """Return the number of files and of code lines by package; `minispore` holds single modules."""
    files, lines = Counter[str](), Counter[str]()
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).parts
        name = f"minispore.{parts[0]}" if len(parts) > 1 else "minispore"
        files[name] += 1
        lines[name] += len(code_lines(path.read_text("utf-8")))
    return {name: (files[name], lines[name]) for name in sorted(files)}


class SmallestTraining(NamedTuple):
    """What the smallest training needs.

    Attributes:
        files: The files that it imports, relative to the package's folder.
        calls: The number of calls of the package's functions from `Model.train` to the first step.
    """

    files: list[str]
    calls: int

    @property
    def lines(self) -> int:
        """The code lines of the files."""
        return sum(len(_code_of(PACKAGE / file)) for file in self.files)


@cache
def smallest_training() -> SmallestTraining:
    """Run the smallest training in a new process, and return what it needs."""
    command = [sys.executable, "-m", "benchmarks.smallest_training"]
    output = subprocess.run(
        command, cwd=PACKAGE.parent, capture_output=True, encoding="utf-8", check=True
    ).stdout
    return SmallestTraining(**json.loads(output.splitlines()[-1]))


def inner_imports() -> list[str]:
    """Return the imports of the package in its functions, other than those of the satellites."""
    paths = [path for path in PACKAGE.rglob("*.py") if not _is_satellite(path)]
    return sorted(
        {
            f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno} {ast.unparse(node)}"
            for path in paths
            for function in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(function, ast.FunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom) and "minispore" in ast.unparse(node)
        }
    )


def _is_satellite(path: Path) -> bool:
    return path.relative_to(PACKAGE).parts[0] in SATELLITES


def step_sizes() -> dict[str, int]:
    """Return how many code lines of each file run in the second step of a training.

    The step lasts until the third begins, so fetching the next batch is a part of it. A statement
    of several lines counts with all of them; compound statements count with their header. The files
    are in the order of their first execution, relative to the package's folder.
    """
    return {
        str(path.relative_to(PACKAGE)): len(_code_of(path) & lines)
        for path, lines in _trace_step().items()
    }


class _StepSwitch(Callback):
    """Calls `start` before the second step, and `stop` before the third."""

    def __init__(self, start: Callable[[], None], stop: Callable[[], None]) -> None:
        self._calls = {2: start, 3: stop}

    def on_train_step_begin(self, run_context: RunContext) -> None:
        call = self._calls.get(run_context.original_args().cur_step_num)
        if call is not None:
            call()


def _trace_step() -> dict[Path, set[int]]:
    """Return the lines of the statements that run in the second step, by file."""
    lines: dict[Path, set[int]] = {}
    active = False

    def switch(to: bool) -> Callable[[], None]:
        def call() -> None:
            nonlocal active
            active = to

        return call

    def trace(frame: FrameType, event: str, argument: object) -> "_Tracer | None":
        path = Path(frame.f_code.co_filename)
        if PACKAGE not in path.parents:
            return None
        if active and event == "line":
            statements = _statements(path)
            lines.setdefault(path, set()).update(statements.get(frame.f_lineno, ()))
        return trace

    minispore.set_seed(0)
    rows = np.linspace(-1, 1, 64, dtype=np.float32).reshape(16, 4)
    data = NumpySlicesDataset({"x": rows, "y": (np.arange(16) % 2).astype(np.int32)}).batch(4)
    net = nn.SequentialCell(nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 2))
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    model = Model(net, nn.CrossEntropyLoss(), optimizer)
    previous = sys.gettrace()
    gc.collect()
    gc.disable()  # a collection could run finalizers in any step
    sys.settrace(trace)
    try:
        model.train(1, data, callbacks=_StepSwitch(switch(True), switch(False)))
    finally:
        sys.settrace(previous)
        gc.enable()
    return lines


@cache
def _code_of(path: Path) -> set[int]:
    return code_lines(path.read_text("utf-8"))


@cache
def _statements(path: Path) -> dict[int, range]:
    """Return, for each line of a file, the lines of the innermost statement that it belongs to."""
    spans: dict[int, range] = {}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):  # outer statements come first
        if isinstance(node, ast.stmt):
            span = _lines_of(node)
            spans.update(dict.fromkeys(span, span))
    return spans


def _lines_of(statement: ast.stmt) -> range:
    """Return the lines of a statement; of a compound one, of its header."""
    body: list[ast.AST] = getattr(statement, "body", []) or getattr(statement, "cases", [])
    inner = next((node for node in body if isinstance(node, ast.stmt | ast.match_case)), None)
    end = statement.end_lineno or statement.lineno
    if inner is not None:
        first = inner.pattern.lineno if isinstance(inner, ast.match_case) else inner.lineno
        end = max(statement.lineno, first - 1)
    return range(statement.lineno, end + 1)


def table(header: tuple[str, ...], rows: list[tuple[str | int, ...]]) -> str:
    """Return a Markdown table with aligned columns; the first column is text, others numbers."""
    cells = [header, *[tuple([f"{cell}" for cell in row]) for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = [
        "| "
        + " | ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        + " |"
        for row in cells
    ]
    rule = "|".join(["-" * (widths[0] + 2), *["-" * (width + 1) + ":" for width in widths[1:]]])
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])


def shares() -> list[tuple[str | int, ...]]:
    """Return rows for the core and the rest: code lines, and the percentage of each kind."""
    core, rest, satellites = Counter[str](), Counter[str](), Counter[str]()
    files = {PACKAGE / file for file in smallest_training().files}
    for path in sorted(PACKAGE.rglob("*.py")):
        part = core if path in files else satellites if _is_satellite(path) else rest
        part.update(line_kinds(path.read_text("utf-8")))
    parts = {
        "core": core,
        "imported when it is used": rest,
        "both": core + rest,
        "course, tensorpack, testing, drawing": satellites,
    }
    return [
        (name, counts.total(), *(f"{counts[kind] / counts.total():.1%}" for kind in KINDS))
        for name, counts in parts.items()
    ]


def report() -> str:
    """Return the tables."""
    packages, step, smallest = package_sizes(), step_sizes(), smallest_training()
    sentence = (
        f"The smallest training imports {smallest.lines} code lines in {len(smallest.files)} "
        f"files, and makes {smallest.calls} calls before its first step; {len(inner_imports())} "
        "imports of the package are in functions."
    )
    files = sum(count for count, _ in packages.values())
    total = sum(lines for _, lines in packages.values())
    return "\n".join(
        [
            table(
                ("package", "files", "code lines"),
                [*((name, *sizes) for name, sizes in packages.items()), ("total", files, total)],
            ),
            "",
            sentence,
            "",
            table(("part", "code lines", *KINDS), shares()),
            "",
            f"One training step runs {sum(step.values())} code lines in {len(step)} files:",
            "",
            table(("file", "code lines"), list(step.items())),
        ]
    )


if __name__ == "__main__":
    print(report())
