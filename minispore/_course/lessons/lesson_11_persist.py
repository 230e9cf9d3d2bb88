"""Lesson 11: the state of the callbacks is part of the training state."""

from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from types import ModuleType
from typing import cast

import numpy as np
from hypothesis import strategies as st

from minispore import nn
from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, expect, format_value
from minispore.common import Tensor
from minispore.train import EarlyStopping, RunContext
from minispore.train.resume import decode, encode


@dataclass(frozen=True)
class Case:
    """The monitored values of a run, and the epoch after which its process is killed.

    Attributes:
        values: The accuracy after each epoch.
        patience: The argument `patience`.
        killed: The number of epochs after which the process is killed and the run is resumed in
            another one; None for an uninterrupted run.
    """

    values: tuple[float, ...]
    patience: int
    killed: int | None

    def __str__(self) -> str:
        values = ", ".join(f"{value:g}" for value in self.values)
        return (
            f"patience={self.patience}, the values {values}, and a kill after epoch {self.killed}"
        )

    def run(self, work: ModuleType) -> "FinalState":
        """Simulate the run, with the kill."""
        network, printed = nn.Dense(1, 1), StringIO()
        stopping, run = _make_callback(work, self, network)
        stopped = 0
        with redirect_stdout(printed):
            for epoch, value in enumerate(self.values, start=1):
                _set_weights(network, epoch)
                run.original_args().update(cur_epoch_num=epoch, metrics={"accuracy": value})
                stopping.on_train_epoch_end(run)
                stopped = epoch if run.get_stop_requested() else 0
                if epoch == self.killed:
                    state = _through_file(stopping.state_dict())
                    stopping, run = _make_callback(work, self, network)
                    stopping.load_state_dict(state)
                    run.original_args().cur_epoch_num = epoch
                if stopped:
                    break
            stopping.on_train_end(run)
        weight = next(iter(network.get_parameters())).asnumpy().flat[0]
        return FinalState(stopped, round(float(weight)), printed.getvalue())

    def expected(self) -> "FinalState":
        """Return the final state that is expected with or without the kill."""
        best, best_epoch = -1.0, 0
        for epoch, value in enumerate(self.values, start=1):
            if value > best:
                best, best_epoch = value, epoch
            if epoch - best_epoch >= self.patience:
                return FinalState(epoch, best_epoch, f"Epoch {epoch:05d}: early stopping\n")
        return FinalState(0, best_epoch, "")


@dataclass(frozen=True)
class FinalState:
    """The state at the end of a run.

    Attributes:
        stopped: The epoch after which the run was stopped, 0 if it was not.
        weights: The epoch whose weights the network has.
        printed: What was printed about the stop.
    """

    stopped: int
    weights: int
    printed: str


def _make_callback(
    work: ModuleType, case: Case, network: nn.Cell
) -> tuple[EarlyStopping, RunContext]:
    """Return a callback as a new process creates it, and its run context."""
    callback = work.EarlyStopping(
        "accuracy", patience=case.patience, verbose=True, restore_best_weights=True
    )
    run = RunContext({"network": network})
    callback.on_train_begin(run)
    return callback, run


def _set_weights(network: nn.Cell, epoch: int) -> None:
    for weight in network.get_parameters():
        weight.set_data(Tensor(np.full(weight.shape, epoch, np.float32)))


def _through_file(state: object) -> Mapping[str, object]:
    """Return a state after writing it to a file and reading it, as independent objects."""
    if not isinstance(state, Mapping):
        raise WrongResult(
            f"your state_dict returned {format_value(state)}, but a dictionary was expected"
        )
    try:
        text, arrays = encode(cast("Mapping[str, object]", state), "state")
    except TypeError as error:
        raise WrongResult(f"your state cannot be written to a file: {error}") from None
    copies = {name: array.copy() for name, array in arrays.items()}
    return cast("Mapping[str, object]", decode(text, "state", copies))


def _stops_at_the_right_epoch(work: ModuleType, case: Case) -> None:
    actual, expected = case.run(work).stopped, case.expected().stopped
    if actual != expected:
        raise WrongResult(
            f"the resumed run {_format_stop(actual)}, "
            f"but the uninterrupted one {_format_stop(expected)}"
        )


def _format_stop(epoch: int) -> str:
    return f"stops after epoch {epoch}" if epoch else "does not stop"


def _has_the_right_weights(work: ModuleType, case: Case) -> None:
    actual, expected = case.run(work).weights, case.expected().weights
    if actual != expected:
        raise WrongResult(
            f"the resumed run ends with the weights of epoch {actual}, "
            f"but the uninterrupted one with those of epoch {expected}"
        )


def _prints_the_same(work: ModuleType, case: Case) -> None:
    actual = [line for line in case.run(work).printed.splitlines() if "early" in line]
    expect("the output at the end", actual, case.expected().printed.splitlines())


# A valid state.
_VALID: Mapping[str, object] = {"best": 0.5, "wait": 1, "stopped_epoch": 0}


@dataclass(frozen=True)
class InvalidState:
    """A state with one invalid entry.

    Attributes:
        key: The entry.
        value: Its value, None if it is missing.
    """

    key: str
    value: object

    def __str__(self) -> str:
        if self.value is None:
            return f"a state without {self.key!r}"
        return f"a state in which {self.key!r} is {self.value!r}"

    def state(self) -> dict[str, object]:
        """Return the state."""
        state: dict[str, object] = {**_VALID, "best_weights": {}}
        del state[self.key]
        return state if self.value is None else {**state, self.key: self.value}


