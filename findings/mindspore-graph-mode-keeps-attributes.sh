#!/usr/bin/env bash
# MindSpore 2.10.0, GRAPH_MODE on a CPU: a cell keeps the number in its attribute, and its training mode, as they
# were in the first call. Expected: 200, 500 and 5, as in PyNative mode (first line).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import pathlib
import sys

# The compiler of graph mode reads the source of the cell.
pathlib.Path("cell.py").write_text("""
from mindspore import nn


class Scale(nn.Cell):
    def __init__(self):
        super().__init__()
        self.factor = 2.0

    def construct(self, x):
        if self.training:
            return x * self.factor
        return x * self.factor * 100
""")
sys.path.insert(0, ".")
import mindspore as ms
from cell import Scale

for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
    ms.set_context(mode=mode)
    scale, x = Scale(), ms.Tensor([1.0])
    first = float(scale(x)[0])
    scale.factor = 5.0
    second = float(scale(x)[0])
    scale.set_train(True)
    print(first, second, float(scale(x)[0]))
PYTHON
)
expected="200.0 500.0 5.0
200.0 200.0 200.0"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
