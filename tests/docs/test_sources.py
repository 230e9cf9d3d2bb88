"""The source on the site, and the page that shows the source of one training step."""

import re
import sys
from pathlib import Path
from types import FrameType, ModuleType

import numpy as np
import pytest

from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import LossMonitor, Model
from tests.helpers.scripts import SCRIPTS, load_script

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "minispore"
TEXT = (ROOT / "docs" / "one-page.md").read_text("utf-8")


@pytest.fixture(scope="module")
def sources() -> ModuleType:
    pytest.importorskip("mkdocs")
    return load_script(SCRIPTS / "sources.py")


def test_page_quotes_each_function_without_its_docstring(sources: ModuleType) -> None:
    page = sources.expand(TEXT)
    assert "```functions" not in page
    for file, name in sources.functions(TEXT):
        assert f"[`{file}`](../minispore/{file}), line " in page
        assert f"def {name.rpartition('.')[2]}(" in page
    assert '"""' not in page


def test_unknown_function_raises(sources: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"0 files in minispore/nn have a definition 'Cell\.no'"):
        sources.expand("```functions\nnn: Cell.no\n```\n")


def test_every_link_leads_to_a_page_with_the_source(sources: ModuleType) -> None:
    files = set(re.findall(r"\]\(\.\./(minispore/.*?)\)", sources.expand(TEXT)))
    assert files
    for file in files:
        assert (ROOT / file).read_text("utf-8").rstrip() in sources.as_page(ROOT / file)


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


def test_a_training_step_calls_the_functions_in_this_order(
    sources: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    columns = {"x": rng.random((4, 8), np.float32), "y": np.zeros(4, np.int32)}
    data = NumpySlicesDataset(columns, shuffle=False).batch(4)
    network = nn.Dense(8, 2)
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    model = Model(network, nn.CrossEntropyLoss(), optimizer)
    calls: list[tuple[str, str]] = []

    def record(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            calls.append((path.relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(record)
    try:
        model.train(1, data, callbacks=[LossMonitor()])
    finally:
        sys.setprofile(before)
    assert "loss is" in capsys.readouterr().out

    functions = sources.functions(TEXT)
    assert len(functions) > 20
    remaining = iter(calls)
    for file, name in functions:
        assert (file, name) in remaining, f"{name} of {file} is not called, or is called earlier"
