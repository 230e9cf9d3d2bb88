"""The run context: requests to the loop, and its parameters."""

import copy
import pickle
from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, nn, ops
from minispore.dataset import NumpySlicesDataset
from minispore.train import Model, ModelCheckpoint
from minispore.train.protocol import Callback, RunContext
from minispore.train.protocol.callback import InternalCallbackParam
from tests.helpers.replays import needs_replays

SAVERS = [ModelCheckpoint(f"{i}") for i in range(3)]
Request = tuple[str, int]
requests = st.tuples(
    st.sampled_from(["stop", "finish", "leave epoch", "resume", "add", "save", "pop"]),
    st.integers(0, len(SAVERS) - 1),
)


@given(st.lists(requests))
@example([("stop", 0), ("finish", 0)])
@example([("finish", 0), ("stop", 0)])
@example([("leave epoch", 0), ("finish", 0)])
@example([("finish", 0), ("leave epoch", 0)])
@example([("resume", 0), ("resume", 1)])
@example([("add", 1), ("add", 0), ("save", 1), ("save", 0), ("save", 1), ("pop", 0), ("pop", 0)])
def test_requests_are_kept_until_they_are_handled(requests: list[Request]) -> None:
    context = RunContext({})
    assert context.is_chief
    stopped = finished = unfinished = False
    paths, added, saving = list[str](), list[ModelCheckpoint](), list[ModelCheckpoint]()
    for kind, index in requests:
        saver = SAVERS[index]
        match kind:
            case "stop" | "finish":
                context.request_stop(finished=kind == "finish")
                stopped = True
                # The state of an unfinished epoch is saved: it can be resumed.
                finished |= kind == "finish" and not unfinished
            case "leave epoch":
                context.leave_epoch()
                unfinished = True
            case "resume":
                context.request_resume(f"{index}.ckpt")
                paths.append(f"{index}.ckpt")
            case "add":
                context.add_state_saver(saver)
                added.append(saver)
            case "save":
                context.request_save(saver)
                saving += [] if saver in saving else [saver]
            case _:
                assert context.pop_save_requests() == saving
                saving.clear()
        context.get_state_savers().clear()  # a copy
        assert context.get_stop_requested() == stopped
        assert context.is_interrupted() == (stopped and not finished)
        assert context.is_epoch_unfinished() == unfinished
        assert context.get_resume_requested() == (paths[0] if paths else None)
        assert context.get_state_savers() == added
    assert context.pop_save_requests() == saving


names = st.from_regex("[a-z]{1,3}", fullmatch=True).filter(lambda name: not hasattr(dict, name))


@given(st.dictionaries(names, st.integers()), names, names)
def test_parameters_are_attributes_and_entries(
    values: dict[str, int], name: str, other: str
) -> None:
    context = RunContext(cast("dict[str, object]", values))
    params = context.original_args()
    assert RunContext(params).original_args() is params is context.original_args()
    assert dict(params) == values
    assert {key: getattr(params, key) for key in params} == values
    setattr(params, name, 1)
    assert params[name] == 1
    assert (name in values) == (values.get(name) is not None)  # a plain dict is copied
    del params[name]
    params.pop(other, None)
    assert not hasattr(params, name)
    message = f"hold no '{name}' at this point; they hold {', '.join(sorted(params))}."
    with pytest.raises(AttributeError) as raised:
        getattr(params, name)
    assert str(raised.value) == f"The callback parameters {message}"
    with pytest.raises(AttributeError, match=f"^The callback parameters hold no '{name}'"):
        delattr(params, name)


def pickled(params: InternalCallbackParam) -> InternalCallbackParam:
    again: InternalCallbackParam = pickle.loads(pickle.dumps(params))
    return again


@given(st.dictionaries(names, st.integers()), st.sampled_from([copy.copy, copy.deepcopy, pickled]))
def test_parameters_can_be_copied(
    values: dict[str, int], duplicate: Callable[[InternalCallbackParam], InternalCallbackParam]
) -> None:
    params = InternalCallbackParam(values)
    other = duplicate(params)
    assert type(other) is InternalCallbackParam
    assert other == params
    assert other is not params


