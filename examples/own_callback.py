"""A callback of one's own, from the idea to one that can be relied on.

    python examples/own_callback.py

The idea: stop when the loss is low enough. But the loss of a single batch jumps, and one lucky
batch ends the training too early; so look at a moving average. The first try does that and works.
Then `check_callback` runs it through every way that a run can go, and finds what is wrong with it.
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
        threshold: How low it must be.
        weight: How much the newest loss counts; with 1 there is no average at all.
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
    """The same, mended."""

    def on_train_begin(self, run_context: RunContext) -> None:
        # Another run begins with losses of its own.
        self.average = None

    def state_dict(self) -> dict[str, object]:
        """What must not be lost when a training is interrupted."""
        return {"average": self.average}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on from there; this is called after `on_train_begin`."""
        average = state["average"]
        if average is not None and not isinstance(average, float):
            raise ValueError(f"For 'StopAtAverage', the state's 'average' is {average!r}.")
        self.average = average


def train(callback: Callback) -> None:
    """Train a network from its beginning until the callback stops it, and say where it is then."""
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
    """Go the way from the idea to the callback that keeps all laws."""
    print("With the loss of each batch:")
    train(FirstTry(0.2, weight=1))
    print("With their average:")
    train(FirstTry(0.2))

    # The small network of the kit has losses of about 1: let the stop come between.
    print("\nIs it right?")
    try:
        check_callback(lambda: FirstTry(1.1, weight=0.5), modes=["train"])
    except CallbackError as error:
        print(error)

    print("\nAnd when it is mended?")
    check_callback(lambda: StopAtAverage(1.1, weight=0.5), modes=["train"])
    print("It keeps all laws.")


if __name__ == "__main__":
    main()
