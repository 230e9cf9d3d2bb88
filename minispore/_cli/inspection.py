"""The commands `eval`, `predict` and `info`, which read a file and print a table or JSON."""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minispore import nn, ops
from minispore._cli.arguments import Arguments
from minispore._cli.errors import UserError, as_user_error
from minispore._cli.tutorial import Network, batches, data_folder
from minispore.common import Tensor
from minispore.train import Model, load_checkpoint, load_param_into_net
from minispore.train.summary.decode import read_events
from minispore.utils.atomic import regular
from minispore.utils.tables import Table

_BAR = 40  # letters of a probability of 1
_PIXELS = (28, 28)


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
        print(f"Accuracy {results['accuracy']:.4f}, loss {results['loss']:.4f} on the test images")


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
    """Print the contents of a checkpoint or an event file.

    Raises:
        UserError: If the file cannot be read, or is neither.
    """
    path = arguments.file
    with as_user_error(OSError, ValueError):
        table = _event_table(path) if ".out." in path.name else _checkpoint_table(path)
    if arguments.json:
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        print(json.dumps(rows))
    else:
        print(table)


def _network(path: Path) -> Network:
    """Return the tutorial's network with the parameters of a checkpoint."""
    network = Network()
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


def _image(path: Path) -> NDArray[np.float32]:
    """Return the normalised pixels of an image, of shape (28, 28), bright on dark as MNIST's."""
    try:
        from PIL.Image import open as read_image
    except ImportError as error:
        raise UserError("reading images needs Pillow: pip install 'minispore[images]'") from error
    try:
        with open(path, "rb", opener=regular) as file:
            picture = read_image(file)
            grey = np.asarray(picture.convert("L").resize(_PIXELS), np.float32) / 255
    except Exception as error:  # Pillow's errors are of many classes, such as SyntaxError
        raise UserError(f"the image {path} cannot be read: {error}") from error
    # Ink covers less than half of an image.
    bright = 1 - grey if np.median(grey) > 0.5 else grey
    return np.asarray((bright - 0.1307) / 0.3081, np.float32)


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
