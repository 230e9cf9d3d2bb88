"""Invalid arguments of `Model`: the error names method, argument and value; nothing is changed."""

from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor, nn
from minispore.train import Accuracy, Callback, Metric, Model, RunContext
from minispore.train.protocol.iterable_dataset import MAKE_BATCHES
from minispore.utils.checks import describe_value
from tests.helpers.refusals import assert_refused, not_of, type_message, values
from tests.helpers.stub_models import Batches, Rows, X, make

DATA = Rows(4)
# Arguments may be of wrong types.
MODEL: Any = make({"acc"})
METHODS: dict[str, dict[str, object]] = {
    "Model": {},
    "Model.train": {"epoch": 1, "train_dataset": DATA},
    "Model.fit": {"epoch": 1, "train_dataset": DATA, "valid_dataset": DATA},
    "Model.eval": {"valid_dataset": DATA},
    "Model.build": {},
}


def call(method: str, **changes: object) -> object:
    if method == "Model":
        return construct(**changes)
    return getattr(MODEL, method.removeprefix("Model."))(**METHODS[method] | changes)


def construct(**changes: object) -> Model:
    net = nn.Dense(4, 3)
    arguments: dict[str, Any] = {
        "network": net,
        "loss_fn": nn.CrossEntropyLoss(),
        "optimizer": nn.SGD(net.trainable_params(), 0.1),
        **changes,
    }
    return Model(**arguments)


def accepting(name: str) -> list[str]:
    """Return the methods that have an argument of this name."""
    methods = {method: eval(method, {"Model": Model}) for method in METHODS}
    found = [method for method in methods if name in signature(methods[method]).parameters]
    return found or ["Model"]  # which has further arguments


@pytest.fixture(autouse=True)
def network_is_unchanged() -> Iterator[None]:
    """Check that the refused calls have not trained the network."""
    before = [p.asnumpy().tobytes() for p in MODEL.train_network.get_parameters()]
    yield
    assert [p.asnumpy().tobytes() for p in MODEL.train_network.get_parameters()] == before


@given(value=values, valid=st.integers(0, 2))
def test_type_error_names_container_of_value(value: object, valid: int) -> None:
    if type(value) is not int:
        frequencies = [1] * valid + [value]
        message = type_message("Model.fit", "valid_frequency", "int", frequencies)
        assert_refused(TypeError, message, call, "Model.fit", valid_frequency=frequencies)
    metrics = {"m": value, **{str(i): Accuracy() for i in range(valid)}}
    if not isinstance(value, str):
        message = type_message("Model", "metrics['m']", "Metric, str", value)
        assert_refused(TypeError, message, construct, metrics=metrics)
    if not isinstance(value, str | list | set | dict):
        message = type_message("Model", "metrics.keys", "str", value)
        assert_refused(TypeError, message, construct, metrics={value: Accuracy()})


INPUTS = "Tensor, int, float, bool, str, tuple, list, dict, None"


@given(value=not_of(INPUTS).filter(lambda x: not hasattr(x, "__array__")), valid=st.integers(0, 2))
def test_predict_refuses_other_inputs(value: object, valid: int) -> None:
    message = type_message("Model.predict", "predict_data", INPUTS, value)
    assert_refused(TypeError, message, MODEL.predict, *[1] * valid, value)


def test_predict_accepts_inputs_of_every_type() -> None:
    class Count(nn.Cell):
        def construct(self, *inputs: object) -> int:
            return len(inputs)

    inputs: list[Any] = [Tensor(1.0), 1, 1.5, True, "a", (1,), [1], {"a": 1}, None]
    assert Model(Count()).predict(*inputs) == len(inputs)


NO_DATASET = (
    "must be a dataset or a sized iterable of batches, such as a list of tuples or a data loader "
    f'({MAKE_BATCHES}, and GeneratorDataset(rows, ["x", "y"]).batch(32) of rows), '
    "but got {given}."
)
NO_DATASETS = [
    values.filter(lambda value: value is not None and type(value) not in {list, tuple}),
    st.just(iter([])),
    st.just({1: (X, X)}),
]
SUPPORTED = "= {value!r} is not supported: use "
# By argument: refused values, the kind of error, and what its message says after the name.
REFUSED: dict[str, list[tuple[st.SearchStrategy[object], type[Exception], str]]] = {
    **{
        name: [
            *((wrong, TypeError, NO_DATASET) for wrong in NO_DATASETS),
            (st.just(Batches(0)), ValueError, "holds no batch: {value!r}."),
        ]
        for name in ("train_dataset", "valid_dataset")
    },
    "boost_level": [(st.sampled_from(["O1", "O2"]), ValueError, SUPPORTED + "'O0'.")],
    "acc_level": [(st.sampled_from(["O1", None]), ValueError, SUPPORTED + "'O0'.")],
    "keep_batchnorm_fp32": [(st.sampled_from([3, "a"]), ValueError, SUPPORTED + "None.")],
    "boost_config_dict": [(st.sampled_from(["a", {"a": 1}]), ValueError, SUPPORTED + "None.")],
    "eval_indexes": [
        (
            st.lists(st.integers(), max_size=2)
            | st.lists(st.integers(-99, 99), min_size=4, max_size=9)
            | st.sampled_from([(0, 1, 2), "abc", [0.0, 1, 2], [True, 1, 2], {0: 1}, 3]),
            ValueError,
            "must be None or a list of three int, but got {value!r}.",
        )
    ],
}


