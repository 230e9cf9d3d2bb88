#!/usr/bin/env bash
# MindSpore 2.10.0, PyNative mode on a CPU: the gradient of a slice with a negative step is zero.
# Expected: that of the elements, as for a positive step (last line).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import mindspore as ms
from mindspore import Tensor

x, weights = Tensor([1.0, 2.0, 3.0]), Tensor([1.0, 2.0, 3.0])
print(ms.grad(lambda x: (x[::-1] * weights).sum())(x).tolist())
print(ms.grad(lambda x: (x[2:0:-1] * weights[:2]).sum())(x).tolist())
print(ms.grad(lambda x: (x * weights)[::2].sum())(x).tolist())
PYTHON
)
expected="[0.0, 0.0, 0.0]
[0.0, 0.0, 0.0]
[1.0, 0.0, 3.0]"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
