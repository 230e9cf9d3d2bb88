"""The pages of the reference: a summary table of each topic, and the documentation of each name.

A fence `members` names a module and lists names of it. It becomes a table with the first line of
each docstring. `*` lists all public names of the module, and `**` those of each module of a
package. Names of the same object share one row: `clamp` is `clip`.

Each line of the fence is a family: its names, or a title, a colon and its names. With `**`, each
module is one. If a fence has several families, each has a page of its own, which is made when the
site is built, and which the navigation shows below the topic. Otherwise the documentation follows
the table. A paragraph of the topic that begins with "In the examples" is on these pages too.

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
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from pathlib import Path, PurePosixPath
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Protocol

from minispore.utils.unsupported import find_advice, is_supported

# The tests use this file without mkdocs.
if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.utils.templates import TemplateContext

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


# What explains the names in the examples of a topic.
EXPLANATION = re.compile(r"^In the examples .*?\n\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Family:
    """Names of a module that are documented together, the names of one object in a group."""

    title: str
    module: str
    groups: list[list[str]]

    @property
    def file(self) -> str:
        """The name of the page."""
        return re.sub(r"\W+", "-", self.title.rpartition(".")[2]) + ".md"


class File(Protocol):
    """The file of a page."""

    src_uri: str


class Page(Protocol):
    """A page of mkdocs."""

    file: File


def on_config(config: "MkDocsConfig") -> None:
    """Add the pages of the families to the navigation, below their topics."""
    assert config.nav is not None
    config.nav = with_families(config.nav)
    # All pages have the theme's features; see `on_page_context`.
    config.extra["features"] = config.theme["features"]


def with_families(entry: object) -> list[object]:
    """Return the entries of a navigation with the pages of the families below their topics."""
    entries: list[object] = []
    for child in entry if isinstance(entry, list) else [entry]:
        title, value = next(iter(child.items())) if isinstance(child, dict) else ("", child)
        if isinstance(value, list):
            entries.append({title: with_families(value)})
            continue
        topic = str(value)
        text = (FOLDER.parent / topic).read_text("utf-8") if is_topic(topic) else ""
        if made := list(pages_of(text)):
            found = TITLE.search(text)
            assert found, f"{topic} has no title"
            below = [{family.title: str(folder_of(topic) / family.file)} for family in made]
            entries.append({title or found[1]: [{"Overview": topic}, *below]})
        else:
            entries.append(child)
    return entries


def is_topic(name: str) -> bool:
    """Return whether a page of the site is a file in the folder of the reference."""
    return name.startswith("reference/") and (FOLDER.parent / name).is_file()


def folder_of(topic: str) -> PurePosixPath:
    """Return the folder of the pages of a topic's families."""
    return PurePosixPath(topic).with_suffix("")


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the pages of the families."""
    from mkdocs.structure.files import File

    for topic in list(files.documentation_pages()):
        if not is_topic(topic.src_uri):
            continue
        text = topic.content_string
        explanation = "".join(EXPLANATION.findall(text))
        for family in pages_of(text):
            name = str(folder_of(topic.src_uri) / family.file)
            content = page_of(family, explanation)
            files.append(File.generated(config, name, content=content))
    return files


def on_page_context(
    context: "TemplateContext", page: Page, config: "MkDocsConfig", **_: object
) -> "TemplateContext":
    """Let the navigation of the reference show one module, and the way to a page."""
    features = set(config.extra["features"])
    if page.file.src_uri.startswith("reference/"):
        features = features - {"navigation.sections"} | {"navigation.path"}
    config.theme["features"] = sorted(features)
    return context


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Expand the fences of a page of the reference."""
    name = page.file.src_uri
    if not is_topic(name):
        return markdown
    return expand(markdown, (FOLDER.parent / name).parent)


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
            for family in families(package, listed):
                yield from ((family.module, name) for names in family.groups for name in names)


def families(package: str, listed: str) -> Iterator[Family]:
    """Yield the families of a fence."""
    left_out = set(re.findall(r"(?<=-)\w+", listed))
    for line in listed.splitlines():
        title, colon, words = line.rpartition(": ")
        names = [name for name in words.split() if name[0] != "-"]
        if "**" in names:
            for module in public_modules(package):
                if groups := group_aliases(module, public_names(module), left_out):
                    yield Family(module, module, groups)
            continue
        if "*" in names:
            names = public_names(package)
        groups = group_aliases(package, names, left_out)
        yield Family(title if colon else ", ".join(g[0] for g in groups), package, groups)


def pages_of(markdown: str) -> Iterator[Family]:
    """Yield the families of a topic that have a page of their own."""
    for kind, package, listed in FENCE.findall(markdown):
        if kind == "members" and len(made := list(families(package, listed))) > 1:
            yield from made


def group_aliases(module: str, listed: list[str], left_out: set[str]) -> list[list[str]]:
    """Return the listed names without those that are left out, the names of one object together."""
    groups: dict[int, list[str]] = {}
    for name in listed:
        value: object = getattr(import_module(module), name)
        if name not in left_out:
            groups.setdefault(id(value) if callable(value) else id(name), []).append(name)
    for group in groups.values():
        # The function's own name comes first, then its aliases.
        canonical: object = getattr(getattr(import_module(module), group[0]), "__name__", None)
        group.sort(key=lambda name: name != canonical)
    return list(groups.values())


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
    """Return the summary tables of a fence, and the documentation if there is only one family."""
    made = list(families(package, listed))
    if len(made) == 1:
        return f"{table(made)}\n\n{directives(made[0], 2)}"
    if all(family.module == package for family in made):
        return table(made)
    parts = (
        f"## {family.module}\n\n{summary(import_module(family.module))}\n\n{table([family])}"
        for family in made
    )
    return "\n\n".join(parts)


def page_of(family: Family, explanation: str) -> str:
    """Return the page of a family; that of one object has the object's heading as its title."""
    front = f"---\ntitle: {family.title}\n---\n\n"
    if len(family.groups) == 1:
        return f"{front}{directives(family, 1)}\n{explanation}"
    head = f"{front}# {family.title}\n\n{explanation}{table([family])}\n\n"
    return head + directives(family, 2)


def table(made: list[Family]) -> str:
    """Return the table of the names of some families with their summaries."""
    rows = ["| name | summary |", "|---|---|"]
    for family in made:
        for name, *aliases in family.groups:
            value: object = getattr(import_module(family.module), name)
            shown = [f"[`{name}`][{family.module}.{name}]", *(f"`{alias}`" for alias in aliases)]
            rows.append(f"| {', '.join(shown)} | {summary(value)} |")
    return "\n".join(rows)


def directives(family: Family, level: int) -> str:
    """Return what mkdocstrings reads of each name, with headings of a level."""
    lines: list[str] = []
    for name, *aliases in family.groups:
        lines += [f"[](){{#{family.module}.{alias}}}\n" for alias in aliases]
        options = f"    options:\n      heading_level: {level}\n" if level != 2 else ""
        lines.append(f"::: {family.module}.{name}\n{options}")
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
                others.setdefault(find_advice(path) or "", []).append(f"`{name}`")
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
