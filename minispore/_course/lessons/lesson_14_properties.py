"""Lesson 14: two runs that must agree find a bug where nobody knows what is right."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from io import StringIO
from typing import TypeAlias, cast

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from minispore import nn
from minispore._course.exercise import Implementation, Lesson, Property, paragraphs, seeded, shipped
from minispore.common import Parameter, Tensor
from minispore.train import Callback, RunContext

Factory: TypeAlias = Callable[[], Callback]


@dataclass(frozen=True)
class Seen:
    """What could be seen of a callback in an epoch.

    Attributes:
        epoch: The number of the epoch.
        printed: What it printed.
        stop: Whether it asked for the end.
        rate: The learning rate at the epoch's end.
    """

    epoch: int
    printed: str
    stop: bool
    rate: float


class Training:
    """A training that is only played: epochs of one step, with losses from outside.

    The number of the epoch and the learning rate stay from one `run` to the next. A second `run` is
    the same training that goes on; another `Training` is another one.
    """

    def __init__(self) -> None:
        self._epoch = 0
        self._rate = 1.0

    def run(
        self, callback: Callback, losses: Sequence[float], state: Mapping[str, object] | None = None
    ) -> list[Seen]:
        """Play an epoch to the callback for each loss; it goes on when it is asked for the end.

        Args:
            callback: What is told of it.
            losses: The epochs' losses.
            state: What the callback has to load, after its `on_train_begin`: a training that is
                resumed gives each callback what `remembered` returned of the one before.

        Returns:
            What could be seen in each epoch.
        """
        rate = _optimizer().learning_rate
        assert isinstance(rate, Parameter)
        rate.set_data(self._rate)
        params: dict[str, object] = {"optimizer": _optimizer(), "batch_num": 1}
        seen = list[Seen]()
        with callback:
            callback.on_train_begin(RunContext(params))
            load = getattr(callback, "load_state_dict", None)
            if state is not None and load is not None:
                load(state)
            for loss in losses:
                self._epoch += 1
                now = {"cur_epoch_num": self._epoch, "cur_step_num": self._epoch}
                context = RunContext(params | now | {"net_outputs": loss})
                with redirect_stdout(StringIO()) as printed:
                    callback.on_train_epoch_begin(context)
                    callback.on_train_step_begin(context)
                    callback.on_train_step_end(context)
                    callback.on_train_epoch_end(context)
                self._rate = float(rate.asnumpy())
                stop = context.get_stop_requested()
                seen.append(Seen(self._epoch, printed.getvalue(), stop, self._rate))
        return seen


@cache
def _optimizer() -> nn.Optimizer:
    """One is enough: a training sets its learning rate when it goes on."""
    return nn.SGD([Parameter(Tensor(np.zeros(1, np.float32)), "weight")], 1.0)


def remembered(callback: Callback) -> dict[str, object]:
    """What the callback wants to be told when the training goes on: its state_dict()."""
    state = getattr(callback, "state_dict", None)
    return cast("dict[str, object]", state()) if state is not None else {}


def check_memory(make: Factory) -> None:
    """Check that a callback remembers what it must, and forgets what it must.

    A training that goes on with another object, which was given the state of the first, is the one
    that was not interrupted: in what can be seen, and in what is remembered in the end. A second
    training with the same object looks like the first one. And a state stays what it was, whatever
    is done by the callback that gave it, and by the one that got it.

    Args:
        make: Makes the callback; always an equal one.

    Raises:
        AssertionError: One of these does not hold.
    """
    losses = st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=4, max_size=7)

    # A verdict is wanted, and no small case.
    @settings(max_examples=40, derandomize=True, database=None, phases=[Phase.generate])
    @given(losses, st.integers(0, 7))
    def the_runs_agree(losses: list[float], cut: int) -> None:
        straight = make()
        seen = Training().run(straight, losses)

        training, first, second = Training(), make(), make()
        before = training.run(first, losses[:cut])
        state = remembered(first)
        kept = deepcopy(state)
        after = training.run(second, losses[cut:], state)
        comparisons = {
            "resumed": before + after == seen,
            "remembered": remembered(second) == remembered(straight),
            "again": Training().run(first, losses) == seen,
            "the state": state == kept,
        }
        # Not by assert: `python -O` leaves that out.
        if not all(comparisons.values()):
            raise AssertionError([name for name, same in comparisons.items() if not same])

    the_runs_agree()


_CALLBACK = "minispore.train.callback."
_EARLY = _CALLBACK + "_early_stopping"
_PLATEAU = _CALLBACK + "_reduce_lr_on_plateau"
_HISTORY = _CALLBACK + "_history"
_MONITOR = _CALLBACK + "_loss_monitor"
_SCHEDULER = _CALLBACK + "_learning_rate_scheduler"


def _made(*args: object, **kwargs: object) -> Callable[[Callable[..., object]], object]:
    """What makes a callback of a class: a function of no arguments."""
    return lambda found: lambda: found(*args, **kwargs)


def _halved(rate: float, step: int) -> float:
    return rate if step % 3 else rate / 2


_patient = _made("loss", patience=2)
_picky = _made("loss", mode="max", baseline=1.5, min_delta=0.5, patience=3)
_reducing = _made("loss", factor=0.5, patience=2, cooldown=3)
_all, _second = _made(), _made(2)


def _early(says: str, method: str, old: str, new: str) -> Implementation:
    return seeded(_EARLY, f"EarlyStopping.{method}", says, old, new, _patient)


def _plateau(says: str, method: str, old: str, new: str) -> Implementation:
    return seeded(_PLATEAU, f"ReduceLROnPlateau.{method}", says, old, new, _reducing)


def _history(says: str, method: str, old: str, new: str) -> Implementation:
    return seeded(_HISTORY, f"History.{method}", says, old, new, _all)


def _monitor(says: str, method: str, old: str, new: str) -> Implementation:
    return seeded(_MONITOR, f"LossMonitor.{method}", says, old, new, _second)


LESSON = Lesson(
    title="Find my bug",
    idea="Two runs that must agree find a bug, whatever the callback does and whoever knows what "
    "is right.",
    minutes=35,
    explains=(
        "minispore._course.lessons.lesson_14_properties.Training",
        "minispore._course.lessons.lesson_14_properties.remembered",
        "minispore.testing.CallbackError",
        "minispore.testing.check_callback",
    ),
    exercise=Property(
        module=__name__,
        name="check_memory",
        task="Play trainings to callbacks with Training().run(…), and compare: one that is "
        "resumed, with remembered(…), with one that was not interrupted; a second with the first. "
        "Which losses must come, and where must the training be cut, for a bug to show?",
        right=(
            Implementation("a callback that does nothing", lambda: Callback),
            shipped(_MONITOR, "LossMonitor", _second),
            shipped(_HISTORY, "History", _all),
            shipped(_EARLY, "EarlyStopping", _patient),
            Implementation(
                "EarlyStopping with a baseline",
                shipped(_EARLY, "EarlyStopping", _picky).make,
            ),
            shipped(_PLATEAU, "ReduceLROnPlateau", _reducing),
            shipped(_SCHEDULER, "LearningRateScheduler", _made(_halved)),
        ),
        wrong=(
            _early(
                "EarlyStopping begins to wait anew when it is resumed",
                "state_dict", '"wait": self.wait', '"wait": 0',
            ),
            _early(
                "EarlyStopping forgets the best value when it is resumed",
                "state_dict", '"best": self.best', '"best": self._monitored.worst',
            ),
            _early(
                "EarlyStopping goes on waiting in another training",
                "on_train_begin", "self._start()", "pass",
            ),
            _early(
                "EarlyStopping does not know, once it is resumed, that it has stopped",
                "load_state_dict", "self.best, self.wait, self.stopped_epoch = best, wait,",
                "self.best, self.wait, _ = best, wait,",
            ),
            _plateau(
                "ReduceLROnPlateau forgets its cooldown when it is resumed",
                "state_dict", '"cooldown_counter": self.cooldown_counter', '"cooldown_counter": 0',
            ),
            _plateau(
                "ReduceLROnPlateau loads how long it has waited, but not for what",
                "load_state_dict", "self.best, self.wait = best, wait", "self.wait = wait",
            ),
            _plateau(
                "ReduceLROnPlateau still has the best value of another training",
                "_start", "self.best: float = self._monitored.worst",
                'self.best = getattr(self, "best", self._monitored.worst)',
            ),
            _history(
                "History loses the numbers of the epochs when it is resumed",
                "load_state_dict", '{"epoch": epochs}', '{"epoch": []}',
            ),
            _history(
                "History hands out its own lists as its state, and they go on growing",
                "state_dict", "list(values)", "values",
            ),
            _history(
                "History goes on writing into the state that it was given",
                "load_state_dict", "list(values)", "values",
            ),
            _monitor(
                "LossMonitor counts the steps from the place where it was resumed",
                "load_state_dict", "self._last_print_time = entry(", "_ = entry(",
            ),
            _monitor(
                "LossMonitor does not see that another training has begun",
                "_watch", "step <= self._last_print_time", "False",
            ),
        ),
    ),
    hints=paragraphs(
        """
        Training().run(make(), losses) is the training that was not interrupted. Another one is
        run for losses[:cut] with one callback, and by the same Training for losses[cut:] with
        another; together they must have shown the same.

        run(callback, losses, remembered(first)) gives a callback what the first one remembered.
        What they remember in the end must be the same, too: not every memory is seen at once.

        Equal losses must come, and several in a row: of all floats no two are alike. Draw from two
        or three numbers, and from four to seven of them. And no NaN: it is not even equal to
        itself.

        For the state: keep copy.deepcopy(state), let the callback that gave it and the one that
        got it go on, and compare. For the second training: run the same object again, by a
        Training() of its own, and compare what was seen. What is remembered may differ there:
        History keeps all trainings.
        """
    ),
)  # fmt: skip
