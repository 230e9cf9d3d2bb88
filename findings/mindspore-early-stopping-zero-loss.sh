#!/usr/bin/env bash
# MindSpore 2.10.0: EarlyStopping with a patience of 2 never stops a training whose loss is 0.0 in each epoch, though
# it stops one whose loss is 1.0 after epoch 3. Expected: after epoch 3 in both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'mindspore==2.10.0' 'numpy==1.26.4'
cd "$folder"
output=$("$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import mindspore.dataset as ds
import numpy as np
from mindspore import Parameter, Tensor, nn
from mindspore.train import Callback, EarlyStopping, Model


class Constant(nn.Cell):
    def __init__(self, loss):
        super().__init__()
        self.weight = Parameter(Tensor([0.0]), name="weight")
        self.loss = loss

    def construct(self, x):
        return (x * 0 * self.weight).sum() + self.loss


class Count(Callback):
    epochs = 0

    def on_train_epoch_end(self, run_context):
        self.epochs = run_context.original_args().cur_epoch_num


for loss in (1.0, 0.0):
    net, count = Constant(loss), Count()
    model = Model(nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1)))
    data = ds.NumpySlicesDataset({"x": np.ones((4, 2), np.float32)}, shuffle=False).batch(2)
    model.train(8, data, callbacks=[EarlyStopping("loss", patience=2), count], dataset_sink_mode=False)
    print(f"loss {loss}: {count.epochs} epochs")
PYTHON
)
expected="loss 1.0: 3 epochs
loss 0.0: 8 epochs"
printf '%s\n' "$output"
[ "$output" = "$expected" ] || { printf 'changed; it was:\n%s\n' "$expected"; exit 1; }
