"""What type checkers say about callbacks. Nothing here is run.

Each `type: ignore[…]` is a mistake that both type checkers must find: where one doesn't, it calls
the comment unused.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, assert_type

import numpy as np
from typing_extensions import override

from minispore import Tensor, nn
from minispore.dataset import Dataset, DSCallback, DSRunContext, WaitedDSCallback
from minispore.train import (
    Accuracy,
    BestCheckpoint,
    Callback,
    ConfusionMatrix,
    EarlyStopping,
    History,
    LambdaCallback,
    LearningRateScheduler,
    LossMonitor,
    Metric,
    Model,
    RunContext,
    get_metric_fn,
)
from minispore.train.callback import _CallbackManager, _InternalCallbackParam
from minispore.train.protocol.callback import CallbackManager


class StopAfter(Callback):
    """The documents' callback that stops after a time, with types."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def on_train_begin(self, run_context: RunContext) -> None:
        cb_params = run_context.original_args()
        assert_type(cb_params, _InternalCallbackParam)
        cb_params.init_time = time.time()

    def on_train_step_end(self, run_context: RunContext) -> None:
        cb_params = run_context.original_args()
        if time.time() - cb_params.init_time > self.seconds:
            run_context.request_stop()
        assert_type(run_context.get_stop_requested(), bool)
        run_context.stop()  # type: ignore[attr-defined]


def known_names_have_types(cb_params: _InternalCallbackParam) -> None:
    assert_type(cb_params.cur_epoch_num, int)
    assert_type(cb_params.cur_step_num, int)
    assert_type(cb_params.batch_num, int)
    assert_type(cb_params.mode, str)
    assert_type(cb_params.loss_fn, Callable[..., Tensor] | None)
    assert_type(cb_params.optimizer, nn.Optimizer | None)
    assert_type(cb_params.train_network, nn.Cell)
    assert_type(cb_params.metrics, dict[str, Any])
    assert_type(cb_params.train_dataset.get_dataset_size(), int)
    assert_type(cb_params.epoch_num, int)
    assert_type(cb_params.network, nn.Cell)
    # By key, the type is unknown.
    assert_type(cb_params["cur_epoch_num"], Any)
    assert_type(cb_params.get("cur_step_num"), Any | None)
    cb_params.cur_step_num = "three"  # type: ignore[assignment]
    cb_params.batch_num()  # type: ignore[operator]
    _ = "epoch " + cb_params.cur_epoch_num  # type: ignore[operator]
    cb_params.optimizer.learning_rate  # type: ignore[union-attr]  # noqa: B018


def other_names_are_their_authors_business(cb_params: _InternalCallbackParam) -> None:
    cb_params.last_accuracy = 0.5
    assert_type(cb_params.best_accuracy, Any)


class MissingContext(Callback):
    def on_train_begin(self) -> None: ...  # type: ignore[override]


class WrongContext(Callback):
    def on_train_end(self, run_context: int) -> None: ...  # type: ignore[override]


class Returns(Callback):
    def on_train_step_end(self, run_context: RunContext) -> bool:  # type: ignore[override]
        return True


class Misspelt(Callback):
    """A method of any name is allowed: `override` has the checker look for it."""

    @override
    def on_train_begin(self, run_context: RunContext) -> None: ...

    @override
    def on_trian_end(self, run_context: RunContext) -> None: ...  # type: ignore[misc]


class WrongOlderName(Callback):
    def step_end(self, run_context: RunContext, step: int) -> None: ...  # type: ignore[override]


class WrongException(Callback):
    def on_exception(self, run_context: RunContext) -> None: ...  # type: ignore[override]


class Context(Callback):
    """Context managers may swallow an exception or not."""

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        return exc_type is KeyboardInterrupt


def events_are_named_by_their_methods(manager: CallbackManager, context: RunContext) -> None:
    manager.emit(Callback.on_train_begin, context)
    manager.emit(Callback.on_trian_begin, context)  # type: ignore[attr-defined]
    manager.emit(Callback.on_exception, context)  # type: ignore[arg-type]
    manager.emit("on_train_begin", context)  # type: ignore[arg-type]
    manager.on_train_step_end(context)
    manager.on_step_end(context)  # type: ignore[attr-defined]
    with _CallbackManager([LossMonitor()]) as entered:
        assert_type(entered, CallbackManager)


