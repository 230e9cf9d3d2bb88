"""The common parts of the trainings with callbacks: network, recording callback, hooks, files.

Neither library is imported here; both are arguments.
"""

import os
import re
import struct
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import NoReturn, Protocol

import numpy as np

EVENTS = [
    f"on_{stage}_{point}"
    for stage in ("train", "eval")
    for point in ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")
]
Numbers = dict[str, object]


class Params(Protocol):
    """The attributes of the run's parameters that are used here."""

    cur_step_num: int

    def get(self, name: str) -> object: ...


class Run(Protocol):
    """The methods of a RunContext that are used here."""

    def original_args(self) -> Params: ...
    def request_stop(self) -> None: ...


Hook = Callable[[Run], object]


class Stage:
    """The library, and a new network with its Model for each scenario.

    Attributes:
        ms: The library.
        net: The network.
        optimizer: Its optimizer.
        events: The events that the recording callback has received.
        model: The Model.
    """

    def __init__(self, ms: ModuleType) -> None:
        """Create the network, with fixed weights."""
        self.ms = ms
        weight = np.array([[0.1, -0.2, 0.3]], np.float32)
        self.net = ms.nn.Dense(3, 1, ms.Tensor(weight), ms.Tensor(np.zeros(1, np.float32)))
        self.optimizer = ms.nn.Momentum(self.net.trainable_params(), 0.05, 0.5)
        self.events: list[str] = []
        metrics = {"loss": ms.train.Loss(), "mae": ms.train.MAE()}
        self.model = ms.train.Model(self.net, ms.nn.MSELoss(), self.optimizer, metrics)

    def data(self, rows: int = 12) -> object:
        """Return batches of 4 rows, not shuffled."""
        random = np.random.default_rng(rows)
        x = random.normal(size=(rows, 3)).astype(np.float32)
        y = (x @ [[1.0], [2.0], [-1.0]]).astype(np.float32)
        columns = ["x", "y"]
        source = self.ms.dataset.NumpySlicesDataset((x, y), columns, shuffle=False)
        return source.batch(4)

    def callback(self, **hooks: Hook) -> object:
        """Return a callback with these hooks."""

        def method(hook: Hook) -> Callable[[object, Run], object]:
            return lambda self, run: hook(run)

        methods = {name: method(hook) for name, hook in hooks.items()}
        return type("Custom", (self.ms.train.Callback,), methods)()

    def recorder(self) -> object:
        """Return the callback that records each event with its epoch and step."""

        def record(event: str, run: Run) -> None:
            params = run.original_args()
            place = [params.get(name) for name in ("cur_epoch_num", "cur_step_num")]
            self.events.append(f"{event[3:]} {place[0]} {place[1]}")

        return self.callback(**{event: partial(record, event) for event in EVENTS})

    def train(self, callbacks: list[object], epochs: int = 2) -> None:
        """Call `Model.train`."""
        self.model.train(epochs, self.data(), [*callbacks, self.recorder()], False)

    def fit(self, callbacks: list[object], epochs: int = 2, **options: object) -> None:
        """Call `Model.fit`."""
        every = [*callbacks, self.recorder()]
        self.model.fit(
            epochs, self.data(), self.data(8), callbacks=every, dataset_sink_mode=False,
            valid_dataset_sink_mode=False, **options,
        )  # fmt: skip

    def weights(self) -> Numbers:
        """Return the parameters, which show whether all steps were equal."""
        return {p.name: p.asnumpy().ravel().tolist() for p in self.net.get_parameters()}


def in_step(step: int, action: Hook) -> Hook:
    """Return a hook that calls `action` in one step."""
    return lambda run: action(run) if run.original_args().cur_step_num == step else None


def stop(run: Run) -> None:
    """Request a stop."""
    run.request_stop()


def fail(_: Run) -> NoReturn:
    """Raise an exception."""
    raise ArithmeticError("on purpose")


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and value of each field of a protobuf message."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        length = {1: 8, 5: 4}[key & 7] if key & 7 != 2 else varint()
        yield key >> 3, message[at : at + length]
        at += length


def scalars(path: str) -> Numbers:
    """Return the scalars of an event file: for each tag, pairs of a step and a number."""
    with open(path, "rb") as file:
        data = file.read()
    series: dict[str, list[object]] = {}
    while data:
        length = int.from_bytes(data[:8], "little")
        event, data = dict(fields(data[12 : 12 + length])), data[16 + length :]
        summary = event.get(5, b"")
        assert isinstance(summary, bytes)
        for _, value in fields(summary):
            assert isinstance(value, bytes)
            item = dict(fields(value))
            tag, number = item.get(1), item.get(3)
            if isinstance(tag, bytes) and isinstance(number, bytes):
                series.setdefault(tag.decode(), []).append(
                    [event.get(2, 0), struct.unpack("<f", number)[0]]
                )
    return dict(series)


def files_in(folder: str) -> dict[str, int]:
    """Return the sizes of the files by name, without the times in names."""
    sizes: dict[str, int] = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            shown = re.sub(r"\.\d{9,}\.\d+\.[^_]+_", ".#_", os.path.relpath(path, folder))
            sizes[shown] = 0 if "events.out" in name else os.path.getsize(path)
    return sizes
