"""The page for users of other frameworks: its programs run, and its names exist."""

import re
from pathlib import Path
from pkgutil import resolve_name
from textwrap import dedent
from typing import cast

import pytest

from minispore import tensorpack as tp
from minispore.nn import Optimizer
from minispore.train import Callback

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"
TEXT = PAGE.read_text("utf-8")
TABS = {
    title: dedent(block)
    for title, block in re.findall(
        r'^=== "(.*?)"\n\n    ```python\n(.*?)^    ```$', TEXT, flags=re.MULTILINE | re.DOTALL
    )
}


def run(title: str) -> dict[str, object]:
    """Return the namespace of the program in a tab, after the common part."""
    (common,) = re.findall(r"^```python\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for program in (common, TABS[title]):
        exec(compile(program, f"<{PAGE.name}, {title}>", "exec"), namespace)
    return namespace


@pytest.mark.parametrize(
    ("title", "file"),
    [("minispore", "best.ckpt"), ("tensorpack, here", "log/min-val-error.ckpt")],
)
def test_callback_stops_training_and_saves_the_best(
    title: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    optimizer = cast("Optimizer", run(title)["optimizer"])
    assert 0 < optimizer.global_step.item() < 50 * 8
    assert (tmp_path / file).is_file()


def test_mindspore_program_differs_in_one_word() -> None:
    assert TABS["MindSpore"] == TABS["minispore"].replace("minispore", "mindspore")


def test_programs_that_are_not_run_compile() -> None:
    for title in TABS.keys() - {"minispore", "MindSpore", "PyTorch", "tensorpack, here"}:
        compile(TABS[title], f"<{PAGE.name}, {title}>", "exec")
        assert f'"{title}"' in TEXT.partition("The tests run")[2].partition("\n\n")[0]


def test_hooks_and_names_of_the_tables_exist() -> None:
    hooks = TEXT.partition("## Hooks")[2].partition("## ")[0]
    rows = [row.split("|")[2::2] for row in hooks.splitlines() if row.startswith("|")]
    names = [re.findall(r"`(\w+)`", " ".join(row)) for row in zip(*rows[2:], strict=True)]
    for base, hooks_of_base in zip((Callback, tp.Callback), names, strict=True):
        assert len(hooks_of_base) > 7
        assert all(hasattr(base, name) for name in hooks_of_base)
    targets = re.findall(r"\]\[(minispore\.[\w.]+)\]", TEXT)
    assert targets
    for target in targets:
        assert resolve_name(target) is not None
