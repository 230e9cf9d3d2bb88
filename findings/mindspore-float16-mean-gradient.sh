#!/usr/bin/env bash
# MindSpore 2.10.0, PyNative mode on a CPU: the gradient of a float16 mean of more than 65,519 elements is 0, since the
# number of elements is infinite in float16. Expected: 1/70000, which float16 can hold (1.43e-05).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import mindspore as ms
import numpy as np
from mindspore import Tensor

for size in (65_000, 70_000):
    gradient = ms.grad(lambda x: x.mean())(Tensor(np.ones(size, np.float16)))
    print(f"{size}: {float(gradient[0]):.2e}")
PYTHON
)
expected="65000: 1.54e-05
70000: 0.00e+00"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
