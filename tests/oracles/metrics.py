"""Compare metrics with recorded outputs of MindSpore.

`metrics.txt` has the format of `tests/oracles/common.txt` and was recorded with MindSpore 2.10. A
Python that has MindSpore records it from the root of the project:

    python -m tests.oracles.metrics mindspore < tests/oracles/metrics.txt > new.txt
"""

import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from tests.oracles.common import main

FILE = Path(__file__).with_suffix(".txt")


class Metric(Protocol):
    """The methods of a metric of either package."""

    def update(self, *inputs: object) -> None: ...

    def eval(self, *, average: bool = False) -> object: ...


def outcome(package: str, expression: str) -> str:
    """Return the value of an expression as text, or the name of the error that it raises."""
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
    """Return random numbers in [0, 1)."""
    return np.random.RandomState(seed).random_sample(shape)


def ties(seed: int, *shape: int) -> npt.NDArray[np.float64]:
    """Return random numbers with many ties."""
    return np.random.RandomState(seed).randint(0, 4, shape) / 4


def classes(seed: int, count: int, *shape: int) -> npt.NDArray[np.int64]:
    """Return random class indices below `count`."""
    return np.random.RandomState(seed).randint(0, count, shape)


def one_hot(seed: int, count: int, length: int) -> npt.NDArray[np.float64]:
    """Return random one-hot rows."""
    return np.eye(count)[classes(seed, count, length)]


def masks(seed: int, *shape: int) -> npt.NDArray[np.int64]:
    """Return random zeros and ones."""
    return classes(seed, 2, *shape)


def batches(metric: Metric, *inputs: tuple[object, ...]) -> object:
    """Return the result after one update with each of `inputs`."""
    for batch in inputs:
        metric.update(*batch)
    return metric.eval()


def split(metric: Metric, *arrays: npt.NDArray[np.generic]) -> object:
    """Return the result after updates with one row, two rows, and the remaining rows."""
    cuts = (slice(0, 1), slice(1, 3), slice(3, None))
    return batches(metric, *(tuple(array[cut] for array in arrays) for cut in cuts))


def mean(metric: Metric, *inputs: object) -> object:
    """Return the average of a metric with several results."""
    metric.update(*inputs)
    return metric.eval(average=True)


def shown(value: object) -> str:
    """Return a result as one line, rounded so that the order of summation does not matter."""
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
    return f"{value + 0.0:.8g}"  # the sum converts -0.0 to 0.0


if __name__ == "__main__":
    main(sys.argv[1], outcome)
