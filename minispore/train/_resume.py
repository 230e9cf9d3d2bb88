"""Whether a run can go on from a checkpoint, said before anything is changed; callbacks' states."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, cast

from minispore.train._dataset import SupportsState
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import InternalCallbackParam
from minispore.train._protocol.states import entry, numbers
from minispore.train._training_state import TrainingCheckpoint, printable

_OWNER: Final = "resume"
_COUNTS: Final = ("initial_epoch", "batch_num", "epoch", "step")
_TOO_MANY: Final = 2**63


def check_fits(
    checkpoint: TrainingCheckpoint, params: InternalCallbackParam, callbacks: Sequence[Callback]
) -> None:
    """Raise ValueError unless the checkpoint is one of this very training."""
    try:
        _check_form(checkpoint.values, callbacks)
    except ValueError as error:
        raise ValueError(
            f"The training state in '{checkpoint.path}' is damaged: {printable(str(error))}"
        ) from error
    for problem in _problems(checkpoint, params, callbacks):
        raise ValueError(
            f"The training state in '{checkpoint.path}' is not one of this training: "
            f"{printable(problem)}."
        )


def _check_form(values: Mapping[str, object], callbacks: Sequence[Callback]) -> None:
    """Raise ValueError unless everything is there, and of the kind that it is written as."""
    counts = {key: entry(values, key, int, _OWNER) for key in _COUNTS}
    for key, count in counts.items():
        if not 0 <= count < _TOO_MANY:
            raise ValueError(f"its '{key}' is {count}.")
    for key in ("closed", "for_good"):
        entry(values, key, bool, _OWNER)
    entry(values, "net_outputs", list, _OWNER)
    entry(values, "random", dict, _OWNER)
    numbers(values, "parameters", str, _OWNER)
    names = numbers(values, "callbacks", str, _OWNER)
    states = cast("Mapping[str, object]", entry(values, "states", dict, _OWNER))
    if list(states) != [f"{i} {name}" for i, name in enumerate(names)]:
        raise ValueError("it does not hold one state for each callback.")
    for name, state in states.items():
        if state is not None and not isinstance(state, dict):
            raise ValueError(f"the state of {name!r} is none.")
    data = cast("Mapping[str, object]", entry(values, "data", dict, _OWNER))
    if data.get("number") != counts["epoch"] - counts["initial_epoch"] - 1:
        raise ValueError("the dataset's epoch is not the training's.")
    for place in numbers(values, "savers", int, _OWNER):
        if not 0 <= place < len(names):
            raise ValueError(f"there is no callback number {place}.")
        if place < len(callbacks) and not hasattr(callbacks[place], "save_training_state"):
            raise ValueError(f"the callback number {place} saves nothing.")


def _problems(
    checkpoint: TrainingCheckpoint, params: InternalCallbackParam, callbacks: Sequence[Callback]
) -> Iterator[str]:
    values = checkpoint.values
    misfits = list(_misfits(checkpoint, params))
    if misfits:
        yield "these parameters differ:\n    " + "\n    ".join(misfits)
    names = [type(callback).__qualname__ for callback in callbacks]
    saved = cast("list[str]", values["callbacks"])
    for i, (then, now) in enumerate(zip_longest(saved, names)):
        if then != now:
            yield f"its callback number {i} was {then or 'none'}, and is now {now or 'none'}"
    if values["batch_num"] != params.batch_num:
        yield f"its epochs had {values['batch_num']} steps, and now have {params.batch_num}"
    if values["initial_epoch"] != params.initial_epoch:
        yield (
            f"its 'initial_epoch' was {values['initial_epoch']}, and is now {params.initial_epoch}"
        )
    epoch, last = cast("int", values["epoch"]), params.initial_epoch + params.epoch_num
    if epoch > last:
        yield f"it was saved in epoch {epoch}, and 'epoch' is now {last}"


def _misfits(checkpoint: TrainingCheckpoint, params: InternalCallbackParam) -> Iterator[str]:
    own = {each.name: each for each in params.train_network.get_parameters()}
    for name in cast("list[str]", checkpoint.values["parameters"]):
        here, saved = own.pop(name, None), checkpoint.parameters.get(name)
        if here is None:
            yield f"{name}: not in the network"
        elif saved is None:
            yield f"{name}: not in the file"
        elif (saved.dtype, saved.shape) != (here.dtype, here.shape):
            yield (
                f"{name}: the network's is {here.dtype} {here.shape}, the file's "
                f"{saved.dtype} {saved.shape}"
            )
    for name in own:
        yield f"{name}: not in the file"


def restore_callbacks(checkpoint: TrainingCheckpoint, callbacks: Sequence[Callback]) -> None:
    """Give each callback its state; if one refuses, none has been changed.

    Raises:
        ValueError: A callback cannot take its state.
    """
    states = cast("Mapping[str, Mapping[str, object] | None]", checkpoint.values["states"])
    done: list[tuple[SupportsState, Mapping[str, object]]] = []
    for callback, (name, state) in zip(callbacks, states.items(), strict=True):
        if state is None and not isinstance(callback, SupportsState):
            continue
        try:
            if state is None or not isinstance(callback, SupportsState):
                raise ValueError("of then and now, only one remembers anything")
            done.append((callback, callback.state_dict()))
            callback.load_state_dict(state)
        except Exception as error:
            for changed, before in done:
                changed.load_state_dict(before)
            raise ValueError(
                f"The training state in '{checkpoint.path}' does not fit the callback "
                f"'{name}': {printable(str(error))}"
            ) from error
