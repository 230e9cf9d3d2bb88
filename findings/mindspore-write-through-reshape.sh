#!/usr/bin/env bash
# MindSpore 2.10.0, PyNative mode on a CPU: a write through reshape changes the tensor outside of a gradient, and is
# lost while a gradient is computed. Expected: 129 in both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import mindspore as ms
from mindspore import Tensor


def function(x):
    y = x * x
    flat = y.reshape(4)
    flat[0] = 100.0
    return y.sum()


x = Tensor([[1.0, 2.0], [3.0, 4.0]])
print("outside", float(function(x)))
print("inside", float(ms.value_and_grad(function)(x)[0]))
PYTHON
)
expected="outside 129.0
inside 30.0"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
