"""Read a checkpoint without minispore: the bytes of a `.ckpt` file, field by field.

    python examples/read_checkpoint.py [FOLDER]

A small trained network is written to FOLDER (by default `read_checkpoint`) as `digits.ckpt`. It is
read twice: by the functions below, which do not use minispore, and by `load_checkpoint`.

The file is one message in the format of Protocol Buffers: a sequence of fields, without a header
and without names. Each field begins with its key, an integer that contains the field's number and
its kind: another integer, or a length and as many bytes. These bytes can be a message themselves.
The numbers of the fields have these meanings:

    in the file      1  a value; there is one for each array
    in a value       1  its name             2  its tensor
    in a tensor      1  the length of an axis, once for each axis
                     2  the name of its dtype
                     3  its elements, little-endian

Source: https://protobuf.dev/programming-guides/encoding/
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import minispore as ms
from minispore import nn
from minispore.dataset import NumpySlicesDataset, digits
from minispore.train import Model

INTEGER, LENGTH = 0, 2  # the kinds of fields in a checkpoint
DTYPES = {"Float32": "<f4", "Int32": "<i4"}  # this network has no others


class Field(NamedTuple):
    """A field: its number, the range of its content in the file, and its integer or length."""

    number: int
    start: int
    stop: int
    integer: int


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the integer at byte `at`, with 7 bits in each byte, the lowest first, and its end."""
    value = shift = 0
    while data[at] >= 0x80:  # the eighth bit is set in all bytes but the last
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1


def fields(data: bytes, start: int, stop: int) -> Iterator[Field]:
    """Yield the fields of the message from byte `start` to byte `stop`."""
    while start < stop:
        key, start = varint(data, start)
        integer, end = varint(data, start)
        if key & 7 == INTEGER:
            yield Field(key >> 3, start, end, integer)
        elif key & 7 == LENGTH:
            start, end = end, end + integer
            yield Field(key >> 3, start, end, integer)
        else:
            raise ValueError(f"a field of kind {key & 7} before byte {start}")
        start = end


def read(data: bytes) -> dict[str, npt.NDArray[np.generic]]:
    """Return the arrays of a checkpoint by name, and print its fields."""
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    for value in fields(data, 0, len(data)):
        print(f"byte {value.start:6}: a value of {value.integer} bytes")
        name, tensor = fields(data, value.start, value.stop)
        text = data[name.start : name.stop].decode()
        print(f"byte {name.start:6}:     its name is {text!r}")
        arrays[text] = read_tensor(data, tensor)
    return arrays


def read_tensor(data: bytes, tensor: Field) -> npt.NDArray[np.generic]:
    """Return the array of a tensor's field."""
    axes: list[int] = []
    dtype, elements = "", b""
    print(f"byte {tensor.start:6}:     its tensor takes {tensor.integer} bytes")
    for field in fields(data, tensor.start, tensor.stop):
        content = data[field.start : field.stop]
        if field.number == 1:
            axes.append(field.integer)
            print(f"byte {field.start:6}:         an axis of length {field.integer}")
        elif field.number == 2:
            dtype = content.decode()
            print(f"byte {field.start:6}:         of dtype {dtype}")
        elif field.number == 3:
            elements = content
            print(f"byte {field.start:6}:         {len(content)} bytes, {content[:4].hex(' ')} …")
    return np.frombuffer(elements, DTYPES[dtype]).reshape(axes)


def train(file: Path) -> None:
    """Train a network, and save its checkpoint."""
    ms.set_seed(1)
    images, labels = digits.generate(1_000)
    pixels = images.reshape(-1, 28 * 28).astype(np.float32) / 255
    data = NumpySlicesDataset({"image": pixels, "label": labels.astype(np.int32)}).batch(50)
    network = nn.SequentialCell(nn.Dense(28 * 28, 32), nn.ReLU(), nn.Dense(32, 10))
    optimizer = nn.SGD(network.trainable_params(), learning_rate=0.1)
    Model(network, nn.CrossEntropyLoss(), optimizer).train(1, data)
    ms.save_checkpoint(network, str(file))


def main(folder: Path) -> None:
    """Write a checkpoint, read it in both ways, and compare."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "digits.ckpt"
    train(file)
    data = file.read_bytes()
    print(f"{file.name} has {len(data)} bytes; it begins with {data[:16].hex(' ')}\n")

    arrays = read(data)
    loaded = ms.load_checkpoint(str(file))
    assert list(arrays) == list(loaded)
    for name, array in arrays.items():
        parameter = loaded[name]
        assert isinstance(parameter, ms.Parameter)  # a checkpoint can also contain texts
        other = parameter.asnumpy()
        assert (array.shape, array.dtype) == (other.shape, other.dtype)
        assert array.tobytes() == other.tobytes()
    print(f"\nload_checkpoint finds the same {len(loaded)} arrays, bit for bit")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "read_checkpoint"))
