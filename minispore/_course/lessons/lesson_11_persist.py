"""Lesson 11: what a callback remembers is part of the training's state."""

from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from types import ModuleType
from typing import cast

import numpy as np
from hypothesis import strategies as st

from minispore import nn
from minispore._course.exercise import Build, Lesson, law, paragraphs
from minispore._course.source import Bug
from minispore._course.words import Wrong, expect, shown
from minispore.common import Tensor
from minispore.train import EarlyStopping, RunContext
from minispore.train._state_values import decode, encode


@dataclass(frozen=True)
class Case:
    """A run by what it measures, and where it is interrupted.

    Attributes:
        values: The accuracy after each epoch.
        patience: How many epochs it waits for better.
        cut: After how many epochs the process is killed, and the run goes on in another one; None
            if it is left alone.
    """

    values: tuple[float, ...]
    patience: int
    cut: int | None

    def __str__(self) -> str:
        values = ", ".join(f"{value:g}" for value in self.values)
        return f"patience={self.patience}, the values {values}, and a kill after epoch {self.cut}"

    def run(self, work: ModuleType) -> "End":
        """Play the run, with the kill in it."""
        network, said = nn.Dense(1, 1), StringIO()
        stopping, run = _begun(work, self, network)
        stopped = 0
        with redirect_stdout(said):
            for epoch, value in enumerate(self.values, start=1):
                _set(network, epoch)
                run.original_args().update(cur_epoch_num=epoch, metrics={"accuracy": value})
                stopping.on_train_epoch_end(run)
                stopped = epoch if run.get_stop_requested() else 0
                if epoch == self.cut:
                    state = _through_a_file(stopping.state_dict())
                    stopping, run = _begun(work, self, network)
                    stopping.load_state_dict(state)
                    run.original_args().cur_epoch_num = epoch
                if stopped:
                    break
            stopping.on_train_end(run)
        weight = next(iter(network.get_parameters())).asnumpy().flat[0]
        return End(stopped, round(float(weight)), said.getvalue())

    def plan(self) -> "End":
        """How it must end, kill or no kill."""
        best, best_epoch = -1.0, 0
        for epoch, value in enumerate(self.values, start=1):
            if value > best:
                best, best_epoch = value, epoch
            if epoch - best_epoch >= self.patience:
                return End(epoch, best_epoch, f"Epoch {epoch:05d}: early stopping\n")
        return End(0, best_epoch, "")


@dataclass(frozen=True)
class End:
    """How a run ends.

    Attributes:
        stopped: The epoch after which it was stopped, 0 if it was not.
        weights: The epoch whose weights the network has.
        said: What was printed of the stop.
    """

    stopped: int
    weights: int
    said: str


def _begun(work: ModuleType, case: Case, network: nn.Cell) -> tuple[EarlyStopping, RunContext]:
    """A callback as a new process makes it, and its run."""
    made = work.EarlyStopping(
        "accuracy", patience=case.patience, verbose=True, restore_best_weights=True
    )
    run = RunContext({"network": network})
    made.on_train_begin(run)
    return made, run


def _set(network: nn.Cell, epoch: int) -> None:
    for weight in network.get_parameters():
        weight.set_data(Tensor(np.full(weight.shape, epoch, np.float32)))


def _through_a_file(state: object) -> Mapping[str, object]:
    """What another process reads of a state; nothing of it is the same object."""
    if not isinstance(state, Mapping):
        raise Wrong(f"your state_dict returned {shown(state)}, but a dictionary was expected")
    try:
        text, arrays = encode(cast("Mapping[str, object]", state), "state")
    except TypeError as error:
        raise Wrong(f"your state cannot be written into a file: {error}") from None
    copies = {name: array.copy() for name, array in arrays.items()}
    return cast("Mapping[str, object]", decode(text, "state", copies))


