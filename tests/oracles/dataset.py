"""Compare data sets and their transforms with recorded outputs of MindSpore.

`dataset.txt` has the format of `tests/oracles/common.txt` and was recorded with MindSpore 2.10. A
Python that has MindSpore records it from the root of the project:

    python -m tests.oracles.dataset mindspore < tests/oracles/dataset.txt > new.txt
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from tests.oracles.common import main, shown

FILE = Path(__file__).with_suffix(".txt")
Image = npt.NDArray[np.generic]


class Dataset(Protocol):
    """The method of a data set of either package that is used here."""

    def create_tuple_iterator(
        self, *, num_epochs: int, output_numpy: bool
    ) -> Iterable[list[object]]: ...


def outcome(package: str, expression: str) -> str:
    """Return the value of an expression as text, or the name of the error that it raises."""
    ds = import_module(f"{package}.dataset")
    vision = import_module(f"{package}.dataset.vision")

    def gen(source: object, *columns: str, **arguments: object) -> object:
        """Return a data set that is not shuffled."""
        if "batch_sampler" not in arguments:
            arguments.setdefault("shuffle", False)
        return ds.GeneratorDataset(source, list(columns) or ["x"], **arguments)

    def lengths(*counts: int) -> object:
        """Return a data set of rows of these lengths, and the lengths."""
        return gen([(np.arange(n) + 1, np.int32(n)) for n in counts], "x", "y")

    def csv(*texts: str, **arguments: object) -> list[object]:
        """Return the rows of CSV files."""
        with TemporaryDirectory() as folder:
            files = [Path(folder, f"{i}.csv") for i in range(len(texts))]
            for file, text in zip(files, texts, strict=True):
                file.write_bytes(text.encode())
            return rows(ds.CSVDataset(list(map(str, files)), **{"shuffle": False} | arguments))

    def folder(use: Callable[..., object] = rows, **arguments: object) -> object:
        """Return what `use` makes of a data set of images of two classes, by default its rows."""
        from PIL.Image import fromarray

        with TemporaryDirectory() as path:
            for i, name in enumerate(("dog", "cat")):
                Path(path, name).mkdir()
                for j in range(2):
                    pixels = np.full((1 + j, 2, 3), 10 * i + j, np.uint8)
                    fromarray(pixels[..., 0] if j else pixels).save(Path(path, name, f"{j}.png"))
            return use(ds.ImageFolderDataset(path, **arguments))

    names: dict[str, object] = {
        "ms": import_module(package),
        "ds": ds,
        "np": np,
        "transforms": import_module(f"{package}.dataset.transforms"),
        "vision": vision,
        "Inter": vision.Inter,
        "gen": gen,
        "csv": csv,
        "folder": folder,
        "rows": rows,
        "image": image,
        "lengths": lengths,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _shown(eval(expression, names))
        except Exception as error:
            return f"raises {type(error).__name__}"


def rows(dataset: Dataset) -> list[object]:
    """Return the rows of one epoch."""
    return [*dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def image(*shape: int, dtype: str = "uint8") -> Image:
    """Return an image of random pixels."""
    pixels: Image = np.random.RandomState(1).randint(0, 256, shape).astype(dtype)
    return pixels


def _shown(value: object) -> str:
    """Return a value as one line; a type of strings without its byte order."""
    if isinstance(value, dict):
        items = cast("dict[object, object]", value).items()
        return "{" + ", ".join(f"{key}: {_shown(item)}" for key, item in items) + "}"
    if isinstance(value, list | tuple):
        return "(" + ", ".join(map(_shown, cast("Sequence[object]", value))) + ")"
    return shown(value)


if __name__ == "__main__":
    main(sys.argv[1], outcome)
