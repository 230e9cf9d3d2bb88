"""A callback of one's own: it averages the loss, and stops the training when it is low enough."""

import numpy as np

from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import Callback, LambdaCallback, Model, RunContext


class StopAtLoss(Callback):
    """Stop when the moving average of the loss is below a limit.

    Args:
        limit: The limit.
        decay: The weight of the previous average.
    """

    def __init__(self, limit: float, decay: float = 0.8) -> None:
        super().__init__()
        self.limit, self.decay = limit, decay
        self.average = 0.0

    def on_train_begin(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        print(f"{params.epoch_num} epochs of {params.batch_num} steps, until {self.limit}")

    def on_train_step_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        loss = float(params.net_outputs.asnumpy())
        first = params.cur_step_num == 1
        self.average = loss if first else self.decay * self.average + (1 - self.decay) * loss
        if self.average < self.limit:
            print(f"stop after step {params.cur_step_num} in epoch {params.cur_epoch_num}")
            run_context.request_stop()

    def on_train_end(self, run_context: RunContext) -> None:
        print(f"the average of the loss is {self.average:.4f}")


rng = np.random.default_rng(0)
x = rng.standard_normal((60, 3)).astype(np.float32)
y = x.sum(axis=1, keepdims=True)
data = NumpySlicesDataset({"x": x, "y": y}, shuffle=False).batch(10)


def show(run_context: RunContext) -> None:
    """Print the loss of an epoch's last step."""
    params = run_context.original_args()
    print(f"epoch {params.cur_epoch_num}: {params.net_outputs.asnumpy():.4f}")


network = nn.Dense(3, 1, weight_init="zeros", bias_init="zeros")
optimizer = nn.SGD(network.trainable_params(), learning_rate=0.05)
callbacks = [StopAtLoss(0.05), LambdaCallback(on_train_epoch_end=show)]
Model(network, nn.MSELoss(), optimizer).train(50, data, callbacks=callbacks)
