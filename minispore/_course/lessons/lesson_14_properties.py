"""Lesson 14: metamorphic relations between runs detect bugs without known expected results."""

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
from minispore._course.exercise import Implementation, Lesson, TestExercise, mutant, reference
from minispore.common import Parameter, Tensor
from minispore.train import Callback, RunContext

Factory: TypeAlias = Callable[[], Callback]


@dataclass(frozen=True)
class Observation:
    """The observable effects of a callback in an epoch.

    Attributes:
        epoch: The number of the epoch.
        printed: The output of the callback.
        stop: Whether it requested a stop.
        rate: The learning rate at the end of the epoch.
    """

    epoch: int
    printed: str
    stop: bool
    rate: float


class Training:
    """A simulated training: epochs of one step, with given losses.

    The number of the epoch and the learning rate are kept between calls of `run`: a second `run`
    continues the same training, and another `Training` is an independent one.
    """

    def __init__(self) -> None:
        self._epoch = 0
        self._rate = 1.0

    def run(
        self, callback: Callback, losses: Sequence[float], state: Mapping[str, object] | None = None
    ) -> list[Observation]:
        """Simulate an epoch for each loss; a requested stop does not end the simulation.

        Args:
            callback: The callback whose hooks are called.
            losses: The losses of the epochs.
            state: The state that the callback loads after its `on_train_begin`, as in a resumed
                training: the result of `saved_state` for the callback of the earlier run.

        Returns:
            The observations of each epoch.
        """
        rate = _optimizer().learning_rate
        assert isinstance(rate, Parameter)
        rate.set_data(self._rate)
        params: dict[str, object] = {"optimizer": _optimizer(), "batch_num": 1}
        observations = list[Observation]()
        with callback:
            callback.on_train_begin(RunContext(params))
            load = getattr(callback, "load_state_dict", None)
            if state is not None and load is not None:
                load(state)
            for loss in losses:
                self._epoch += 1
                counts = {"cur_epoch_num": self._epoch, "cur_step_num": self._epoch}
                context = RunContext(params | counts | {"net_outputs": loss})
                with redirect_stdout(StringIO()) as printed:
                    callback.on_train_epoch_begin(context)
                    callback.on_train_step_begin(context)
                    callback.on_train_step_end(context)
                    callback.on_train_epoch_end(context)
                self._rate = float(rate.asnumpy())
                stop = context.get_stop_requested()
                observations.append(Observation(self._epoch, printed.getvalue(), stop, self._rate))
        return observations


@cache
def _optimizer() -> nn.Optimizer:
    """Return the optimizer of all trainings; each run sets its learning rate first."""
    return nn.SGD([Parameter(Tensor(np.zeros(1, np.float32)), "weight")], 1.0)


def saved_state(callback: Callback) -> dict[str, object]:
    """Return the state that a training saves for the callback: its state_dict(), or {}."""
    state = getattr(callback, "state_dict", None)
    return cast("dict[str, object]", state()) if state is not None else {}


def check_memory(make: Factory) -> None:
    """Check that a callback saves its state and resets it at the start of a training.

    A training that is resumed with a new object, which loads the state of the first, equals the
    uninterrupted training in its observations and in the final state. A second training with the
    same object has the same observations as the first. A saved state is changed neither by the
    callback that returned it nor by the one that loaded it.

    Args:
        make: Returns a new callback with the same arguments at each call.

    Raises:
        AssertionError: One of these properties is violated.
    """
    losses = st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=4, max_size=7)

    # No shrinking: only the verdict matters.
    @settings(max_examples=40, derandomize=True, database=None, phases=[Phase.generate])
    @given(losses, st.integers(0, 7))
    def check_runs(losses: list[float], cut: int) -> None:
        uninterrupted = make()
        expected = Training().run(uninterrupted, losses)

        training, first, second = Training(), make(), make()
        before = training.run(first, losses[:cut])
        state = saved_state(first)
        copy = deepcopy(state)
        after = training.run(second, losses[cut:], state)
        comparisons = {
            "resumed run": before + after == expected,
            "final state": saved_state(second) == saved_state(uninterrupted),
            "second run": Training().run(first, losses) == expected,
            "saved state": state == copy,
        }
        # Not by assert, which `python -O` removes.
        if not all(comparisons.values()):
            raise AssertionError([name for name, same in comparisons.items() if not same])

    check_runs()


_CALLBACK = "minispore.train.callback."
_EARLY = _CALLBACK + "_early_stopping"
_PLATEAU = _CALLBACK + "_reduce_lr_on_plateau"
_HISTORY = _CALLBACK + "_history"
_MONITOR = _CALLBACK + "_loss_monitor"
_SCHEDULER = _CALLBACK + "_learning_rate_scheduler"


def _factory(*args: object, **kwargs: object) -> Callable[[Callable[..., object]], object]:
    """Return an adapter from a class to a function that creates an instance."""
    return lambda callback_class: lambda: callback_class(*args, **kwargs)


