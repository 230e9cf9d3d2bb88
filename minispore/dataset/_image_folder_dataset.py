"""ImageFolderDataset: images in folders, one folder for each class."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType

import numpy as np

from minispore.dataset._dataset import check_workers
from minispore.dataset._labelled_images_dataset import as_folder
from minispore.dataset._node import Array, Block, Row, rebatch
from minispore.dataset._source_datasets import AnySampler, MappableDataset, check_absent
from minispore.dataset._sources import MapStyleNode
from minispore.dataset.samplers import choose_sampler
from minispore.dataset.vision._decode import decode_image
from minispore.utils.arrays import IndexArray
from minispore.utils.atomic import open_regular_file
from minispore.utils.checks import caller, check_int, check_type


class ImageFolderDataset(MappableDataset):
    """Images in folders, one for each class: "image" of uint8, and "label" (), int32.

    An image is the bytes of its file, of shape (bytes,), or its pixels (height, width, 3) if
    `decode` is set. Files are read when their rows are. Decoding needs the package `pillow`. A
    folder without files is a class, too, unless its name begins with a dot.

    Args:
        dataset_dir: The folder with the classes' folders.
        num_samples: The maximum number of rows of an epoch; None for all.
        num_parallel_workers: Accepted without effect: all work is done in the calling thread.
        shuffle: Whether each epoch has another random order; None for True.
        sampler: Chooses rows, instead of `num_samples`, `shuffle` and shards.
        extensions: Endings of the names of files, such as [".png"]; None for all files.
        class_indexing: The label of each folder to read; None for 0, 1, ... in the folders' order.
        decode: Whether to decode the images.
        num_shards: The number of processes among which the rows are divided.
        shard_id: The index of this process, from 0.
        cache: Must be None: MindSpore's cache server is not supported.
        decrypt: Must be None: encrypted files are not supported.

    Raises:
        ValueError: If there is no such folder.
        RuntimeError: If arguments contradict one another, or there are no files, or a folder of
            `class_indexing` is missing, or the folder of a class has another one with files; on
            iteration, if a file cannot be decoded.

    Examples:
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> for name in ("cat", "dog"):
        ...     pathlib.Path(folder.name, name).mkdir()
        ...     _ = pathlib.Path(folder.name, name, "1.png").write_bytes(b"...")
        >>> data = ImageFolderDataset(folder.name, shuffle=False)
        >>> data.get_class_indexing(), [int(label) for _, label in data]
        ({'cat': 0, 'dog': 1}, [0, 1])
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.dataset.ImageFolderDataset`.
    """

    def __init__(
        self,
        dataset_dir: str | os.PathLike[str],
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: AnySampler | None = None,
        extensions: Sequence[str] | None = None,
        class_indexing: Mapping[str, int] | None = None,
        decode: bool = False,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: None = None,
        decrypt: None = None,
    ) -> None:
        check_workers(num_parallel_workers)
        check_type(extensions, (list, tuple, NoneType), "extensions")
        check_type(class_indexing, (dict, NoneType), "class_indexing")
        check_type(decode, bool, "decode")
        check_absent(cache, "cache")
        check_absent(decrypt, "decrypt")
        folder = as_folder(dataset_dir)
        endings = tuple([_check_ending(extension) for extension in extensions or ()])
        chosen = choose_sampler(sampler, shuffle, num_samples, num_shards, shard_id, RuntimeError)
        folders = sorted(path.name for path in folder.iterdir() if path.is_dir())
        found = {
            name: sorted(_files(folder / name, endings))
            for name in folders
            if class_indexing is None or name in class_indexing
        }
        if class_indexing is None:
            classes = [name for name in folders if found[name] or not name.startswith(".")]
            class_indexing = {name: i for i, name in enumerate(classes)}
        self._class_indexing = {
            name: check_int(label, "class_indexing", low=-(2**31), high=2**31 - 1)
            for name, label in class_indexing.items()
        }
        for name in self._class_indexing:
            if name not in found:
                raise RuntimeError(
                    f"For '{caller()}', 'class_indexing' names {name!r}, but '{folder}' has only "
                    f"the folders {folders}."
                )
        files = [(path, self._class_indexing[name]) for name in found for path in found[name]]
        if not files:
            raise RuntimeError(
                f"For '{caller()}', there are no files in the folders {list(self._class_indexing)} "
                f"of '{folder}'{f' that end in {endings}' if endings else ''}."
            )
        store = ImageSource(tuple(files), decode)
        super().__init__(MapStyleNode(("image", "label"), store, chosen))

    def get_class_indexing(self) -> dict[str, int]:
        """Return the label of each folder.

        Examples:
            >>> import pathlib, tempfile
            >>> folder = tempfile.TemporaryDirectory()
            >>> pathlib.Path(folder.name, "cat").mkdir()
            >>> _ = pathlib.Path(folder.name, "cat", "1.png").write_bytes(b"...")
            >>> ImageFolderDataset(folder.name, class_indexing={"cat": 5}).get_class_indexing()
            {'cat': 5}
            >>> folder.cleanup()
        """
        return dict(self._class_indexing)

    def num_classes(self) -> int:
        """Return the number of folders.

        Examples:
            >>> import pathlib, tempfile
            >>> folder = tempfile.TemporaryDirectory()
            >>> pathlib.Path(folder.name, "cat").mkdir()
            >>> _ = pathlib.Path(folder.name, "cat", "1.png").write_bytes(b"...")
            >>> ImageFolderDataset(folder.name).num_classes()
            1
            >>> folder.cleanup()
        """
        return len(self._class_indexing)


def _files(folder: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files in the folder of a class; raise RuntimeError if a folder in it has some."""
    for path in folder.iterdir():
        for file in path.rglob("*") if path.is_dir() else [path]:
            if not file.is_file() or not file.name.endswith(endings or ""):
                continue
            if file is not path:
                raise RuntimeError(
                    f"For '{caller()}', the images of a class must be in one folder, but "
                    f"'{folder}' has '{file}' in a folder in it."
                )
            yield path


def _check_ending(ending: object) -> str:
    """Return an item of the argument `extensions`; raise TypeError unless it is a string."""
    if not isinstance(ending, str):
        raise TypeError(
            "For 'ImageFolderDataset', the argument 'extensions' must hold strings, but got "
            f"{ending!r}."
        )
    return ending


@dataclass(frozen=True)
class ImageSource:
    """Files of images and their labels."""

    files: tuple[tuple[Path, int], ...]
    decode: bool

    def count(self) -> int:
        """Return the number of files."""
        return len(self.files)

    def labels(self, column: int) -> Array:
        """Return the labels of all files."""
        del column
        return np.array([label for _, label in self.files], np.int32)

    def rows(self, indices: IndexArray) -> Iterable[Block]:
        """Return the images and labels with these indices."""
        return rebatch(map(self._row, indices.tolist()), len(indices))

    def _row(self, index: int) -> Row:
        path, label = self.files[index]
        with open(path, "rb", opener=open_regular_file) as file:
            content = np.frombuffer(file.read(), np.uint8)
        image = decode_image(content, f"'{path}'") if self.decode else content
        return image, np.array(label, np.int32)
