"""The source on the site: a page for each file, and the tables of the map that lead to them.

A fence `files` on the map has a pattern in each line, and becomes a table: of each file that fits,
and that no line before has named, what its own first line says, and what of it is in the
reference. With a sentence after the pattern, all its files share one row.
"""

import ast
import re
from collections.abc import Collection
from importlib import import_module
from inspect import isfunction, unwrap
from pathlib import Path
from typing import Protocol

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel

PACKAGE = Path(__file__).parents[1] / "minispore"
MAP = "one-page.md"
FENCE = re.compile(r"^```files\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(\.\./minispore/([\w/]+)\.py\)")

# In the order in which a name's place in the reference is looked for.
IN_REFERENCE = (
    "train",
    "train.summary",
    "nn",
    "ops",
    "communication",
    "dataset",
    "dataset.transforms",
    "dataset.vision",
    "dataset.samplers",
    "dataset.config",
    "dataset.download",
    "drawing",
    "common.initializer",
    "tensorpack",
    "testing",
    "testing.strategies",
)
AT_THE_TOP = re.compile(r"^::: minispore\.(\w+)$", flags=re.MULTILINE)
SHOWN = 4


class Page(Protocol):
    """What is asked of a page."""

    file: File


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each file of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE)
        page = f"source/{name.with_suffix('.md').as_posix()}"
        files.append(
            File.generated(config, page, content=as_page(path), inclusion=InclusionLevel.NOT_IN_NAV)
        )
    return files


def as_page(path: Path) -> str:
    """A page that shows a file, and that the site's search leaves alone."""
    name = path.relative_to(PACKAGE.parent).as_posix()
    fence = "`" * 4
    code = path.read_text("utf-8").rstrip()
    head = f"---\nsearch:\n  exclude: true\ntitle: {name}\n---\n\n# {name}\n\n"
    return f'{head}{fence}python linenums="1"\n{code}\n{fence}\n'


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Fill in the map, and lead its links to the pages of the files."""
    if page.file.src_uri != MAP:
        return markdown
    return LINK.sub(r"](source/\1.md)", filled(markdown))


def filled(markdown: str) -> str:
    """The map with its tables; a link leads to a file as it lies in the repository.

    Raises:
        ValueError: No file is left that fits a pattern.
    """
    left = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
    anchors = references()

    def table(match: re.Match[str]) -> str:
        rows = ["| file | its one idea, and its names in the reference |", "|---|---|"]
        for line in match[1].splitlines():
            pattern, _, sentence = line.partition(": ")
            found = [path for path in left if fits(path, pattern)]
            if not found:
                raise ValueError(f"No file is left for {pattern!r}.")
            for path in found:
                left.remove(path)
            groups = [found] if sentence else [[path] for path in found]
            rows += [row(group, sentence or idea(group[0]), anchors) for group in groups]
        return "\n".join(rows)

    return FENCE.sub(table, markdown)


def fits(path: Path, pattern: str) -> bool:
    """Whether a pattern, which has as many parts as the path, fits it."""
    return len(path.parts) == len(Path(pattern).parts) and path.match(pattern)


def row(files: Collection[Path], sentence: str, anchors: dict[str, list[str]]) -> str:
    """The row of some files: links to them, what they are about, and what they have to offer."""
    texts = [path.name if len(files) > 1 else path.as_posix() for path in files]
    links = [
        f"[`{text}`](../minispore/{path.as_posix()})"
        for text, path in zip(texts, files, strict=True)
    ]
    names = [name for path in files for name in anchors.get(module_of(path), [])]
    shown = [f"[`{name.rpartition('.')[2]}`][{name}]" for name in names[:SHOWN]]
    if len(names) > SHOWN:
        shown.append("…")
    break_ = "<br>" if shown else ""
    return f"| {' '.join(links)} | {sentence}{break_}{', '.join(shown)} |"


def idea(path: Path) -> str:
    """The first line of what a file says of itself."""
    text = ast.get_docstring(ast.parse((PACKAGE / path).read_text("utf-8"))) or ""
    return text.partition("\n")[0]


def module_of(path: Path) -> str:
    """The module that a file of the package is."""
    parts = ("minispore", *path.with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def references() -> dict[str, list[str]]:
    """For each module the names that it defines, as the reference has them."""
    top = (Path(__file__).parent / "reference" / "minispore.md").read_text("utf-8")
    places = [("minispore", AT_THE_TOP.findall(top))]
    places += [(f"minispore.{part}", public(f"minispore.{part}")) for part in IN_REFERENCE]
    found: dict[str, list[str]] = {}
    seen: set[object] = set()
    for place, names in places:
        for name in names:
            value: object = getattr(import_module(place), name)
            # The reference shows classes and `def` statements; what a call made has no docstring.
            defined = isinstance(value, type) or (
                isfunction(value) and unwrap(value).__code__.co_name == name
            )
            if defined and getattr(value, "__name__", None) == name and value not in seen:
                seen.add(value)
                found.setdefault(value.__module__, []).append(f"{place}.{name}")
    return found


def public(module: str) -> list[str]:
    """The names that a module shows: those that it lists, or those that are its own."""
    names = vars(import_module(module))
    listed = names.get("__all__")
    if listed is not None:
        return list(listed)
    own = [name for name in names if not name.startswith("_")]
    return [name for name in own if getattr(names[name], "__module__", "").startswith(module)]
