"""The training loop: iterate over the data, call the network, and emit the events."""

from collections.abc import Callable, Iterable
from typing import Any

from minispore.nn.wrap.cell_wrapper import WithEvalCell, batch_size_of
from minispore.ops.tensors import Tensor
from minispore.train._metric_collection import MetricCollection
from minispore.train._step_check import StepCheck
from minispore.train.boundary import Boundary, boundary_of
from minispore.train.protocol.callback import Callback, CallbackManager, RunContext
from minispore.train.protocol.dataset import EpochIterator


def train(
    context: RunContext, callbacks: CallbackManager, validate: Callable[[], None] | None = None
) -> None:
    """Train for `epoch_num` epochs after `initial_epoch`, or until a stop is requested.

    Args:
        context: The run context; its parameters hold the network and the data.
        callbacks: The callbacks.
        validate: Called after the steps of each epoch, unless a stop is requested.
    """
    params = context.original_args()
    columns = None if params.loss_fn is None else 2
    data = EpochIterator(params.train_dataset, params.epoch_num, columns)
    boundary = boundary_of(context, callbacks.callbacks, data)
    check = StepCheck(params)

    params.train_network.set_train()
    callbacks.emit(Callback.on_train_begin, context)
    boundary = boundary.resume()
    for done, batches in data:
        params.cur_epoch_num = params.initial_epoch + done + 1
        callbacks.emit(Callback.on_train_epoch_begin, context)
        boundary.enter_epoch()
        _train_steps(batches, context, callbacks, boundary, check)
        if context.get_stop_requested():
            # Also in a resumed epoch that has no steps left, only its validation.
            boundary.handle_requests()
        elif validate is not None:
            with boundary.validation():
                validate()
        callbacks.emit(Callback.on_train_epoch_end, context)
        # The results of an evaluation are available in its epoch only.
        params.pop("metrics", None)
        params.pop("eval_results", None)
        boundary.handle_requests(closed=True)
        if context.get_stop_requested():
            break
    boundary.leave("finished")
    callbacks.emit(Callback.on_train_end, context)
    boundary.handle_requests(closed=True)
    check.finish()


def _train_steps(
    batches: Iterable[list[Tensor]],
    context: RunContext,
    callbacks: CallbackManager,
    boundary: Boundary,
    check: StepCheck,
) -> None:
    params = context.original_args()
    network = params.train_network
    for batch in batches:
        params.cur_step_num += 1
        params.train_dataset_element = batch
        callbacks.emit(Callback.on_train_step_begin, context)
        if not params.network.training:  # a callback has evaluated it
            network.set_train()
        params.net_outputs = network(*batch)
        callbacks.emit(Callback.on_train_step_end, context)
        check(context)
        if context.has_requests:
            boundary.handle_requests()
        if context.get_stop_requested():
            break


def evaluate(
    context: RunContext, callbacks: CallbackManager, metrics: MetricCollection
) -> dict[str, Any]:
    """Evaluate the network on `valid_dataset`, and return the results of the metrics.

    An evaluation that a stop has interrupted has no results.
    """
    params = context.original_args()
    network = params.eval_network
    columns = 2 if type(network) is WithEvalCell else None
    ((_, batches),) = EpochIterator(params.valid_dataset, 1, columns)

    complete = True
    callbacks.emit(Callback.on_eval_begin, context)
    callbacks.emit(Callback.on_eval_epoch_begin, context)
    for batch in batches:
        params.cur_step_num += 1
        params.eval_dataset_element = batch
        callbacks.emit(Callback.on_eval_step_begin, context)
        params.net_outputs = network(*batch)
        metrics.update(params.net_outputs, batch_size_of(batch))
        callbacks.emit(Callback.on_eval_step_end, context)
        if context.get_stop_requested():
            complete = next(batches, None) is None
            break
    callbacks.emit(Callback.on_eval_epoch_end, context)
    params.metrics = metrics.results() if complete else {}
    # A metric that a user has named "eval_loss" is that one everywhere.
    params.eval_results = params.metrics | metrics.eval_loss() | params.metrics if complete else {}
    callbacks.emit(Callback.on_eval_end, context)
    return params.metrics
