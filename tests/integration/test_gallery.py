"""The programs of `examples/gallery` run, and print what they print with MindSpore.

If the environment variable MINISPORE_MINDSPORE_PYTHON names a Python that has MindSpore, each
program also runs there, with the word `minispore` replaced. The printed lines must be equal, and
their numbers close.
"""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.helpers.processes import run as run_program
from tests.oracles.test_mindspore import agree

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
PROGRAMS = sorted(GALLERY.glob("*.py"))
# Absolute and relative: after some hundred steps of training in float32, the rounding errors of two
# libraries have grown, and a rounded number can differ in its last digit.
TOLERANCE = 2e-3
# A line of each program that shows that the training has succeeded.
SUCCESS = {
    "adversarial": r"^step 150: .*\n.* have the mean [12]\.\d",
    "custom_callback": r"^stop after step \d+ in epoch \d+$",
    "custom_dataset": r"^epoch 1: \[1 3 1\] at \[1 3 1\], \(3, 5\), sum",
    "custom_loss": r"^HuberLoss: y = (2\.9|3\.0)\d* x \+ 1\.0",
    "custom_training_step": r"^epoch 10: loss 0\.\d+, accuracy 9\d\.\d%$",
    "gradient_clipping": r"^the weight is 0\.[45]",
    "image_augmentation": r"^it classifies [89]\d\.\d% of",
    "learning_rate_schedule": r"^epoch: 6 step: 8, loss is 0\.1",
    "lenet": r"^it reads [89]\d\.\d% of the digits$",
    "linear_regression": r"^y = (1\.99|2\.00)\d a \+ -(2\.99|3\.00)\d b \+ (0\.49|0\.50)\d$",
    "mixed_precision": r"^weights \[1\.0, -2\.0, 0\.5, 1\.5\]$",
    "transfer_learning": r"^trained \['head.weight', 'head.bias'\]: accuracy [89]",
    "word_embedding": r"^cat: nearest is (dog|man)",
}


def run(python: str, script: Path, folder: Path, *options: str) -> str:
    """Return what a program prints."""
    # One thread: with more, MindSpore takes longer to synchronize them than to compute.
    environment = {"GLOG_v": "4", "OMP_NUM_THREADS": "1"}
    if python == sys.executable:
        environment["PYTHONPATH"] = str(GALLERY.parents[1])
    return run_program(python, *options, script, folder=folder, environment=environment).stdout


@pytest.mark.full
@pytest.mark.parametrize("script", PROGRAMS, ids=lambda script: script.stem)
def test_gallery_program_succeeds(script: Path, tmp_path: Path) -> None:
    printed = run(sys.executable, script, tmp_path, "-W", "error")
    assert re.search(SUCCESS[script.stem], printed, re.MULTILINE), printed


@pytest.mark.full
@pytest.mark.skipif(
    "MINISPORE_MINDSPORE_PYTHON" not in os.environ, reason="no MINISPORE_MINDSPORE_PYTHON"
)
@pytest.mark.parametrize("script", PROGRAMS, ids=lambda script: script.stem)
def test_gallery_program_prints_what_it_prints_with_mindspore(script: Path, tmp_path: Path) -> None:
    theirs = tmp_path / script.name
    source = script.read_text("utf-8")
    theirs.write_text(re.sub(r"\bminispore\b", "mindspore", source), "utf-8")
    python = os.environ["MINISPORE_MINDSPORE_PYTHON"]
    expected = run(python, theirs, tmp_path).splitlines()
    printed = run(sys.executable, script, tmp_path).splitlines()
    assert len(printed) == len(expected)
    different = [
        pair for pair in zip(printed, expected, strict=True) if not agree(*pair, TOLERANCE)
    ]
    assert not different
