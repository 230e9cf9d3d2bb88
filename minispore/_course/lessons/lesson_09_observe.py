"""Lesson 9: a logging callback has no side effects and stores copies."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, expect
from minispore.common import Tensor
from minispore.train import History, RunContext
from minispore.utils.checks import is_sequence


@dataclass(frozen=True)
class Epoch:
    """The parameters of a run at the end of an epoch.

    Attributes:
        losses: The first output of the network: a float, or the elements of a tensor.
        others: The number of further outputs.
        metrics: The results of the epoch's evaluation, None if there was none.
    """

    losses: float | tuple[float, ...]
    others: int = 0
    metrics: tuple[tuple[str, float], ...] | None = None

    def __str__(self) -> str:
        first = f"Tensor({list(self.losses)})" if isinstance(self.losses, tuple) else self.losses
        text = f"({first}, {', '.join(['Tensor([9.0])'] * self.others)})" if self.others else first
        return f"{text} with {dict(self.metrics)}" if self.metrics is not None else f"{text}"

    def write_to(self, run: RunContext, number: int | None = None) -> dict[str, object]:
        """Write this epoch to the parameters of a run, and return a copy of them."""
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
        """Return the number that must be recorded."""
        losses = self.losses if isinstance(self.losses, tuple) else (self.losses,)
        return sum(losses) / len(losses)


def _tensor(*numbers: float) -> Tensor:
    return Tensor(np.array(numbers, np.float32))


@dataclass(frozen=True)
class Case:
    """A run.

    Attributes:
        epochs: The epochs.
        first: The number of the first epoch; above 1 if the run continues an earlier one.
        saved: The number of epochs after which the state is saved; 0 is before the run.
    """

    epochs: tuple[Epoch, ...]
    first: int = 1
    saved: int = 0

    def __str__(self) -> str:
        outputs = "; ".join(map(str, self.epochs))
        start = f", starting with epoch {self.first}" if self.first != 1 else ""
        return f"the network outputs {outputs}{start}"

    def expected(self, count: int) -> tuple[list[int], dict[str, list[float]]]:
        """Return the numbers and the history of the first `count` epochs."""
        history: dict[str, list[float]] = {}
        for epoch in self.epochs[:count]:
            for name, value in [("net_output", epoch.loss()), *(epoch.metrics or ())]:
                history[name] = [*history.get(name, []), value]
        return list(range(self.first, self.first + count)), history


# Multiples of 1/4, and means of two and four of them, are exact in float32.
_NUMBERS = st.integers(0, 8).map(lambda n: n / 4)
_SINGLE = _NUMBERS | st.tuples(_NUMBERS)
_METRICS = st.none() | st.fixed_dictionaries(
    {"accuracy": _NUMBERS}, optional={"error": _NUMBERS}
).map(lambda metrics: tuple(metrics.items()))


def cases(*, several: bool = False, metrics: bool = False) -> st.SearchStrategy[Case]:
    """Generate runs of up to four epochs."""
    losses = _NUMBERS | st.lists(_NUMBERS, min_size=1, max_size=4).filter(
        lambda numbers: len(numbers) != 3
    ).map(tuple)
    epochs = st.builds(
        Epoch,
        losses if several else _SINGLE,
        st.integers(0, 2) if several else st.just(0),
        _METRICS if metrics else st.none(),
    )
    return st.builds(
        Case,
        st.lists(epochs, min_size=1, max_size=4).map(tuple),
        st.sampled_from([1, 4]),
        st.sampled_from([1, 2, 3, 0]),
    )


def _records_epochs(work: ModuleType, case: Case) -> None:
    run, history = RunContext({}), work.History()
    history.on_train_begin(run)
    for number, epoch in enumerate(case.epochs, case.first):
        epoch.write_to(run, number)
        history.on_train_epoch_end(run)
    _compare(history, *case.expected(len(case.epochs)))


def _compare(history: History, epochs: list[int], values: dict[str, list[float]]) -> None:
    for name, recorded in history.history.items():
        for value in recorded:
            if type(value) not in {float, int}:
                raise WrongResult(
                    f"your history contains a {type(value).__name__} under {name!r}, "
                    "but a Python number was expected"
                )
    expect("your history", history.history, values)
    expect("your epoch", history.epoch, {"epoch": epochs})


def _has_no_side_effects(work: ModuleType, case: Case) -> None:
    run, history = RunContext({}), work.History()
    history.on_train_begin(run)
    for number, epoch in enumerate(case.epochs, case.first):
        before = _formatted(epoch.write_to(run, number))
        history.on_train_epoch_end(run)
        after = _formatted(run.original_args())
        for name in before:
            if name not in after:
                raise WrongResult(
                    f"your callback removed {name!r} from the run, which other callbacks use"
                )
            if after[name] != before[name]:
                raise WrongResult(
                    f"your callback changed the run's {name!r} from {before[name]} to {after[name]}"
                )


def _formatted(params: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters as immutable texts."""
    return {name: _format_output(value) for name, value in params.items()}


