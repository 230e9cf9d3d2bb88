#!/usr/bin/env bash
# pytorch-ignite 0.5.5: a score that is NaN counts as the best so far. EarlyStopping with a patience of 2 stops scores
# that only fall after epoch 3, but with a NaN in epoch 2 after epoch 5; ModelCheckpoint with n_saved=1 keeps the file of
# a first score NaN, whatever follows. Expected: epoch 3 in both, and the file of the best number.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'torch==2.13.0' 'pytorch-ignite==0.5.5' 'numpy<3'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import os
from math import nan
from tempfile import mkdtemp

import torch
from ignite.engine import Engine, Events
from ignite.handlers import EarlyStopping, ModelCheckpoint


def stopped_after(scores):
    trainer = Engine(lambda engine, batch: None)
    handler = EarlyStopping(2, lambda engine: scores[engine.state.epoch - 1], trainer)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, handler)
    return trainer.run([0], max_epochs=len(scores)).epoch


def kept(scores):
    trainer, folder = Engine(lambda engine, batch: None), mkdtemp(dir=".")
    score = lambda engine: scores[engine.state.epoch - 1]
    handler = ModelCheckpoint(folder, n_saved=1, score_function=score, score_name="score")
    trainer.add_event_handler(Events.EPOCH_COMPLETED, handler, {"model": torch.nn.Linear(1, 1)})
    trainer.run([0], max_epochs=len(scores))
    return os.listdir(folder)


for scores in ([1.0, 0.9, 0.8, 0.7, 0.6, 0.5], [1.0, nan, 0.8, 0.7, 0.6, 0.5]):
    print(f"{scores}: epoch {stopped_after(scores)}")
for scores in ([0.1, 0.9, 0.3], [nan, 0.9, 0.3]):
    print(f"{scores}: {kept(scores)}")
PYTHON
)
expected="[1.0, 0.9, 0.8, 0.7, 0.6, 0.5]: epoch 3
[1.0, nan, 0.8, 0.7, 0.6, 0.5]: epoch 5
[0.1, 0.9, 0.3]: ['model_score=0.9000.pt']
[nan, 0.9, 0.3]: ['model_score=nan.pt']"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
