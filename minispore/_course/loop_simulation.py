"""Simulated runs of a learner's training loop: the expected events and the observed ones."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Protocol, TypeAlias

from minispore._course.feedback import counted
from minispore.train.protocol.callback import EVENTS

# Formats an event from its name and the learner's state.
EventFormatter: TypeAlias = Callable[[str, object], str]

NETWORK = "the network"
VALIDATION = "the validation"


class _Stoppable(Protocol):
    """The learner's state."""

    stop: bool


@dataclass(frozen=True)
class LoopEvent:
    """A callback event, a call of the network, or the validation.

    Attributes:
        name: The event's name.
        epoch: The number of the epoch, 0 outside of epochs.
        step: The number of the step in its epoch; 0 outside of steps.
    """

    name: str
    epoch: int = 0
    step: int = 0

    def __str__(self) -> str:
        counts = f" of epoch {self.epoch}" if self.epoch else ""
        return f"{self.name}{counts}{f', step {self.step}' if self.step else ''}"


@dataclass(frozen=True)
class Run:
    """A run, in which a callback may request a stop.

    Attributes:
        epochs: The number of epochs.
        batches: The number of batches in each epoch.
        validates: Whether there is a validation.
        stop_at: The number of the event in which the callback requests a stop; None for no stop, as
            a number that is too large.
    """

    epochs: int
    batches: int
    validates: bool = False
    stop_at: int | None = None

    def __str__(self) -> str:
        text = f"{counted(self.epochs, 'epoch')} of {counted(self.batches, 'batch')}"
        text += " with a validation" if self.validates else ""
        hooks = [event for event in self.uninterrupted_events() if event.name.startswith("on_")]
        if self.stop_at is not None and self.stop_at < len(hooks):
            text += f" and a callback that requests a stop in {hooks[self.stop_at]}"
        return text

    def uninterrupted_events(self) -> list[LoopEvent]:
        """Return the events that the grammar prescribes if no callback requests a stop."""
        events = [LoopEvent("on_train_begin")]
        for epoch in range(1, self.epochs + 1):
            events.append(LoopEvent("on_train_epoch_begin", epoch))
            for step in range(1, self.batches + 1):
                names = "on_train_step_begin", NETWORK, "on_train_step_end"
                events += [LoopEvent(name, epoch, step) for name in names]
            events += [LoopEvent(VALIDATION, epoch)] * self.validates
            events.append(LoopEvent("on_train_epoch_end", epoch))
        return [*events, LoopEvent("on_train_end")]

    def expected_events(self) -> list[LoopEvent]:
        """Return the events with the stop, which takes effect after a step or an epoch.

        >>> [str(event) for event in Run(2, 2, stop_at=3).expected_events()][-3:]
        ['on_train_step_end of epoch 1, step 1', 'on_train_epoch_end of epoch 1', 'on_train_end']
        """
        events = self.uninterrupted_events()
        hooks = [i for i, event in enumerate(events) if event.name.startswith("on_")]
        if self.stop_at is None or self.stop_at >= len(hooks):
            return events
        # The run can end after the current step, or after the epoch if it has no step left.
        for i in range(hooks[self.stop_at], len(events)):
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
        # The state, once a hook has received it: the network and the validation do not.
        state: object = None
        count = 0

        def hook(event: str) -> Callable[[_Stoppable], None]:
            def called(received: _Stoppable) -> None:
                nonlocal state, count
                state = received
                observed.append(format_event(event, state))
                if count == self.stop_at:
                    received.stop = True
                count += 1

            return called

        def step(*batch: int) -> int:
            observed.append(format_event(NETWORK, state))
            return 10 * sum(batch)

        def validate() -> dict[str, float]:
            observed.append(format_event(VALIDATION, state))
            return {"accuracy": 1.0}

        callback = SimpleNamespace(**{event: hook(event) for event in EVENTS if "train" in event})
        batches = [(number,) for number in range(1, self.batches + 1)]
        arguments = (step, batches, self.epochs, [callback])
        try:
            work.fit(*arguments, *([validate] if self.validates else []))
        except Exception as error:
            return observed, error
        return observed, None