def _stops_in_time(work: ModuleType, case: Case) -> None:
    got, wanted = case.run(work).stopped, case.plan().stopped
    if got != wanted:
        raise Wrong(
            f"the training {_when(got)}, but without the kill it would have "
            f"{_when(wanted, past=True)}"
        )


def _when(epoch: int, *, past: bool = False) -> str:
    return f"stopped after epoch {epoch}" if epoch else f"{'gone' if past else 'went'} on"


def _has_the_weights(work: ModuleType, case: Case) -> None:
    got, wanted = case.run(work).weights, case.plan().weights
    if got != wanted:
        raise Wrong(
            f"the network ended with the weights of epoch {got}, but without the kill it would "
            f"have those of epoch {wanted}"
        )


def _says_the_same(work: ModuleType, case: Case) -> None:
    got = [line for line in case.run(work).said.splitlines() if "early" in line]
    expect("what was printed in the end", got, case.plan().said.splitlines())


# A state as it was written by the shipped callback.
_GOOD: Mapping[str, object] = {"best": 0.5, "wait": 1, "stopped_epoch": 0}


@dataclass(frozen=True)
class Broken:
    """A state with something wrong in it.

    Attributes:
        key: What is.
        value: What is there, None if it is missing.
    """

    key: str
    value: object

    def __str__(self) -> str:
        if self.value is None:
            return f"a state without {self.key!r}"
        return f"a state in which {self.key!r} is {self.value!r}"

    def state(self) -> dict[str, object]:
        """The state."""
        state: dict[str, object] = {**_GOOD, "best_weights": {}}
        del state[self.key]
        return state if self.value is None else {**state, self.key: self.value}


_KEYS = ("best", "wait", "stopped_epoch", "best_weights")
_BROKEN = st.sampled_from(
    [Broken(key, value) for value in (None, "a text") for key in _KEYS]
    + [Broken("best_weights", {"weight": 0.5})]
)


def _refuses(work: ModuleType, broken: Broken) -> None:
    stopping = _remembering(work)
    before = _memory(stopping)
    try:
        stopping.load_state_dict(broken.state())
    except ValueError:
        for name, value in _memory(stopping).items():
            if value != before[name]:
                raise Wrong(
                    f"your load_state_dict refused it, but had already changed {name} from "
                    f"{before[name]} to {value}"
                ) from None
    except NotImplementedError:
        raise
    except Exception as error:
        raise Wrong(
            f"your load_state_dict raised {type(error).__name__}: {error}, but a ValueError was "
            "expected"
        ) from None
    else:
        raise Wrong("your load_state_dict accepted it, but a ValueError was expected")


def _remembering(work: ModuleType) -> EarlyStopping:
    """A callback in the middle of a run."""
    case = Case((0.25,), 2, None)
    network = nn.Dense(1, 1)
    _set(network, 1)
    stopping, run = _begun(work, case, network)
    run.original_args().update(cur_epoch_num=1, metrics={"accuracy": 0.25})
    stopping.on_train_epoch_end(run)
    return stopping


def _memory(stopping: EarlyStopping) -> dict[str, object]:
    return {
        "best": stopping.best,
        "wait": stopping.wait,
        "stopped_epoch": stopping.stopped_epoch,
        "_best_weights": list(stopping._best_weights),
    }


def cases() -> st.SearchStrategy[Case]:
    """Runs of up to six epochs, killed after one of them."""
    values = st.lists(st.integers(0, 4).map(lambda n: n / 4), min_size=1, max_size=6).map(tuple)
    runs = st.builds(Case, values, st.integers(1, 3), st.none())
    return runs.flatmap(
        lambda run: st.integers(1, run.plan().stopped or len(run.values)).map(
            lambda cut: replace(run, cut=cut)
        )
    )


