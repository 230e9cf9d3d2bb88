"""What `Model` says to wrong arguments, word for word."""

from collections.abc import Callable
from typing import Any

import pytest

from minispore import Tensor, nn
from minispore.train import Accuracy, Model

from .standins import Batches, Rows, make

NET, LOSS, DATA = nn.Dense(4, 3), nn.CrossEntropyLoss(), Rows(4)
OPTIMIZER = nn.SGD(NET.trainable_params(), 0.1)


class Empty(Batches):
    def __repr__(self) -> str:
        return "Empty()"


class Thing:
    def __repr__(self) -> str:
        return "Thing()"


def model(**options: object) -> Model:
    """A model that is given also what is of wrong types."""
    arguments: dict[str, Any] = {"network": NET, "loss_fn": LOSS, "optimizer": OPTIMIZER, **options}
    return Model(**arguments)


MADE: Any = model(metrics={"accuracy"})
BARE: Any = make()

NOT_COVERED = "is not covered: everything is computed in the precision it is given; use"
NO_DATASET = "must be a dataset, with 'get_dataset_size' and 'create_tuple_iterator', but got"
LITE = "'backend' and 'config' must be None: MindSpore Lite is not covered, but got"
NO_METRICS = "the model argument 'metrics' can not be None or empty: there would be nothing to"
NO_OPTIMIZER = "the model has a 'loss_fn' but no 'optimizer': nothing would be trained."
INPUTS = "Tensor, int, float, bool, str, tuple, list, dict, None"

TYPES: dict[str, Callable[[], object]] = {
    "'Model', the type of 'network' must be one of Cell, but got 5 of type int.": (
        lambda: model(network=5)
    ),
    "'Model', the type of 'loss_fn' must be one of Cell, None, but got 5 of type int.": (
        lambda: model(loss_fn=5)
    ),
    "'Model', the type of 'optimizer' must be one of Optimizer, None, but got 5 of type int.": (
        lambda: model(optimizer=5)
    ),
    "'Model', the type of 'eval_network' must be one of Cell, None, but got 5 of type int.": (
        lambda: model(eval_network=5)
    ),
    "'Model', the type of 'metrics' must be one of dict, set, frozenset, None, "
    "but got ['acc'] of type list.": lambda: model(metrics=["acc"]),
    "'Model', the type of 'metrics.keys' must be one of str, but got 1 of type int.": (
        lambda: model(metrics={1: Accuracy()})
    ),
    "'Model', the type of 'metrics['a']' must be one of Metric, but got 1 of type int.": (
        lambda: model(metrics={"a": 1})
    ),
    "'Model', 'auc' is computed of a curve: evaluate 'roc', and call auc(x, y) with its result.": (
        lambda: model(metrics={"auc"})
    ),
    "'Model', the type of 'amp_level' must be one of str, but got 1 of type int.": (
        lambda: model(amp_level=1)
    ),
    "'Model', the type of 'boost_level' must be one of str, but got None of type NoneType.": (
        lambda: model(boost_level=None)
    ),
    "'Model.train', the type of 'epoch' must be one of int, but got 1.5 of type float.": (
        lambda: MADE.train(1.5, DATA)
    ),
    "'Model.train', the type of 'initial_epoch' must be one of int, but got 'a' of type str.": (
        lambda: MADE.train(1, DATA, initial_epoch="a")
    ),
    "'Model.train', the type of 'dataset_sink_mode' must be one of bool, but got 1 of type int.": (
        lambda: MADE.train(1, DATA, dataset_sink_mode=1)
    ),
    "'Model.train', the type of 'sink_size' must be one of int, but got 1.5 of type float.": (
        lambda: MADE.train(1, DATA, sink_size=1.5)
    ),
    "'Model.train', the type of 'resume' must be one of str, PathLike, None, "
    "but got 3 of type int.": lambda: MADE.train(1, DATA, resume=3),
    f"'Model.train', the argument 'train_dataset' {NO_DATASET} 5 of type int.": (
        lambda: MADE.train(1, 5)
    ),
    "'Model.fit', the type of 'dataset_sink_mode' must be one of bool, but got 1 of type int.": (
        lambda: MADE.fit(1, DATA, dataset_sink_mode=1)
    ),
    "'Model.fit', the type of 'valid_dataset_sink_mode' must be one of bool, "
    "but got 1 of type int.": lambda: MADE.fit(1, DATA, valid_dataset_sink_mode=1),
    "'Model.fit', the type of 'valid_frequency' must be one of int, list, "
    "but got 'a' of type str.": lambda: MADE.fit(1, DATA, DATA, "a"),
    "'Model.fit', the type of 'valid_frequency' must be one of int, but got [1.5] of type list.": (
        lambda: MADE.fit(1, DATA, DATA, [1.5])
    ),
    "'Model.fit', the type of 'resume' must be one of str, PathLike, None, "
    "but got 3 of type int.": lambda: MADE.fit(1, DATA, resume=3),
    f"'Model.fit', the argument 'train_dataset' {NO_DATASET} 5 of type int.": (
        lambda: MADE.fit(1, 5)
    ),
    f"'Model.fit', the argument 'valid_dataset' {NO_DATASET} 5 of type int.": (
        lambda: MADE.fit(1, DATA, 5)
    ),
    "'Model.eval', the type of 'dataset_sink_mode' must be one of bool, but got 1 of type int.": (
        lambda: MADE.eval(DATA, dataset_sink_mode=1)
    ),
    f"'Model.eval', the argument 'valid_dataset' {NO_DATASET} 5 of type int.": (
        lambda: MADE.eval(5)
    ),
    f"'Model.predict', the type of 'predict_data' must be one of {INPUTS}, "
    "but got Thing() of type Thing.": lambda: MADE.predict(Tensor(1.0), Thing()),
    "'Model.build', the type of 'sink_mode' must be one of bool, but got 1 of type int.": (
        lambda: MADE.build(sink_mode=1)
    ),
    f"'Model.build', the argument 'train_dataset' {NO_DATASET} 5 of type int.": (
        lambda: MADE.build(5)
    ),
    f"'Model.build', the argument 'valid_dataset' {NO_DATASET} 5 of type int.": (
        lambda: MADE.build(DATA, 5)
    ),
}

