"""Write a callback of your own, and check it.

    python examples/own_callback.py

The callback stops the training when the loss is low. The loss of a single batch varies, and one
batch with a low loss would stop the training too early, so the callback uses a moving average. The
first version works in this training, but `check_callback`, which tries other kinds of runs, finds
two bugs in it.
"""

from collections.abc import Mapping

import numpy as np

import minispore as ms
from minispore import nn
from minispore.dataset import NumpySlicesDataset, digits
from minispore.testing import CallbackError, check_callback
from minispore.train import Callback, Model, RunContext


class FirstTry(Callback):
    """Stop when the moving average of the losses is below a threshold.

    Args:
        threshold: The threshold.
        weight: The weight of the newest loss; with 1 there is no averaging.
    """

    def __init__(self, threshold: float, weight: float = 0.1) -> None:
        super().__init__()
        self.threshold = threshold
        self.weight = weight
        self.average: float | None = None

    def on_train_step_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        loss = params.net_outputs.item()
        average = loss if self.average is None else self.average
        average += self.weight * (loss - average)
        self.average = average
        if average < self.threshold:
            print(f"stopped in step {params.cur_step_num} at {average:.4f}")
            run_context.request_stop()


class StopAtAverage(FirstTry):
    """The corrected version."""

    def on_train_begin(self, run_context: RunContext) -> None:
        # A new run has its own average.
        self.average = None

    def state_dict(self) -> dict[str, object]:
        """Return the state that a resumed training needs."""
        return {"average": self.average}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore the state; this is called after `on_train_begin`."""
        average = state["average"]
        if average is not None and not isinstance(average, float):
            raise ValueError(f"For 'StopAtAverage', the state's 'average' is {average!r}.")
        self.average = average


def train(callback: Callback) -> None:
    """Train a new network until the callback stops it, and print its mean loss."""
    ms.set_seed(1)
    images, labels = digits.generate(1_000)
    pixels = images.reshape(-1, 28 * 28).astype(np.float32) / 255
    data = NumpySlicesDataset({"image": pixels, "label": labels.astype(np.int32)}).batch(50)

    network = nn.SequentialCell(nn.Dense(28 * 28, 64), nn.ReLU(), nn.Dense(64, 10))
    optimizer = nn.Momentum(network.trainable_params(), learning_rate=0.05, momentum=0.9)
    model = Model(network, nn.CrossEntropyLoss(), optimizer, metrics={"loss"})
    model.train(20, data, callbacks=[callback])
    print(f"the mean loss of all digits is {model.eval(data)['loss']:.4f}")


def main() -> None:
    """Write a callback, check it, and correct what the check reports."""
    print("With the loss of each batch:")
    train(FirstTry(0.2, weight=1))
    print("With their average:")
    train(FirstTry(0.2))

    # In the runs of `check_callback` the losses are about 1: use a threshold that stops them.
    print("\nCheck of the first version:")
    try:
        check_callback(lambda: FirstTry(1.1, weight=0.5), modes=["train"])
    except CallbackError as error:
        print(error)

    print("\nAfter the correction:")
    check_callback(lambda: StopAtAverage(1.1, weight=0.5), modes=["train"])
    print("It satisfies all invariants.")


if __name__ == "__main__":
    main()
