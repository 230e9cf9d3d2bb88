"""The tables of sizes on the pages."""

import re
import sys
from pathlib import Path
from types import FrameType, ModuleType

import pytest

from benchmarks.size import PACKAGE, package_sizes, step_sizes
from minispore import nn, tensorpack
from minispore.dataset import NumpySlicesDataset
from minispore.train import CheckpointConfig, EarlyStopping, Model, ModelCheckpoint
from tests.helpers.scripts import SCRIPTS, load_script

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def sizes() -> ModuleType:
    return load_script(SCRIPTS / "sizes.py")


def test_design_lists_every_package_with_its_size(sizes: ModuleType) -> None:
    page = sizes.on_page_markdown((DOCS / "design.md").read_text("utf-8"))
    for name, (files, lines) in package_sizes().items():
        row = next(line for line in page.splitlines() if f" | `{name}` | " in line)
        assert row.endswith(f" | {files} | {lines:,} |")


def test_missing_package_raises(sizes: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"but the page lists \['minispore\.nn'\]"):
        sizes.on_page_markdown("```sizes\n6 | minispore.nn | cells\n```\n")


def test_one_page_lists_every_file_that_a_step_runs(sizes: ModuleType) -> None:
    page = sizes.on_page_markdown((DOCS / "one-page.md").read_text("utf-8"))
    for file in step_sizes():
        assert f"[`{file}`](../minispore/{file})" in page


def files_of_design(heading: str) -> list[str]:
    """Return the files that a table of the page lists."""
    page = (DOCS / "design.md").read_text("utf-8")
    match = re.search(rf"\*\*{heading}\b.*?```files\n(.*?)```", page, re.DOTALL)
    assert match
    return [line.partition(" | ")[0] for line in match[1].splitlines()]


def test_design_lists_files_of_step_in_order_of_execution() -> None:
    listed = files_of_design("One training step")
    assert listed == [file for file in step_sizes() if file in listed]


@pytest.mark.parametrize("heading", ["One callback event", "One checkpoint"])
def test_design_lists_only_files_that_run(heading: str, tmp_path: Path) -> None:
    files = set[str]()

    def trace(frame: FrameType, _event: str, _argument: object) -> None:
        path = Path(frame.f_code.co_filename)
        if PACKAGE in path.parents and frame.f_code.co_name != "<module>":
            files.add(path.relative_to(PACKAGE).as_posix())

    data = NumpySlicesDataset({"x": [[0.0], [1.0]], "y": [[0.0], [2.0]]}).batch(1)
    net = nn.Dense(1, 1)
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"mae"})
    config = CheckpointConfig(1, append_info=["training_state"])
    saver = ModelCheckpoint("net", str(tmp_path), config)
    callbacks = [EarlyStopping("mae"), saver, tensorpack.Callback()]
    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        model.fit(1, data, data, callbacks=callbacks)
    finally:
        sys.settrace(previous)
    assert files.issuperset(files_of_design(heading))


def test_files_table_has_code_lines(sizes: ModuleType) -> None:
    page = sizes.on_page_markdown("```files\n__main__.py | starts the command line\n```\n")
    row = r"\| \[`__main__.py`\]\(../minispore/__main__.py\) \| starts the command line \| \d+ \|"
    assert re.fullmatch(row, page.splitlines()[-1])


def test_benchmarks_are_rows_of_the_results_without_targets(sizes: ModuleType) -> None:
    page = (DOCS / "benchmarks.md").read_text("utf-8")
    (listed,) = re.findall(r"```benchmarks\n(.*?)```", page, flags=re.DOTALL)
    head, line, *rows = sizes.of_benchmarks(listed).splitlines()
    assert head == "| what | compared with | minispore | ratio (quartiles) |"
    assert line == "| --- | --- | --- | --- |"
    results = (DOCS.parent / "benchmarks" / "README.md").read_text("utf-8")
    assert len(rows) == len(listed.splitlines())
    for row in rows:
        assert f"\n{row}" in results
    with pytest.raises(KeyError, match="nothing"):
        sizes.of_benchmarks("nothing | nobody\n")
