"""Constructors reject arguments whose type is not the annotated one, and numbers out of range.

`python -m tests.tensorpack.test_validation > tests/tensorpack/numbers.txt` records the numbers.
"""

import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import nn
from minispore import tensorpack as tp
from minispore.dataset import NumpySlicesDataset
from minispore.tensorpack.inference import Inferencer
from minispore.train import Accuracy, Model
from minispore.utils.checks import is_iterable
from tests.nn.test_numbers import table

NUMBERS = Path(__file__).with_name("numbers.txt")
DATA = NumpySlicesDataset({"x": np.ones((4, 3), np.float32), "label": [0, 1, 2, 0]}).batch(2)
# The required arguments of each class.
NEEDED: dict[str, dict[str, object]] = {
    "BinaryClassificationStats": {"pred_tensor_name": "a", "label_tensor_name": "b"},
    "DumpTensorAsImage": {"tensor_name": "weight"},
    "DumpTensors": {"names": "loss"},
    "EnableCallbackIf": {"callback": tp.ScalarPrinter(), "pred": callable},
    "Every": {"steps": 2},
    "GraphVarParam": {"name": "learning_rate"},
    "HumanHyperParamSetter": {"param": "learning_rate"},
    "HyperParamSetterWithFunc": {"param": "learning_rate", "func": max},
    "InferenceRunner": {"input": DATA, "infs": Inferencer()},
    "MaxSaver": {"monitor_stat": "loss"},
    "MetricInferencer": {"metric": Accuracy(), "summary_name": "accuracy"},
    "MinSaver": {"monitor_stat": "loss"},
    "ObjAttrParam": {"obj": tp, "attrname": "x"},
    "PeriodicCallback": {"callback": tp.ScalarPrinter(), "every_k_steps": 2},
    "PeriodicTrigger": {"triggerable": tp.ScalarPrinter(), "every_k_steps": 2},
    "ProcessTensors": {"names": "loss", "fn": print},
    "ProxyCallback": {"cb": tp.ScalarPrinter()},
    "RunOp": {"op": print},
    "ScalarStats": {"names": "loss"},
    "ScheduledHyperParamSetter": {"param": "learning_rate", "schedule": [(1, 0.5)]},
    "SendMonitorData": {"command": "true", "names": "loss"},
    "SendStat": {"command": "true", "names": "loss"},
    "SimpleMovingAverage": {"tensors": "loss", "window_size": 2},
    "StartProcOrThread": {"startable": Thread()},
    "TensorPrinter": {"names": "loss"},
    "TrainConfig": {"dataflow": DATA, "model": Model(nn.Dense(3, 1))},
    "StatMonitorParamSetter": {
        "param": "learning_rate",
        "stat_name": "loss",
        "value_func": abs,
        "threshold": 0.1,
        "last_k": 2,
    },
}
# Base classes, and classes that only the package instantiates.
NOT_MADE = {"Callback", "HyperParam", "HyperParamSetter", "Monitors", "RunValues", "StopTraining"}
CLASSES = {
    cls.__name__: cls
    for name in tp.__all__
    if inspect.isclass(cls := getattr(tp, name))
    and name not in NOT_MADE | {"Trainer", "UnknownMetricError"}
}
ARGUMENTS = [
    (name, argument)
    for name, cls in CLASSES.items()
    for argument in inspect.signature(cls).parameters
    if get_type_hints(cls.__init__)[argument] is not object
]
JUNK: list[object] = [
    5, 0, -1, 1.5, float("nan"), True, None, "", "text", b"bytes", [], [1], ["a"], [None], (),
    (1, 2), [("a", 1)], {}, {"a": 1}, {1}, object(), print, int, np.float32(1), np.arange(3), 1j,
    range(3), tp.ScalarPrinter(), Accuracy(), DATA,
]  # fmt: skip


def fits(value: Any, hint: Any) -> bool:  # noqa: ANN401
    """Return whether a value has a type; a bool is no number, and a str no sequence."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Union or origin is types.UnionType:
        return any(fits(value, each) for each in inner)
    if isinstance(value, bool):
        return hint is bool
    if origin in {Sequence, Iterable, list}:
        if not isinstance(value, origin) or isinstance(value, str | bytes | np.ndarray):
            return False
        return is_iterable(value) and all(fits(each, inner[0]) for each in value)
    if hint is float:
        return isinstance(value, int | float)
    return isinstance(value, tuple | list if origin is tuple else origin or hint)


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
@given(value=st.sampled_from(JUNK) | st.integers() | st.text(max_size=3))
def test_arguments_of_a_wrong_type_raise_errors(name: str, argument: str, value: object) -> None:
    cls = CLASSES[name]
    arguments = {**NEEDED.get(name, {}), argument: value}
    error = None
    try:
        cls(**arguments)
    except (TypeError, ValueError) as raised:
        error = str(raised)
    if error is None:
        assert fits(value, get_type_hints(cls.__init__)[argument])
    else:
        assert all(each in error for each in (f"'{name}'", f"'{argument}'", "but got")), error


def makers() -> Iterator[tuple[str, Callable[..., object], dict[str, object]]]:
    """Yield the classes with valid arguments for all parameters."""
    for name, cls in CLASSES.items():
        signature = inspect.signature(cls)
        bound = signature.bind(**NEEDED.get(name, {}))
        bound.apply_defaults()
        yield name, cls, bound.arguments


def test_arguments_accept_the_recorded_numbers() -> None:
    assert table(makers()) == NUMBERS.read_text("utf-8").rstrip()


def test_call_that_python_refuses_has_its_message() -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'key_word'"):
        tp.ScalarPrinter(key_word=1)  # type: ignore[call-arg]


if __name__ == "__main__":
    print(table(makers()))
