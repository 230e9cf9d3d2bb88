#!/usr/bin/env bash
# MindSpore 2.10.0: a layer that a callback puts into evaluation mode in on_train_begin is in training mode again after
# the first validation of Model.fit. Expected: False in each epoch, as without a validation.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import mindspore.dataset as ds
import numpy as np
from mindspore import nn
from mindspore.train import Callback, Model


class Freeze(Callback):
    def on_train_begin(self, run_context):
        run_context.original_args().network.set_train(True)
        frozen.set_train(False)

    def on_train_step_end(self, run_context):
        modes.append(frozen.training)


rows = {"x": np.ones((2, 2), np.float32), "y": np.zeros((2, 2), np.float32)}
for method in ("train", "fit"):
    data = ds.NumpySlicesDataset(rows, shuffle=False).batch(2)
    frozen, modes = nn.Dropout(p=0.5), []
    net = nn.SequentialCell(frozen, nn.Dense(2, 2))
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"mse"})
    if method == "train":
        model.train(3, data, callbacks=[Freeze()], dataset_sink_mode=False)
    else:
        model.fit(3, data, data, callbacks=[Freeze()], dataset_sink_mode=False, valid_dataset_sink_mode=False)
    print(method, modes)
PYTHON
)
expected="train [False, False, False]
fit [False, True, True]"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
