"""A schedule: a small run that is written down in one line, with the trouble that comes to it."""

import random
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np

from minispore import nn
from minispore._checks import check_int, check_one_of
from minispore.common import set_seed
from minispore.common.seed import random_state, set_random_state
from minispore.dataset import Dataset, NumpySlicesDataset
from minispore.testing._recording import record_events
from minispore.testing._trace import EventTrace
from minispore.train._protocol.callback import EVENTS, Callback
from minispore.train._protocol.run_context import RunContext
from minispore.train.model import Model

Kind = Literal["train", "fit", "eval"]
_WORDS = {
    "stop": "a stop requested",
    "exception": "an exception",
    "interrupt": "an interrupt by the user",
    "kill": "a kill",
}
_BATCH = 3


class PlannedError(Exception):
    """The exception that a schedule's trouble raises."""


class PlannedKill(BaseException):
    """The end that nothing catches, as nothing catches a power cut."""


@dataclass(frozen=True)
class Trouble:
    """What goes wrong in a run.

    Attributes:
        event: The event at which it happens.
        times: The how-many-th such event of the run, from 1.
        kind: A requested "stop", an "exception" (`PlannedError`), an "interrupt" by the user
            (KeyboardInterrupt) or a "kill", which nothing catches.
        first: Whether it comes before the other callbacks are told of the event, or after.

    Raises:
        TypeError: `times` is no int.
        ValueError: There is no such event or kind, or `times` is below 1.
    """

    event: str
    times: int = 1
    kind: Literal["stop", "exception", "interrupt", "kill"] = "stop"
    first: bool = False

    def __post_init__(self) -> None:
        check_one_of(self.event, tuple(EVENTS), "event", "Trouble")
        check_one_of(self.kind, tuple(_WORDS), "kind", "Trouble")
        check_int(self.times, "times", "Trouble", low=1)

    def __str__(self) -> str:
        which = f"{self.event} number {self.times}" if self.times > 1 else self.event
        return f"{_WORDS[self.kind]} at {which}{', by an earlier callback' * self.first}"


@dataclass(frozen=True)
class Schedule:
    """A run of a small network on a few numbers, always the same.

    Attributes:
        kind: "train", "fit" or "eval".
        epochs: How many epochs there are.
        batches: The steps of an epoch.
        valid_batches: The steps of an evaluation; None for a `fit` without validation data.
        valid_frequency: As `Model.fit` takes it; a tuple of the epochs for a list of them.
        trouble: What goes wrong, None for nothing.

    Examples:
        >>> from minispore.train import LossMonitor
        >>> schedule = Schedule("fit", epochs=1, batches=2, valid_frequency=2)
        >>> str(schedule)
        'fit with 1 epoch of 2 steps, validated with 2 steps every 2 epochs'
        >>> schedule.run([LossMonitor(2)]).of("LossMonitor").names
        epoch: 1 step: 2, loss is ...
        ['on_train_step_end', 'on_train_step_end', 'on_train_epoch_end', '__exit__']
    """

    kind: Kind = "train"
    epochs: int = 2
    batches: int = 2
    valid_batches: int | None = 2
    valid_frequency: int | tuple[int, ...] = 1
    trouble: Trouble | None = None

    def __str__(self) -> str:
        steps = _several(self.batches, "step")
        text = f"{self.kind} with {_several(self.epochs, 'epoch')} of {steps}"
        if self.kind == "eval":
            text = f"eval with {_several(self.valid_batches or 0, 'step')}"
        elif self.kind == "fit" and self.valid_batches is None:
            text += ", without validation data"
        elif self.kind == "fit":
            text += f", validated with {_several(self.valid_batches or 0, 'step')} "
            if isinstance(self.valid_frequency, tuple):
                text += f"after the epochs {list(self.valid_frequency)}"
            elif self.valid_frequency == 1:
                text += "after each epoch"
            else:
                text += f"every {self.valid_frequency} epochs"
        return f"{text}, {self.trouble}" if self.trouble else text

    def run(self, callbacks: Iterable[Callback], resume: str | None = None) -> EventTrace:
        """Run it with these callbacks; the exception of its own trouble ends here.

        Afterwards the program's random state is what it was.

        Args:
            callbacks: The callbacks.
            resume: As `Model.train` and `Model.fit` take it.

        Returns:
            What happened.
        """
        with record_events() as trace, repeatable():
            try:
                self.go(callbacks, small_model(), resume)
            except (PlannedError, PlannedKill, KeyboardInterrupt):
                if self.trouble is None:
                    raise
        return trace

    def go(self, callbacks: Iterable[Callback], model: Model, resume: str | None = None) -> None:
        """Run it on a model of one's own; what is raised goes on to the caller."""
        listed = list(callbacks)
        if self.trouble is not None:
            maker = _Troublemaker(self.trouble)
            listed.insert(0 if self.trouble.first else len(listed), maker)
        valid = None if self.valid_batches is None else rows(self.valid_batches, shuffle=False)
        if self.kind == "eval":
            model.eval(rows(0) if valid is None else valid, listed)
        elif self.kind == "train":
            model.train(self.epochs, rows(self.batches), listed, resume=resume)
        else:
            often = self.valid_frequency
            frequency = list(often) if isinstance(often, tuple) else often
            model.fit(self.epochs, rows(self.batches), valid, frequency, listed, resume=resume)


@contextmanager
def repeatable() -> Generator[None, None, None]:
    """A block in which all of the program's chance is the same each time."""
    before = random_state()
    set_seed(5)
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002 (what users' code draws from)
    try:
        yield
    finally:
        set_random_state(before)


def rows(batches: int, *, shuffle: bool = True) -> Dataset:
    """Batches of an input, of shape (3, 2), and a label."""
    x = np.sin(np.arange(2.0 * _BATCH * batches, dtype=np.float32)).reshape(-1, 2)
    y = np.arange(len(x), dtype=np.int32) ** 2 % 3
    return NumpySlicesDataset({"x": x, "y": y}, shuffle=shuffle).batch(_BATCH)


def small_model() -> Model:
    """A network of two layers with dropout, trained so fast that its results go up and down."""
    network = nn.SequentialCell(nn.Dense(2, 4), nn.Tanh(), nn.Dropout(p=0.3), nn.Dense(4, 3))
    optimizer = nn.Momentum(network.trainable_params(), 1.5, 0.5)
    return Model(network, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy", "loss"})


class _Troublemaker(Callback):
    """The callback that makes the trouble."""

    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble
        self._left = trouble.times
        setattr(self, trouble.event, self._act)

    def _act(self, run_context: RunContext) -> None:
        self._left -= 1
        if self._left:
            return
        if self._trouble.kind == "stop":
            run_context.request_stop()
        elif self._trouble.kind == "exception":
            raise PlannedError(f"planned, at {self._trouble.event}")
        elif self._trouble.kind == "interrupt":
            raise KeyboardInterrupt
        else:
            raise PlannedKill


def _several(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
