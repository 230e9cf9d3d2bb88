#!/usr/bin/env bash
# MindSpore 2.10.0, PyNative mode on a CPU: sums over repeated indices in float16 end at 2,048, where adding 1 rounds to
# the same number. Expected: 5,000, which float16 can hold; the matrix product of the same numbers gives it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import numpy as np
from mindspore import Tensor, ops

ones = Tensor(np.ones(5000, np.float16))
segments = Tensor(np.zeros(5000, np.int32))
print("segment sum", float(ops.unsorted_segment_sum(ones, segments, 1)[0]))
print("matmul", float(ops.matmul(ones.reshape(1, 5000), ones.reshape(5000, 1))[0, 0]))
PYTHON
)
expected="segment sum 2048.0
matmul 5000.0"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
