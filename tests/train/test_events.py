"""The order of events: every run, however it ends, is a sentence of one small grammar."""

import re
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor
from minispore.train import Accuracy, Callback, Model, RunContext

from .standins import Batches, ConstantLoss, Outputs

# One letter an event. A run is entered `(` and left `)`; `!` is `on_exception`.
LETTERS = {
    "on_train_begin": "B",
    "on_train_epoch_begin": "e",
    "on_train_step_begin": "s",
    "on_train_step_end": "t",
    "on_train_epoch_end": "f",
    "on_train_end": "E",
    "on_eval_begin": "V",
    "on_eval_epoch_begin": "x",
    "on_eval_step_begin": "y",
    "on_eval_step_end": "z",
    "on_eval_epoch_end": "w",
    "on_eval_end": "W",
}
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
    """Write down every event, and act at one of them."""

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

    def on_train_begin(self, run_context: RunContext) -> None:
        self.note("on_train_begin", run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self.note("on_train_epoch_begin", run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self.note("on_train_step_begin", run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.note("on_train_step_end", run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self.note("on_train_epoch_end", run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        self.note("on_train_end", run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        self.note("on_eval_begin", run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        self.note("on_eval_epoch_begin", run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        self.note("on_eval_step_begin", run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        self.note("on_eval_step_end", run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        self.note("on_eval_epoch_end", run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        self.note("on_eval_end", run_context)


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
        """What one callback sees of an undisturbed run, written down independently of the loop."""
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
    """A schedule, one of its spies, and an event of it: the n-th of its kind."""
    schedule = draw(schedules)
    letter = draw(st.sampled_from(sorted(set(schedule.sentence()) - set("()"))))
    times = draw(st.integers(1, schedule.sentence().count(letter)))
    event = next(name for name, short in LETTERS.items() if short == letter)
    return schedule, draw(st.integers(0, schedule.spies - 1)), event, times


def make(schedule: Schedule) -> tuple[list[tuple[int, str]], list[Spy]]:
    log: list[tuple[int, str]] = []
    return log, [Spy(log, number) for number in range(schedule.spies)]


@given(schedules)
def test_an_undisturbed_run_is_the_whole_sentence(schedule: Schedule) -> None:
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
def test_a_requested_stop_closes_what_is_open_and_begins_nothing(
    case: tuple[Schedule, int, str, int],
) -> None:
    schedule, who, event, times = case
    log, spies = make(schedule)
    spies[who].act_at = (event, times)
    schedule.run(spies)

    told = {seen_by(spy.number, log) for spy in spies}
    assert len(told) == 1
    (sentence,) = told
    assert GRAMMAR[schedule.kind].fullmatch(sentence)
    stopped = [i for i, letter in enumerate(sentence) if letter == LETTERS[event]][times - 1]
    before, after = sentence[: stopped + 1], sentence[stopped + 1 :]
    assert schedule.sentence().startswith(before)
    # A run that has not come to a step takes one; afterwards none begins, and no evaluation.
    assert after.count("s") == (event in ("on_train_begin", "on_train_epoch_begin"))
    assert after.count("y") == (event in ("on_eval_begin", "on_eval_epoch_begin"))
    assert after.count("V") == 0
    assert after.count("e") == (event == "on_train_begin")


@given(disturbed())
def test_an_exception_ends_the_run_there(case: tuple[Schedule, int, str, int]) -> None:
    schedule, who, event, times = case
    log, spies = make(schedule)
    spies[who].act_at = (event, times)
    spies[who].raises = True
    with pytest.raises(Boom) as raised:
        schedule.run(spies)

    whole = schedule.sentence()
    failed = [i for i, letter in enumerate(whole) if letter == LETTERS[event]][times - 1]
    for spy in spies:
        until = failed + 1 if spy.number <= who else failed
        assert seen_by(spy.number, log) == whole[:until] + "!)"
    order = list(range(schedule.spies))
    assert [spy for spy, letter in log if letter == "("] == order
    assert [spy for spy, letter in log if letter == ")"] == order[::-1]
    assert raised.value.__notes__ == [f"Raised by the callback's hook Spy.{event}."]


@pytest.mark.parametrize("kind", ["train", "eval"])
def test_an_exception_of_the_network_is_told_to_every_callback(kind: str) -> None:
    class Broken(ConstantLoss):
        def construct(self, *inputs: Tensor) -> Tensor:
            raise Boom

    log: list[tuple[int, str]] = []
    spy = Spy(log, 0)
    model = Model(Broken(), metrics={"accuracy"}, eval_network=Broken(), eval_indexes=[0, 1, 2])
    with pytest.raises(Boom) as raised:
        if kind == "train":
            model.train(1, Batches(1), spy)
        else:
            model.eval(Batches(1), spy)
    assert seen_by(0, log) == ("(Bes!)" if kind == "train" else "(Vxy!)")
    assert not hasattr(raised.value, "__notes__")


class Interrupted(Spy):
    def on_train_step_end(self, run_context: RunContext) -> None:
        raise KeyboardInterrupt


def test_an_interrupt_by_the_user_is_an_exception_as_well() -> None:
    log: list[tuple[int, str]] = []
    with pytest.raises(KeyboardInterrupt):
        Model(ConstantLoss()).train(1, Batches(1), Interrupted(log, 0))
    assert seen_by(0, log) == "(Bes!)"
