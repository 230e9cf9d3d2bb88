"""The commands `eval`, `predict` and `info`, which read a file and print a table or JSON."""

import json
from pathlib import Path

import numpy as np

from minispore import nn, ops
from minispore._cli.arguments import Arguments
from minispore._cli.errors import UserError, as_user_error
from minispore._cli.training import CHECKPOINT, newest_checkpoint
from minispore._cli.tutorial import Network, batches, data_folder
from minispore.ops.tensors import Tensor
from minispore.train import Model, load_checkpoint, load_param_into_net
from minispore.train.summary.decode import read_events
from minispore.utils.arrays import Float32Array
from minispore.utils.atomic import open_regular_file
from minispore.utils.progress import format_number
from minispore.utils.tables import Table

_BAR = 40  # letters of a probability of 1
# MNIST's images have a side of 28 pixels, and their digits one of at most 20.
_SIDE, _DIGIT = 28, 20
_MIN_CONTRAST = 0.15  # of ink to paper
# What the files of a run are besides its checkpoints.
_FILES = {
    "mnist-graph.meta": "the cells of the network, as text",
    "arguments.json": "the options of 'minispore train'",
    "metrics.csv": "loss and accuracy over the steps",
    "plot.png": "the same as a plot",
}


def evaluate(arguments: Arguments) -> None:
    """Print the accuracy and the loss of a checkpoint on the test images.

    Raises:
        UserError: If the checkpoint or the data cannot be read.
    """
    network = _network(arguments.file)
    with as_user_error(OSError, ValueError, RuntimeError):
        folder = data_folder(arguments.data, quiet=arguments.json)
        data = batches(folder, "test", 250)
        model = Model(network, nn.CrossEntropyLoss(), metrics={"accuracy", "loss"})
        results = model.eval(data)
    if arguments.json:
        print(json.dumps(results))
    else:
        accuracy, loss = (format_number(results[name]) for name in ("accuracy", "loss"))
        print(f"Accuracy {accuracy}, loss {loss} on the test images")


def predict(arguments: Arguments) -> None:
    """Print the digit that a checkpoint reads in an image, and the probability of each digit.

    Raises:
        UserError: If the checkpoint or the image cannot be read, or Pillow is not installed.
    """
    network = _network(arguments.file)
    image = _image(arguments.image)
    scores = Model(network).predict(Tensor(image[None, None]))
    probabilities = [float(p) for p in ops.softmax(scores).asnumpy()[0]]
    digit = int(np.argmax(probabilities))
    if arguments.json:
        print(json.dumps({"digit": digit, "probabilities": probabilities}))
        return
    print(f"{arguments.image}: a {digit}")
    for i, probability in enumerate(probabilities):
        print(f"{i}  {probability:6.1%}  {'#' * round(_BAR * probability)}".rstrip())


def info(arguments: Arguments) -> None:
    """Print the contents of a checkpoint, an event file, a `.meta` file or the folder of a run.

    Raises:
        UserError: If the file or folder cannot be read, or is none of them.
    """
    path = arguments.file
    with as_user_error(OSError, ValueError):
        if path.is_dir():
            table = _run_table(path)
        elif path.suffix == ".meta":
            text = _meta_text(path)
            print(json.dumps({"cells": text}) if arguments.json else text.rstrip())
            return
        else:
            table = _event_table(path) if ".out." in path.name else _checkpoint_table(path)
    if arguments.json:
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        print(json.dumps(rows))
    else:
        print(table)


def _network(path: Path) -> Network:
    """Return the tutorial's network with the parameters of a checkpoint, or of a run's newest."""
    network = Network()
    if path.is_dir():
        path = newest_checkpoint(path)
    with as_user_error(OSError, ValueError):
        values = load_checkpoint(path, format=_format(path))
        missing = [name for name in network.parameters_dict() if name not in values]
        if missing:
            raise UserError(
                f"the file {path} is no checkpoint of 'minispore train': no {missing[0]}"
            )
        load_param_into_net(network, values)
    return network


def _format(path: Path) -> str:
    return "safetensors" if path.suffix == ".safetensors" else "ckpt"


