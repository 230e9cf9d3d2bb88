#!/usr/bin/env bash
# MindSpore 2.10.0: the first step of AdamWeightDecay moves a float16 weight of 1 at a gradient of 0.001 by nearly 1, a
# hundred times the learning rate, since its moments are float16. Expected: 0.969, as with a float32 weight.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import mindspore as ms
from mindspore import Parameter, Tensor, nn

for dtype in (ms.float32, ms.float16):
    weight = Parameter(Tensor([1.0], dtype), name="weight")
    nn.AdamWeightDecay([weight], learning_rate=0.01)((Tensor([1e-3], dtype),))
    print(dtype, f"{float(weight[0]):.3f}")
PYTHON
)
expected="Float32 0.969
Float16 0.012"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
