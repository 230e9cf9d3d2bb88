"""Readers of data sets other than MNIST: CIFAR's binary files, CSV, images."""

from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from minispore.dataset import Cifar10Dataset, Cifar100Dataset, CSVDataset
from minispore.dataset._image_folder_dataset import ImageSource
from tests.fuzz.reader_contract import Reader

IMAGE = bytes(range(256)) * 12


def read_cifar(path: Path) -> None:
    kind = Cifar10Dataset if path.name == "test_batch.bin" else Cifar100Dataset
    data = kind(path.parent, "test", shuffle=False)
    for image, *labels in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
        assert image.shape == (32, 32, 3)
        assert all(int(label) < 100 for label in labels)


def read_csv(path: Path) -> None:
    defaults = [0, 0.5] if path.name == "numbers.csv" else None
    data = CSVDataset(path, column_defaults=defaults, column_names=["a", "b"], shuffle=False)
    count = sum(1 for _ in data.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert count == data.get_dataset_size() > 0


def read_image(path: Path) -> None:
    [(images, labels)] = ImageSource(((path, 3),), decode=True).rows(np.array([0]))
    assert images.ndim == 4
    assert images.shape[3] == 3
    assert labels.tolist() == [3]


def picture(form: str) -> bytes:
    out = BytesIO()
    Image.fromarray(np.arange(60, dtype=np.uint8).reshape(4, 5, 3)).save(out, form)
    return out.getvalue()


ROWS = (b"\3" + IMAGE, b"\0" + IMAGE + b"\x09" + IMAGE)
NUMBERS = (b"1,2.5\n-3,1e3\n", b'"1",2\r\n')
TEXTS = (b'a,"b, c"\nd,e\n', "ä,ß\n".encode())
PICTURES = tuple(map(picture, ("PNG", "BMP", "GIF")))
REFUSED = (RuntimeError,)
DATASET_READERS = (
    Reader(
        "CIFAR-10",
        "test_batch.bin",
        ROWS,
        read_cifar,
        REFUSED,
        modules=("dataset/_cifar_datasets.py",),
    ),
    Reader(
        "CIFAR-100",
        "test.bin",
        (b"\3\x63" + IMAGE,),
        read_cifar,
        REFUSED,
        modules=("dataset/_cifar_datasets.py",),
    ),
    Reader(
        "csv of numbers",
        "numbers.csv",
        NUMBERS,
        read_csv,
        REFUSED,
        text=True,
        modules=("dataset/_csv_dataset.py",),
    ),
    Reader(
        "csv of strings",
        "strings.csv",
        TEXTS,
        read_csv,
        REFUSED,
        text=True,
        modules=("dataset/_csv_dataset.py",),
    ),
    # A picture may be much larger than its file.
    Reader(
        "image",
        "a.png",
        PICTURES,
        read_image,
        REFUSED,
        memory=64 * 2**20,
        modules=("dataset/_image_folder_dataset.py",),
    ),
)
