"""MindSpore's callback tutorial runs as printed, with the package renamed.

The text of the tutorial is in `../shared/seeds`; the test is skipped without it. Its blocks
run in their order, in one namespace, on the real MNIST. What a block prints must have the form of
what the tutorial says it prints.
"""

import gzip
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import minispore

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
TEXTS = sorted(SEEDS.glob("002_*.txt"))

pytestmark = [
    pytest.mark.full,
    pytest.mark.mnist,
    pytest.mark.skipif(not TEXTS, reason="no ../shared/seeds with the tutorial's text"),
]


def python_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def form(line: str) -> str:
    """Return a pattern for a printed line, in which any number with a point matches another."""
    return re.sub(r"\d+\\\.\d+", r"\\d+\\.\\d*(e-?\\d+)?", re.escape(line))


def lay_out(mnist: Path, folder: Path) -> None:
    """Unpack the four files as the archive does: MNIST_Data/train and MNIST_Data/test."""
    for usage, prefix in (("train", "train"), ("test", "t10k")):
        target = folder / "MNIST_Data" / usage
        target.mkdir(parents=True)
        for file in mnist.glob(f"{prefix}-*"):
            data = file.read_bytes()
            plain = gzip.decompress(data) if file.suffix == ".gz" else data
            (target / file.name.removesuffix(".gz")).write_bytes(plain)


@pytest.fixture
def tutorial_folder(mnist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to an empty folder, with a package `download` that needs no network."""

    def download(_url: str, path: str, *, kind: str, replace: bool) -> str:
        assert (kind, replace) == ("zip", True)
        lay_out(mnist, Path(path))
        return path

    package = ModuleType("download")
    package.download = download  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "download", package)
    monkeypatch.chdir(tmp_path)
    minispore.set_seed(1)
    return tmp_path


def test_mindspore_tutorial_runs_unchanged(
    tutorial_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = python_blocks(TEXTS[0].read_text("utf-8"))
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed: list[list[str]] = []
    for number, block in enumerate(blocks):
        source = re.sub(r"\bmindspore\b", "minispore", block)
        exec(compile(source, f"<block {number}>", "exec"), namespace)
        printed.append(capsys.readouterr().out.splitlines())

    define, datasets, checkpoint, monitor, fit, timer, base, stop, save = printed
    assert define == datasets == checkpoint == base == []

    losses = [
        form(f"epoch: 1 step: {step}, loss is 0.45305341482162476") for step in (300, 600, 900)
    ]
    assert_form(monitor, losses)
    assert_form(fit, [*losses, form("Eval result: epoch 1, metrics: {'accuracy': 0.9202}")])
    assert_form(timer, [form("Train epoch time: 7388.254 ms, per step time: 7.877 ms")])

    assert_form(stop[:1], [form("Begin training, time is: 1665892816.363511")])
    for epoch, line in enumerate(stop[1:-1], start=1):
        assert re.fullmatch(form(f"epoch: {epoch} step: 938, loss is 0.45305341482162476"), line)
    assert re.fullmatch(
        r"End training, time: \d+\.\d+, epoch: \d, step: \d+, "
        r"loss:\d+\.\d*(e-\d+)?",
        stop[-1],
    )

    line_form = re.compile(r"Saved checkpoint, loss:0\.0\d{6}, current step num:( {0,3}\d+)\.")
    matches = [line_form.fullmatch(line) for line in save]
    steps = [int(match[1]) for match in matches if match]
    assert len(steps) == len(save) > 0

    files = {file.name for file in (tutorial_folder / "checkpoint").iterdir()}
    assert files == {"mnist-1_938.ckpt", "mnist-graph.meta", *(f"1_{n}.ckpt" for n in steps)}

    accuracy = float(fit[-1].rpartition(" ")[2].rstrip("}"))
    assert 0.9 < accuracy < 1.0


def assert_form(lines: list[str], forms: list[str]) -> None:
    """Check that each line matches its pattern, and that there are no others."""
    assert len(lines) == len(forms), lines
    for line, pattern in zip(lines, forms, strict=True):
        assert re.fullmatch(pattern, line), f"{line!r} has not the form {pattern}"
