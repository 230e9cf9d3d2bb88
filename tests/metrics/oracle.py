"""What MindSpore's metrics answer to the expressions in `oracle.txt`, and what minispore's answer.

The file is written as `tests/common/oracle.txt` is, and printed anew by a Python that has MindSpore
(2.10 made the outcomes that are kept), from the root of the project:

    python -m tests.metrics.oracle mindspore < tests/metrics/oracle.txt > new.txt
"""

import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from ..common.oracle import main

FILE = Path(__file__).with_name("oracle.txt")


class Metric(Protocol):
    """What is called of a metric of either package."""

    def update(self, *inputs: object) -> None: ...

    def eval(self, *, average: bool = False) -> object: ...


def outcome(package: str, expression: str) -> str:
    """What an expression gives, or the name of the error that it raises."""
    train = import_module(f"{package}.train")
    names = {name: getattr(train, name) for name in train.__all__}
    names |= {
        "nn": import_module(f"{package}.nn"),
        "Tensor": import_module(package).Tensor,
        "np": np,
        "nan": np.nan,
        "scores": scores,
        "ties": ties,
        "classes": classes,
        "one_hot": one_hot,
        "masks": masks,
        "batches": batches,
        "split": split,
        "mean": mean,
    }
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return shown(eval(expression, names))
        except Exception as error:
            return f"raises {type(error).__name__}"


def scores(seed: int, *shape: int) -> npt.NDArray[np.float64]:
    """Random numbers in [0, 1)."""
    return np.random.RandomState(seed).random_sample(shape)


def ties(seed: int, *shape: int) -> npt.NDArray[np.float64]:
    """Random numbers of which many are equal."""
    return np.random.RandomState(seed).randint(0, 4, shape) / 4


def classes(seed: int, count: int, *shape: int) -> npt.NDArray[np.int64]:
    """Random class numbers below `count`."""
    return np.random.RandomState(seed).randint(0, count, shape)


def one_hot(seed: int, count: int, length: int) -> npt.NDArray[np.float64]:
    """Random rows with a single 1."""
    return np.eye(count)[classes(seed, count, length)]


def masks(seed: int, *shape: int) -> npt.NDArray[np.int64]:
    """Random zeros and ones."""
    return classes(seed, 2, *shape)


def batches(metric: Metric, *inputs: tuple[object, ...]) -> object:
    """The result after one update with each of `inputs`."""
    for each in inputs:
        metric.update(*each)
    return metric.eval()


def split(metric: Metric, *arrays: npt.NDArray[np.generic]) -> object:
    """The result after updates with one row, two rows, and the remaining ones."""
    cuts = (slice(0, 1), slice(1, 3), slice(3, None))
    return batches(metric, *(tuple(array[cut] for array in arrays) for cut in cuts))


def mean(metric: Metric, *inputs: object) -> object:
    """The averaged result of a metric that gives several."""
    metric.update(*inputs)
    return metric.eval(average=True)


def shown(value: object) -> str:
    """A result in one line, rounded to what both packages' orders of summing leave alike."""
    if isinstance(value, tuple):
        return "(" + ", ".join(shown(item) for item in cast("tuple[object, ...]", value)) + ")"
    if isinstance(value, list):
        return "[" + ", ".join(shown(item) for item in cast("list[object]", value)) + "]"
    if isinstance(value, np.ndarray):
        array = np.asarray(cast("object", value))
        elements = " ".join(_rounded(item) for item in array.ravel().tolist())
        return f"{array.dtype}{list(array.shape)} {elements}"
    if isinstance(value, float):
        return f"float {_rounded(value)}"
    return repr(value) if isinstance(value, str | int | None) else type(value).__name__


def _rounded(value: float) -> str:
    return f"{value + 0.0:.8g}"  # the sum turns -0.0 into 0.0


if __name__ == "__main__":
    main(sys.argv[1], outcome)