VALUES: dict[str, Callable[[], object]] = {
    "'Model', the argument 'amp_level' must be one of 'O0', 'O1', 'O2', 'O3', 'auto', "
    "but got 'O4'.": lambda: model(amp_level="O4"),
    f"'Model', the argument 'amp_level' = 'auto' {NOT_COVERED} 'O0'.": (
        lambda: model(amp_level="auto")
    ),
    "'Model', the argument 'boost_level' must be one of 'O0', 'O1', 'O2', but got 'O3'.": (
        lambda: model(boost_level="O3")
    ),
    f"'Model', the argument 'boost_level' = 'O2' {NOT_COVERED} 'O0'.": (
        lambda: model(boost_level="O2")
    ),
    f"'Model', the argument 'loss_scale_manager' = 1 {NOT_COVERED} None.": (
        lambda: model(loss_scale_manager=1)
    ),
    f"'Model', the argument 'keep_batchnorm_fp32' = 3 {NOT_COVERED} None.": (
        lambda: model(keep_batchnorm_fp32=3)
    ),
    f"'Model', the argument 'boost_config_dict' = 'a' {NOT_COVERED} None.": (
        lambda: model(boost_config_dict="a")
    ),
    f"'Model', the argument 'acc_level' = 'O1' {NOT_COVERED} 'O0'.": (
        lambda: model(acc_level="O1")
    ),
    "'Model', the argument in 'kwargs' should be 'loss_scale_manager', 'keep_batchnorm_fp32', "
    "'boost_config_dict' or 'acc_level', but got 'foo'.": lambda: model(foo=None),
    "'Model', the argument 'eval_indexes' must be None or a list of three int, but got [0, 1].": (
        lambda: model(eval_indexes=[0, 1])
    ),
    "'Model', the argument 'metrics' needs something to evaluate: "
    "set 'loss_fn' or 'eval_network' too.": lambda: Model(NET, metrics={"accuracy"}),
    "'Model.train', the argument 'epoch' must be at least 1, but got 0.": (
        lambda: MADE.train(0, DATA)
    ),
    "'Model.train', the argument 'initial_epoch' must be at least 0, but got -1.": (
        lambda: MADE.train(1, DATA, initial_epoch=-1)
    ),
    "'Model.train', the argument 'epoch' must be greater than 'initial_epoch', "
    "but got epoch 2 and initial_epoch 3.": lambda: MADE.train(2, DATA, initial_epoch=3),
    "'Model.train', the argument 'sink_size' must be -1 or positive, but got 0.": (
        lambda: MADE.train(1, DATA, sink_size=0)
    ),
    "'Model.train', the argument 'train_dataset' holds no batch: Empty().": (
        lambda: MADE.train(1, Empty(0))
    ),
    f"'Model.train', {NO_OPTIMIZER}": lambda: model(optimizer=None).train(1, DATA),
    "'Model.fit', the argument 'epoch' must be greater than 'initial_epoch', "
    "but got epoch 2 and initial_epoch 2.": lambda: MADE.fit(2, DATA, initial_epoch=2),
    "'Model.fit', the argument 'sink_size' must be -1 or positive, but got -2.": (
        lambda: MADE.fit(1, DATA, sink_size=-2)
    ),
    "'Model.fit', the argument 'valid_frequency' must be at least 1, but got 0.": (
        lambda: MADE.fit(1, DATA, DATA, 0)
    ),
    "'Model.fit', the argument 'train_dataset' holds no batch: Empty().": (
        lambda: MADE.fit(1, Empty(0))
    ),
    "'Model.fit', the argument 'valid_dataset' holds no batch: Empty().": (
        lambda: MADE.fit(1, DATA, Empty(0))
    ),
    f"'Model.fit', {NO_OPTIMIZER}": lambda: model(optimizer=None).fit(1, DATA),
    f"'Model.fit', {NO_METRICS} evaluate.": lambda: BARE.fit(1, DATA, DATA),
    f"'Model.eval', {NO_METRICS} evaluate.": lambda: BARE.eval(DATA),
    "'Model.eval', the argument 'valid_dataset' holds no batch: Empty().": (
        lambda: MADE.eval(Empty(0))
    ),
    f"'Model.predict', {LITE} backend 'lite' and config None.": (
        lambda: MADE.predict(backend="lite")
    ),
    f"'Model.predict', {LITE} backend None and config 0.": lambda: MADE.predict(config=0),
    "'Model.build', the argument 'epoch' must be at least 1, but got 0.": (
        lambda: MADE.build(DATA, epoch=0)
    ),
    "'Model.build', the argument 'sink_size' must be -1 or positive, but got 0.": (
        lambda: MADE.build(sink_size=0)
    ),
    "'Model.build', the argument 'train_dataset' holds no batch: Empty().": (
        lambda: MADE.build(Empty(0))
    ),
    "'Model.build', the argument 'valid_dataset' holds no batch: Empty().": (
        lambda: MADE.build(DATA, Empty(0))
    ),
}


