"""Check that a run can be resumed from a checkpoint, and restore the states of its callbacks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from minispore.train.protocol.callback import Callback, InternalCallbackParam, RunContext
from minispore.train.protocol.dataset import SupportsState
from minispore.train.protocol.state_fields import read_field
from minispore.train.resume.fingerprint import differences, is_unknown
from minispore.train.resume.training_checkpoint import (
    TrainingCheckpoint,
    TrainingValues,
    truncate_for_message,
)
from minispore.utils.warn import warn_at_caller

_OWNER: Final = "resume"
_MAX_COUNT: Final = 2**63


def check_compatible(
    checkpoint: TrainingCheckpoint,
    context: RunContext,
    callbacks: Sequence[Callback],
    fingerprint: Mapping[str, str],
) -> tuple[TrainingValues, list[Callback | None]]:
    """Return a checkpoint's values, and the run's callback for each of its callbacks, or None.

    Raises:
        ValueError: The checkpoint is damaged, or was saved by another training.
    """
    values = TrainingValues()
    try:
        values.load_state_dict({"fingerprint": {}, **checkpoint.values})
        _check_values(values)
        matched = _match(values, callbacks)
        _check_savers(values, matched)
    except ValueError as error:
        raise ValueError(
            f"The training state in '{checkpoint.path}' is damaged: "
            f"{truncate_for_message(str(error))}"
        ) from error
    saved = values.fingerprint
    # The saved fingerprint is that of rank 0, and settings may differ between processes.
    changes = differences(saved, fingerprint) if saved and context.is_chief else []
    differ = "differ or cannot be compared" if any(map(is_unknown, changes)) else "differ"
    differing = f"these settings {differ}:\n    " + "\n    ".join(changes)
    for problem in _problems(checkpoint, values, context.original_args(), callbacks):
        raise _other_training(checkpoint, problem)
    if changes and context.resume_strict:
        refusal = _other_training(checkpoint, differing)
        refusal.add_note("With 'resume_strict=False' this is only a warning.")
        raise refusal
    notices = [differing] if changes else []
    if not saved:
        notices = ["its settings are not known, since an older version has saved it"]
    before, now = values.callbacks, class_names(callbacks)
    if before != now:
        notices.append(f"its callbacks were {_join(before)}, and are now {_join(now)}")
    for notice in notices if context.is_chief else ():
        warn_at_caller(
            f"The training is resumed from '{checkpoint.path}', but {truncate_for_message(notice)}."
        )
    return values, matched


def _other_training(checkpoint: TrainingCheckpoint, problem: str) -> ValueError:
    return ValueError(
        f"The training state in '{checkpoint.path}' is not one of this training: "
        f"{truncate_for_message(problem)}."
    )


def _check_values(values: TrainingValues) -> None:
    """Raise ValueError unless the values fit each other."""
    for key, value in values.state_dict().items():
        if type(value) is int and not 0 <= value < _MAX_COUNT:
            raise ValueError(f"its '{key}' is {value}.")
    states = values.states
    if list(states) != [f"{i} {name}" for i, name in enumerate(values.callbacks)]:
        raise ValueError("it does not hold one state for each callback.")
    for name, state in states.items():
        if state is not None and not isinstance(state, dict):
            raise ValueError(f"the state of {name!r} is not a dict.")
    if values.data.get("number") != values.epoch - values.initial_epoch - 1:
        raise ValueError("the dataset's epoch is not the training's.")


def _check_savers(values: TrainingValues, matched: Sequence[Callback | None]) -> None:
    for index in values.savers:
        if not 0 <= index < len(matched):
            raise ValueError(f"there is no callback number {index}.")
        saver = matched[index]
        if saver is not None and not hasattr(saver, "save_training_state"):
            raise ValueError(f"the callback number {index} has no 'save_training_state'.")


def _match(values: TrainingValues, callbacks: Sequence[Callback]) -> list[Callback | None]:
    """Return for each saved callback the next one of the run with the same class name."""
    remaining = list(callbacks)
    matched: list[Callback | None] = []
    for name in values.callbacks:
        match = next((item for item in remaining if class_name(item) == name), None)
        remaining = [item for item in remaining if item is not match]
        matched.append(match)
    return matched


def class_name(callback: Callback) -> str:
    """Return the name of a callback's class; of a placeholder, that of what it stands for."""
    name: str = getattr(callback, "_stands_for", type(callback).__qualname__)
    return name


def class_names(callbacks: Iterable[Callback]) -> list[str]:
    """Return `class_name` of each callback."""
    return [class_name(callback) for callback in callbacks]


def _join(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _problems(
    checkpoint: TrainingCheckpoint,
    values: TrainingValues,
    params: InternalCallbackParam,
    callbacks: Sequence[Callback],
) -> Iterator[str]:
    """Yield the reasons why a run with these parameters cannot be resumed."""
    mismatches = list(_mismatches(checkpoint, values.parameters, params))
    if mismatches:
        yield "these parameters differ:\n    " + "\n    ".join(mismatches)
    # The keys begin with a number: "0 LossMonitor".
    before = [name.partition(" ")[2] for name, state in values.states.items() if state is not None]
    now = class_names(callback for callback in callbacks if isinstance(callback, SupportsState))
    if before != now:
        yield f"its callbacks with a state were {_join(before)}, and are now {_join(now)}"
    if values.batch_num != params.batch_num:
        yield f"its epochs had {values.batch_num} steps, and now have {params.batch_num}"
    if values.initial_epoch != params.initial_epoch:
        yield (f"its 'initial_epoch' was {values.initial_epoch}, and is now {params.initial_epoch}")
    epoch, last = values.epoch, params.initial_epoch + params.epoch_num
    if epoch > last:
        yield f"it was saved in epoch {epoch}, and 'epoch' is now {last}"


def _mismatches(
    checkpoint: TrainingCheckpoint, names: Iterable[str], params: InternalCallbackParam
) -> Iterator[str]:
    unmatched = {parameter.name: parameter for parameter in params.train_network.get_parameters()}
    for name in names:
        here, saved = unmatched.pop(name, None), checkpoint.parameters.get(name)
        if here is None:
            yield f"{name}: not in the network"
        elif saved is None:
            yield f"{name}: not in the file"
        elif (saved.dtype, saved.shape) != (here.dtype, here.shape):
            yield (
                f"{name}: the network's is {here.dtype} {here.shape}, the file's "
                f"{saved.dtype} {saved.shape}"
            )
    for name in unmatched:
        yield f"{name}: not in the file"


def restore_callbacks(
    path: str, states: Mapping[str, object], matched: Sequence[Callback | None]
) -> None:
    """Load the state of each callback; if one raises an error, restore those changed before.

    Raises:
        ValueError: A callback cannot load its state.
    """
    changed: list[tuple[SupportsState, Mapping[str, object]]] = []
    for callback, (name, state) in zip(matched, states.items(), strict=True):
        if state is None or not isinstance(callback, SupportsState):
            continue
        try:
            changed.append((callback, callback.state_dict()))
            callback.load_state_dict(read_field(states, name, dict[str, object], _OWNER))
        except Exception as error:
            for other, previous in changed:
                other.load_state_dict(previous)
            raise ValueError(
                f"The training state in '{path}' does not fit the callback "
                f"'{name}': {truncate_for_message(str(error))}"
            ) from error
