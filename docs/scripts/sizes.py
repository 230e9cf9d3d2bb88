"""Tables of the size of the package, measured when the site is built, and of its speed.

A fence `sizes` has lines `layer | package | contents`, and becomes a table with the files and
code lines of each package. A fence `files` has lines `file | contents`, and becomes a table with
the code lines of each file. A fence `step` becomes a table with the code lines of each file that
run in one training step. A fence `benchmarks` has lines `what | compared with`, and becomes a table
with these rows of benchmarks/README.md, without their targets. `python -m benchmarks.size` prints
the sizes of the packages and of the step.
"""

import re
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

FENCE = re.compile(r"^```(sizes|files|step|benchmarks)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
FILE = Path(__file__).parents[2] / "benchmarks" / "size.py"


def on_page_markdown(markdown: str, **_: object) -> str:
    """Expand the fences of a page.

    Raises:
        ValueError: A fence `sizes` does not name each package once.
        KeyError: A fence `benchmarks` names a row that was not measured.
    """

    def fill(match: re.Match[str]) -> str:
        if match[1] == "step":
            return of_step()
        tables = {"sizes": of_packages, "files": of_files, "benchmarks": of_benchmarks}
        return tables[match[1]](match[2])

    return FENCE.sub(fill, markdown)


def measure() -> ModuleType:
    """Return the module `benchmarks.size`, which is not installed."""
    spec = spec_from_file_location("size", FILE)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of_packages(listed: str) -> str:
    """Return the table of the packages."""
    package_sizes: Callable[[], dict[str, tuple[int, int]]] = measure().package_sizes
    sizes = package_sizes()
    rows = [tuple(cell.strip() for cell in line.split("|")) for line in listed.splitlines()]
    names = [name for _, name, _ in rows]
    if sorted(names) != sorted(sizes):
        raise ValueError(f"The packages are {sorted(sizes)}, but the page lists {names}.")
    lines = ["| layer | package | contents | files | code lines |", "|---|---|---|--:|--:|"]
    for layer, name, text in rows:
        files, code = sizes[name]
        lines.append(f"| {layer} | `{name}` | {text} | {files} | {code:,} |")
    files, code = (sum(column) for column in zip(*sizes.values(), strict=True))
    return "\n".join([*lines, f"| | total | | {files} | {code:,} |"])


def of_files(listed: str) -> str:
    """Return the table of some files."""
    module = measure()
    package: Path = module.PACKAGE
    code_lines: Callable[[str], set[int]] = module.code_lines
    lines = ["| file | contents | code lines |", "|---|---|--:|"]
    for line in listed.splitlines():
        file, text = (cell.strip() for cell in line.split("|"))
        code = len(code_lines((package / file).read_text("utf-8")))
        lines.append(f"| [`{file}`](../minispore/{file}) | {text} | {code} |")
    return "\n".join(lines)


def of_step() -> str:
    """Return the table of the files that run in one training step."""
    step_sizes: Callable[[], dict[str, int]] = measure().step_sizes
    sizes = step_sizes()
    rows = [f"| [`{file}`](../minispore/{file}) | {code} |" for file, code in sizes.items()]
    sentence = (
        f"One training step of a network with two layers runs {sum(sizes.values())} code lines in "
        f"{len(sizes)} files. Argument checks and conversions are included."
    )
    return "\n".join([sentence, "", "| file | code lines |", "|---|--:|", *rows])


def of_benchmarks(listed: str) -> str:
    """Return the table of some results."""
    lines = FILE.with_name("README.md").read_text("utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    results = {" | ".join(row[:2]): row[:4] for row in cells if len(row) == 6}
    rows = [results[name] for name in ("what | compared with", *listed.splitlines())]
    rows.insert(1, ["---"] * 4)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