@pytest.mark.parametrize(("words", "call"), TYPES.items(), ids=range(len(TYPES)))
def test_what_is_of_a_wrong_type(words: str, call: Callable[[], object]) -> None:
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value) == f"For {words}"


@pytest.mark.parametrize(("words", "call"), VALUES.items(), ids=range(len(VALUES)))
def test_what_is_of_a_wrong_value(words: str, call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="^For 'Model") as raised:
        call()
    assert str(raised.value) == f"For {words}"


@pytest.mark.parametrize(
    ("option", "values"),
    {
        "amp_level": ["O0"],
        "boost_level": ["O0"],
        "acc_level": ["O0"],
        "loss_scale_manager": [None],
        "keep_batchnorm_fp32": [None, True, False],
        "boost_config_dict": [None, ""],
        "eval_indexes": [None, [0, 1, 2]],
    }.items(),
)
def test_what_changes_nothing_is_taken(option: str, values: list[object]) -> None:
    for value in values:
        model(**{option: value})


def test_inputs_of_every_type_are_predicted() -> None:
    class Count(nn.Cell):
        def construct(self, *inputs: object) -> int:
            return len(inputs)

    inputs: list[Any] = [Tensor(1.0), 1, 1.5, True, "a", (1,), [1], {"a": 1}, None]
    assert Model(Count()).predict(*inputs) == len(inputs)