LESSON = Lesson(
    title="Callbacks that persist",
    idea="What a callback remembers is part of the training's state: resumed is not interrupted.",
    minutes=35,
    explains=(
        "minispore.train.BackupAndRestore",
        "minispore.train.CheckpointConfig",
        "minispore.train.ModelCheckpoint",
        "minispore.load_checkpoint",
        "minispore.train._protocol.states.entries",
        "minispore.train._protocol.states.entry",
    ),
    exercise=Build(
        module="minispore.train.callback._early_stopping",
        tasks={
            "EarlyStopping.state_dict": "Return a dictionary with all that must not be forgotten: "
            "'best', 'wait', 'stopped_epoch' and 'best_weights'. Files that were saved before "
            "have these names.",
            "EarlyStopping.load_state_dict": "Take it back. If an entry is missing or of the wrong "
            "type, raise ValueError, and let everything be as it was; entry and entries help.",
        },
        laws=(
            law(
                "Wherever a training is killed and resumed, it stops after the epoch after which "
                "it would have stopped.",
                cases(),
                _stops_in_time,
                show=str,
            ),
            law(
                "It ends with the weights with which it would have ended.",
                cases(),
                _has_the_weights,
                show=str,
            ),
            law(
                "It says in the end what it would have said.",
                cases(),
                _says_the_same,
                show=str,
            ),
            law(
                "What is no state is refused by a ValueError, and nothing is changed then.",
                _BROKEN,
                _refuses,
                show=str,
                examples=40,
            ),
        ),
        bugs=(
            Bug(
                "the waiting begins anew after a kill",
                "EarlyStopping.state_dict", '"wait": self.wait', '"wait": 0',
            ),
            Bug(
                "the best value is forgotten",
                "EarlyStopping.state_dict", "self.best,", "self._monitored.worst,",
            ),
            Bug(
                "the best weights are forgotten",
                "EarlyStopping.state_dict", "dict(self._best_weights)", "{}",
            ),
            Bug(
                "whether it has stopped is forgotten",
                "EarlyStopping.state_dict", "self.stopped_epoch", "0",
            ),
            Bug(
                "the state is everything that the object has, and much of that no file can hold",
                "EarlyStopping.state_dict",
                '"best_weights": dict(self._best_weights),', "**vars(self),",
            ),
            Bug(
                "how long it has waited is not taken back",
                "EarlyStopping.load_state_dict",
                "self.best, self.wait, self.stopped_epoch = best, wait, stopped_epoch",
                "self.best, self.stopped_epoch = best, stopped_epoch",
            ),
            Bug(
                "the best weights are not taken back",
                "EarlyStopping.load_state_dict", "self._best_weights = ", "",
            ),
            Bug(
                "the best value is changed before the rest was looked at",
                "EarlyStopping.load_state_dict", "best = entry(", "best = self.best = entry(",
            ),
            Bug(
                "what is missing is made up",
                "EarlyStopping.load_state_dict",
                'entry(state, "wait", int, _OWNER)', 'int(state.get("wait", 0))',
            ),
            Bug(
                "what lies among the best weights is not looked at",
                "EarlyStopping.load_state_dict",
                'entries(state, "best_weights", Tensor, _OWNER)',
                'entry(state, "best_weights", dict, _OWNER)',
            ),
            Bug(
                "what is missing is a KeyError",
                "EarlyStopping.load_state_dict",
                'entry(state, "best", float, _OWNER)', 'state["best"]',
            ),
        ),
    ),
    hints=paragraphs(
        """
        Look at _start: those are the things that it remembers from one epoch to the next.
        Everything else comes from the arguments, which the new process gives again.

        entry(state, "wait", int, _OWNER) returns state["wait"], or raises the ValueError
        that is wanted. entries(state, "best_weights", Tensor, _OWNER) does so for a
        dictionary whose values are all tensors.

        Read all four into local variables first, and only then write to self. Then nothing
        is changed where one of them is refused.

        return {"best": self.best, "wait": self.wait, "stopped_epoch": self.stopped_epoch,
        "best_weights": dict(self._best_weights)}; best is a float, wait and stopped_epoch
        are ints.
        """
    ),
)  # fmt: skip
