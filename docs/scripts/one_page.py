"""Write the source of functions into `docs/one-page.md`: `python docs/scripts/one_page.py`.

A comment `<!-- function: file.py: Class.method -->` names one definition; in place of the file it
may name a folder in which exactly one file has it. The program writes the source of the definition
below the comment, without its docstring and under a link to its file, or replaces what it has
written there before.

Files are those of the package, `tests/…` or `benchmarks/…`.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "minispore"
PAGE = ROOT / "docs" / "one-page.md"
COMMENT = re.compile(
    r"^(<!-- function: (\S+): (\S+) -->)\n(?:\n\[[^\n]*\n\n```python\n.*?^```\n)?",
    flags=re.MULTILINE | re.DOTALL,
)
# Comments for the linter are not for the reader.
FOR_TOOLS = re.compile(r"  # (?:noqa|pyright|type: ignore).*$", flags=re.MULTILINE)


def written(markdown: str) -> str:
    """Return the text of a page with the current source below each comment.

    Raises:
        ValueError: No file has a definition that a comment names, or several have.
    """

    def write(match: re.Match[str]) -> str:
        comment, place, name = match.groups()
        return f"{comment}\n\n{as_fence(file_of(place, name), name)}\n"

    return COMMENT.sub(write, markdown)


def functions(markdown: str) -> list[tuple[str, str]]:
    """Return the file and the name of each definition that the comments name, in order."""
    return [(file_of(place, name), name) for _, place, name in COMMENT.findall(markdown)]


def file_of(place: str, name: str) -> str:
    """Return the file in `place`, a file or a folder, that has a definition.

    Raises:
        ValueError: No file has it, or several have.
    """
    folder = folder_of(place)
    path = folder / place
    files = [path] if path.suffix else sorted(path.rglob("*.py"))
    found = [file for file in files if find(ast.parse(file.read_text("utf-8")), name) is not None]
    if len(found) != 1:
        where = path.relative_to(ROOT).as_posix()
        raise ValueError(f"{len(found)} files in {where} have a definition {name!r}.")
    return found[0].relative_to(folder).as_posix()


def folder_of(place: str) -> Path:
    """Return the folder to which a place belongs."""
    return ROOT if place.startswith(("tests/", "benchmarks/")) else PACKAGE


def as_fence(file: str, name: str) -> str:
    """Return the source of a definition, without its docstring, under a link to its file."""
    text = (folder_of(file) / file).read_text("utf-8")
    node = find(ast.parse(text), name)
    assert node is not None
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    lines = text.splitlines()
    quoted = lines[first - 1 : node.end_lineno]
    if ast.get_docstring(node) is not None and len(node.body) > 1:
        docstring = node.body[0]
        del quoted[docstring.lineno - first : (docstring.end_lineno or 0) - first + 1]
    indent = len(quoted[0]) - len(quoted[0].lstrip())
    code = FOR_TOOLS.sub("", "\n".join(line[indent:] for line in quoted))
    link = f"`{file}`" if folder_of(file) == ROOT else f"[`{file}`](../minispore/{file})"
    return f"{link}: `{name}`\n\n```python\n{code}\n```"


def find(
    tree: ast.Module | ast.ClassDef, name: str
) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None:
    """Return the definition of a function, class or method, or None."""
    head, _, inner = name.partition(".")
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    # The last one: those before are overloads.
    body = reversed(tree.body)
    node = next((n for n in body if isinstance(n, definitions) and n.name == head), None)
    return find(node, inner) if inner and isinstance(node, ast.ClassDef) else node


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
