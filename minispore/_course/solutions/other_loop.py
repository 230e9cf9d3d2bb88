"""The second capstone: a callback system for another loop."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass
class State:
    """The state of a search, which every hook receives.

    Attributes:
        x: The current point.
        step: The number of steps done.
    """

    x: float
    step: int = 0
    stop_requested: bool = False

    def request_stop(self) -> None:
        """Request that the search ends after this event."""
        self.stop_requested = True


class Observer:
    """Base class of the callbacks."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in vars(cls):
            if name.startswith("on_") and not hasattr(Observer, name):
                raise TypeError(f"{cls.__name__} defines {name}, which is not an event")

    def on_begin(self, state: State) -> None:
        """Called once before the first step."""

    def on_step(self, state: State) -> None:
        """Called after each step."""

    def on_end(self, state: State) -> None:
        """Called once after the last step or a requested stop."""

    def on_error(self, state: State, error: BaseException) -> None:
        """Called if an exception ends the search, in place of further hooks."""


def minimize(
    derivative: Callable[[float], float],
    x: float,
    rate: float,
    steps: int,
    observers: Sequence[Observer] = (),
) -> float:
    """Return the point after `steps` steps of gradient descent from `x`."""
    state = State(x)
    try:
        for observer in observers:
            observer.on_begin(state)
        while state.step < steps and not state.stop_requested:
            state.x -= rate * derivative(state.x)
            state.step += 1
            for observer in observers:
                observer.on_step(state)
        for observer in observers:
            observer.on_end(state)
    except BaseException as error:
        for observer in observers:
            try:
                observer.on_error(state, error)
            except Exception as other:
                error.add_note(f"on_error itself raised {other!r}")
        raise
    return state.x
