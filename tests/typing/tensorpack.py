"""What type checkers say about tensorpack's callbacks. Nothing here is run.

Each `type: ignore[…]` is a mistake that both type checkers must find: where one doesn't, it calls
the comment unused.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Sequence
from typing import assert_type

from minispore.tensorpack import (
    Callback,
    Every,
    HyperParamSetterWithFunc,
    PeriodicTrigger,
    ProxyCallback,
    RunValues,
    ScheduledHyperParamSetter,
    Trainer,
)
from minispore.train import LossMonitor, Model, RunContext
from minispore.train import callback as train


class Watches(Callback):
    """Each hook with its types."""

    def _before_train(self) -> None:
        assert_type(self.trainer, Trainer)
        assert_type(self.trainer.learning_rate, float | None)
        assert_type(self.trainer.params.cur_epoch_num, int)
        self.trainer.learning_rat  # type: ignore[attr-defined]  # noqa: B018

    def _before_run(self, run_context: RunContext) -> Sequence[str]:
        return ["loss"]

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        assert_type(run_context.get_stop_requested(), bool)
        run_values.result  # type: ignore[attr-defined]  # noqa: B018


class MissingValues(Callback):
    def _after_run(self, run_context: RunContext) -> None: ...  # type: ignore[override]


class ArraysForNames(Callback):
    def _before_run(self, run_context: RunContext) -> list[int]:  # type: ignore[override]
        return [1]


class CountsSteps(Callback):
    def _trigger_step(self, step: int) -> None: ...  # type: ignore[override]


class TriggersLater(Callback):
    def _trigger(self) -> bool:  # type: ignore[override]
        return True


def callbacks_of_both_apis_are_accepted(model: Model, data: Sequence[object]) -> None:
    assert_type(Every(steps=10)(LossMonitor()), ProxyCallback)
    Every("often")  # type: ignore[arg-type]
    Every(stops=3)  # type: ignore[call-arg]
    Every(steps=10)(print)  # type: ignore[arg-type]
    PeriodicTrigger(Watches(), every_k_steps=3)
    PeriodicTrigger(LossMonitor(), every_k_steps=3)  # type: ignore[arg-type]
    listed: list[train.Callback] = [LossMonitor(), Watches(), Every(epochs=2)(Watches())]
    del listed


def schedules_are_pairs_of_a_time_and_a_value() -> None:
    ScheduledHyperParamSetter("learning_rate", [(1, 0.1), (10, 0.01)])
    ScheduledHyperParamSetter("learning_rate", [0.1, 0.01])  # type: ignore[list-item]
    ScheduledHyperParamSetter("learning_rate", [("1", 0.1)])  # type: ignore[list-item]
    HyperParamSetterWithFunc("learning_rate", lambda epoch, value: value / epoch)
    HyperParamSetterWithFunc("learning_rate", lambda epoch: 0.1)  # type: ignore[arg-type, misc]
