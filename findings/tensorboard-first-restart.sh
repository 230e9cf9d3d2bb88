#!/usr/bin/env bash
# TensorBoard 2.21.0: of its two readers, the newer one ignores the first SessionLog.START of a folder, which says that a
# run has begun again at a step: steps done again are shown twice. Expected: each step once, as in the older one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'tensorboard==2.21.0'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import pathlib
import time

from tensorboard.backend.event_processing import event_accumulator, plugin_event_accumulator
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter

writer = EventFileWriter("run")
clock = iter(range(1_700_000_000, 1_800_000_000))


def add(step, **fields):
    writer.add_event(event_pb2.Event(step=step, wall_time=next(clock), **fields))


def add_loss(step):
    value = summary_pb2.Summary.Value(tag="loss", simple_value=1.0)
    add(step, summary=summary_pb2.Summary(value=[value]))


for step in (1, 2, 3):
    add_loss(step)
add(2, session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START))
for step in (2, 3, 4, 5):
    add_loss(step)
writer.close()
for module in (event_accumulator, plugin_event_accumulator):
    reader = module.EventAccumulator("run").Reload()
    name = module.__name__.rpartition(".")[2]
    events = reader.Scalars("loss") if name == "event_accumulator" else reader.Tensors("loss")
    print(name, [event.step for event in events])
PYTHON
)
expected="event_accumulator [1, 2, 3, 4, 5]
plugin_event_accumulator [1, 2, 3, 2, 3, 4, 5]"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
