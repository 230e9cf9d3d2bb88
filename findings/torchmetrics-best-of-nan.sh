#!/usr/bin/env bash
# torchmetrics 1.9.0: if one epoch's value is NaN, MetricTracker.best_metric returns NaN and that epoch as the best, with
# maximize=True and with maximize=False. Expected: the best of the numbers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'torch==2.13.0' 'torchmetrics==1.9.0' 'numpy<3'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
from math import nan

import torch
from torchmetrics import MeanSquaredError
from torchmetrics.wrappers import MetricTracker

for maximize in (True, False):
    tracker = MetricTracker(MeanSquaredError(), maximize=maximize)
    for error in (3.0, nan, 1.0):
        tracker.increment()
        tracker.update(torch.tensor([error]), torch.tensor([0.0]))
    value, epoch = tracker.best_metric(return_step=True)
    print(f"maximize={maximize}: {value} in epoch {epoch} of {tracker.compute_all().tolist()}")
PYTHON
)
expected="maximize=True: nan in epoch 1 of [9.0, nan, 1.0]
maximize=False: nan in epoch 1 of [9.0, nan, 1.0]"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