def _format_output(value: object) -> str:
    if is_sequence(value) and isinstance(value, tuple):
        return f"({', '.join(map(_format_output, value))})"
    return f"Tensor({value.asnumpy().tolist()})" if isinstance(value, Tensor) else repr(value)


def _state_is_a_copy(work: ModuleType, case: Case) -> None:
    run, history = RunContext({}), work.History()
    saved = min(case.saved, len(case.epochs))
    state = history.state_dict() if saved == 0 else None
    history.on_train_begin(run)
    for count, epoch in enumerate(case.epochs, start=1):
        epoch.write_to(run, case.first + count - 1)
        history.on_train_epoch_end(run)
        if count == saved:
            state = history.state_dict()
    epochs, values = case.expected(saved)
    what = (
        f"a state saved after {saved} of these epochs" if saved else "a state saved before the run"
    )
    expect(f"{what}, read at the end,", state, {"epoch": epochs, "history": values})


def _records_standalone_evaluation(work: ModuleType, epoch: Epoch) -> None:
    run, history = RunContext({}), work.History()
    epoch.write_to(run)
    history.on_eval_begin(run)
    history.on_eval_epoch_end(run)
    _compare(history, [1], {"net_output": [epoch.loss()]})


LESSON = Lesson(
    title="Logging callbacks: no side effects",
    minutes=30,
    exercise=CodeExercise(
        module="minispore.train.callback._history",
        tasks={
            "History.on_train_epoch_end": "Call self._record with the run's parameters. If they "
            "contain 'metrics', append each of them to the list of its name in self.history.",
            "History._record": "Append the epoch's number to self.epoch['epoch'], which you may "
            "have to create first, and the output, as one Python number, to "
            "self.history['net_output'].",
            "History.state_dict": "Return {'epoch': the list of epochs, 'history': all lists by "
            "name} as they are now; later epochs must not change the returned state.",
        },
        properties=(
            Property(
                "An epoch appends its number to `epoch`, and its output, as a Python number, to "
                "`history['net_output']`.",
                cases(), _records_epochs,
            ),
            Property(
                "Of several outputs the first is recorded, and of several numbers their mean.",
                cases(several=True), _records_epochs,
            ),
            Property(
                "An evaluation appends a number to the list of each metric; an epoch without an "
                "evaluation appends none.",
                cases(metrics=True), _records_epochs,
            ),
            Property(
                "The callback has no side effects: it does not modify the run's parameters.",
                cases(several=True, metrics=True), _has_no_side_effects,
            ),
            Property(
                "A state is a copy: later epochs do not change it.",
                cases(metrics=True), _state_is_a_copy,
            ),
            Property(
                "A standalone evaluation, which has no epochs, is recorded as epoch 1.",
                st.builds(Epoch, _SINGLE), _records_standalone_evaluation, examples=20,
                show=lambda epoch: f"an evaluation with the output {epoch}",
            ),
        ),
        bugs=(
            *bugs(
                "History._record",
                ("the tensor itself is stored, not its value",
                 "output = shortest_float(array.mean())", "pass"),
                ("the epochs are counted instead of read from the run",
                 'params.cur_epoch_num if "cur_epoch_num" in params else 1',
                 'len(self.epoch["epoch"]) + 1'),
                ("several outputs are recorded as a tuple",
                 "first_output(params.net_outputs)", "params.net_outputs"),
                ("the first of several numbers is recorded",
                 "array.mean()", "array.reshape(-1)[0]"),
                ("the output is removed from the run",
                 "params.net_outputs", 'params.pop("net_outputs")'),
                ("the epoch's number is read in a standalone evaluation, which has none",
                 ' if "cur_epoch_num" in params else 1', ""),
            ),
            *bugs(
                "History.on_train_epoch_end",
                ("the list of each metric is replaced in each epoch",
                 "self.history.setdefault(name, []).append(value)", "self.history[name] = [value]"),
                ("the metrics are removed from the run",
                 'params.metrics if "metrics" in params else {}', 'params.pop("metrics", {})'),
                ("the metrics are read in an epoch without an evaluation",
                 ' if "metrics" in params else {}', ""),
            ),
            *bugs(
                "History.state_dict",
                ("the state contains the lists of the history themselves",
                 "list(values)", "values"),
                ("the state contains the list of epochs itself",
                 'list(self.epoch["epoch"])', 'self.epoch["epoch"]'),
            ),
        ),
    ),
    hints="""
        run_context.original_args() is a dictionary whose keys are also attributes:
        params.cur_epoch_num, params.net_outputs, and, in an epoch with an evaluation,
        params.metrics, a dictionary of numbers. Test "metrics" in params first.

        self.history.setdefault(name, []).append(value) creates the list if there is none.

        first_output(params.net_outputs) is the loss, as a number or a tensor, and as_array
        converts either to an array. float(array.mean()) is an immutable number; the tensor is
        mutable.

        self.epoch is None before the first run: set it to {"epoch": []}. In state_dict, copy each
        list: {name: list(values) for name, values in self.history.items()}, and also
        list(self.epoch["epoch"]), or [] if there is none.
        """,
)  # fmt: skip
