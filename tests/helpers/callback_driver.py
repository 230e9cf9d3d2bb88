"""Drive callbacks epoch by epoch with given values, with or without interruptions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar, cast

from minispore import Parameter, Tensor, nn
from minispore.train import Callback, LambdaCallback, RunContext
from minispore.train.callback import _InternalCallbackParam
from minispore.train.protocol import SupportsState
from minispore.train.protocol.callback import CallbackManager
from minispore.train.resume import decode, encode


class Stateful(Protocol):
    def state_dict(self) -> dict[str, object]: ...
    def load_state_dict(self, state: Mapping[str, object]) -> None: ...


C = TypeVar("C", bound=Callback)


def run_context(rate: float = 0.5, **more: object) -> RunContext:
    """Return the context of a run with one step per epoch and a small network."""
    network = nn.Dense(1, 1, weight_init="zeros", bias_init="zeros")
    optimizer = nn.SGD(network.trainable_params(), rate)
    return RunContext(
        _InternalCallbackParam(
            network=network,
            train_network=nn.TrainOneStepCell(nn.WithLossCell(network, nn.MSELoss()), optimizer),
            optimizer=optimizer,
            batch_num=1,
            **more,
        )
    )


def epoch(
    callback: Callback, context: RunContext, number: int, value: object, name: str = "value"
) -> None:
    """Run an epoch whose evaluation returns `value`, or has none; the weight is its number.

    All hooks are called in their order.
    """
    params, events = context.original_args(), CallbackManager(callback)
    params.update(cur_epoch_num=number)
    events.on_train_epoch_begin(context)
    params.update(cur_step_num=number)
    events.on_train_step_begin(context)
    params.update(net_outputs=Tensor(1.5))
    weight_of(context).set_data(Tensor([[float(number)]]))
    events.on_train_step_end(context)
    if value is not None:
        events.on_eval_begin(context)
        events.on_eval_epoch_begin(context)
        events.on_eval_step_begin(context)
        events.on_eval_step_end(context)
        events.on_eval_epoch_end(context)
        params.update(metrics={name: value}, eval_results={name: value})
        events.on_eval_end(context)
    events.on_train_epoch_end(context)
    params.pop("metrics", None)
    params.pop("eval_results", None)


def saved(callback: Callback) -> Mapping[str, object]:
    """Return the state of a callback after encoding and decoding it."""
    assert isinstance(callback, SupportsState)
    text, arrays = encode(callback.state_dict(), "state")
    return cast("Mapping[str, object]", decode(text, "state", arrays))


def decisions(
    make: Callable[[], C],
    values: Sequence[float | None],
    observe: Callable[[C, RunContext], object],
    cuts: Sequence[int] = (),
    name: str = "value",
) -> list[object]:
    """Return the results of `observe` after each epoch, until a stop is requested.

    Before each epoch in `cuts`, a new callback replaces the old one and loads its state.
    """
    context = run_context()
    callback = make()
    callback.on_train_begin(context)
    results: list[object] = []
    for number, value in enumerate(values, start=1):
        if number in cuts:
            state = saved(callback)
            callback.__exit__(None, None, None)
            callback = make()
            callback.on_train_begin(context)
            assert isinstance(callback, SupportsState)
            callback.load_state_dict(state)
        epoch(callback, context, number, value, name)
        results.append(observe(callback, context))
        if context.get_stop_requested():
            break
    callback.on_train_end(context)
    results.append(observe(callback, context))
    callback.__exit__(None, None, None)
    return results


def learning_rate(context: RunContext) -> float:
    optimizer = context.original_args().optimizer
    assert isinstance(optimizer, nn.SGD)
    assert isinstance(optimizer.learning_rate, Tensor)
    return float(optimizer.learning_rate.asnumpy())


def weight(context: RunContext) -> float:
    return weight_of(context).item()


def weight_of(context: RunContext) -> Parameter:
    return context.original_args().network.parameters_dict()["weight"]


def stopping_at(step: int) -> Callback:
    """Return a callback that requests a stop at the end of a step."""

    def stop(run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num == step:
            run_context.request_stop()

    return LambdaCallback(on_train_step_end=stop)
