"""The map of the whole: nothing is missing on it, and a step goes the way that it says."""

import ast
import re
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FrameType, ModuleType

import numpy as np
import pytest

from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import LossMonitor, Model

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "minispore"
TEXT = (ROOT / "docs" / "one-page.md").read_text("utf-8")


@pytest.fixture(scope="module")
def sources() -> ModuleType:
    pytest.importorskip("mkdocs")
    spec = spec_from_file_location("sources", ROOT / "docs" / "sources.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(sources: ModuleType) -> str:
    text: object = sources.filled(TEXT)
    assert isinstance(text, str)
    return text


def test_each_file_is_on_the_map_once(page: str) -> None:
    rows = [line for line in page.splitlines() if line.startswith("| [")]
    files = [file for row in rows for file in re.findall(r"\]\(\.\./minispore/(.*?)\)", row)]
    assert sorted(files) == sorted(
        path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")
    )
    assert all(re.fullmatch(r"\| .+ \| .+\.(<br>.+)? \|", row) for row in rows)


def test_a_package_says_on_which_floor_it_is(page: str) -> None:
    for floor, section in re.findall(
        r"^## Floors? (\d+)(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL
    ):
        assert set(re.findall(r"\| Floor (\d+): ", section)) <= {floor}
    assert "| Floor 6: " in page


def test_a_pattern_that_fits_nothing_is_refused(sources: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"'nn/nothing\.py'"):
        sources.filled("```files\nnn/nothing.py\n```\n")


def test_the_map_links_only_what_the_reference_shows(sources: ModuleType) -> None:
    """Names without a docstring, such as what a call returned, have no place in the reference."""
    references: dict[str, list[str]] = sources.references()
    assert len(references) > 100
    for module, names in references.items():
        file = import_module(module).__file__
        assert file
        tree = ast.parse(Path(file).read_text("utf-8"))
        definitions = (ast.ClassDef, ast.FunctionDef)
        defined = {node.name for node in tree.body if isinstance(node, definitions)}
        assert {name.rpartition(".")[2] for name in names} <= defined


def test_every_link_leads_to_a_page_with_the_files_text(sources: ModuleType) -> None:
    files = set(re.findall(r"\]\(\.\./(minispore/.*?)\)", TEXT))
    assert files
    for file in files:
        assert (ROOT / file).read_text("utf-8").rstrip() in sources.as_page(ROOT / file)


def test_a_step_goes_the_way_that_the_map_says(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    columns = {"x": rng.random((4, 8), np.float32), "y": np.zeros(4, np.int32)}
    data = NumpySlicesDataset(columns, shuffle=False).batch(4)
    network = nn.Dense(8, 2)
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    model = Model(network, nn.CrossEntropyLoss(), optimizer)
    calls: list[tuple[str, str]] = []

    def listen(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            calls.append((path.relative_to(ROOT).as_posix(), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(listen)
    try:
        model.train(1, data, callbacks=[LossMonitor()])
    finally:
        sys.setprofile(before)
    assert "loss is" in capsys.readouterr().out

    way = re.findall(r"^\d+\. \[`.+?`\]\(\.\./(.+?)\)\s+`(.+?)`", TEXT, flags=re.MULTILINE)
    assert len(way) > 20
    rest = iter(calls)
    for file, name in way:
        assert (file, name) in rest, f"{name} of {file} is not called, or earlier"
