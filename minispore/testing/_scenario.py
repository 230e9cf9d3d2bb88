"""Scenarios: small runs that are described by a few values, with an injected fault."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np

from minispore import nn
from minispore.common import set_seed
from minispore.common.seed import get_rng_state, set_rng_state
from minispore.dataset import Dataset, NumpySlicesDataset
from minispore.testing._recorder import record_events
from minispore.testing._trace import EventTrace
from minispore.train.model import Model
from minispore.train.protocol import EVENTS, Callback, RunContext
from minispore.utils.checks import check_int, check_one_of

Kind = Literal["train", "fit", "eval"]
FaultKind = Literal["stop", "exception", "interrupt", "kill"]
_FAULT_LABELS: dict[FaultKind, str] = {
    "stop": "a stop requested",
    "exception": "an exception",
    "interrupt": "an interrupt by the user",
    "kill": "a kill",
}
_BATCH = 3


class InjectedError(Exception):
    """The exception that a fault of the kind "exception" raises.

    Examples:
        >>> scenario = Scenario("eval", fault=Fault("on_eval_begin", kind="exception"))
        >>> scenario.run([])[0].raised
        'InjectedError'
    """


class InjectedKill(BaseException):
    """The exception that a fault of the kind "kill" raises; no callback should catch it.

    Examples:
        >>> scenario = Scenario("eval", fault=Fault("on_eval_begin", kind="kill"))
        >>> scenario.run([])[0].raised
        'InjectedKill'
    """


@dataclass(frozen=True)
class Fault:
    """A fault that is injected into a run.

    Attributes:
        event: The event at which it occurs.
        times: The number of such events in the run, from 1, at which it occurs.
        kind: A requested "stop", an "exception" (`InjectedError`), an "interrupt" by the user
            (KeyboardInterrupt) or a "kill" (`InjectedKill`).
        first: Whether it occurs before the hooks of the other callbacks, or after them.

    Raises:
        TypeError: `times` is no int.
        ValueError: `event` or `kind` is unknown, or `times` is below 1.

    Examples:
        >>> str(Fault("on_train_step_end", times=3, kind="interrupt"))
        'an interrupt by the user at on_train_step_end number 3'
    """

    event: str
    times: int = 1
    kind: FaultKind = "stop"
    first: bool = False

    def __post_init__(self) -> None:
        check_one_of(self.event, tuple(EVENTS), "event")
        check_one_of(self.kind, tuple(_FAULT_LABELS), "kind")
        check_int(self.times, "times", low=1)

    def __str__(self) -> str:
        which = f"{self.event} number {self.times}" if self.times > 1 else self.event
        return f"{_FAULT_LABELS[self.kind]} at {which}{', by an earlier callback' * self.first}"


@dataclass(frozen=True)
class Scenario:
    """A reproducible run of a small network on a few samples.

    Attributes:
        kind: The method of `Model`: "train", "fit" or "eval".
        epochs: The number of epochs.
        batches: The number of steps in an epoch.
        valid_batches: The number of steps in an evaluation; None for `fit` without validation data.
        valid_frequency: The argument of `Model.fit`; a tuple in place of a list of epochs.
        fault: The fault to inject, or None.

    Examples:
        >>> from minispore.train import LossMonitor
        >>> scenario = Scenario("fit", epochs=1, batches=2, valid_frequency=2)
        >>> str(scenario)
        'fit with 1 epoch of 2 steps, validated with 2 steps every 2 epochs'
        >>> scenario.run([LossMonitor(2)]).of("LossMonitor").names
        epoch: 1 step: 2, loss is ...
        ['on_train_step_end', 'on_train_step_end', 'on_train_epoch_end', '__exit__']
    """

    kind: Kind = "train"
    epochs: int = 2
    batches: int = 2
    valid_batches: int | None = 2
    valid_frequency: int | tuple[int, ...] = 1
    fault: Fault | None = None

    def __str__(self) -> str:
        steps = _pluralize(self.batches, "step")
        text = f"{self.kind} with {_pluralize(self.epochs, 'epoch')} of {steps}"
        if self.kind == "eval":
            text = f"eval with {_pluralize(self.valid_batches or 0, 'step')}"
        elif self.kind == "fit" and self.valid_batches is None:
            text += ", without validation data"
        elif self.kind == "fit":
            text += f", validated with {_pluralize(self.valid_batches or 0, 'step')} "
            if isinstance(self.valid_frequency, tuple):
                text += f"after the epochs {list(self.valid_frequency)}"
            elif self.valid_frequency == 1:
                text += "after each epoch"
            else:
                text += f"every {self.valid_frequency} epochs"
        return f"{text}, {self.fault}" if self.fault else text

    @property
    def validated_epochs(self) -> list[int]:
        """The epochs, counted from 1, after which `fit` evaluates the network.

        >>> Scenario("fit", epochs=3, valid_frequency=(1, 3, 5)).validated_epochs
        [1, 3]
        """
        frequency = self.valid_frequency
        if self.kind != "fit" or self.valid_batches is None:
            return []
        if isinstance(frequency, int):
            return list(range(frequency, self.epochs + 1, frequency))
        return [epoch for epoch in range(1, self.epochs + 1) if epoch in frequency]

    def run(self, callbacks: Iterable[Callback], resume: str | None = None) -> EventTrace:
        """Run the scenario with these callbacks, and catch the exception of its own fault.

        The states of the program's random streams are restored afterwards.

        Args:
            callbacks: The callbacks.
            resume: The checkpoint to resume from, as in `Model.train` and `Model.fit`.

        Returns:
            The trace of the run.
        """
        with record_events() as trace, fixed_rng():
            try:
                self.run_on(small_model(), callbacks, resume)
            except (InjectedError, InjectedKill, KeyboardInterrupt):
                if self.fault is None:
                    raise
        return trace

    def run_on(
        self, model: Model, callbacks: Iterable[Callback], resume: str | None = None
    ) -> None:
        """Run the scenario on a given model, without recording it or catching an exception.

        Args:
            model: The model, for inputs of shape (n, 2) and labels from 0 to 2.
            callbacks: The callbacks.
            resume: The checkpoint to resume from.
        """
        listed = list(callbacks)
        if self.fault is not None:
            listed.insert(0 if self.fault.first else len(listed), _FaultInjector(self.fault))
        valid = None if self.valid_batches is None else rows(self.valid_batches, shuffle=False)
        if self.kind == "eval":
            model.eval(rows(0) if valid is None else valid, listed)
        elif self.kind == "train":
            model.train(self.epochs, rows(self.batches), listed, resume=resume)
        else:
            epochs = self.valid_frequency
            frequency = list(epochs) if isinstance(epochs, tuple) else epochs
            model.fit(self.epochs, rows(self.batches), valid, frequency, listed, resume=resume)


@contextmanager
def fixed_rng() -> Generator[None, None, None]:
    """Seed all random streams of the program in this block, and restore their states after it."""
    before = get_rng_state()
    set_seed(5)
    try:
        yield
    finally:
        set_rng_state(before)


def rows(batches: int, *, shuffle: bool = True) -> Dataset:
    """Return batches of inputs of shape (3, 2) and labels of shape (3,)."""
    x = np.sin(np.arange(2.0 * _BATCH * batches, dtype=np.float32)).reshape(-1, 2)
    y = np.arange(len(x), dtype=np.int32) ** 2 % 3
    return NumpySlicesDataset({"x": x, "y": y}, shuffle=shuffle).batch(_BATCH)


def small_model() -> Model:
    """Return a network of two layers with dropout; with its learning rate the loss oscillates."""
    network = nn.SequentialCell(nn.Dense(2, 4), nn.Tanh(), nn.Dropout(p=0.3), nn.Dense(4, 3))
    optimizer = nn.Momentum(network.trainable_params(), 1.5, 0.5)
    return Model(network, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy", "loss"})


class _FaultInjector(Callback):
    """The callback that injects a fault."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self._remaining = fault.times
        setattr(self, fault.event, self._count_event)

    def _count_event(self, run_context: RunContext) -> None:
        self._remaining -= 1
        if self._remaining:
            return
        if self._fault.kind == "stop":
            run_context.request_stop()
        elif self._fault.kind == "exception":
            raise InjectedError(f"injected at {self._fault.event}")
        elif self._fault.kind == "interrupt":
            raise KeyboardInterrupt
        else:
            raise InjectedKill


def _pluralize(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
