"""Saving and loading 264 MiB of parameters, compared with plain files and other formats."""

import os
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import numpy.typing as npt

from benchmarks._other_frameworks import Run
from benchmarks._timing import Baseline, Row, compare
from minispore import Tensor
from minispore.train import load_checkpoint, save_checkpoint, wait_for_saves

# As in a network of medium size: some large matrices, and many small vectors.
SHAPES = [(4096, 2048)] * 7 + [(1024, 1024)] * 10 + [(1024,)] * 100
WORK = f"{sum(4 * np.prod(shape) for shape in SHAPES) / 2**20:.0f} MiB"
TURNS = 11
Arrays = dict[str, npt.NDArray[np.float32]]


def rows() -> list[Row]:
    """Return the rows of saving, saving in the background, and loading."""
    random = np.random.default_rng(1)
    arrays = {str(i): random.random(shape, np.float32) for i, shape in enumerate(SHAPES)}
    with TemporaryDirectory() as name:
        folder = Path(name)
        return [*_saving(folder, arrays), *_loading(folder, arrays)]


def _saving(folder: Path, arrays: Arrays) -> list[Row]:
    items = [{"name": name, "data": Tensor.from_numpy(array)} for name, array in arrays.items()]
    ckpt = folder / "x.ckpt"

    def until_training_continues() -> float:
        start = perf_counter()
        save_checkpoint(items, ckpt, async_save=True)
        seconds = perf_counter() - start
        wait_for_saves()
        return seconds

    plain = partial(_write, folder / "plain", arrays)
    target = [Baseline("write and fsync", plain, 1.3)]
    others = [*target, Baseline("numpy.savez, no fsync", partial(_savez, folder / "x", arrays))]
    if find_spec("safetensors"):
        save = import_module("safetensors.numpy").save_file
        theirs = partial(save, arrays, folder / "s.safetensors")
        others.append(Baseline("safetensors, no fsync", theirs))
    runs: dict[str, tuple[Run, list[Baseline]]] = {
        f"save {WORK}, .ckpt": (partial(save_checkpoint, items, ckpt), others),
        f"save {WORK}, .ckpt, checksum": (
            partial(save_checkpoint, items, ckpt, crc_check=True),
            [Baseline("write and fsync", plain)],
        ),
        f"save {WORK}, .safetensors": (
            partial(save_checkpoint, items, folder / "x", format="safetensors"),
            target,
        ),
        f"save {WORK} in the background: the wait": (
            until_training_continues,
            [Baseline("write and fsync", plain, 0.5)],
        ),
    }
    return [
        row
        for work, (run, baselines) in runs.items()
        for row in compare(work, run, baselines, turns=TURNS)
    ]


def _loading(folder: Path, arrays: Arrays) -> list[Row]:
    """Return the rows of loading the files of `_saving`, which the system has in its cache."""

    def with_minispore(path: Path) -> None:
        load_checkpoint(path, format=path.suffix[1:])

    def with_numpy() -> None:
        with np.load(folder / "x.npz") as file:
            for name in arrays:
                file[name]

    plain = Baseline("np.fromfile", partial(_read, folder / "plain", arrays), 1.3)
    save_checkpoint([{"name": n, "data": Tensor(a)} for n, a in arrays.items()], folder / "y")
    others = [plain, Baseline("numpy.load", with_numpy)]
    return [
        *compare(
            f"load {WORK}, .ckpt", partial(with_minispore, folder / "y.ckpt"), others, turns=TURNS
        ),
        *compare(
            f"load {WORK}, .safetensors",
            partial(with_minispore, folder / "x.safetensors"),
            [plain],
            turns=TURNS,
        ),
    ]


def _write(path: Path, arrays: Arrays) -> None:
    """Write only the bytes, and wait until they are on the disk."""
    with path.open("wb") as file:
        for array in arrays.values():
            file.write(array.data)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path, arrays: Arrays) -> None:
    with path.open("rb") as file:
        for array in arrays.values():
            np.fromfile(file, np.float32, array.size)


def _savez(path: Path, arrays: Arrays) -> None:
    # numpy's annotation has keyword arguments for options only.
    np.savez(path, **arrays)  # type: ignore[arg-type]
