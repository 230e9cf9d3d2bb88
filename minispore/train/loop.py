"""The training loop: iterate over the data, call the network, and emit the events."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from minispore.common import Tensor
from minispore.nn import Cell
from minispore.nn.cell import evaluation_mode
from minispore.train._metric_collection import MetricCollection
from minispore.train.protocol.callback import Callback, CallbackManager, RunContext, step_in_epoch
from minispore.train.protocol.dataset import EpochIterator
from minispore.train.protocol.outputs import first_output, is_finite, is_on_device
from minispore.train.resume.boundary import Boundary
from minispore.utils.warn import warn_at_caller

in_training: ContextVar[bool] = ContextVar("in_training", default=False)
"""Whether a training is in progress."""


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
    boundary = Boundary(context, callbacks.callbacks, data)

    check_loss = _LossCheck()

    params.train_network.set_train()
    callbacks.emit(Callback.on_train_begin, context)
    boundary.resume()
    for done, batches in data:
        params.cur_epoch_num = params.initial_epoch + done + 1
        callbacks.emit(Callback.on_train_epoch_begin, context)
        boundary.enter_epoch()
        _train_steps(batches, context, callbacks, boundary, check_loss)
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


def _train_steps(
    batches: Iterable[list[Tensor]],
    context: RunContext,
    callbacks: CallbackManager,
    boundary: Boundary,
    check_loss: "_LossCheck",
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
        check_loss(context)
        if context.has_requests:
            boundary.handle_requests()
        if context.get_stop_requested():
            break


@contextmanager
def evaluating(network: Cell) -> Generator[None, None, None]:
    """Set evaluation mode, which stays after the `with` block unless a training is in progress."""
    if in_training.get():
        with evaluation_mode(network):
            yield
    else:
        network.set_train(mode=False)
        yield


class _LossCheck:
    """Warns at the first loss of a run that is not finite, unless a callback stops the run there.

    A loss on a GPU is not checked, since reading it would synchronize.
    """

    def __init__(self) -> None:
        self._warned = False

    def __call__(self, context: RunContext) -> None:
        params = context.original_args()
        loss = first_output(params.net_outputs)
        if is_on_device(loss) or is_finite(loss) or self._warned or context.get_stop_requested():
            return
        self._warned = True
        where = f"epoch {params.cur_epoch_num}, step {step_in_epoch(params)}"
        warn_at_caller(
            f"The loss of {where} is not finite, so the weights may be NaN from here on. "
            "'LossMonitor' raises an error at such a loss, 'TerminateOnNaN' stops the run. A "
            "smaller learning rate, or a check of the data, may help."
        )


def evaluate(
    context: RunContext, callbacks: CallbackManager, metrics: MetricCollection
) -> dict[str, Any]:
    """Evaluate the network on `valid_dataset`, and return the results of the metrics.

    An evaluation that a stop has interrupted has no results.
    """
    params = context.original_args()
    network = params.eval_network
    ((_, batches),) = EpochIterator(params.valid_dataset, 1)

    complete = True
    callbacks.emit(Callback.on_eval_begin, context)
    callbacks.emit(Callback.on_eval_epoch_begin, context)
    for batch in batches:
        params.cur_step_num += 1
        params.eval_dataset_element = batch
        callbacks.emit(Callback.on_eval_step_begin, context)
        params.net_outputs = network(*batch)
        metrics.update(params.net_outputs)
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
