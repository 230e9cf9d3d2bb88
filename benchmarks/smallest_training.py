"""The smallest training: what it imports, and what it calls before its first step.

`python -m benchmarks.smallest_training` prints, as JSON, the files of the package that are loaded
after it, and the number of calls of the package's functions from `Model.train` to the first step.
"""

import json
import sys
from pathlib import Path
from types import FrameType

import numpy as np

import minispore
from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import LossMonitor, Model, TimeMonitor

PACKAGE = Path(minispore.__file__).parent


class Network(nn.Cell):
    """A layer that notes when it is called first."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Dense(8, 2)

    def construct(self, x: minispore.Tensor) -> minispore.Tensor:
        """Return the layer's output."""
        sys.setprofile(None)
        return self.layer(x)


def main() -> None:
    """Run the training and print what it needs."""
    calls = 0

    def count(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        code = frame.f_code
        # Comprehensions are calls in some versions of Python only.
        if event == "call" and code.co_name[0] != "<" and PACKAGE in Path(code.co_filename).parents:
            calls += 1

    minispore.set_seed(1)
    x, y = np.ones((8, 8), np.float32), np.zeros(8, np.int32)
    data = NumpySlicesDataset({"x": x, "y": y}).batch(4)
    network = Network()
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    model = Model(network, nn.CrossEntropyLoss(), optimizer)
    sys.setprofile(count)
    model.train(1, data, callbacks=[LossMonitor(per_print_times=10), TimeMonitor(data_size=10)])
    files = [getattr(module, "__file__", None) for module in sys.modules.values()]
    paths = {Path(file) for file in files if file is not None}
    loaded = sorted(
        path.relative_to(PACKAGE).as_posix() for path in paths if PACKAGE in path.parents
    )
    print(json.dumps({"files": loaded, "calls": calls}))


if __name__ == "__main__":
    main()
