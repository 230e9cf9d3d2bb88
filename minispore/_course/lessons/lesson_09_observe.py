"""Lesson 9: who observes changes nothing, and keeps pictures of what it saw."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import cast

import numpy as np
from hypothesis import strategies as st

from minispore._course.exercise import Build, Lesson, law, paragraphs
from minispore._course.source import Bug
from minispore._course.words import Wrong, expect
from minispore.common import Tensor
from minispore.train import History, RunContext


@dataclass(frozen=True)
class Epoch:
    """What a run shows when an epoch ends.

    Attributes:
        losses: The network's output; a Python number if it is one.
        others: How many outputs follow it.
        metrics: What the epoch's evaluation measured, None if there was none.
    """

    losses: float | tuple[float, ...]
    others: int = 0
    metrics: tuple[tuple[str, float], ...] | None = None

    def __str__(self) -> str:
        first = f"Tensor({list(self.losses)})" if isinstance(self.losses, tuple) else self.losses
        text = f"({first}, {', '.join(['Tensor([9.0])'] * self.others)})" if self.others else first
        return f"{text} with {dict(self.metrics)}" if self.metrics is not None else f"{text}"

    def shown_by(self, run: RunContext, number: int | None = None) -> dict[str, object]:
        """Put it into the parameters of a run; those that are there now."""
        params = run.original_args()
        params.clear()
        first = _tensor(*self.losses) if isinstance(self.losses, tuple) else self.losses
        others = [_tensor(9.0) for _ in range(self.others)]
        params.net_outputs = (first, *others) if others else first
        if number is not None:
            params.cur_epoch_num = number
        if self.metrics is not None:
            params.metrics = dict(self.metrics)
        return dict(params)

    def loss(self) -> float:
        """The one number that is to be recorded."""
        losses = self.losses if isinstance(self.losses, tuple) else (self.losses,)
        return sum(losses) / len(losses)


def _tensor(*numbers: float) -> Tensor:
    return Tensor(np.array(numbers, np.float32))


@dataclass(frozen=True)
class Case:
    """A run by what its epochs show.

    Attributes:
        epochs: They.
        first: The number of the first one: a run may go on with an earlier one's epochs.
        seen: After how many of them the state is taken; 0 for before the run.
    """

    epochs: tuple[Epoch, ...]
    first: int = 1
    seen: int = 0

    def __str__(self) -> str:
        outputs = "; ".join(map(str, self.epochs))
        begin = f" from epoch {self.first} on" if self.first != 1 else ""
        return f"the network's outputs {outputs}{begin}"

    def wanted(self, count: int) -> tuple[list[int], dict[str, list[float]]]:
        """The numbers of the first so many epochs, and what they brought."""
        history: dict[str, list[float]] = {}
        for epoch in self.epochs[:count]:
            for name, value in [("net_output", epoch.loss()), *(epoch.metrics or ())]:
                history[name] = [*history.get(name, []), value]
        return list(range(self.first, self.first + count)), history


# Quarters, and means of two and four of them: exact in float32.
_NUMBERS = st.integers(0, 8).map(lambda n: n / 4)
_ONE = _NUMBERS | st.tuples(_NUMBERS)
_METRICS = st.none() | st.fixed_dictionaries(
    {"accuracy": _NUMBERS}, optional={"error": _NUMBERS}
).map(lambda found: tuple(found.items()))


def cases(*, several: bool = False, metrics: bool = False) -> st.SearchStrategy[Case]:
    """Runs of up to four epochs."""
    losses = _NUMBERS | st.lists(_NUMBERS, min_size=1, max_size=4).filter(
        lambda found: len(found) != 3
    ).map(tuple)
    epochs = st.builds(
        Epoch,
        losses if several else _ONE,
        st.integers(0, 2) if several else st.just(0),
        _METRICS if metrics else st.none(),
    )
    return st.builds(
        Case,
        st.lists(epochs, min_size=1, max_size=4).map(tuple),
        st.sampled_from([1, 4]),
        st.sampled_from([1, 2, 3, 0]),
    )


def _records(work: ModuleType, case: Case) -> None:
    run, history = RunContext({}), work.History()
    history.on_train_begin(run)
    for number, epoch in enumerate(case.epochs, case.first):
        epoch.shown_by(run, number)
        history.on_train_epoch_end(run)
    _compare(history, *case.wanted(len(case.epochs)))


def _compare(history: History, epochs: list[int], values: dict[str, list[float]]) -> None:
    for name, found in history.history.items():
        for value in found:
            if type(value) not in {float, int}:
                raise Wrong(
                    f"your history holds a {type(value).__name__} under {name!r}, "
                    "but a Python number was expected"
                )
    expect("your history", history.history, values)
    expect("its epoch", history.epoch, {"epoch": epochs})


def _changes_nothing(work: ModuleType, case: Case) -> None:
    run, history = RunContext({}), work.History()
    history.on_train_begin(run)
    for number, epoch in enumerate(case.epochs, case.first):
        before = _picture(epoch.shown_by(run, number))
        history.on_train_epoch_end(run)
        after = _picture(run.original_args())
        for name in before:
            if name not in after:
                raise Wrong(f"the run has no {name!r} any more, which the next callback may need")
            if after[name] != before[name]:
                raise Wrong(
                    f"the run's {name!r} was {before[name]} before your call, and "
                    f"{after[name]} after it"
                )


def _picture(params: Mapping[str, object]) -> dict[str, object]:
    """What the parameters say, as a text that nobody can change."""
    return {name: _told(value) for name, value in params.items()}


def _told(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_told, cast('tuple[object, ...]', value)))})"
    return f"Tensor({value.asnumpy().tolist()})" if isinstance(value, Tensor) else repr(value)


def _state_is_a_picture(work: ModuleType, case: Case) -> None:
    run, history = RunContext({}), work.History()
    seen = min(case.seen, len(case.epochs))
    state = history.state_dict() if seen == 0 else None
    history.on_train_begin(run)
    for count, epoch in enumerate(case.epochs, start=1):
        epoch.shown_by(run, case.first + count - 1)
        history.on_train_epoch_end(run)
        if count == seen:
            state = history.state_dict()
    epochs, values = case.wanted(seen)
    what = f"a state taken after {seen} of these epochs" if seen else "a state taken before the run"
    expect(f"{what}, looked at in the end,", state, {"epoch": epochs, "history": values})


def _is_called_in_an_evaluation(work: ModuleType, epoch: Epoch) -> None:
    run, history = RunContext({}), work.History()
    epoch.shown_by(run)
    history.on_eval_begin(run)
    history.on_eval_epoch_end(run)
    _compare(history, [1], {"net_output": [epoch.loss()]})


LESSON = Lesson(
    title="Callbacks that observe",
    idea="Who observes changes nothing, and keeps pictures of what it saw, not windows on it.",
    minutes=30,
    explains=(
        "minispore.train.History",
        "minispore.train.LossMonitor",
        "minispore.train.TimeMonitor",
        "minispore.train.callback._monitored.as_array",
        "minispore.train.callback._monitored.first_output",
        "minispore.train.callback._monitored.shortest",
        "minispore.train._protocol.run_context.InternalCallbackParam",
    ),
    exercise=Build(
        module="minispore.train.callback._history",
        tasks={
            "History.on_train_epoch_end": "Call self._record with the run's parameters. If they "
            "have 'metrics', add each of them to the list of its name in self.history.",
            "History._record": "Add the epoch's number to self.epoch['epoch'], which may have to "
            "be made first, and the output, as one Python number, to self.history['net_output'].",
            "History.state_dict": "Return {'epoch': the list of epochs, 'history': all lists by "
            "name}, as it is now, whatever is recorded later.",
        },
        laws=(
            law(
                "An epoch adds its number to `epoch`, and its output, as a Python number, to "
                "`history['net_output']`.",
                cases(),
                _records,
                show=str,
            ),
            law(
                "Of several outputs the first counts, and of several numbers their mean.",
                cases(several=True),
                _records,
                show=str,
            ),
            law(
                "An evaluation adds a number to the list of each metric; an epoch without one "
                "adds none.",
                cases(metrics=True),
                _records,
                show=str,
            ),
            law(
                "Who observes changes nothing: the next callback finds the run as it was.",
                cases(several=True, metrics=True),
                _changes_nothing,
                show=str,
            ),
            law(
                "A state is a picture: what is recorded later is not in it.",
                cases(metrics=True),
                _state_is_a_picture,
                show=str,
            ),
            law(
                "An evaluation of its own, which has no epochs, is recorded as epoch 1.",
                st.builds(Epoch, _ONE),
                _is_called_in_an_evaluation,
                show=lambda epoch: f"an evaluation with the output {epoch}",
                examples=20,
            ),
        ),
        bugs=(
            Bug(
                "the tensor itself is kept, not the number in it",
                "History._record",
                "output = shortest(array.mean())", "pass",
            ),
            Bug(
                "the epochs are counted, not asked for",
                "History._record",
                'params.cur_epoch_num if "cur_epoch_num" in params else 1',
                'len(self.epoch["epoch"]) + 1',
            ),
            Bug(
                "several outputs are recorded as they come",
                "History._record", "first_output(params.net_outputs)", "params.net_outputs",
            ),
            Bug(
                "of several numbers the first is recorded",
                "History._record", "array.mean()", "array.reshape(-1)[0]",
            ),
            Bug(
                "the output is taken out of the run",
                "History._record", "params.net_outputs", 'params.pop("net_outputs")',
            ),
            Bug(
                "an evaluation of its own has no number of an epoch, and is asked for it",
                "History._record", ' if "cur_epoch_num" in params else 1', "",
            ),
            Bug(
                "each metric's list begins anew in each epoch",
                "History.on_train_epoch_end",
                "self.history.setdefault(name, []).append(value)", "self.history[name] = [value]",
            ),
            Bug(
                "the metrics are taken out of the run",
                "History.on_train_epoch_end",
                'params.metrics if "metrics" in params else {}', 'params.pop("metrics", {})',
            ),
            Bug(
                "an epoch without an evaluation is asked for its metrics",
                "History.on_train_epoch_end", ' if "metrics" in params else {}', "",
            ),
            Bug(
                "the lists in the state go on growing",
                "History.state_dict", "list(values)", "values",
            ),
            Bug(
                "the epochs in the state go on growing",
                "History.state_dict", 'list(self.epoch["epoch"])', 'self.epoch["epoch"]',
            ),
        ),
    ),
    hints=paragraphs(
        """
        run_context.original_args() is a dictionary whose keys are also attributes:
        params.cur_epoch_num, params.net_outputs, and, in an epoch with an evaluation,
        params.metrics, a dictionary of numbers. Ask "metrics" in params first.

        self.history.setdefault(name, []).append(value) begins a list where there is none.

        first_output(params.net_outputs) is the loss, as a number or a tensor, and as_array
        makes an array of either. float(array.mean()) is a number that nobody can change;
        the tensor is not.

        self.epoch is None before the first run: then it becomes {"epoch": []}. For the
        state, copy each list: {name: list(values) for name, values in
        self.history.items()}, and likewise list(self.epoch["epoch"]), or [] if there is
        none.
        """
    ),
)  # fmt: skip