class Data:
    """All that the loop asks of a dataset."""

    def get_dataset_size(self) -> int:
        return 1

    def create_tuple_iterator(self, *, num_epochs: int) -> list[tuple[Tensor, Tensor]]:
        return []


class NoData:
    def get_dataset_size(self) -> int:
        return 1


def models(net: nn.Cell, loss: nn.Cell, optimizer: nn.Optimizer) -> None:
    model = Model(net, loss, optimizer, metrics={"accuracy"})
    Model(net, loss, optimizer, metrics={"acc": Accuracy()})
    Model(net, loss, optimizer, metrics=["accuracy"])  # type: ignore[arg-type]
    Model(net, lambda x, y: (x - y) ** 2, metrics={"acc": "accuracy", "again": Accuracy()})
    Model(net, loss, optimizer, metrics={"acc": 1})  # type: ignore[dict-item]
    model.train(1, Data(), [LossMonitor(), StopAfter(4)])
    model.train(1, Data(), LossMonitor())
    model.train(1, Data(), LossMonitor)  # type: ignore[arg-type]
    model.train(1, Data(), [LossMonitor(), None])  # type: ignore[list-item]
    model.train(1, NoData())  # type: ignore[arg-type]
    model.train("1", Data())  # type: ignore[arg-type]
    model.fit(1, Data(), Data(), valid_frequency=[1, 2])
    assert_type(model.eval(Data()), dict[str, Any])
    assert_type(model.predict(Tensor(1.0)), Tensor)
    assert_type(Accuracy().eval(), float)


def metrics_have_names(net: nn.Cell, computed: str) -> None:
    Model(net, net, metrics={"accuracy", "F1"})
    Model(net, net, metrics={computed, "loss"})
    assert_type(get_metric_fn("accuracy"), Metric)
    assert_type(get_metric_fn("confusion_matrix", num_classes=3), Metric)
    assert_type(get_metric_fn("auc", np.ones(2), np.ones(2)), float)
    assert_type(get_metric_fn(computed), Metric)
    model = Model(net, net, metrics={"matrix": ConfusionMatrix(3), "accuracy": Accuracy()})
    results = model.eval(Data())
    assert_type(results["matrix"], Any)
    print(results["matrix"].shape, results["accuracy"] > 0.5)


class Loud(WaitedDSCallback):
    def sync_step_begin(self, train_run_context: RunContext, ds_run_context: DSRunContext) -> None:
        assert_type(train_run_context.original_args().cur_epoch_num, int)
        assert_type(ds_run_context.cur_step_num_in_epoch, int)
        ds_run_context.cur_step_num = 3  # type: ignore[misc]


class Late(DSCallback):
    def ds_step_begin(self, ds_run_context: RunContext) -> None: ...  # type: ignore[override]


def callbacks_that_decide(data: Dataset, context: RunContext) -> None:
    EarlyStopping("loss", patience="3")  # type: ignore[arg-type]
    LearningRateScheduler(lambda rate, step: rate / step)
    LearningRateScheduler(lambda rate: rate)  # type: ignore[arg-type, misc]
    LambdaCallback(on_train_end=lambda run_context: print(run_context.get_stop_requested()))
    LambdaCallback(on_train_end=3)  # type: ignore[arg-type]
    LambdaCallback(on_trian_end=print)  # type: ignore[call-arg]
    LambdaCallback(on_train_end=lambda: print())  # type: ignore[arg-type, misc]
    assert_type(BestCheckpoint("loss").files, dict[str, float])
    assert_type(EarlyStopping().best, float)
    assert_type(History().history, dict[str, list[Any]])
    data.map(abs, callbacks=[Loud(2), Late()])
    data.map(abs, callbacks=LossMonitor())  # type: ignore[arg-type]
