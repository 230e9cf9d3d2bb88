"""The pages of the reference: a summary table, and after it the documentation of each name.

A fence `members` names a module and lists names of it. It becomes a table with the first line of
each docstring, followed by the documentation of each object. `*` lists all public names of the
module, and `@other` the functions in the `__all__` of another module. Names of the same object
share one row: `clamp` is `clip`.

A fence `factories` names a module and lists its public names that are not classes.

A fence `pages` lists files of a folder, one in each line. It becomes a table with the title and the
names of each page.

A fence `names` becomes an index of all documented names, and a fence `mindspore` one of MindSpore's
names: what documents each, or what to use instead.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path
from pkgutil import iter_modules
from typing import Protocol

from minispore.utils.unsupported import find_advice, is_supported

FOLDER = Path(__file__).parents[1] / "reference"
# The public names of each of MindSpore's modules.
NAMES = FOLDER.parents[1] / "tests" / "oracles" / "names.txt"
FENCE = re.compile(
    r"^```(members|pages|factories|names|mindspore)(?: +(\S+))?\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
# The documentation of one object, as mkdocstrings reads it.
DIRECTIVE = re.compile(r"^::: (minispore(?:\.\w+)*)\.(\w+)$", re.MULTILINE)


class File(Protocol):
    """The file of a page."""

    src_uri: str


class Page(Protocol):
    """A page of mkdocs."""

    file: File


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Expand the fences of a page of the reference."""
    parts = Path(page.file.src_uri).parts
    if parts[0] != "reference":
        return markdown
    return expand(markdown, FOLDER.joinpath(*parts[1:-1]))


def expand(markdown: str, folder: Path) -> str:
    """Return the text of a page in `folder` with its fences expanded.

    Raises:
        AttributeError: A module does not have a listed name.
    """

    def fill(match: re.Match[str]) -> str:
        if match[1] == "members":
            return document(match[2], match[3])
        if match[1] == "factories":
            names = (
                n
                for n in public_names(match[2])
                if not inspect.isclass(getattr(import_module(match[2]), n))
            )
            return ", ".join(f"`{name}`" for name in names)
        if match[1] != "pages":
            return index() if match[1] == "names" else index_of_mindspore()
        return list_pages(folder, match[3].split())

    return FENCE.sub(fill, markdown)


def members(markdown: str) -> Iterator[tuple[str, str]]:
    """Yield the module and the name of each object that a page documents."""
    for kind, package, listed in FENCE.findall(markdown):
        if kind == "members":
            for module, groups in group_aliases(package, listed).items():
                yield from ((module, name) for names in groups for name in names)


def group_aliases(module: str, listed: str) -> dict[str, list[list[str]]]:
    """Return the listed names by module, the names of one object together."""
    names = listed.split()
    left_out = {name[1:] for name in names if name.startswith("-")}
    if "*" in names or ("**" in names and exported(module)):
        chosen = {module: public_names(module)}
    elif "**" in names:
        chosen = {each: public_names(each) for each in public_modules(module)}
    else:
        chosen = {module: [each for name in names if name[0] != "-" for each in functions_of(name)]}
    grouped: dict[str, list[list[str]]] = {}
    for each, found in chosen.items():
        groups: dict[int, list[str]] = {}
        for name in found:
            value: object = getattr(import_module(each), name)
            if name not in left_out:
                groups.setdefault(id(value) if callable(value) else id(name), []).append(name)
        for group in groups.values():
            # The function's own name comes first, then its aliases.
            own: object = getattr(getattr(import_module(each), group[0]), "__name__", None)
            group.sort(key=lambda name: name != own)
        if groups:
            grouped[each] = list(groups.values())
    return grouped


def functions_of(name: str) -> list[str]:
    """Return the functions in the `__all__` of a module that `@` marks; otherwise the name."""
    if not name.startswith("@"):
        return [name]
    return [each for each in public_names(name[1:]) if each.islower()]


def public_modules(package: str) -> list[str]:
    """Return the names of the public modules in a package."""
    infos = iter_modules(import_module(package).__path__, f"{package}.")
    return [info.name for info in infos if not info.name.rpartition(".")[2].startswith("_")]


def exported(module: str) -> list[str]:
    """Return the `__all__` of a module; an empty list if there is none."""
    listed: list[str] | None = getattr(import_module(module), "__all__", None)
    return [] if listed is None else [*listed]


