# ruff: noqa: NPY002 (that users draw from numpy's global state is what this is about)
"""Boundaries: who is told to save there, when and what; and from each of them a run goes on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from minispore import Parameter, Tensor, nn, set_seed
from minispore.dataset import NumpySlicesDataset
from minispore.train import Accuracy, Callback, Metric, Model, RunContext, save_checkpoint
from minispore.train._dataset import DatasetLike, Epochs
from minispore.train._protocol.callback import EVENTS
from minispore.train._protocol.run_context import Occasion
from minispore.train._training_state import TrainingState

from .standins import Batches, Outputs

STEPS = 3  # of an epoch
ROWS = np.arange(STEPS, dtype=np.float32)[:, None] * np.ones((1, 2), np.float32)
Row = tuple[Tensor, Tensor]


class Sum(nn.Cell):
    """A network of which each step depends on all before, and on chance."""

    def __init__(self) -> None:
        super().__init__()
        self.total = Parameter(Tensor(-1.0), name="total")

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        self.total.set_data(self.total / 2 + x.mean() + float(np.random.random()))
        return self.total + 0


class Drawn:
    """Batches in another order each epoch; when all are given, something more is drawn."""

    def get_dataset_size(self) -> int:
        return STEPS

    def create_tuple_iterator(self, *, num_epochs: int) -> "Drawn":
        return self

    def __iter__(self) -> Iterator[Row]:
        for i in np.random.permutation(STEPS):
            yield Tensor(ROWS[i : i + 1]), Tensor(ROWS[i : i + 1])
        np.random.random()


class Counted(Drawn):
    """Batches that are never the same again, and an iterator that knows where it is."""

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
    """Batches in another order whenever they are asked for."""

    def __init__(self) -> None:
        self.turn = 0

    def __iter__(self) -> Iterator[Row]:
        self.turn += 1
        return iter([(Tensor(ROWS[[i]] * self.turn), Tensor(ROWS[[i]])) for i in range(STEPS)])


DATA: dict[str, Callable[[], DatasetLike]] = {
    "drawn": Drawn,
    "counted": Counted,
    "turned": Turned,
    "shuffled": lambda: NumpySlicesDataset({"x": ROWS, "y": ROWS}).batch(1),
}


class Log(Callback):
    """All that callbacks are told; what a resumed run repeats is forgotten."""

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
    if isinstance(outputs, tuple):
        (outputs, *_) = cast("tuple[object, ...]", outputs)
    return float(outputs.asnumpy()) if isinstance(outputs, Tensor) else None


class Asks(Callback):
    """Ask for the training state at each event of a name, and keep what is told."""

    def __init__(self, event: str = "", *, registered: bool = True) -> None:
        self.event = event
        self.registered = registered
        self.told: list[tuple[str, TrainingState, float]] = []

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, occasion: Occasion
    ) -> None:
        self.told.append((occasion, state, total_of(run_context)))

    def texts(self) -> list[tuple[str, str, float]]:
        return [(occasion, state.text, total) for occasion, state, total in self.told]

    def occasions(self) -> list[str]:
        return [occasion for occasion, _, _ in self.told]


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
            run_context.request_stop(for_good=self.for_good)

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
    """Train; what happened in it."""
    set_seed(3)
    np.random.seed(1 if resume is None else 2)
    metrics: dict[str, Metric] = {"acc": Accuracy()}
    model = Model(Sum(), metrics=metrics, eval_network=Outputs(), eval_indexes=[0, 1, 2])
    log, rows, last = Log(), DATA[data](), before + epochs
    callbacks = [log, *others]
    if fit:
        valid = Batches(1)
        model.fit(last, rows, valid, 1, callbacks, initial_epoch=before, resume=resume)
    else:
        model.train(last, rows, callbacks, initial_epoch=before, resume=resume)
    return log


def written(folder: Path, state: TrainingState, total: float) -> Path:
    """The file that a saver makes of it."""
    network = Sum()
    network.total.set_data(Tensor(total))
    save_checkpoint(network, folder / "x.ckpt", append_dict=state.entries())
    return folder / "x.ckpt"


@pytest.mark.parametrize("fit", [False, True])
@pytest.mark.parametrize("data", DATA)
def test_from_each_boundary_a_run_goes_on(tmp_path: Path, data: str, fit: bool) -> None:
    """What follows is told alike, and saved alike, as in the run that was not interrupted."""
    asks, quiet, before = Asks("on_train_step_end"), Asks(), 3 * fit
    straight = run(data, fit, [asks, quiet], before=before)
    assert asks.occasions() == ["asked"] * 2 * STEPS + ["ended"]
    assert quiet.occasions() == ["ended"]
    for place, (occasion, state, total) in enumerate(asks.told):
        asks_again, quiet_again = Asks("on_train_step_end"), Asks()
        path = written(tmp_path, state, total)
        resumed = run(data, fit, [asks_again, quiet_again], path, before=before)
        assert resumed.lines == straight.lines[resumed.before :]
        again = [("resumed", state.text, total)]
        told = asks.texts()[place:]
        assert asks_again.texts() == (told if occasion == "asked" else again + told)
        assert quiet_again.texts() == again + quiet.texts()


@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize("event", EVENTS)
def test_a_run_that_was_stopped_goes_on_or_stays_stopped(
    tmp_path: Path, event: str, for_good: bool
) -> None:
    straight = run("drawn", True, [Asks("on_train_step_end"), Asks(), Stops()])
    ended = for_good or event == "on_train_end"
    occasion = "ended" if ended else "stopped"

    def stop(resume: Path | None) -> tuple[Log, TrainingState, float]:
        asks, quiet = Asks("on_train_step_end"), Asks()
        stopped = run("drawn", True, [asks, quiet, Stops(event, for_good=for_good)], resume)
        assert quiet.occasions() == ["resumed"] * bool(resume) + [occasion]
        in_step = "eval" not in event and ("step" in event or event.endswith("begin"))
        assert asks.occasions()[-1] == ("asked" if in_step else occasion)
        assert asks.texts()[-1][1:] == quiet.texts()[-1][1:]
        return stopped, *quiet.told[-1][1:]

    stopped, state, total = stop(None)
    if not ended:
        stopped, state, total = stop(written(tmp_path, state, total))
    asks, quiet = Asks("on_train_step_end"), Asks()
    resumed = run("drawn", True, [asks, quiet, Stops()], written(tmp_path, state, total))
    expected = stopped if ended else straight
    assert resumed.lines == expected.lines[resumed.before :]
    assert quiet.texts()[0] == ("resumed", state.text, total)
    assert quiet.occasions() == ["resumed", "ended"]
    if for_good:
        assert quiet.texts()[1] == ("ended", state.text, total)


@pytest.mark.parametrize("registered", [False, True])
@pytest.mark.parametrize("event", EVENTS)
def test_whoever_asks_is_given_what_all_have_seen(
    tmp_path: Path, event: str, registered: bool
) -> None:
    """The state is that of the first boundary after the event."""
    straight = run("drawn", True, [Asks()], epochs=3)
    asks = Asks(event, registered=registered)
    run("drawn", True, [asks])
    asked = [state for occasion, state, _ in asks.told if occasion == "asked"]
    assert len(asked) == {True: 2 * STEPS, False: 2}["train_step" in event] - (
        event in {"on_train_begin", "on_train_end"}
    )
    for _, state, total in asks.told:
        again = Asks(event, registered=registered)
        resumed = run("drawn", True, [again], written(tmp_path, state, total), epochs=3)
        late = event == "on_train_end" and not registered
        assert resumed.lines == straight.lines[resumed.before - late :]


@pytest.mark.parametrize("data", DATA)
def test_the_beginning_is_a_position_and_what_is_past_the_end_is_none(data: str) -> None:
    def numbers(epochs: Epochs) -> list[tuple[int, list[float]]]:
        return [(done, [float(x.asnumpy().mean()) for x, _ in rest]) for done, rest in epochs]

    def begin() -> Epochs:
        set_seed(3)
        np.random.seed(3)
        return Epochs(DATA[data](), 2)

    expected = numbers(begin())
    position = begin().state_dict(closed=True)
    again = begin()
    again.load_state_dict(position)
    assert numbers(again) == expected
    for number in (-2, 2):
        with pytest.raises(ValueError, match=f"^There is no batch 0 of epoch {number + 1}.$"):
            begin().load_state_dict(position | {"number": number})
