"""Whether a run can go on from a checkpoint, said before anything is changed; callbacks' states."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

from minispore._warn import warn
from minispore.communication._exchange import is_first
from minispore.train._dataset import SupportsState
from minispore.train._fingerprint import differences
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import InternalCallbackParam, RunContext
from minispore.train._protocol.states import entries, entry, numbers
from minispore.train._training_state import TrainingCheckpoint, printable

_OWNER: Final = "resume"
_COUNTS: Final = ("initial_epoch", "batch_num", "epoch", "step")
_TOO_MANY: Final = 2**63


def check_fits(
    checkpoint: TrainingCheckpoint,
    context: RunContext,
    callbacks: Sequence[Callback],
    fingerprint: Mapping[str, str],
) -> list[Callback | None]:
    """Return the callback for each one of the checkpoint, None for one that was removed.

    Raises:
        ValueError: The checkpoint is damaged, or not one of this training.
    """
    try:
        _check_form(checkpoint.values)
        matched = _matched(checkpoint.values, callbacks)
        _check_savers(checkpoint.values, matched)
    except ValueError as error:
        raise ValueError(
            f"The training state in '{checkpoint.path}' is damaged: {printable(str(error))}"
        ) from error
    saved = cast("Mapping[str, str] | None", checkpoint.values.get("fingerprint"))
    # What is saved is the first process's.
    changes = differences(saved, fingerprint) if saved is not None and is_first() else []
    differing = "these settings differ:\n    " + "\n    ".join(changes)
    for problem in _problems(checkpoint, context.original_args(), callbacks):
        raise _another(checkpoint, problem)
    if changes and context.resume_strict:
        raise _another(
            checkpoint, f"{differing}\nWith 'resume_strict=False' this is only a warning"
        )
    notices = [differing] if changes else []
    if saved is None:
        notices = ["its settings are not known, since an older version has saved it"]
    then, now = cast("list[str]", checkpoint.values["callbacks"]), _names(callbacks)
    if then != now:
        notices.append(f"its callbacks were {_listed(then)}, and are now {_listed(now)}")
    for notice in notices if is_first() else ():
        warn(f"The training goes on from '{checkpoint.path}', but {printable(notice)}.")
    return matched


def _another(checkpoint: TrainingCheckpoint, problem: str) -> ValueError:
    return ValueError(
        f"The training state in '{checkpoint.path}' is not one of this training: "
        f"{printable(problem)}."
    )


def _check_form(values: Mapping[str, object]) -> None:
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
    numbers(values, "savers", int, _OWNER)
    if "fingerprint" in values:
        entries(values, "fingerprint", str, _OWNER)


def _check_savers(values: Mapping[str, object], matched: Sequence[Callback | None]) -> None:
    for place in cast("list[int]", values["savers"]):
        if not 0 <= place < len(matched):
            raise ValueError(f"there is no callback number {place}.")
        saver = matched[place]
        if saver is not None and not hasattr(saver, "save_training_state"):
            raise ValueError(f"the callback number {place} saves nothing.")


def _matched(values: Mapping[str, object], callbacks: Sequence[Callback]) -> list[Callback | None]:
    """For each callback that was saved the next one of the run with the same class name."""
    rest = list(callbacks)
    matched: list[Callback | None] = []
    for name in cast("list[str]", values["callbacks"]):
        found = next((each for each in rest if type(each).__qualname__ == name), None)
        rest = [each for each in rest if each is not found]
        matched.append(found)
    return matched


def _names(callbacks: Iterable[Callback]) -> list[str]:
    return [type(callback).__qualname__ for callback in callbacks]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _problems(
    checkpoint: TrainingCheckpoint, params: InternalCallbackParam, callbacks: Sequence[Callback]
) -> Iterator[str]:
    values = checkpoint.values
    misfits = list(_misfits(checkpoint, params))
    if misfits:
        yield "these parameters differ:\n    " + "\n    ".join(misfits)
    states = cast("Mapping[str, object]", values["states"])
    # The states' names begin with a number.
    then = [name.partition(" ")[2] for name, state in states.items() if state is not None]
    now = _names(each for each in callbacks if isinstance(each, SupportsState))
    if then != now:
        yield f"its callbacks with a state were {_listed(then)}, and are now {_listed(now)}"
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


def restore_callbacks(checkpoint: TrainingCheckpoint, matched: Sequence[Callback | None]) -> None:
    """Give each callback its state; if one refuses, none has been changed.

    Raises:
        ValueError: A callback cannot take its state.
    """
    states = cast("Mapping[str, Mapping[str, object] | None]", checkpoint.values["states"])
    done: list[tuple[SupportsState, Mapping[str, object]]] = []
    for callback, (name, state) in zip(matched, states.items(), strict=True):
        if state is None or not isinstance(callback, SupportsState):
            continue
        try:
            done.append((callback, callback.state_dict()))
            callback.load_state_dict(state)
        except Exception as error:
            for changed, before in done:
                changed.load_state_dict(before)
            raise ValueError(
                f"The training state in '{checkpoint.path}' does not fit the callback "
                f"'{name}': {printable(str(error))}"
            ) from error
