"""Readers of MNIST's files: IDX, gzipped IDX, folders of both, generated digits, downloads."""

import gzip
from io import BytesIO
from pathlib import Path
from random import Random

import numpy as np

from minispore.dataset import MnistDataset
from minispore.dataset.digits import write
from minispore.dataset.digits._write import MARKER
from minispore.dataset.download import _unpack
from minispore.dataset.idx import read_idx, read_idx_shape
from minispore.utils.atomic import open_regular_file
from tests.fuzz.reader_contract import Reader

BIG = 2**31


def idx(*shape: int, content: bytes | None = None, kind: int = 8) -> bytes:
    header = bytes((0, 0, kind, len(shape))) + b"".join(n.to_bytes(4, "big") for n in shape)
    size = int(np.prod(shape))
    return header + (bytes(n % 10 for n in range(size)) if content is None else content)


def packed(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


def bomb(megabytes: int, header: bytes = b"") -> bytes:
    """Return a gzip file of many zeros after a header."""
    out = BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as file:
        file.write(header)
        for _ in range(megabytes):
            file.write(bytes(2**20))
    return out.getvalue()


PLAIN = (idx(5), idx(2, 3), idx(3, 0, 2), idx(2, 2, 2, 2), idx(*[1] * 64))
PROMISES = {
    "2³¹ elements": idx(3)[:4] + BIG.to_bytes(4, "big") + b"abc",
    "2³² in each dimension": bytes((0, 0, 8, 64)) + b"\xff" * 256 + b"abc",
    "empty, but long": bytes((0, 0, 8, 64)) + bytes(4) + b"\xff" * 252,
}


def read_one(path: Path) -> None:
    array = read_idx(path)
    assert array.dtype == np.uint8
    again = bytes((0, 0, 8, array.ndim)) + np.array(array.shape, ">u4").tobytes() + array.tobytes()
    data = path.read_bytes()
    assert again == (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)
    assert read_idx_shape(path) == array.shape


def read_shape(path: Path) -> None:
    shape = read_idx_shape(path)
    assert 1 <= len(shape) <= 64
    assert all(0 <= length < 2**32 for length in shape)


IMAGES, LABELS = idx(3, 28, 28), idx(3)


def read_folder(path: Path) -> None:
    """Read the folder of `path`, whose other file is valid."""
    images, labels = (
        path.with_name("t10k-images-idx3-ubyte"),
        path.with_name("t10k-labels-idx1-ubyte"),
    )
    other, content = (labels, LABELS) if path == images else (images, IMAGES)
    other.write_bytes(content)
    data = MnistDataset(path.parent, "test", shuffle=False)
    rows = list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert len(rows) == data.get_dataset_size() == 3
    for image, label in rows:
        assert image.shape == (28, 28, 1)
        assert image.dtype == np.uint8
        assert label.shape == ()
        assert label.dtype == np.uint32
        assert int(label) < 10


def make_digits(path: Path) -> None:
    """Write the files, whatever the marker contains, and read them."""
    write(path.parent, train=2, test=1)
    assert path.read_bytes().endswith(b'"whole": true}\n')
    assert read_idx(path.with_name("t10k-images-idx3-ubyte")).shape == (1, 28, 28)
    assert read_idx(path.with_name("train-labels-idx1-ubyte")).shape == (2,)


FETCHED = idx(4, 4)


def unpack_download(path: Path) -> None:
    with open(path, "rb", opener=open_regular_file) as file:
        packed_bytes = BytesIO(file.read())
    try:
        content = _unpack(packed_bytes, len(FETCHED))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None  # the caller adds the mirror's name
    assert len(content) <= len(FETCHED) + 1  # pooch verifies the content


IDX_READERS = (
    Reader(
        "idx",
        "x-idx",
        PLAIN,
        read_one,
        (RuntimeError,),
        examples=PROMISES,
        modules=("dataset/idx.py",),
    ),
    Reader(
        "idx.gz",
        "x-idx.gz",
        tuple(map(packed, PLAIN)),
        read_one,
        (RuntimeError,),
        examples={
            "a bomb behind its array": bomb(50, idx(3)),
            "a bomb instead of a header": bomb(50),
            "a bomb of members": packed(b"") * 5000,
            "two members": packed(idx(5)[:6]) + packed(idx(5)[6:]),
            "zeros behind it": packed(idx(5)) + bytes(5000),
            "an endless name": b"\x1f\x8b\x08\x08" + bytes(6) + b"x" * 100_000,
        },
        modules=("dataset/idx.py",),
    ),
    Reader(
        "idx in gzip",
        "x",
        PLAIN,
        read_one,
        (RuntimeError,),
        wrap=packed,
        # An array that is longer than the content of its gzip file.
        examples=PROMISES | {"9 MB": idx(3000, 3000, content=Random(0).randbytes(10_000))},
        modules=("dataset/idx.py",),
    ),
    Reader(
        "idx header",
        "x",
        (*PLAIN, packed(PLAIN[0])),
        read_shape,
        (RuntimeError,),
        modules=("dataset/idx.py",),
    ),
    Reader(
        "images of MNIST",
        "t10k-images-idx3-ubyte",
        (IMAGES,),
        read_folder,
        (RuntimeError,),
        modules=("dataset/idx.py",),
    ),
    Reader(
        "labels of MNIST",
        "t10k-labels-idx1-ubyte",
        (LABELS,),
        read_folder,
        (RuntimeError,),
        examples={"a label of ten": idx(3, content=b"\1\x0a\2")},
        modules=("dataset/idx.py",),
    ),
    Reader(
        "marker of the digits",
        MARKER,
        (
            b'{"train": 2, "test": 1, "seed": 0, "version": 1, "whole": true}\n',
            b'{"train": 2, "test": 1, "seed": 0, "version": 1, "whole": false}\n',
        ),
        make_digits,
        (),
        text=True,
        share=0.02,
        memory=16 * 2**20,
        modules=("dataset/digits/_write.py",),
    ),
    Reader(
        "download",
        "x.gz",
        (packed(FETCHED), FETCHED),
        unpack_download,
        modules=("dataset/download.py",),
    ),
)
