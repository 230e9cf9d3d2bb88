#!/usr/bin/env bash
# MindSpore 2.10.0, CPU: mindspore.numpy.ceil, trunc and fix return float32 for float64, while floor and rint return float64,
# so that the ceiling of 16777217 is 16777216, below the number itself.
# Expected: the type of the input, as in numpy.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$(GLOG_v=4 "$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import mindspore.numpy as mnp
import numpy as np
from mindspore import Tensor

x = Tensor(np.array([16777217.0]))
for name in ("ceil", "trunc", "fix", "floor", "rint"):
    y = getattr(mnp, name)(x)
    print(name, y.dtype, int(y.asnumpy()[0]))
PYTHON
)
expected="ceil Float32 16777216
trunc Float32 16777216
fix Float32 16777216
floor Float64 16777217
rint Float64 16777217"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
