#!/usr/bin/env bash
# MindSpore 2.10.0: the accuracy of scores of shape (N, 1), as a network with one output gives, is a third here, without
# an error or warning: all samples are taken for class 0. Expected: 1.0, or an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import numpy as np
from mindspore import Tensor
from mindspore.train import Accuracy

accuracy = Accuracy("classification")
accuracy.update(Tensor(np.array([[0.1], [0.9], [0.8]], np.float32)), Tensor(np.array([0, 1, 1])))
print(accuracy.eval())
PYTHON
)
expected="0.3333333333333333"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
