#!/usr/bin/env bash
# MindInsight 2.3.1: installed today it gets numpy 2, with which the statistics of a tensor are an AttributeError, and
# 'numpy<2' needs an older pandas than it asks for. Expected: that it asks for versions with which it works.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindinsight==2.3.1' 'numpy==2.4.6' 'pandas==3.1.1' 'setuptools==65.5.0'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import numpy as np
from mindinsight.utils.tensor import TensorUtils

try:
    TensorUtils.get_statistics_from_tensor(np.array([1.0, 3.0]))
except AttributeError as error:
    print(type(error).__name__, "np.PINF" if "np.PINF" in str(error) else error)
PYTHON
)
expected="AttributeError np.PINF"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