@pytest.mark.parametrize("name", REFUSED)
@given(st.data())
def test_refusal_names_method_argument_and_value(name: str, data: st.DataObject) -> None:
    for wrong, error, expectation in REFUSED[name]:
        value = data.draw(wrong)
        requirement = expectation.format(
            value=value, kind=type(value).__name__, given=describe_value(value)
        )
        for method in accepting(name):
            message = f"For '{method}', the argument '{name}' {requirement}"
            assert_refused(error, message, call, method, **{name: value})


@given(values.filter(lambda value: value is not None))
@example([None])
@example(Callback)
@example([Callback(), 3])
def test_non_callback_raises_type_error(value: object) -> None:
    for method in accepting("callbacks"):
        with pytest.raises(TypeError, match="^The argument 'callbacks' must be a Callback"):
            call(method, callbacks=value)


@given(epoch=st.integers(1), more=st.integers(0))
@example(epoch=2, more=0)
def test_epoch_not_above_initial_epoch_raises(epoch: int, more: int) -> None:
    for method in accepting("initial_epoch"):
        message = (
            f"For '{method}', the argument 'epoch' must be greater than 'initial_epoch', "
            f"but got epoch {epoch} and initial_epoch {epoch + more}."
        )
        assert_refused(ValueError, message, call, method, epoch=epoch, initial_epoch=epoch + more)


LITE = "'backend' and 'config' must be None: MindSpore Lite is not supported, but got"
NO_METRICS = (
    "the model argument 'metrics' can not be None or empty: there would be nothing to evaluate."
)
NO_OPTIMIZER = "the model has a 'loss_fn' but no 'optimizer': nothing would be trained."


OTHERS: dict[str, Callable[[], object]] = {
    "For 'Model', the argument 'amp_level' must be one of 'O0', 'O1', 'O2', 'O3', 'auto', "
    "but got 'O4'.": lambda: construct(amp_level="O4"),
    "For 'Model', the argument 'boost_level' must be one of 'O0', 'O1', 'O2', but got 'O3'.": (
        lambda: construct(boost_level="O3")
    ),
    "For 'Model', the argument in 'kwargs' should be 'loss_scale_manager', "
    "'keep_batchnorm_fp32', 'boost_config_dict' or 'acc_level', but got 'foo'.": (
        lambda: construct(foo=None)
    ),
    "For 'Model', the argument 'metrics' needs something to evaluate: "
    "set 'loss_fn' or 'eval_network' too.": (
        lambda: construct(loss_fn=None, optimizer=None, metrics={"accuracy"})
    ),
    f"For 'Model.train', {NO_OPTIMIZER}": lambda: construct(optimizer=None).train(1, DATA),
    f"For 'Model.fit', {NO_OPTIMIZER}": lambda: construct(optimizer=None).fit(1, DATA),
    f"For 'Model.fit', {NO_METRICS}": lambda: construct().fit(1, DATA, DATA),
    f"For 'Model.eval', {NO_METRICS}": lambda: construct().eval(DATA),
    f"For 'Model.predict', {LITE} backend 'lite' and config None.": (
        lambda: MODEL.predict(backend="lite")
    ),
    f"For 'Model.predict', {LITE} backend None and config 0.": lambda: MODEL.predict(config=0),
}


@pytest.mark.parametrize(("message", "action"), OTHERS.items(), ids=range(len(OTHERS)))
def test_invalid_combination_raises(message: str, action: Callable[[], object]) -> None:
    assert_refused(ValueError, message, action)


def test_auc_as_metric_name_raises() -> None:
    message = "For 'Model', 'auc' is computed of a curve: evaluate 'roc', and call auc(x, y) with "
    assert_refused(TypeError, f"{message}its result.", construct, metrics={"auc"})


def test_valid_arguments_are_accepted() -> None:
    model, metrics = make(), dict[str, Metric](a=Accuracy())
    model.fit(1, Rows())  # without an evaluation it needs no metrics
    model.train(1, DATA, [], dataset_sink_mode=True, sink_size=1)
    model.build()
    model.build(Rows(), Rows(), epoch=2)
    for keep in (None, True, False):
        construct(keep_batchnorm_fp32=keep, boost_config_dict=None)
    options = {"boost_level": "O0", "acc_level": "O0", "boost_config_dict": ""}
    evaluated = construct(metrics=metrics, eval_indexes=[0, 1, 2], **options)
    assert evaluated.eval(DATA).keys() == {"a"}


def test_fit_rejects_legacy_hooks() -> None:
    class Old(Callback):
        def __init__(self) -> None:
            self.count = 0

        def step_end(self, run_context: RunContext) -> None:
            self.count += 1

    old, model = Old(), make({"acc"})
    model.train(1, Rows(8), old)
    model.eval(Rows(8), old)
    assert old.count == 4
    with pytest.raises(ValueError, match="Old defines step_end"):
        model.fit(1, Rows(8), Rows(8), callbacks=old)


def test_loss_of_other_shape_raises_without_update() -> None:
    class NoMean(nn.Cell):
        def construct(self, logits: Tensor, label: Tensor) -> Tensor:
            return logits

    for loss, message in ((NoMean(), "single number"), (nn.MSELoss(), "3.*4|4.*3")):
        model = construct(loss_fn=loss)
        before = [p.asnumpy().copy() for p in model.train_network.get_parameters()]
        with pytest.raises(ValueError, match=message):
            model.train(1, Rows(4))
        for value, parameter in zip(before, model.train_network.get_parameters(), strict=True):
            np.testing.assert_array_equal(parameter.asnumpy(), value)
