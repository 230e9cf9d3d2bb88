#!/usr/bin/env bash
# torchdata 0.11.0: a StatefulDataLoader with a generator of its own, resumed in the first epoch, yields the rest of
# that epoch in the order of the uninterrupted run, but shuffles the second epoch differently, without a warning.
# Expected: the order of the uninterrupted run in both epochs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'torch==2.13.0' 'torchdata==0.11.0' 'numpy<3'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import torch
from torchdata.stateful_dataloader import StatefulDataLoader


def loader():
    generator = torch.Generator().manual_seed(0)
    return StatefulDataLoader(list(range(6)), batch_size=2, shuffle=True, generator=generator)


def epoch(batches):
    return [batch.tolist() for batch in batches]


first = loader()
batches = iter(first)
next(batches)
state = first.state_dict()
uninterrupted = [epoch(batches), epoch(first)]

second = loader()
second.load_state_dict(state)
resumed = [epoch(second), epoch(second)]
for name, a, b in zip(("rest of epoch 1", "epoch 2"), uninterrupted, resumed):
    print(f"{name}: {a}, resumed {b}")
PYTHON
)
expected="rest of epoch 1: [[3, 0], [1, 4]], resumed [[3, 0], [1, 4]]
epoch 2: [[1, 3], [5, 2], [4, 0]], resumed [[3, 0], [5, 4], [2, 1]]"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
