#!/usr/bin/env bash
# MindSpore 2.10.0: save_checkpoint leaves out buffers and parameters without elements, without a word.
# Expected: weight, empty and mean.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor([1.0]), name="weight")
        self.empty = Parameter(Tensor(np.zeros((0, 3), np.float32)), name="empty")
        self.register_buffer("mean", Tensor([7.0]))


ms.save_checkpoint(Net(), "net.ckpt")
print(list(ms.load_checkpoint("net.ckpt")))
PYTHON
)
expected="['weight']"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
