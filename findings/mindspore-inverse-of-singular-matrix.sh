#!/usr/bin/env bash
# MindSpore 2.10.0, CPU, PyNative: ops.inverse of a singular matrix returns numbers, without an error, NaN or infinity,
# and the gradient of ops.det there is 0.
# Expected: an error, as numpy.linalg.inv and torch.linalg.inv raise; the gradient is the adjugate, [[4, -2], [-2, 1]].
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$(GLOG_v=4 "$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

x = Tensor(np.array([[1.0, 2.0], [2.0, 4.0]], np.float32))
print(ops.inverse(x).asnumpy().tolist())
print((ms.grad(ops.det)(x).asnumpy() + 0.0).tolist())
PYTHON
)
expected="[[0.0, 0.0], [0.0, 0.25]]
[[0.0, 0.0], [0.0, 0.0]]"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
