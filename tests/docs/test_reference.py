"""The reference documents each public name; cross-references name objects that exist."""

import inspect
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import NoReturn, Protocol, cast

import pytest

from tests.helpers.scripts import SCRIPTS, load_script

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"
PAGES = sorted(FOLDER.rglob("*.md"))
PUBLIC_MODULES = [
    "minispore", "minispore.amp", "minispore.communication", "minispore.dataset", "minispore.numpy",
    "minispore.dataset.samplers", "minispore.dataset.transforms", "minispore.dataset.vision",
    "minispore.drawing", "minispore.engine.array", "minispore.engine.dispatch", "minispore.nn",
    "minispore.ops", "minispore.testing", "minispore.testing.strategies", "minispore.tensorpack",
    "minispore.train", "minispore.train.protocol", "minispore.train.summary",
]  # fmt: skip
DIRECTIVE = re.compile(r"^::: (minispore[\w.]+)$", re.MULTILINE)
ALIAS = re.compile(r"^\[\]\(\)\{#(minispore[\w.]+)\}$", re.MULTILINE)
CROSS_REFERENCE = re.compile(r"\]\[(minispore\.[\w.]+)\]")


class Family(Protocol):
    """A family of docs/scripts/reference.py."""

    file: str
    title: str


@cache
def reference() -> ModuleType:
    return load_script(SCRIPTS / "reference.py")


def documented() -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = reference().documented()
    return pairs


def resolve(path: str) -> object:
    """Return the object with a dotted path."""
    names = path.split(".")
    for end in range(len(names), 0, -1):
        try:
            value: object = import_module(".".join(names[:end]))
        except ModuleNotFoundError:
            continue
        for name in names[end:]:
            value = getattr(value, name)
        return value
    raise AttributeError(path)


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_every_public_name_is_documented(module: str) -> None:
    values = [resolve(f"{home}.{name}") for home, name in documented()]
    shown = {id(value) for value in values if callable(value)}
    names = {name for _, name in documented()}
    texts = (reference().expand(page.read_text("utf-8"), page.parent) for page in PAGES)
    prose = {name for text in texts for name in re.findall(r"`(\w+)`", text)}
    missing = [
        name
        for name in cast("list[str]", reference().public_names(module))
        if not isinstance(value := getattr(import_module(module), name), ModuleType)
        and id(value) not in shown
        and name not in names | prose
    ]
    assert not missing


def test_no_name_is_documented_twice() -> None:
    assert [name for name, count in Counter(documented()).items() if count > 1] == []


def test_every_page_expands_to_a_table_and_documentation() -> None:
    for page in PAGES:
        text = reference().expand(page.read_text("utf-8"), page.parent)
        assert "```members" not in text
        assert "```pages" not in text
    text = reference().expand("```members minispore.ops\nclip clamp\n```\n", FOLDER)
    summary = "[`clip`][minispore.ops.clip], `clamp` | "
    assert summary in text
    assert text.endswith("[](){#minispore.ops.clamp}\n\n::: minispore.ops.clip\n\n")


def families() -> Iterator[tuple[str, Family]]:
    """Yield the file, without case, and the family of each page that is made."""
    for page in PAGES:
        for family in cast("Iterator[Family]", reference().pages_of(page.read_text("utf-8"))):
            yield (page.with_suffix("") / family.file).as_posix().casefold(), family


def test_each_name_of_a_topic_is_documented_on_one_page() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        made = cast("list[Family]", list(reference().pages_of(text)))
        shown = [reference().expand(text, page.parent), *(reference().page_of(f, "") for f in made)]
        documented = Counter(name for t in shown for name in DIRECTIVE.findall(t))
        anchors = Counter(name for t in shown for name in ALIAS.findall(t))
        listed = [f"{module}.{name}" for module, name in reference().members(text)]
        listed += [".".join(pair) for pair in reference().DIRECTIVE.findall(text)]
        assert documented + anchors == Counter(listed)


def test_pages_of_families_have_different_files() -> None:
    files = [file for file, _ in families()]
    assert len(files) > 100
    assert max(Counter(files).values()) == 1
    assert not {page.as_posix().casefold() for page in PAGES} & set(files)


def test_navigation_has_each_family_below_its_topic() -> None:
    text = "```members minispore.nn\nDense\nPooling: MaxPool1d MaxPool2d\n```\n"
    dense, pooling = reference().pages_of(text)
    assert (dense.file, pooling.file) == ("Dense.md", "Pooling.md")
    (entry,) = reference().with_families("reference/nn/layers.md")
    (overview, *pages) = entry["Layers"]
    assert overview == {"Overview": "reference/nn/layers.md"}
    text = (FOLDER / "nn" / "layers.md").read_text("utf-8")
    assert pages == [
        {family.title: f"reference/nn/layers/{family.file}"}
        for family in reference().pages_of(text)
    ]
    assert reference().with_families([{"Home": "index.md"}]) == [{"Home": "index.md"}]


def test_explanation_of_the_examples_is_on_each_page() -> None:
    text = (FOLDER / "tensorpack" / "trackers.md").read_text("utf-8")
    (explanation,) = reference().EXPLANATION.findall(text)
    assert "`train` trains" in explanation
    for family in reference().pages_of(text):
        assert explanation in reference().page_of(family, explanation)


def test_unknown_name_raises() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        reference().expand("```members minispore.nn\nnothing\n```\n", FOLDER)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.name)
def test_cross_references_name_existing_objects(page: Path) -> None:
    for path in CROSS_REFERENCE.findall(page.read_text("utf-8")):
        resolve(path)


def documented_functions() -> Iterator[tuple[str, FunctionType]]:
    """Yield the documented functions; those of the engine follow one convention, on their page."""
    for home, name in documented():
        value = resolve(f"{home}.{name}")
        if isinstance(value, FunctionType) and not home.startswith("minispore.engine"):
            yield f"{home}.{name}", value


def test_functions_document_their_arguments_and_results() -> None:
    incomplete: list[tuple[str, list[str]]] = []
    for path, function in documented_functions():
        text = inspect.getdoc(function) or ""
        arguments = inspect.signature(function).parameters
        described = [rf"  \*{{0,2}}{name}:" for name in arguments]
        if arguments:
            described.append("Args:")
        if function.__annotations__.get("return") not in {None, "None", NoReturn}:
            described.append("(Returns|Yields):")
        if missing := [d for d in described if not re.search(rf"^ *{d}", text, re.MULTILINE)]:
            incomplete.append((path, missing))
    assert not incomplete


def test_index_has_all_documented_names() -> None:
    index = reference().index()
    for module, name in documented():
        engine = module.startswith("minispore.engine.")
        assert (f"[`{name}`][{module}.{name}]" in index) is not engine


def test_index_of_mindspore_has_each_of_its_names() -> None:
    index: str = reference().index_of_mindspore()
    sections = {text.partition("\n")[0]: text for text in index.split("## ")[1:]}
    for line in reference().NAMES.read_text("utf-8").splitlines():
        module, _, names = line.partition(": ")
        shown = re.findall(r"`(\w+)`", sections[module])
        assert Counter(names.split()) <= Counter(shown)
    for path in CROSS_REFERENCE.findall(index):
        resolve(path)
    assert re.search(r"- [^:]*`Conv3d`[^:]*: Arrays of three spatial dim", sections["mindspore.nn"])