_SAVES = "state_dict = lambda self: super().state_dict() | {entry}"
_LOADS = "load_state_dict = lambda self, state: super().load_state_dict(state | {entry})"


def _replaced(method: str, field: str, value: float) -> tuple[str, str]:
    """Return a text of a callback, and one in which a method replaces the value of a field."""
    text = f" {field}: StateField["
    return text, f" {method.format(entry={field: value})};{text}"


def _halve_every_third_step(rate: float, step: int) -> float:
    return rate if step % 3 else rate / 2


_with_patience = _factory("loss", patience=2)
_with_baseline = _factory("loss", mode="max", baseline=1.5, min_delta=0.5, patience=3)
_with_cooldown = _factory("loss", factor=0.5, patience=2, cooldown=3)
_default, _every_second_step = _factory(), _factory(2)

LESSON = Lesson(
    title="Property-based testing of callbacks",
    exercise=TestExercise(
        module=__name__,
        name="check_memory",
        task="In a test with @given, simulate trainings with Training().run(…) and compare them: a "
        "resumed one, with saved_state(…), and an uninterrupted one; a second one and the first. "
        "Which losses are needed, and where must the training be interrupted, to reveal a bug?",
        correct=(
            Implementation("a callback without hooks", lambda: Callback),
            reference(_MONITOR, "LossMonitor", _every_second_step),
            reference(_HISTORY, "History", _default),
            reference(_EARLY, "EarlyStopping", _with_patience),
            Implementation(
                "EarlyStopping with a baseline",
                reference(_EARLY, "EarlyStopping", _with_baseline).make,
            ),
            reference(_PLATEAU, "ReduceLROnPlateau", _with_cooldown),
            reference(_SCHEDULER, "LearningRateScheduler", _factory(_halve_every_third_step)),
        ),
        wrong=(
            *(
                mutant(_EARLY, *bug, _with_patience)
                for bug in (
                    ("EarlyStopping",
                     "EarlyStopping resets `wait` when it is resumed",
                     *_replaced(_SAVES, "wait", 0)),
                    ("EarlyStopping",
                     "EarlyStopping loses the best value when it is resumed",
                     *_replaced(_SAVES, "best", 1e300)),
                    ("EarlyStopping.on_train_begin",
                     "EarlyStopping keeps its state in another training",
                     "self._monitored.check_available(run_context)\n",
                     "self._monitored.check_available(run_context); return\n"),
                    ("EarlyStopping",
                     "EarlyStopping loses `stopped_epoch` when it is resumed",
                     *_replaced(_LOADS, "stopped_epoch", 0)),
                )
            ),
            *(
                mutant(_PLATEAU, *bug, _with_cooldown)
                for bug in (
                    ("ReduceLROnPlateau",
                     "ReduceLROnPlateau loses its cooldown when it is resumed",
                     *_replaced(_SAVES, "cooldown_counter", 0)),
                    ("ReduceLROnPlateau",
                     "ReduceLROnPlateau restores `wait`, but not the best value",
                     *_replaced(_LOADS, "best", 1e300)),
                    ("ReduceLROnPlateau.on_train_begin",
                     "ReduceLROnPlateau keeps the best value of another training",
                     "self.reset_state()",
                     "best = self.best; self.reset_state(); self.best = best"),
                )
            ),
            *(
                mutant(_HISTORY, *bug, _default)
                for bug in (
                    ("History.load_state_dict",
                     "History loses the numbers of the epochs when it is resumed",
                     '{"epoch": self._epochs}', '{"epoch": []}'),
                    ("History.state_dict",
                     "History returns its own lists as its state, and appends to them later",
                     "list(values)", "values"),
                    ("History.load_state_dict",
                     "History appends to the lists of the state that it loaded",
                     "super().load_state_dict(state)",
                     'super().load_state_dict(state); self.history = state["history"]'),
                )
            ),
            *(
                mutant(_MONITOR, *bug, _every_second_step)
                for bug in (
                    ("LossMonitor.state_dict",
                     "LossMonitor counts the steps from the start of the resumed run",
                     "super().state_dict()", '{"last_print_time": 0}'),
                    ("LossMonitor",
                     "LossMonitor does not detect the start of another training",
                     "step <= self._last_print_time", "False"),
                )
            ),
        ),
    ),
    hints="""
        Training().run(make(), losses) is the uninterrupted training. For the resumed one, call
        run of one Training twice: for losses[:cut] with one callback, and for losses[cut:] with
        another; together they must give the same observations.

        run(callback, losses, saved_state(first)) loads the state of the first callback. The final
        states must be equal, too: not every part of a state has an effect at once.

        Some losses must be equal, and several in a row: random floats are all different. Draw from
        two or three numbers, and from four to seven of them. Do not draw NaN, which is not equal
        to itself.

        For the saved state: keep copy.deepcopy(state), continue with the callback that returned it
        and with the one that loaded it, and compare. For the second training: run the same object
        again, with a new Training(), and compare the observations. The saved states may differ
        there: History keeps all trainings.
        """,
)  # fmt: skip