_KEYS = ("best", "wait", "stopped_epoch", "best_weights")
_INVALID_STATES = st.sampled_from(
    [InvalidState(key, value) for value in (None, "a text") for key in _KEYS]
    + [InvalidState("best_weights", {"weight": 0.5})]
)


def _rejects_invalid_states(work: ModuleType, invalid: InvalidState) -> None:
    stopping = _callback_in_progress(work)
    before = _attributes(stopping)
    try:
        stopping.load_state_dict(invalid.state())
    except ValueError:
        for name, value in _attributes(stopping).items():
            if value != before[name]:
                raise WrongResult(
                    f"your load_state_dict raised ValueError, but changed {name} from "
                    f"{before[name]} to {value} before"
                ) from None
    except NotImplementedError:
        raise
    except Exception as error:
        raise WrongResult(
            f"your load_state_dict raised {type(error).__name__}: {error}, but ValueError was "
            "expected"
        ) from None
    else:
        raise WrongResult("your load_state_dict accepted it, but ValueError was expected")


def _callback_in_progress(work: ModuleType) -> EarlyStopping:
    """Return a callback in the middle of a run."""
    case = Case((0.25,), 2, None)
    network = nn.Dense(1, 1)
    _set_weights(network, 1)
    stopping, run = _make_callback(work, case, network)
    run.original_args().update(cur_epoch_num=1, metrics={"accuracy": 0.25})
    stopping.on_train_epoch_end(run)
    return stopping


def _attributes(stopping: EarlyStopping) -> dict[str, object]:
    return {
        "best": stopping.best,
        "wait": stopping.wait,
        "stopped_epoch": stopping.stopped_epoch,
        "_best_weights": list(stopping._best_weights),
    }


def cases() -> st.SearchStrategy[Case]:
    """Generate runs of up to six epochs, killed after one of them."""
    values = st.lists(st.integers(0, 4).map(lambda n: n / 4), min_size=1, max_size=6).map(tuple)
    runs = st.builds(Case, values, st.integers(1, 3), st.none())
    return runs.flatmap(
        lambda run: st.integers(1, run.expected().stopped or len(run.values)).map(
            lambda killed: replace(run, killed=killed)
        )
    )


LESSON = Lesson(
    title="Checkpoints and exact resume",
    minutes=35,
    exercise=CodeExercise(
        module="minispore.train.callback._early_stopping",
        tasks={
            "EarlyStopping.state_dict": "Return a dictionary of everything that must be saved: "
            "'best', 'wait', 'stopped_epoch' and 'best_weights'. Existing files use these names.",
            "EarlyStopping.load_state_dict": "Restore this state. If an entry is missing or has "
            "the wrong type, raise ValueError and change nothing; use read_field and "
            "read_dict_field.",
        },
        properties=(
            Property(
                "Wherever a run is killed and resumed, it stops after the same epoch as the "
                "uninterrupted run.",
                cases(), _stops_at_the_right_epoch,
            ),
            Property(
                "It ends with the same weights as the uninterrupted run.",
                cases(), _has_the_right_weights,
            ),
            Property(
                "It prints the same at the end as the uninterrupted run.",
                cases(), _prints_the_same,
            ),
            Property(
                "An invalid state raises ValueError, and nothing is changed.",
                _INVALID_STATES, _rejects_invalid_states, examples=40,
            ),
        ),
        bugs=(
            *bugs(
                "EarlyStopping.state_dict",
                ("`wait` is reset by a resume", '"wait": self.wait', '"wait": 0'),
                ("the best value is not saved", "self.best,", "self._monitored.worst,"),
                ("the best weights are not saved", "dict(self._best_weights)", "{}"),
                ("`stopped_epoch` is not saved", "self.stopped_epoch", "0"),
                ("the state contains all attributes, also those that no file can store",
                 '"best_weights": dict(self._best_weights),', "**vars(self),"),
            ),
            *bugs(
                "EarlyStopping.load_state_dict",
                ("`wait` is not restored",
                 "self.best, self.wait, self.stopped_epoch = best, wait, stopped_epoch",
                 "self.best, self.stopped_epoch = best, stopped_epoch"),
                ("the best weights are not restored", "self._best_weights = ", ""),
                ("the best value is changed before the other entries are checked",
                 "best = read_field(", "best = self.best = read_field("),
                ("a missing entry is replaced by a default",
                 'read_field(state, "wait", int, _CALLER)', 'int(state.get("wait", 0))'),
                ("the types of the best weights are not checked",
                 'read_dict_field(state, "best_weights", Tensor, _CALLER)',
                 'read_field(state, "best_weights", dict, _CALLER)'),
                ("a missing entry raises KeyError",
                 'read_field(state, "best", float, _CALLER)', 'state["best"]'),
            ),
        ),
    ),
    hints="""
        Look at the attributes that on_train_begin resets: these change from epoch to epoch. All
        others come from the arguments, which the new process passes again.

        read_field(state, "wait", int, _CALLER) returns state["wait"], or raises the required
        ValueError. read_dict_field(state, "best_weights", Tensor, _CALLER) does so for a
        dictionary whose values are all tensors.

        Read all four entries into local variables first, and assign to self afterwards. Then
        nothing is changed if one of them is invalid.

        return {"best": self.best, "wait": self.wait, "stopped_epoch": self.stopped_epoch,
        "best_weights": dict(self._best_weights)}; best is a float, wait and stopped_epoch are
        ints.
        """,
)  # fmt: skip
