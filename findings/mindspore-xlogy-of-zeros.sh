#!/usr/bin/env bash
# MindSpore 2.10.0, CPU, PyNative: ops.xlogy(0, 0) is NaN, although its page says that the result is zero where the first
# input is zero. An entropy, the sum of -xlogy(p, p), is NaN as soon as one probability is 0.
# Expected: 0, as scipy.special.xlogy and torch.xlogy give.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$(GLOG_v=4 "$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import numpy as np
from mindspore import Tensor, ops

p = Tensor(np.array([0.0, 0.5, 0.5], np.float32))
print(*(f"{value:.4f}" for value in ops.xlogy(p, p).asnumpy()))
PYTHON
)
expected="nan -0.3466 -0.3466"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
