# ruff: noqa: NPY002 (that users draw from numpy's global state is what this is about)
"""Step boundaries: savers are called at them, and a run can be resumed from each."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, nn, set_seed
from minispore.dataset import NumpySlicesDataset
from minispore.train import Accuracy, Callback, Metric, Model, RunContext, save_checkpoint
from minispore.train.protocol.callback import EVENTS, SaveReason
from minispore.train.protocol.dataset import DatasetLike, EpochIterator
from minispore.train.resume import TrainingState
from minispore.utils.checks import as_tuple
from tests.helpers.stub_models import Batches, Outputs

STEPS = 3  # of an epoch
ROWS = np.arange(STEPS, dtype=np.float32)[:, None] * np.ones((1, 2), np.float32)
Row = tuple[Tensor, Tensor]


class Sum(nn.Cell):
    """A network in which each step depends on all before and on random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.total = Parameter(Tensor(-1.0), name="total")

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        self.total.set_data(self.total / 2 + x.mean() + float(np.random.random()))
        return self.total + 0


class Drawn:
    """Batches in another order each epoch; a random number is drawn after the last one."""

    def get_dataset_size(self) -> int:
        return STEPS

    def create_tuple_iterator(self, *, num_epochs: int) -> "Drawn":
        return self

    def __iter__(self) -> Iterator[Row]:
        for i in np.random.permutation(STEPS):
            yield Tensor(ROWS[i : i + 1]), Tensor(ROWS[i : i + 1])
        np.random.random()


class Counted(Drawn):
    """Batches that differ in each pass, with an iterator that has a state."""

    def __init__(self) -> None:
        self.place = 0
        self.open = False

    def __iter__(self) -> Iterator[Row]:
        while not self.open or self.place % STEPS:
            self.open = True
            self.place += 1
            yield Tensor([[float(self.place)]]), Tensor([[0.0]])
        self.open = False

    def state_dict(self) -> Mapping[str, object]:
        return {"place": self.place, "open": self.open}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        assert isinstance(state["place"], int)
        self.place, self.open = state["place"], bool(state["open"])


class Turned(Drawn):
    """Batches in another order in each pass."""

    def __init__(self) -> None:
        self.turn = 0

    def __iter__(self) -> Iterator[Row]:
        self.turn += 1
        return iter([(Tensor(ROWS[[i]] * self.turn), Tensor(ROWS[[i]])) for i in range(STEPS)])


class TurnedAfter(Turned):
    """Batches in another order in each pass, because of code after the last one."""

    def __iter__(self) -> Iterator[Row]:
        for i in range(STEPS):
            yield Tensor(ROWS[[i]] * self.turn), Tensor(ROWS[[i]])
        self.turn += 1


DATA: dict[str, Callable[[], DatasetLike]] = {
    "drawn": Drawn,
    "counted": Counted,
    "turned": Turned,
    "turned after": TurnedAfter,
    "shuffled": lambda: NumpySlicesDataset({"x": ROWS, "y": ROWS}).batch(1),
}
DATASETS = st.sampled_from([*DATA])


class Log(Callback):
    """Record all events; drop those that a resumed run repeats."""

    def __init__(self) -> None:
        self.lines: list[tuple[object, ...]] = []
        self.before = 0

    def state_dict(self) -> dict[str, object]:
        return {"before": self.before + len(self.lines)}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        assert isinstance(state["before"], int)
        self.lines, self.before = [], state["before"]


def total_of(run_context: RunContext) -> float:
    network = run_context.original_args().train_network
    assert isinstance(network, Sum)
    assert network.total.shape == ()
    return float(network.total.asnumpy())


def first_of(outputs: object) -> float | None:
    outputs = as_tuple(outputs)[0]
    return float(outputs.asnumpy()) if isinstance(outputs, Tensor) else None


class Asks(Callback):
    """Request the training state at each event of a name, and record the calls."""

    def __init__(self, event: str = "", *, registered: bool = True) -> None:
        self.event = event
        self.registered = registered
        self.saves: list[tuple[str, TrainingState, float]] = []

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, reason: SaveReason
    ) -> None:
        self.saves.append((reason, state, total_of(run_context)))

    def texts(self) -> list[tuple[str, str, float]]:
        return [(reason, state.text, total) for reason, state, total in self.saves]

    def reasons(self) -> list[str]:
        return [reason for reason, _, _ in self.saves]


class Stops(Callback):
    """Request a stop at the first event of a name."""

    def __init__(self, event: str = "", *, for_good: bool = False) -> None:
        self.event = event
        self.for_good = for_good


def _log(event: str) -> Callable[[Log, RunContext], None]:
    def hook(self: Log, run_context: RunContext) -> None:
        params = run_context.original_args()
        now: tuple[object, ...] = (
            event,
            params.get("cur_epoch_num"),
            params.cur_step_num,
            params.mode,
            params.batch_num,
            total_of(run_context),
            "step" in event and params.train_network.training,
            first_of(params.get("net_outputs")),
            params.get("metrics"),
            run_context.get_stop_requested(),
            run_context.is_interrupted(),
            run_context.is_epoch_unfinished(),
        )
        self.lines.append(now)

    return hook


