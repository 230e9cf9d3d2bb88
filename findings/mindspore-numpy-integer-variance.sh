#!/usr/bin/env bash
# MindSpore 2.10.0, CPU: mindspore.numpy.var and std of integers are wrong, since the mean that they subtract has been
# truncated to an integer: of 1, 2 and 4 they are 1.67 and 1.29, neither numpy's nor those of a sample.
# Expected: as in numpy, whose functions the module has, 1.56 and 1.25, and mean 2.33.
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

values = np.array([1, 2, 4], np.int32)
for name in ("mean", "var", "std"):
    theirs = getattr(mnp, name)(Tensor(values))
    print(name, theirs.dtype, f"{float(theirs):.4f}, numpy {getattr(np, name)(values):.4f}")
PYTHON
)
expected="mean Int32 2.0000, numpy 2.3333
var Float32 1.6667, numpy 1.5556
std Float32 1.2910, numpy 1.2472"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
