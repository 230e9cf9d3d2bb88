"""Operations and gradients print what MindSpore prints."""

import re
from pathlib import Path

import numpy as np
import pytest

import minispore as ms
from minispore import Parameter, Tensor, ops

TEXT = Path(__file__).with_name("mindspore.txt").read_text("utf-8")
# An expression, an arrow, and what is printed, which may go on over more lines.
PRINTED = re.findall(r"^(\S.*?) => (.*(?:\n \[.*|\n\[\[.*)*)$", TEXT, re.MULTILINE)


def tensor(values: object, dtype: type[np.generic] = np.float32) -> Tensor:
    return Tensor(np.array(values, dtype))


@pytest.mark.parametrize(("expression", "printed"), PRINTED, ids=[pair[0] for pair in PRINTED])
def test_it_prints_what_mindspore_prints(expression: str, printed: str) -> None:
    names = {"ms": ms, "np": np, "ops": ops, "Tensor": Tensor, "T": tensor}
    weights = {"W": Parameter(tensor(2.0), name="w"), "V": Parameter(tensor(7.0), name="v")}
    with np.errstate(all="ignore"):
        assert repr(eval(expression, names | weights)) == printed


def test_the_table_was_read_whole() -> None:
    assert len(PRINTED) == TEXT.count(" => ")