def _ask(event: str) -> Callable[[Asks, RunContext], None]:
    def hook(self: Asks, run_context: RunContext) -> None:
        if event == "on_train_begin" and self.registered:
            run_context.add_state_saver(self)
        if event == self.event:
            run_context.request_save(self)

    return hook


def _stop(event: str) -> Callable[[Stops, RunContext], None]:
    def hook(self: Stops, run_context: RunContext) -> None:
        if event == self.event:
            self.event = ""
            run_context.request_stop(finished=self.for_good)

    return hook


for _event in EVENTS:
    setattr(Log, _event, _log(_event))
    setattr(Asks, _event, _ask(_event))
    setattr(Stops, _event, _stop(_event))


def run(
    data: str,
    fit: bool,
    others: Sequence[Callback],
    resume: Path | None = None,
    epochs: int = 2,
    before: int = 0,
) -> Log:
    """Train, and return the recorded events."""
    set_seed(3)
    np.random.seed(1 if resume is None else 2)
    metrics: dict[str, Metric] = {"acc": Accuracy()}
    model = Model(Sum(), metrics=metrics, eval_network=Outputs(), eval_indexes=[0, 1, 2])
    log, rows, last = Log(), DATA[data](), before + epochs
    callbacks = [log, *others]
    if fit:
        valid = Batches(2)
        model.fit(last, rows, valid, 1, callbacks, initial_epoch=before, resume=resume)
    else:
        model.train(last, rows, callbacks, initial_epoch=before, resume=resume)
    return log


def written(folder: Path, state: TrainingState, total: float) -> Path:
    """Return the file that a saver writes."""
    network = Sum()
    network.total.set_data(Tensor(total))
    save_checkpoint(network, folder / "x.ckpt", append_dict=state.entries())
    return folder / "x.ckpt"


@given(DATASETS, st.booleans())
def test_run_resumes_from_each_boundary(
    tmp_path_factory: pytest.TempPathFactory, data: str, fit: bool
) -> None:
    """Later events and saved states equal those of the uninterrupted run."""
    asks, quiet, before = Asks("on_train_step_end"), Asks(), 3 * fit
    uninterrupted = run(data, fit, [asks, quiet], before=before)
    assert asks.reasons() == ["requested"] * 2 * STEPS + ["finished"]
    assert quiet.reasons() == ["finished"]
    for place, (reason, state, total) in enumerate(asks.saves):
        asks_again, quiet_again = Asks("on_train_step_end"), Asks()
        path = written(tmp_path_factory.mktemp("run"), state, total)
        resumed = run(data, fit, [asks_again, quiet_again], path, before=before)
        assert resumed.lines == uninterrupted.lines[resumed.before :]
        again = [("restored", state.text, total)]
        expected = asks.texts()[place:]
        assert asks_again.texts() == (expected if reason == "requested" else again + expected)
        assert quiet_again.texts() == again + quiet.texts()


@given(st.sampled_from([*EVENTS]), st.booleans())
def test_interrupted_run_resumes_and_finished_run_does_not(
    tmp_path_factory: pytest.TempPathFactory, event: str, for_good: bool
) -> None:
    folder = tmp_path_factory.mktemp("run")
    uninterrupted = run("drawn", True, [Asks("on_train_step_end"), Asks(), Stops()])
    ended = for_good or event == "on_train_end"
    reason = "finished" if ended else "interrupted"

    def stop(resume: Path | None) -> tuple[Log, TrainingState, float]:
        asks, quiet = Asks("on_train_step_end"), Asks()
        stopped = run("drawn", True, [asks, quiet, Stops(event, for_good=for_good)], resume)
        assert quiet.reasons() == ["restored"] * bool(resume) + [reason]
        in_step = "eval" not in event and ("step" in event or event.endswith("begin"))
        assert asks.reasons()[-1] == ("requested" if in_step else reason)
        assert asks.texts()[-1][1:] == quiet.texts()[-1][1:]
        complete = {"on_eval_epoch_end", "on_eval_end", "on_train_epoch_end"}
        assert stopped.lines[-1][-1] == (not ended and event not in complete)
        return stopped, *quiet.saves[-1][1:]

    stopped, state, total = stop(None)
    if not ended:
        stopped, state, total = stop(written(folder, state, total))
    asks, quiet = Asks("on_train_step_end"), Asks()
    resumed = run("drawn", True, [asks, quiet, Stops()], written(folder, state, total))
    expected = stopped if ended else uninterrupted
    assert resumed.lines == expected.lines[resumed.before :]
    assert quiet.texts()[0] == ("restored", state.text, total)
    assert quiet.reasons() == ["restored", "finished"]
    if for_good:
        assert quiet.texts()[1] == ("finished", state.text, total)


