"""Compare the errors and the step numbers of callbacks with recorded ones of MindSpore.

`train.txt` has the format of `tests/oracles/common.txt` and was recorded with MindSpore 2.10. A
Python that has MindSpore records it from the root of the project:

    python -m tests.oracles.train mindspore < tests/oracles/train.txt > new.txt
"""

import os
import sys
import warnings
from contextlib import chdir
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tests.oracles.common import main

FILE = Path(__file__).with_suffix(".txt")


def outcome(package: str, expression: str) -> str:
    """Return the value of an expression as text, or the name of the error that it raises.

    The value of a constructed object is "ok".
    """
    train, nn = import_module(f"{package}.train"), import_module(f"{package}.nn")
    names = {name: getattr(train, name) for name in train.__all__}
    net = nn.Dense(2, 1, weight_init="zeros", bias_init="zeros")
    with TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train.save_checkpoint(net, "net.ckpt")
        names |= {"net": net, "nan": np.nan, "train": lambda **options: trained(package, **options)}
        try:
            value: object = eval(expression, names)
        except Exception as error:
            return f"raises {type(error).__name__}"
    return value if isinstance(value, str) else "ok"


def trained(package: str, **options: object) -> str:
    """Return the step numbers of `batch_num`, LossMonitor and checkpoints in two epochs of four."""
    from contextlib import redirect_stdout
    from io import StringIO

    ds, nn = import_module(f"{package}.dataset"), import_module(f"{package}.nn")
    train: Any = import_module(f"{package}.train")
    sizes: list[int] = []

    def look(run_context: Any) -> None:  # noqa: ANN401
        sizes.append(run_context.original_args().batch_num)

    config = train.CheckpointConfig(save_checkpoint_steps=2, keep_checkpoint_max=20)
    columns = {"x": np.ones((4, 2), np.float32), "y": np.ones((4, 1), np.float32)}
    data = ds.NumpySlicesDataset(columns, shuffle=False).batch(1)
    net = nn.Dense(2, 1, weight_init="zeros", bias_init="zeros")
    model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    callbacks = [
        train.LambdaCallback(on_train_epoch_end=look),
        train.LossMonitor(),
        train.ModelCheckpoint("net", "saved", config),
    ]
    with redirect_stdout(StringIO()) as printed:
        model.train(2, data, callbacks=callbacks, **options)
    steps = [line.partition(",")[0] for line in printed.getvalue().splitlines()]
    files = sorted(name for name in os.listdir("saved") if name.endswith(".ckpt"))
    return f"{sizes}; {'; '.join(steps)}; {', '.join(files)}"


if __name__ == "__main__":
    main(sys.argv[1], outcome)
