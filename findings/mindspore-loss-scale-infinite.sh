#!/usr/bin/env bash
# MindSpore 2.10.0: DynamicLossScaleManager doubles its scale after each window of good steps without an upper limit: it
# becomes infinite, and no step can succeed any more. Expected: a finite number.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
from mindspore.train import DynamicLossScaleManager

manager = DynamicLossScaleManager(init_loss_scale=2.0**24, scale_factor=2, scale_window=1)
for _ in range(1100):
    manager.update_loss_scale(overflow=False)
print(manager.get_loss_scale())
PYTHON
)
expected="inf"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
