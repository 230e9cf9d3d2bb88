"""The source on the site: a page for each file, functions quoted on pages, and CONTRIBUTING.md.

A link to a file of the package or an example, such as `../minispore/nn/cell.py`, leads to its page.
A fence `examples` names a folder. It becomes a table of its files with the first lines of their
docstrings.

A fence `functions` names one definition in each line, as `file.py: Class.method`, or with the
folder in which exactly one file has it, as `folder: Class.method`; the files are those of the
package, `tests/…` or `benchmarks/…`. It is replaced by the source of these definitions without
their docstrings, each under a link to its file.
"""

import ast
import re
from pathlib import Path
from typing import Protocol

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "minispore"
EXAMPLES = re.compile(r"^```examples\n(.*?)\n```$", flags=re.MULTILINE)
FENCE = re.compile(r"^```functions\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?:\.\./)+((?:minispore|examples)/[\w/]+)\.py\)")
# Comments for the linter are not for the reader.
FOR_TOOLS = re.compile(r"  # (?:noqa|pyright|type: ignore).*$", flags=re.MULTILINE)


class Page(Protocol):
    """A page of mkdocs."""

    file: File


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file of the package and each example, and CONTRIBUTING.md."""
    for folder in (PACKAGE, ROOT / "examples"):
        for path in sorted(folder.rglob("*.py")):
            page = f"source/{path.relative_to(ROOT).with_suffix('.md').as_posix()}"
            hidden = InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, page, content=as_page(path), inclusion=hidden))
    content = contributing((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    files.append(File.generated(config, "contributing.md", content=content))
    return files


def contributing(text: str) -> str:
    """Return CONTRIBUTING.md with the links of a page in docs."""
    return text.replace("](docs/", "](").replace("](CHANGELOG.md)", "](changelog.md)")


def as_page(path: Path) -> str:
    """Return a page that shows a file, and that the site's search leaves out."""
    name = path.relative_to(PACKAGE.parent).as_posix()
    fence = "`" * 4
    code = path.read_text("utf-8").rstrip()
    head = f"---\nsearch:\n  exclude: true\ntitle: {name}\n---\n\n# {name}\n\n"
    return f'{head}{fence}python linenums="1"\n{code}\n{fence}\n'


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Expand the fences of a page, and direct its links to the pages of the files."""
    name = page.file.src_uri
    if name.startswith("source/"):
        return markdown

    def to_page(match: re.Match[str]) -> str:
        return f"]({get_relative_url(f'source/{match[1]}.md', name)})"

    return LINK.sub(to_page, EXAMPLES.sub(lambda match: as_table(match[1]), expand(markdown)))


def as_table(folder: str) -> str:
    """Return a table of the examples in a folder, with the first lines of their docstrings."""
    rows = ["| program | contents |", "|---|---|"]
    for path in sorted((ROOT / folder).glob("*.py")):
        first = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n")[0]
        rows.append(f"| [`{path.name}`](../{path.relative_to(ROOT).as_posix()}) | {first} |")
    return "\n".join(rows)


def expand(markdown: str) -> str:
    """Return the text of a page with its functions.

    Raises:
        ValueError: A file has no definition of that name.
    """

    def quote(match: re.Match[str]) -> str:
        return "\n\n".join(as_fence(file, name) for file, name in functions(match[0]))

    return FENCE.sub(quote, markdown)


def functions(markdown: str) -> list[tuple[str, str]]:
    """Return the file and the name of each definition that a page quotes, in order."""
    lines = [line for match in FENCE.finditer(markdown) for line in match[1].splitlines()]
    return [(file_of(place, name), name) for place, name in (line.split(": ") for line in lines)]


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
    link += f", line {node.lineno}: `{name}`"
    return f"{link}\n\n```python\n{code}\n```"


def find(
    tree: ast.Module | ast.ClassDef, name: str
) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None:
    """Return the definition of a function, class or method, or None."""
    head, _, inner = name.partition(".")
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    node = next((n for n in tree.body if isinstance(n, definitions) and n.name == head), None)
    return find(node, inner) if inner and isinstance(node, ast.ClassDef) else node
