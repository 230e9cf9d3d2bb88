#!/usr/bin/env bash
# MindSpore 2.10.0, PyNative mode on a CPU: if one tensor is passed as two arguments, `grad` returns for each
# of them the sum of both gradients. Expected: 2ab and a² of a²b (second line).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import mindspore as ms
from mindspore import Tensor

gradient = ms.grad(lambda a, b: (a * a * b).sum(), (0, 1))
x, equal = Tensor([1.0, 2.0, 3.0]), Tensor([1.0, 2.0, 3.0])
for b in (x, equal):
    print(*(part.tolist() for part in gradient(x, b)))
PYTHON
)
expected="[3.0, 12.0, 27.0] [3.0, 12.0, 27.0]
[2.0, 8.0, 18.0] [1.0, 4.0, 9.0]"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