@given(DATASETS, st.sampled_from(["on_eval_begin", "on_eval_step_end"]))
def test_interrupted_evaluation_is_repeated(
    tmp_path_factory: pytest.TempPathFactory, data: str, event: str
) -> None:
    """In a resumed epoch that has no steps left, even after another stop there."""
    uninterrupted = run(data, True, [Asks(), Stops()])
    resume: Path | None = None
    for event_again in (event, "on_train_epoch_begin"):
        asks = Asks()
        run(data, True, [asks, Stops(event_again)], resume)
        assert asks.reasons() == ["restored"] * (resume is not None) + ["interrupted"]
        _, state, total = asks.saves[-1]
        resume = written(tmp_path_factory.mktemp("run"), state, total)
        resumed = run(data, True, [Asks(), Stops()], resume)
        assert resumed.before == 2 * STEPS + 2
        assert resumed.lines == uninterrupted.lines[resumed.before :]


@given(st.sampled_from([*EVENTS]), st.booleans())
def test_requested_state_includes_all_callbacks(
    tmp_path_factory: pytest.TempPathFactory, event: str, registered: bool
) -> None:
    """The saved state is that of the first boundary after the event."""
    folder = tmp_path_factory.mktemp("run")
    uninterrupted = run("drawn", True, [Asks()], epochs=3)
    asks = Asks(event, registered=registered)
    run("drawn", True, [asks])
    requested = [state for reason, state, _ in asks.saves if reason == "requested"]
    assert len(requested) == {True: 2 * STEPS, False: 2}["train_step" in event] - (
        event in {"on_train_begin", "on_train_end"}
    )
    for _, state, total in asks.saves:
        again = Asks(event, registered=registered)
        resumed = run("drawn", True, [again], written(folder, state, total), epochs=3)
        late = event == "on_train_end" and not registered
        assert resumed.lines == uninterrupted.lines[resumed.before - late :]


@given(DATASETS)
def test_epoch_iterator_accepts_start_and_rejects_end(data: str) -> None:
    def numbers(epochs: EpochIterator) -> list[tuple[int, list[float]]]:
        return [(done, [float(x.asnumpy().mean()) for x, _ in batches]) for done, batches in epochs]

    def begin() -> EpochIterator:
        set_seed(3)
        np.random.seed(3)
        return EpochIterator(DATA[data](), 2)

    expected = numbers(begin())
    position = begin().state_dict(closed=True)
    again = begin()
    again.load_state_dict(position)
    assert numbers(again) == expected
    for number in (-2, 2):
        with pytest.raises(ValueError, match=f"^There is no epoch {number + 1}.$"):
            begin().load_state_dict(position | {"number": number})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"taken": -1}, "There is no batch -1 of epoch 2."),
        ({"taken": 2**63}, "There is no batch 9223372036854775808 of epoch 2."),
        ({"taken": STEPS + 1}, f"The dataset has come to its end before batch {STEPS + 1}."),
        ({"taken": True}, "For 'EpochIterator', the state's 'taken' must be of type int, but got "),
        ({"epochs": -1}, "There is no batch 1 of epoch 0."),
        ({"epochs": 3}, "There is no batch 1 of epoch 4."),
        ({"begin": 1.5}, "For 'EpochIterator', the state's 'begin' must be of type dict, but got "),
    ],
)
def test_epoch_iterator_rejects_damaged_position_of_an_iterable(
    change: dict[str, object], message: str
) -> None:
    epochs = iter(iterator := EpochIterator(Turned(), 2))
    _, first = next(epochs)
    assert len(list(first)) == STEPS
    _, second = next(epochs)
    next(second)
    position = iterator.state_dict(closed=False)
    source = position["source"]
    assert isinstance(source, dict)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        EpochIterator(Turned(), 2).load_state_dict(position | {"source": source | change})


@given(DATASETS, st.integers(1, STEPS))
@example("shuffled", 1)
def test_epoch_that_was_left_is_completed_before_the_next_one(data: str, steps: int) -> None:
    def means(batches: Iterator[list[Tensor]]) -> list[float]:
        return [float(x.asnumpy().mean()) for x, _ in batches]

    def begin() -> EpochIterator:
        set_seed(3)
        np.random.seed(3)
        return EpochIterator(DATA[data](), 2)

    iterator = begin()
    _, batches = next(iter(iterator))
    assert len(means(islice(batches, steps))) == steps
    again, expected = begin(), begin()
    again.load_state_dict(iterator.state_dict(closed=True))
    second = [means(batches) for _, batches in expected][1]
    ((number, batches),) = again
    assert number == 1
    # The order that is drawn in the second epoch depends on the random state, which is set later.
    assert means(batches) == second if data != "drawn" else len(means(batches)) == STEPS
