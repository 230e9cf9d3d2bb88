"""The loop of lesson 8, which emits the events of a run."""

from collections.abc import Callable, Iterable


class State:
    """What the hooks see; they set `stop` to request a stop."""

    epoch: int = 0
    step: int = 0
    loss: object = None
    results: object = None
    stop: bool = False


def emit(callbacks: Iterable[object], event: str, state: State) -> None:
    """Call the hook of an event, a method with its name, of each callback that has it."""
    for callback in callbacks:
        hook = getattr(callback, event, None)
        if hook is not None:
            hook(state)


def fit(
    step: Callable[..., object],
    batches: Iterable[Iterable[object]],
    epochs: int,
    callbacks: Iterable[object] = (),
    validate: Callable[[], object] | None = None,
) -> None:
    """Train, and emit the events of the run."""
    state = State()
    emit(callbacks, "on_train_begin", state)
    for state.epoch in range(1, epochs + 1):
        emit(callbacks, "on_train_epoch_begin", state)
        for state.step, batch in enumerate(batches, 1):
            emit(callbacks, "on_train_step_begin", state)
            state.loss = step(*batch)
            emit(callbacks, "on_train_step_end", state)
            if state.stop:
                break
        if validate is not None and not state.stop:
            state.results = validate()
        emit(callbacks, "on_train_epoch_end", state)
        state.results = None
        if state.stop:
            break
    emit(callbacks, "on_train_end", state)
