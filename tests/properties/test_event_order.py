"""The order of events: every run matches one small grammar, however it ends."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor
from minispore.train import Accuracy, Callback, Model, RunContext
from minispore.train.protocol.callback import EVENTS
from tests.helpers.stub_models import Batches, ConstantLoss, Outputs

# One letter an event. A run is entered `(` and left `)`; `!` is `on_exception`.
LETTERS = dict(zip(EVENTS, "BestfEVxyzwW", strict=True))
EVALUATION = r"Vx(?:yz)+wW"
EPOCH = rf"e(?:st)+(?:{EVALUATION})?f"
GRAMMAR = {
    "train": re.compile(r"\(B(?:e(?:st)+f)+E\)"),
    "fit": re.compile(rf"\(B(?:{EPOCH})+E\)"),
    "eval": re.compile(rf"\({EVALUATION}\)"),
}


class Boom(Exception):
    pass


class Spy(Callback):
    """Record every event, and act at one of them."""

    def __init__(self, log: list[tuple[int, str]], number: int) -> None:
        self.log = log
        self.number = number
        self.act_at: tuple[str, int] | None = None
        self.raises = False
        self.seen = 0

    def note(self, event: str, context: RunContext) -> None:
        self.log.append((self.number, LETTERS[event]))
        if self.act_at is None or event != self.act_at[0]:
            return
        self.seen += 1
        if self.seen == self.act_at[1]:
            if self.raises:
                raise Boom
            context.request_stop()

    def __enter__(self) -> Self:
        self.log.append((self.number, "("))
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.log.append((self.number, ")"))

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        self.log.append((self.number, "!"))


def _noting(event: str) -> Callable[[Spy, RunContext], None]:
    return lambda self, run_context: self.note(event, run_context)


for _event in EVENTS:
    setattr(Spy, _event, _noting(_event))


@dataclass(frozen=True)
class Schedule:
    kind: str
    initial_epoch: int
    epochs: int
    batches: int
    valid_batches: int
    valid_frequency: int | list[int]
    spies: int

    def evaluated(self, epoch: int) -> bool:
        if isinstance(self.valid_frequency, list):
            return epoch in self.valid_frequency
        return epoch % self.valid_frequency == 0

    def sentence(self) -> str:
        """Return the events of an uninterrupted run, computed independently of the loop."""
        evaluation = "Vx" + "yz" * self.valid_batches + "wW"
        if self.kind == "eval":
            return f"({evaluation})"
        text = "(B"
        for epoch in range(self.initial_epoch + 1, self.initial_epoch + self.epochs + 1):
            text += "e" + "st" * self.batches
            text += evaluation if self.kind == "fit" and self.evaluated(epoch) else ""
            text += "f"
        return text + "E)"

    def run(self, spies: list[Spy]) -> None:
        model = Model(
            ConstantLoss(),
            metrics={"accuracy": Accuracy()},
            eval_network=Outputs(),
            eval_indexes=[0, 1, 2],
        )
        last = self.initial_epoch + self.epochs
        data, valid = Batches(self.batches), Batches(self.valid_batches)
        if self.kind == "train":
            model.train(last, data, spies, initial_epoch=self.initial_epoch)
        elif self.kind == "fit":
            model.fit(
                last,
                data,
                valid,
                self.valid_frequency,
                spies,
                initial_epoch=self.initial_epoch,
            )
        else:
            model.eval(valid, spies)


small = st.integers(1, 3)
schedules = st.builds(
    Schedule,
    kind=st.sampled_from(["train", "fit", "eval"]),
    initial_epoch=st.integers(0, 2),
    epochs=small,
    batches=small,
    valid_batches=small,
    valid_frequency=small | st.lists(st.integers(1, 5), max_size=3),
    spies=small,
)


def seen_by(number: int, log: list[tuple[int, str]]) -> str:
    return "".join(letter for spy, letter in log if spy == number)


@st.composite
def disturbed(draw: st.DrawFn) -> tuple[Schedule, int, str, int]:
    """Draw a schedule, one of its callbacks, and the n-th event of a kind."""
    schedule = draw(schedules)
    letter = draw(st.sampled_from(sorted(set(schedule.sentence()) - set("()"))))
    times = draw(st.integers(1, schedule.sentence().count(letter)))
    event = next(name for name, short in LETTERS.items() if short == letter)
    return schedule, draw(st.integers(0, schedule.spies - 1)), event, times


def make(schedule: Schedule) -> tuple[list[tuple[int, str]], list[Spy]]:
    log: list[tuple[int, str]] = []
    return log, [Spy(log, number) for number in range(schedule.spies)]


@given(schedules)
def test_uninterrupted_run_emits_all_events(schedule: Schedule) -> None:
    log, spies = make(schedule)
    schedule.run(spies)
    for spy in spies:
        assert seen_by(spy.number, log) == schedule.sentence()
    assert GRAMMAR[schedule.kind].fullmatch(schedule.sentence())
    # At each event the callbacks are called in their order; they are left in the reverse.
    order = list(range(schedule.spies))
    rounds = [[spy for spy, _ in log[i : i + len(order)]] for i in range(0, len(log), len(order))]
    assert rounds == [order] * (len(rounds) - 1) + [order[::-1]]


@given(disturbed())
def test_stop_request_emits_only_end_events(
    case: tuple[Schedule, int, str, int],
) -> None:
    schedule, index, event, times = case
    log, spies = make(schedule)
    spies[index].act_at = (event, times)
    schedule.run(spies)

    histories = {seen_by(spy.number, log) for spy in spies}
    assert len(histories) == 1
    (history,) = histories
    assert GRAMMAR[schedule.kind].fullmatch(history)
    stopped = [i for i, letter in enumerate(history) if letter == LETTERS[event]][times - 1]
    before, after = history[: stopped + 1], history[stopped + 1 :]
    assert schedule.sentence().startswith(before)
    # A run that has not come to a step takes one; afterwards none begins, and no evaluation.
    assert after.count("s") == (event in ("on_train_begin", "on_train_epoch_begin"))
    assert after.count("y") == (event in ("on_eval_begin", "on_eval_epoch_begin"))
    assert after.count("V") == 0
    assert after.count("e") == (event == "on_train_begin")


@given(disturbed())
def test_exception_ends_events(case: tuple[Schedule, int, str, int]) -> None:
    schedule, index, event, times = case
    log, spies = make(schedule)
    spies[index].act_at = (event, times)
    spies[index].raises = True
    with pytest.raises(Boom) as raised:
        schedule.run(spies)

    complete = schedule.sentence()
    failed = [i for i, letter in enumerate(complete) if letter == LETTERS[event]][times - 1]
    for spy in spies:
        until = failed + 1 if spy.number <= index else failed
        assert seen_by(spy.number, log) == complete[:until] + "!)"
    order = list(range(schedule.spies))
    assert [spy for spy, letter in log if letter == "("] == order
    assert [spy for spy, letter in log if letter == ")"] == order[::-1]
    assert raised.value.__notes__ == [f"Raised by the callback's hook Spy.{event}."]


@pytest.mark.parametrize("error", [Boom, KeyboardInterrupt])
@pytest.mark.parametrize("kind", ["train", "eval"])
def test_network_exception_reaches_every_callback(kind: str, error: type[BaseException]) -> None:
    class Broken(ConstantLoss):
        def construct(self, *inputs: Tensor) -> Tensor:
            raise error

    log: list[tuple[int, str]] = []
    spy = Spy(log, 0)
    model = Model(Broken(), metrics={"accuracy"}, eval_network=Broken(), eval_indexes=[0, 1, 2])
    with pytest.raises(error) as raised:
        if kind == "train":
            model.train(1, Batches(1), spy)
        else:
            model.eval(Batches(1), spy)
    assert seen_by(0, log) == ("(Bes!)" if kind == "train" else "(Vxy!)")
    assert not hasattr(raised.value, "__notes__")
