"""`.safetensors` files, through the package of that name, as MindSpore writes and reads them."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import BinaryIO, Protocol, cast

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]


class _File(Protocol):
    def keys(self) -> Iterable[str]: ...
    def get_tensor(self, name: str) -> Array: ...


def write(file: BinaryIO, values: Iterable[tuple[str, Array | str]]) -> None:
    """Write named arrays to `file`.

    Raises:
        ImportError: The package `safetensors` is not installed.
        ValueError: A value is a text, which the format cannot hold, or a name is taken by it.
    """
    try:
        from safetensors.numpy import save
    except ImportError as error:
        raise _missing() from error
    file.write(save(_arrays(values), metadata={"format": "ms"}))


def read(path: str, choose: Callable[[str], bool]) -> dict[str, Array | str]:
    """Read the chosen arrays of the file at `path`.

    Raises:
        ImportError: The package `safetensors` is not installed.
        ValueError: The file is damaged, or holds a type that numpy has not.
    """
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise _missing() from error
    try:
        # The package's stubs say nothing of what is opened.
        with cast("AbstractContextManager[_File]", safe_open(path, framework="np")) as file:
            return {name: file.get_tensor(name) for name in filter(choose, file.keys())}
    except (SafetensorError, TypeError) as error:  # TypeError: bfloat16 and other types
        raise ValueError(f"Failed to read the checkpoint file '{path}': {error}.") from error


def _arrays(values: Iterable[tuple[str, Array | str]]) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for name, value in values:
        if isinstance(value, str):
            raise ValueError(f"A '.safetensors' file cannot hold the text {name!r}; use 'ckpt'.")
        if name == "__metadata__":
            raise ValueError("A '.safetensors' file keeps the name '__metadata__' for itself.")
        # The package writes memory as it lies, whatever the strides say.
        arrays[name] = np.ascontiguousarray(value).reshape(value.shape)
    return arrays


def _missing() -> ImportError:
    return ImportError(
        "format='safetensors' needs the package 'safetensors': pip install 'minispore[safetensors]'"
    )
