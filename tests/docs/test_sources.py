"""The source on the site, and the page that shows the source of one training step."""

import re
import sys
from pathlib import Path
from types import FrameType, ModuleType, SimpleNamespace

import numpy as np
import pytest

from minispore.dataset import NumpySlicesDataset
from tests.helpers.scripts import SCRIPTS, load_script

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "minispore"
TEXT = (ROOT / "docs" / "one-page.md").read_text("utf-8")
PROGRAM, *QUOTES = re.findall(r"^```python\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def one_page() -> ModuleType:
    return load_script(SCRIPTS / "one_page.py")


@pytest.fixture(scope="module")
def sources() -> ModuleType:
    pytest.importorskip("mkdocs")
    return load_script(SCRIPTS / "sources.py")


def test_page_has_the_current_source(one_page: ModuleType) -> None:
    command = "Functions of docs/one-page.md have changed: run `python docs/scripts/one_page.py`."
    assert one_page.written(TEXT) == TEXT, command


def test_page_quotes_each_function_without_its_docstring(one_page: ModuleType) -> None:
    functions = one_page.functions(TEXT)
    assert len(QUOTES) == len(functions)
    for (file, name), code in zip(functions, QUOTES, strict=True):
        assert f"\n\n[`{file}`](../minispore/{file}): `{name}`\n\n```python\n{code}```\n" in TEXT
        assert code.startswith(f"def {name.rpartition('.')[2]}(")
        assert '"""' not in code


def test_source_replaces_only_the_source_of_the_same_comment(one_page: ModuleType) -> None:
    page = "# Title\n\n{}\nText.\n\n```python\nprint(1)\n```\n"
    comment = "<!-- function: nn: WithLossCell.construct -->\n"
    first = one_page.written(page.format(comment))
    assert first.count("```python") == 2
    assert first.startswith(f"# Title\n\n{comment}\n[`nn/wrap/cell_wrapper.py`](../minispore/")
    assert first.endswith(page.format("").partition("\n\n")[2])
    stale = first.replace("def construct(", "def renamed(")
    assert stale != first
    assert one_page.written(stale) == first


def test_page_is_one_page() -> None:
    assert sum(code.count("\n") for code in QUOTES) <= 200


def test_unknown_function_raises(one_page: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"0 files in minispore/nn have a definition 'Cell\.no'"):
        one_page.written("<!-- function: nn: Cell.no -->\n")


def test_definition_of_an_overloaded_function_is_quoted(one_page: ModuleType) -> None:
    code = one_page.as_fence("nn/cell.py", "Cell.__call__")
    assert "@overload" not in code
    assert "self.construct(*args, **kwargs)" in code


def test_fence_becomes_the_source_of_its_functions(sources: ModuleType) -> None:
    page = (ROOT / "docs" / "libraries-compared.md").read_text("utf-8")
    expanded = sources.expand(page)
    assert "```functions" in page
    assert "```functions" not in expanded
    assert "`benchmarks/record_libraries.py`: `Learner`\n\n```python\nclass Learner:\n" in expanded


def test_every_link_leads_to_the_text_of_a_file(sources: ModuleType) -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="learn/page.md"))
    linked = re.findall(r"\]\(\.\./((?:minispore|examples)/.*?)\)", TEXT)
    assert linked
    expected = [f"[{name}](../source/{name}.txt)" for name in linked]
    text = "\n".join(f"[{name}](../../{name})" for name in linked)
    assert sources.on_page_markdown(text, page).splitlines() == expected


def test_texts_are_the_files_of_the_package_and_the_examples(sources: ModuleType) -> None:
    config = pytest.importorskip("mkdocs.config.defaults").MkDocsConfig()
    no_files = pytest.importorskip("mkdocs.structure.files").Files([])
    config["site_dir"] = "site"
    config["plugins"] = SimpleNamespace(_current_plugin="<test>")
    added = {file.src_uri: file for file in sources.on_files(no_files, config)}
    for path in (PACKAGE / "nn" / "cell.py", ROOT / "examples" / "tutorial.py"):
        name = path.relative_to(ROOT).as_posix()
        assert added[f"source/{name}.txt"].content_string == path.read_text("utf-8")
    assert "contributing.md" in added


def test_table_of_examples_lists_each_file_of_the_folder(sources: ModuleType) -> None:
    row = re.compile(r"^\| \[`.*`\]\(\.\./(.*)\) \| \S.*\. \|$", flags=re.MULTILINE)
    page = (ROOT / "docs" / "examples.md").read_text("utf-8")
    for folder in re.findall(r"```examples\n(.*)\n", page):
        files = sorted(f"{folder}/{file.name}" for file in (ROOT / folder).glob("*.py"))
        assert row.findall(sources.as_table(folder)) == files


def test_links_of_the_page_about_contributing_lead_to_pages(sources: ModuleType) -> None:
    text = sources.contributing((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert links
    for link in links:
        assert (ROOT / "docs" / link).is_file()


def test_program_calls_the_functions_in_this_order(
    one_page: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    columns = {"x": rng.random((4, 8), np.float32), "y": np.zeros(4, np.int32)}
    data = NumpySlicesDataset(columns, shuffle=False).batch(4)
    calls: list[tuple[str, str]] = []

    def record(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            calls.append((path.relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(record)
    try:
        exec(compile(PROGRAM, "<one-page.md>", "exec"), {"__name__": "__main__", "data": data})
    finally:
        sys.setprofile(before)
    step, loss = capsys.readouterr().out.split()
    assert step == "1"
    assert float(loss) > 0

    functions = one_page.functions(TEXT)
    assert functions
    remaining = iter(calls)
    for file, name in functions:
        assert (file, name) in remaining, f"{name} of {file} is not called, or is called earlier"
