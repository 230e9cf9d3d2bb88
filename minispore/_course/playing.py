"""A run of a learner's training loop: what should happen in it, and what does."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TypeAlias

from minispore import nn
from minispore.common import Tensor
from minispore.train import Callback, RunContext
from minispore.train._protocol.manager import CallbackManager
from minispore.train._protocol.run_context import InternalCallbackParam

# What is written down of an event, from its name and the run's parameters.
Tell: TypeAlias = Callable[[str, InternalCallbackParam], str]

NETWORK = "the network"
VALIDATION = "the validation"


@dataclass(frozen=True)
class Moment:
    """Something that happens in a run: an event, a call of the network, or the validation.

    Attributes:
        name: The event's name.
        epoch: The number of the epoch, 0 outside of them.
        step: The number of the step, counted over all epochs; 0 outside of steps.
    """

    name: str
    epoch: int = 0
    step: int = 0

    def __str__(self) -> str:
        counts = f" of epoch {self.epoch}" if self.epoch else ""
        return f"{self.name}{counts}{f', step {self.step}' if self.step else ''}"


@dataclass(frozen=True)
class Run:
    """A run, in which a callback does something once.

    Attributes:
        epochs: How many.
        batches: How many in each.
        before: How many epochs were done earlier.
        validates: Whether there is a validation.
        at: The number of the event in which the callback does it; too high a one never comes.
        does: What it does, "stop" or "evaluate"; "" for nothing.
    """

    epochs: int
    batches: int
    before: int = 0
    validates: bool = False
    at: int = 0
    does: str = ""

    def __str__(self) -> str:
        text = f"{_count(self.epochs, 'epoch')} of {_count(self.batches, 'batch')}"
        text += f" after {_count(self.before, 'epoch')} of an earlier run" if self.before else ""
        text += " with a validation" if self.validates else ""
        hooks = [moment for moment in self.whole() if moment.name.startswith("on_")]
        if self.does and self.at < len(hooks):
            done = {
                "stop": "a callback that requests a stop",
                "evaluate": "a callback that sets the network to evaluation",
            }
            text += f" and {done[self.does]} in {hooks[self.at]}"
        return text

    def whole(self) -> list[Moment]:
        """The run as the grammar says, if nobody stops it."""
        moments = [Moment("on_train_begin")]
        for i in range(self.epochs):
            epoch = self.before + i + 1
            moments.append(Moment("on_train_epoch_begin", epoch))
            for step in range(i * self.batches + 1, (i + 1) * self.batches + 1):
                names = "on_train_step_begin", NETWORK, "on_train_step_end"
                moments += [Moment(name, epoch, step) for name in names]
            moments += [Moment(VALIDATION, epoch)] * self.validates
            moments.append(Moment("on_train_epoch_end", epoch))
        return [*moments, Moment("on_train_end")]

    def plan(self) -> list[Moment]:
        """The run, with the stop: what is open then is closed, and no more is begun.

        >>> [str(moment) for moment in Run(2, 2, at=3, does="stop").plan()][-3:]
        ['on_train_step_end of epoch 1, step 1', 'on_train_epoch_end of epoch 1', 'on_train_end']
        """
        moments = self.whole()
        places = [i for i, moment in enumerate(moments) if moment.name.startswith("on_")]
        if self.does != "stop" or self.at >= len(places):
            return moments
        # Where it can end: the current step's end, or that of the epoch if it has no step left.
        for i in range(places[self.at], len(moments)):
            epoch = moments[i].epoch
            if moments[i].name == "on_train_step_end":
                ends = [Moment("on_train_epoch_end", epoch), Moment("on_train_end")]
                return [*moments[: i + 1], *ends]
            if moments[i].name == "on_train_epoch_end":
                return [*moments[: i + 1], Moment("on_train_end")]
        return moments

    def played(self, work: ModuleType, tell: Tell) -> list[str]:
        """What happens in the learner's loop."""
        told = list[str]()
        count = 0
        network = _Network(lambda: told.append(tell(NETWORK, params)))
        context = RunContext(
            {
                "mode": "train",
                "epoch_num": self.epochs,
                "initial_epoch": self.before,
                "batch_num": self.batches,
                "cur_step_num": 0,
                "network": network,
                "train_network": network,
                "loss_fn": None,
                "optimizer": None,
                "train_dataset": _Batches(self.batches),
                "train_dataset_element": None,
                "metric_names": [],
            }
        )
        params = context.original_args()

        def heard(event: str, run_context: RunContext) -> None:
            nonlocal count
            told.append(tell(event, params))
            if count == self.at and self.does == "stop":
                run_context.request_stop()
            elif count == self.at and self.does == "evaluate":
                network.set_train(mode=False)
            count += 1

        def validate() -> None:
            told.append(tell(VALIDATION, params))
            params.metrics = {"accuracy": 1.0}
            params.eval_results = {"accuracy": 1.0}

        callbacks = CallbackManager(_Listener(heard))
        if self.validates:
            work.train(context, callbacks, validate)
        else:
            work.train(context, callbacks)
        return told


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 'es' if what == 'batch' else 's'}"


class _Listener(Callback):
    """A callback that tells somebody of each event."""

    def __init__(self, heard: Callable[[str, RunContext], None]) -> None:
        self._heard = heard

    def on_train_begin(self, run_context: RunContext) -> None:
        self._heard("on_train_begin", run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self._heard("on_train_epoch_begin", run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self._heard("on_train_step_begin", run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        self._heard("on_train_step_end", run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self._heard("on_train_epoch_end", run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        self._heard("on_train_end", run_context)


class _Network(nn.Cell):
    """A network whose output is ten times its batch's number, and which tells of being called."""

    def __init__(self, called: Callable[[], None]) -> None:
        super().__init__()
        self._called = called

    def construct(self, x: Tensor) -> Tensor:
        self._called()
        return 10.0 * x


class _Batches:
    """A dataset whose batches are the numbers from 1."""

    def __init__(self, size: int) -> None:
        self._size = size

    def get_dataset_size(self) -> int:
        return self._size

    def create_tuple_iterator(self, *, num_epochs: int) -> list[list[Tensor]]:
        return [[Tensor(float(i + 1))] for i in range(self._size)] if num_epochs else []