def public_names(module: str) -> list[str]:
    """Return `__all__` of a module, or else the public classes and functions that it defines."""
    if listed := exported(module):
        return listed
    loaded = import_module(module)
    tree = ast.parse(inspect.getsource(loaded))
    definitions = (ast.ClassDef, ast.FunctionDef)
    names = (node.name for node in tree.body if isinstance(node, definitions))
    return [name for name in names if not name.startswith("_")]


def document(package: str, listed: str) -> str:
    """Return the summary tables and the directives for some names of a module or package."""
    lines: list[str] = []
    for module, groups in group_aliases(package, listed).items():
        options = ""
        if module != package:
            lines += [f"## {module}", "", summary(import_module(module)), ""]
            options = "    options:\n      heading_level: 3\n"
        lines += ["| name | summary |", "|---|---|"]
        directives: list[str] = []
        for name, *aliases in groups:
            value: object = getattr(import_module(module), name)
            shown = [f"[`{name}`][{module}.{name}]", *(f"`{alias}`" for alias in aliases)]
            lines.append(f"| {', '.join(shown)} | {summary(value)} |")
            directives += [f"[](){{#{module}.{alias}}}\n" for alias in aliases]
            directives.append(f"::: {module}.{name}\n{options}")
        lines += ["", *directives]
    return "\n".join(lines)


def summary(value: object) -> str:
    """Return the first line of the docstring of a module, class or function."""
    if not (inspect.ismodule(value) or inspect.isclass(value) or inspect.isroutine(value)):
        return ""
    return (inspect.getdoc(value) or "").partition("\n")[0].replace("|", r"\|")


def list_pages(folder: Path, files: list[str]) -> str:
    """Return the table of some pages: their titles and the names that they document."""
    rows = ["| page | names |", "|---|---|"]
    for file in files:
        text = (folder / file).read_text("utf-8")
        title = TITLE.search(text)
        assert title, f"{file} has no title"
        names = ", ".join(f"[`{name}`][{module}.{name}]" for module, name in members(text))
        rows.append(f"| [{title[1]}]({file}) | {names} |")
    return "\n".join(rows)


def documented() -> list[tuple[str, str]]:
    """Return the module and the name of each documented object."""
    texts = [page.read_text("utf-8") for page in sorted(FOLDER.rglob("*.md"))]
    return [pair for text in texts for pair in [*members(text), *DIRECTIVE.findall(text)]]


def index() -> str:
    """Return a list of links for each letter, without the engine's rules and array functions."""
    pairs = [pair for pair in documented() if not pair[0].startswith("minispore.engine.")]
    pairs.sort(key=lambda pair: (pair[1].casefold(), pair))
    names = [name for _, name in pairs]
    lines: list[str] = []
    for letter, group in groupby(pairs, key=lambda pair: pair[1][0].upper()):
        links = [
            f"[`{name}`][{module}.{name}]" + (f" ({module})" if names.count(name) > 1 else "")
            for module, name in group
        ]
        lines += [f"**{letter}** {', '.join(links)}", ""]
    return "\n".join(lines)


def index_of_mindspore() -> str:
    """Return, for each module of MindSpore, links to its names, and what to use for the others."""
    paths = {f"{module}.{name}" for module, name in documented()}
    by_object: dict[int, str] = {}
    for module, name in documented():
        value: object = getattr(import_module(module), name)
        if callable(value):
            by_object.setdefault(id(value), f"{module}.{name}")
    lines: list[str] = []
    for line in NAMES.read_text("utf-8").splitlines():
        theirs, _, listed = line.partition(": ")
        module = theirs.replace("mindspore", "minispore", 1)
        links: list[str] = []
        others: dict[str, list[str]] = {}
        for name in listed.split():
            path = f"{module}.{name}"
            if not is_supported(path):
                others.setdefault(find_advice(path), []).append(f"`{name}`")
                continue
            if path not in paths:
                path = by_object.get(id(getattr(import_module(module), name)), "")
            links.append(f"[`{name}`][{path}]" if path else f"`{name}`")
        lines += [f"## {theirs}", "", ", ".join(links), ""]
        if others:
            count = sum(len(names) for names in others.values())
            lines += [f'??? note "{count} names that are not supported"', ""]
            lines += [f"    - {', '.join(names)}: {advice}" for advice, names in others.items()]
            lines.append("")
    return "\n".join(lines)