@given(st.none() | st.integers() | st.text() | st.lists(st.tuples(st.text(), st.integers())))
def test_parameters_must_be_dict(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"^For 'RunContext', .*'original_args'"):
        RunContext(wrong)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


# Gradient hooks.


class Clip(Callback):
    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit = limit
        self.norms: list[float] = []

    def on_train_begin(self, run_context: RunContext) -> None:
        limit = self.limit
        run_context.register_gradient_hook(lambda grads: ops.clip_by_global_norm(grads, limit))


class Norms(Callback):
    def on_train_begin(self, run_context: RunContext) -> None:
        self.norms: list[float] = []
        run_context.register_gradient_hook(self.log)

    def log(self, gradients: tuple[Tensor, ...]) -> None:
        self.norms.append(float(np.sqrt(sum((g.asnumpy() ** 2).sum() for g in gradients))))


DATA = NumpySlicesDataset(
    {
        "x": np.random.default_rng(0).standard_normal((24, 3)).astype(np.float32),
        "y": np.random.default_rng(1).standard_normal((24, 1)).astype(np.float32),
    },
    shuffle=False,
).batch(4)


def fitted(callbacks: list[Callback], mode: int = ms.PYNATIVE_MODE, runs: int = 1) -> Model:
    network = nn.Dense(3, 1, "ones", "zeros")
    optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
    model = Model(network, nn.MSELoss(), optimizer, metrics={"mae"})
    before = ms.get_context("mode")
    ms.set_context(mode=mode)
    try:
        for _ in range(runs):
            model.fit(2, DATA, DATA, callbacks=callbacks)
    finally:
        ms.set_context(mode=before)
    return model


def bits(model: Model) -> list[bytes]:
    return [parameter.asnumpy().tobytes() for parameter in model.train_network.get_parameters()]


@needs_replays
@given(st.sampled_from([0.1, 1.0, 10.0]), st.integers(1, 2))
def test_gradients_are_clipped_and_logged_inside_of_fit(limit: float, runs: int) -> None:
    """In the order of the list of callbacks, in each run once, and in graph mode as well."""
    before, after = Norms(), Norms()
    clipped = fitted([before, Clip(limit), after], runs=runs)
    assert after.norms == pytest.approx([min(norm, limit) for norm in before.norms], rel=1e-5)
    assert len(before.norms) == 12
    replayed = fitted([Clip(limit)], ms.GRAPH_MODE, runs=runs)
    assert ms.graph_info(replayed.train_network).replayed >= 12 * runs - 3 * runs - 1
    assert bits(replayed) == bits(clipped)


@needs_replays
def test_hook_of_a_callback_with_a_state_runs_eagerly_in_graph_mode() -> None:
    norms, eager = Norms(), Norms()
    with pytest.warns(UserWarning, match="In GRAPH_MODE no step was replayed"):
        model = fitted([norms], ms.GRAPH_MODE)
    assert bits(model) == bits(fitted([eager]))
    assert norms.norms == eager.norms
    (reason,) = ms.graph_info(model.train_network).reasons
    assert __file__ in reason


class Fails(Callback):
    def on_train_epoch_end(self, run_context: RunContext) -> None:
        raise ArithmeticError


@pytest.mark.parametrize(
    "mode", [ms.PYNATIVE_MODE, pytest.param(ms.GRAPH_MODE, marks=needs_replays)]
)
def test_gradient_hooks_end_with_the_run(mode: int) -> None:
    model, other = fitted([], mode), fitted([], mode)
    with pytest.raises(ArithmeticError):
        model.fit(2, DATA, callbacks=[Clip(0.0001), Fails()])
    for parameter, value in zip(
        model.train_network.get_parameters(), other.train_network.get_parameters(), strict=True
    ):
        parameter.set_data(value)
    model.train(2, DATA)
    other.train(2, DATA)
    assert bits(model) == bits(other)


def test_gradient_hook_needs_a_training_step() -> None:
    message = "type of 'train_network' must be one of TrainOneStepCell"
    with pytest.raises(TypeError, match=message):
        RunContext({}).register_gradient_hook(print)
    with pytest.raises(TypeError, match=message):
        RunContext({"train_network": nn.Dense(1, 1)}).register_gradient_hook(print)
