"""The loop: go through the data, call the network, and tell the callbacks."""

from collections.abc import Callable, Iterable

from minispore.common import Tensor
from minispore.train._boundary import Boundary
from minispore.train._dataset import Epochs
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.manager import CallbackManager
from minispore.train._protocol.run_context import RunContext
from minispore.train._scores import Scores


def train(
    context: RunContext, callbacks: CallbackManager, validate: Callable[[], None] | None = None
) -> None:
    """Train for `epoch_num` epochs after `initial_epoch`, or until a stop is requested.

    Between two steps is a boundary: there, a run can be left and entered again.

    Args:
        context: of which the parameters say what to train on what.
        callbacks: who is told about it.
        validate: called after the steps of each epoch, except after a requested stop.
    """
    params = context.original_args()
    columns = None if params.loss_fn is None else 2
    data = Epochs(params.train_dataset, params.epoch_num, columns)
    boundary = Boundary(context, callbacks.callbacks, data)

    callbacks.emit(Callback.on_train_begin, context)
    boundary.resume()
    for done, batches in data:
        params.cur_epoch_num = params.initial_epoch + done + 1
        params.train_network.set_train()
        callbacks.emit(Callback.on_train_epoch_begin, context)
        boundary.opened()
        _train_steps(batches, context, callbacks, boundary)
        if context.get_stop_requested():
            # Also where a resumed epoch has no steps left, only its validation.
            boundary.reached()
        elif validate is not None:
            with boundary.validation():
                validate()
        callbacks.emit(Callback.on_train_epoch_end, context)
        # The results of an evaluation are this epoch's only.
        params.pop("metrics", None)
        params.pop("eval_results", None)
        boundary.reached(closed=True)
        if context.get_stop_requested():
            break
    boundary.leave("ended")
    callbacks.emit(Callback.on_train_end, context)
    boundary.reached(closed=True)


def _train_steps(
    batches: Iterable[list[Tensor]],
    context: RunContext,
    callbacks: CallbackManager,
    boundary: Boundary,
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
        boundary.reached()
        if context.get_stop_requested():
            break


def evaluate(context: RunContext, callbacks: CallbackManager, scores: Scores) -> dict[str, float]:
    """Go through `valid_dataset` once, or until a stop is requested; return the results.

    An evaluation that a stop has interrupted has no results.
    """
    params = context.original_args()
    network = params.eval_network
    ((_, batches),) = Epochs(params.valid_dataset, 1)

    complete = True
    callbacks.emit(Callback.on_eval_begin, context)
    callbacks.emit(Callback.on_eval_epoch_begin, context)
    for batch in batches:
        params.cur_step_num += 1
        params.eval_dataset_element = batch
        callbacks.emit(Callback.on_eval_step_begin, context)
        params.net_outputs = network(*batch)
        scores.update(params.net_outputs)
        callbacks.emit(Callback.on_eval_step_end, context)
        if context.get_stop_requested():
            complete = next(batches, None) is None
            break
    callbacks.emit(Callback.on_eval_epoch_end, context)
    params.metrics = scores.results() if complete else {}
    params.eval_results = params.metrics | scores.eval_loss() if complete else {}
    callbacks.emit(Callback.on_eval_end, context)
    return params.metrics
