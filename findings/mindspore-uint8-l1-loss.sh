#!/usr/bin/env bash
# MindSpore 2.10.0 on a CPU: the L1 loss of uint8 numbers wraps where the prediction is the smaller one, and the mean
# of int8 numbers wraps. Expected: [1, 4] and 100.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import mindspore as ms
from mindspore import Tensor, nn, ops

predictions, labels = Tensor([1, 5], ms.uint8), Tensor([2, 1], ms.uint8)
print(nn.L1Loss(reduction="none")(predictions, labels).tolist())
print(int(ops.mean(Tensor([100, 100], ms.int8))))
PYTHON
)
expected="[255, 4]
-28"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
