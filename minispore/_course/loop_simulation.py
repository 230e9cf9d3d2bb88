"""Simulated runs of a learner's training loop: the expected events and the observed ones."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TypeAlias

from minispore import nn
from minispore._course.feedback import counted
from minispore.common import Tensor
from minispore.train import LambdaCallback, RunContext
from minispore.train.protocol.callback import EVENTS, CallbackManager, InternalCallbackParam

# Formats an event from its name and the run's parameters.
EventFormatter: TypeAlias = Callable[[str, InternalCallbackParam], str]

NETWORK = "the network"
VALIDATION = "the validation"


@dataclass(frozen=True)
class LoopEvent:
    """A callback event, a call of the network, or the validation.

    Attributes:
        name: The event's name.
        epoch: The number of the epoch, 0 outside of epochs.
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
    """A run in which a callback performs one action.

    Attributes:
        epochs: The number of epochs.
        batches: The number of batches in each epoch.
        before: The number of epochs of an earlier run.
        validates: Whether there is a validation.
        at: The number of the event in which the callback acts; a number that is too large never
            comes.
        action: "stop" or "evaluate"; "" for none.
    """

    epochs: int
    batches: int
    before: int = 0
    validates: bool = False
    at: int = 0
    action: str = ""

    def __str__(self) -> str:
        text = f"{counted(self.epochs, 'epoch')} of {counted(self.batches, 'batch')}"
        text += f" after {counted(self.before, 'epoch')} of an earlier run" if self.before else ""
        text += " with a validation" if self.validates else ""
        hooks = [event for event in self.uninterrupted_events() if event.name.startswith("on_")]
        if self.action and self.at < len(hooks):
            done = {
                "stop": "a callback that requests a stop",
                "evaluate": "a callback that sets the network to evaluation mode",
            }
            text += f" and {done[self.action]} in {hooks[self.at]}"
        return text

    def uninterrupted_events(self) -> list[LoopEvent]:
        """Return the events that the grammar prescribes if no callback requests a stop."""
        events = [LoopEvent("on_train_begin")]
        for i in range(self.epochs):
            epoch = self.before + i + 1
            events.append(LoopEvent("on_train_epoch_begin", epoch))
            for step in range(i * self.batches + 1, (i + 1) * self.batches + 1):
                names = "on_train_step_begin", NETWORK, "on_train_step_end"
                events += [LoopEvent(name, epoch, step) for name in names]
            events += [LoopEvent(VALIDATION, epoch)] * self.validates
            events.append(LoopEvent("on_train_epoch_end", epoch))
        return [*events, LoopEvent("on_train_end")]

    def expected_events(self) -> list[LoopEvent]:
        """Return the events with the stop, which takes effect after a step or an epoch.

        >>> [str(event) for event in Run(2, 2, at=3, action="stop").expected_events()][-3:]
        ['on_train_step_end of epoch 1, step 1', 'on_train_epoch_end of epoch 1', 'on_train_end']
        """
        events = self.uninterrupted_events()
        hooks = [i for i, event in enumerate(events) if event.name.startswith("on_")]
        if self.action != "stop" or self.at >= len(hooks):
            return events
        # The run can end after the current step, or after the epoch if it has no step left.
        for i in range(hooks[self.at], len(events)):
            epoch = events[i].epoch
            if events[i].name == "on_train_step_end":
                ends = [LoopEvent("on_train_epoch_end", epoch), LoopEvent("on_train_end")]
                return [*events[: i + 1], *ends]
            if events[i].name == "on_train_epoch_end":
                return [*events[: i + 1], LoopEvent("on_train_end")]
        return events

    def observe(
        self, work: ModuleType, format_event: EventFormatter
    ) -> tuple[list[str], Exception | None]:
        """Run the learner's loop; return its events, and the error that has ended it."""
        observed = list[str]()
        count = 0
        network = _Network(lambda: observed.append(format_event(NETWORK, params)))
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

        def record(event: str, run_context: RunContext) -> None:
            nonlocal count
            observed.append(format_event(event, params))
            if count == self.at and self.action == "stop":
                run_context.request_stop()
            elif count == self.at and self.action == "evaluate":
                network.set_train(mode=False)
            count += 1

        def hook(event: str) -> Callable[[RunContext], None]:
            return lambda run_context: record(event, run_context)

        def validate() -> None:
            observed.append(format_event(VALIDATION, params))
            params.metrics = {"accuracy": 1.0}
            params.eval_results = {"accuracy": 1.0}

        hooks = {event: hook(event) for event in EVENTS if "train" in event}
        callbacks = CallbackManager(LambdaCallback(**hooks))
        try:
            work.train(context, callbacks, *([validate] if self.validates else []))
        except Exception as error:
            return observed, error
        return observed, None


class _Network(nn.Cell):
    """A network that calls a function and returns ten times its input."""

    def __init__(self, on_call: Callable[[], None]) -> None:
        super().__init__()
        self._on_call = on_call

    def construct(self, x: Tensor) -> Tensor:
        self._on_call()
        return 10.0 * x


class _Batches:
    """A dataset whose batches are the numbers from 1 to `size`."""

    def __init__(self, size: int) -> None:
        self._size = size

    def get_dataset_size(self) -> int:
        return self._size

    def create_tuple_iterator(self, *, num_epochs: int) -> list[list[Tensor]]:
        return [[Tensor(float(i + 1))] for i in range(self._size)] if num_epochs else []