def _image(path: Path) -> Float32Array:
    """Return the normalised pixels of the digit in an image, of shape (28, 28), as MNIST's."""
    try:
        from PIL import Image
        from PIL.Image import open as read_image
    except ImportError as error:
        raise UserError("reading images needs Pillow: pip install 'minispore[images]'") from error
    try:
        with open(path, "rb", opener=open_regular_file) as file:
            picture: Image.Image = read_image(file)
            if picture.has_transparency_data:  # on grey, black and white are both visible
                paper = Image.new("RGBA", picture.size, "grey")
                picture = Image.alpha_composite(paper, picture.convert("RGBA"))
            grey = np.asarray(picture.convert("L"), np.float32) / 255
    except Exception as error:  # Pillow's errors are of many classes, such as SyntaxError
        raise UserError(f"the image {path} cannot be read: {error}") from error
    background = np.median(grey)  # ink covers less than half of an image
    ink = np.abs(grey - background)
    if ink.max() < _MIN_CONTRAST:
        raise UserError(f"no digit found in the image {path}: it is blank")
    if ink.shape != (_SIDE, _SIDE):  # otherwise it is taken for one of MNIST's
        ink = _centred(ink / ink.max())
    return np.asarray((ink - 0.1307) / 0.3081, np.float32)


def _centred(ink: Float32Array) -> Float32Array:
    """Return the ink at the size and place that digits have in MNIST's images.

    Source: http://yann.lecun.com/exdb/mnist: within 20 x 20 pixels, with the centre of mass in the
    centre of 28 x 28.
    """
    from PIL import Image

    rows, columns = np.nonzero(ink > 0.5)
    ink = ink[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    scale = _DIGIT / max(ink.shape)
    height, width = (max(1, round(scale * length)) for length in ink.shape)
    small = np.asarray(Image.fromarray(ink).resize((width, height)))
    image = np.zeros((_SIDE, _SIDE), np.float32)
    top, left = (
        int(np.clip(round((_SIDE - 1) / 2 - centre), 0, _SIDE - length))
        for centre, length in zip(_centre_of_mass(small), small.shape, strict=True)
    )
    image[top : top + height, left : left + width] = small.clip(0, 1)
    return image


def _centre_of_mass(ink: Float32Array) -> tuple[float, float]:
    rows, columns = np.indices(ink.shape)
    return float(np.average(rows, weights=ink)), float(np.average(columns, weights=ink))


def _checkpoint_table(path: Path) -> Table:
    values = load_checkpoint(path, format=_format(path))
    rows = [
        (name, "text", f"{len(value)} characters", 0)
        if isinstance(value, str)
        else (name, value.dtype.name, str(value.shape), value.size)
        for name, value in values.items()
    ]
    total = sum(row[3] for row in rows)
    title = f"{path}: a checkpoint with {len(rows)} entries, {total:,} numbers"
    return Table(title, ["name", "type", "shape", "numbers"], rows)


def _run_table(folder: Path) -> Table:
    rows: list[tuple[str, int, str]] = []
    for path in sorted(folder.iterdir()):
        if match := CHECKPOINT.fullmatch(path.name):
            text = f"the checkpoint after step {match[2]} of epoch {match[1]}"
        else:
            text = _FILES.get(path.name, "")
        if text:
            rows.append((path.name, path.stat().st_size, text))
    if not rows:
        raise UserError(f"the folder {folder} contains no files of a run of 'minispore train'")
    title = f"{folder}: a run of 'minispore train'"
    return Table(title, ["file", "bytes", "content"], rows)


def _meta_text(path: Path) -> str:
    try:
        with open(path, encoding="utf-8", opener=open_regular_file) as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise UserError(f"the file {path} is no text in UTF-8") from error


def _event_table(path: Path) -> Table:
    counts: dict[str, int] = {}
    last: dict[str, tuple[int, object]] = {}
    for event in read_events(path):
        for tag, content in event.values:
            counts[tag] = counts.get(tag, 0) + 1
            last[tag] = event.step, content
    rows = [(tag, counts[tag], *_last(*last[tag])) for tag in counts]
    title = f"{path}: an event file with {len(rows)} names"
    return Table(title, ["name", "values", "last step", "last value"], rows)


def _last(step: int, content: object) -> tuple[int, str]:
    return step, f"{content:.6g}" if isinstance(content, float) else type(content).__name__
