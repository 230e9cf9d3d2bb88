"""`minispore check-script`: what a script for MindSpore uses that minispore does not have."""

import ast
import json
import re
import tokenize
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from minispore._cli.arguments import Arguments
from minispore._cli.errors import UserError, as_user_error
from minispore._cli.script_analysis import Analysis, Edit, Finding
from minispore.utils.atomic import atomic_write, open_regular_file

SUFFIX = "_minispore"
# Lines of a notebook that are commands for Jupyter or for a shell.
_MAGIC = re.compile(r"^(\s*)[%!].*")


class _Script(NamedTuple):
    """A script, or the code of a notebook as one text."""

    path: Path
    encoding: str
    text: str
    cells: list[tuple[int, int]]  # for each line of a notebook its cell and its line there
    analysis: Analysis

    def place(self, finding: Finding) -> str:
        """Return where a finding is, as editors know it."""
        if not self.cells:
            return f"{self.path}:{finding.line}:{finding.column}"
        cell, line = self.cells[finding.line - 1]
        return f"{self.path}:cell {cell}:{line}:{finding.column}"


def check_script(arguments: Arguments) -> bool:
    """Print what is found in the scripts and in the modules of their folders that they import.

    Returns:
        Whether nothing has to be changed.

    Raises:
        UserError: If a file cannot be read, or a copy cannot be written.
    """
    scripts: dict[Path, _Script] = {}
    waiting = deque((path, path.parent) for path in arguments.files)
    while waiting:
        path, root = waiting.popleft()
        if path not in scripts:
            scripts[path] = _read(path)
            waiting.extend((each, root) for each in _local_imports(scripts[path], root))
    changed = [each for each in scripts.values() if each.analysis.edits and arguments.fix]
    copies = {each.path: _write_copy(each) for each in changed}
    rows = [_row(script, each) for script in scripts.values() for each in script.analysis.findings]
    number = sum(row["kind"] != "differs" for row in rows)
    if arguments.json:
        names = {str(path): str(copy) for path, copy in copies.items()}
        print(json.dumps({"files": [*map(str, scripts)], "findings": rows, "copies": names}))
        return not number
    for script in scripts.values():
        for each in script.analysis.findings:
            print(f"{script.place(each)}: {each.kind} {each.name}: {each.message}")
    for path, copy in copies.items():
        print(f"{copy}: a copy of {path} with the replacements that are safe")
    if arguments.fix and not copies:
        print("no copy is written: there is nothing that can be replaced safely")
    files = f"{len(scripts)} file{'' if len(scripts) == 1 else 's'}"
    print(f"{files}: {number} to change, {len(rows) - number} to know")
    return not number


def _row(script: _Script, finding: Finding) -> dict[str, object]:
    """Return the finding for JSON."""
    row: dict[str, object] = {"file": str(script.path), "cell": None, **asdict(finding)}
    if script.cells:
        row["cell"], row["line"] = script.cells[finding.line - 1]
    return row


def _read(path: Path) -> _Script:
    try:
        data = _bytes(path)
        encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
        text = data.decode(encoding)
        cells = _code_cells(text) if path.suffix == ".ipynb" else {}
    except OSError as error:
        raise UserError(f"the file {path} cannot be read: {error.strerror or error}") from error
    except (ValueError, SyntaxError, LookupError, TypeError, RecursionError) as error:
        kind = "notebook" if path.suffix == ".ipynb" else "text"
        raise UserError(f"the file {path} is no {kind}: {error}") from error
    lines = [(cell, line) for cell, each in cells.items() for line in range(1, len(each) + 1)]
    whole = text
    if cells:
        text = "\n".join(line for each in cells.values() for line in _python(each))
    try:
        return _Script(path, encoding, whole, lines, Analysis(text))
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        number = error.lineno or 0 if isinstance(error, SyntaxError) else 0
        place = f", line {number}" if number else ""
        if number and lines:
            place = ", cell {}, line {}".format(*lines[min(number, len(lines)) - 1])
        reason = error.msg if isinstance(error, SyntaxError) else str(error) or "too deep"
        raise UserError(f"the file {path}{place}, is no Python 3: {reason}") from error


def _bytes(path: Path) -> bytes:
    with open(path, "rb", opener=open_regular_file) as file:
        return file.read()


def _code_cells(text: str) -> dict[int, list[str]]:
    """Return the lines of the cells with code, by their number in the notebook."""
    cells: dict[int, list[str]] = {}
    for number, cell in enumerate(json.loads(text)["cells"], 1):
        if cell["cell_type"] == "code":
            cells[number] = "".join(cell["source"]).split("\n")
    return cells


def _python(lines: list[str]) -> list[str]:
    """Return the lines of a cell with nothing in place of commands for Jupyter or a shell."""
    if re.match(r"%%(?!time|capture)", lines[0]):
        return [""] * len(lines)
    return [_MAGIC.sub(r"\1pass", line) for line in lines]


def _local_imports(script: _Script, root: Path) -> Iterator[Path]:
    """Yield the files of the modules of its folder that a script imports."""
    for node in script.analysis.imports:
        folder = root
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            if node.level:
                folder = script.path.parent.joinpath(*[".."] * (node.level - 1))
            names = [".".join(filter(None, [node.module, name])) for name in ["", *names]]
        for name in names:
            module = folder / name.replace(".", "/")
            files = [module.with_name(f"{module.name}.py"), module / "__init__.py"]
            yield from (file for file in files if name and file.is_file())


def _write_copy(script: _Script) -> Path:
    """Write the script after its edits, and return the name of the file."""
    copy, edits = script.path.with_stem(script.path.stem + SUFFIX), script.analysis.edits
    if script.cells:
        notebook, cells = json.loads(script.text), _code_cells(script.text)
        lines = iter(edited([line for each in cells.values() for line in each], edits))
        for number, own in cells.items():
            cell, source = notebook["cells"][number - 1], "\n".join(islice(lines, len(own)))
            is_list = isinstance(cell["source"], list)
            cell["source"] = source.splitlines(keepends=True) if is_list else source
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    else:
        parts = re.split(r"(\r\n|\r|\n)", script.text)
        parts[::2] = edited(parts[::2], edits)
        text = "".join(parts)
    data = text.encode(script.encoding)
    with as_user_error(OSError):
        if copy.exists() and _bytes(copy) != data:
            raise UserError(f"the copy would replace the file {copy}: move it, or delete it")
        with atomic_write(copy) as file:
            file.write(data)
    return copy


def edited(lines: list[str], edits: set[Edit]) -> list[str]:
    """Return the lines after the edits."""
    data = [line.encode() for line in lines]
    for line, start, end, text in sorted(edits, reverse=True):
        each = data[line - 1]
        data[line - 1] = each[:start] + text.encode() + each[end:]
    return [line.decode() for line in data]
