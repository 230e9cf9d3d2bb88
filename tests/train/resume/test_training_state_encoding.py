"""Encoding of training states; damaged files are detected."""
# What is compared is of any type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from signal import Signals

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import Tensor, nn
from minispore.common import Parameter
from minispore.train import CheckpointConfig, ModelCheckpoint, save_checkpoint
from minispore.train.resume import (
    TrainingState,
    decode,
    encode,
    read_dict_field,
    read_field,
    read_list_field,
    read_training_checkpoint,
)
from minispore.train.resume.training_checkpoint import truncate_for_message
from minispore.train.serialization import load_checkpoint, load_param_into_net
from tests.helpers.processes import run
from tests.helpers.resumable_training import Fault, Training

arrays = hnp.arrays(
    st.sampled_from(["f4", "f8", "i4", "u4", "u1", "?"]), hnp.array_shapes(min_dims=0, min_side=0)
)
plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
values = st.recursive(
    plain | arrays | arrays.map(Tensor.from_numpy),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.sampled_from(["$array", "$dict"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def same(a: object, b: object) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return same(a.asnumpy(), b.asnumpy())
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return bool(a == b or (a != a and b != b))  # noqa: PLR0124 (NaN)


@given(values)
@example((Tensor([1.0, 2.0]), {"$dict": [np.array(7)]}))
def test_decode_inverts_encode(value: object) -> None:
    text, arrays = encode(value, "state")
    assert list(arrays) == [f"state.{i}" for i in range(len(arrays))]
    # A file stores a scalar as one element.
    stored = {name: array.reshape(array.shape or (1,)) for name, array in arrays.items()}
    assert same(decode(text, "state", stored), value)
    if stored:
        name, _ = stored.popitem()
        with pytest.raises(ValueError, match=f"^there is no '{re.escape(name)}'$"):
            decode(text, "state", stored)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner),
    max_leaves=8,
)


@given(json_values)
@example({"a": {"b": [1, {}]}})
def test_text_of_values_of_json_is_json(value: object) -> None:
    """A dict is marked only if it would be ambiguous."""
    text, arrays = encode(value, "state")
    assert (json.loads(text), arrays) == (value, {})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({2}, "{2} at '' is of type set"),
        ([{2}], "{2} at '[0]' is of type set"),
        ({"a": [1, {2}]}, "{2} at 'a[1]' is of type set"),
        ({"a": {"b": (np.float32(1),)}}, "np.float32(1.0) at 'a.b[0]' is of type float32"),
        ([Signals.SIGINT], "<Signals.SIGINT: 2> at '[0]' is of type Signals"),
        ({"a": {1: 2}}, "the key 1 at 'a' is not a str"),
        ({1: 2}, "the key 1 at '' is not a str"),
    ],
)
def test_unsupported_value_raises_with_path(value: object, words: str) -> None:
    with pytest.raises(TypeError) as raised:
        encode(value, "state")
    assert str(raised.value) == words


KINDS: list[type[object]] = [int, float, bool, str]
fields = st.one_of(st.integers(), st.floats(allow_nan=False), st.booleans(), st.text(), st.none())


@given(st.sampled_from(KINDS), st.lists(fields, min_size=1, max_size=3))
@example(float, [1])
@example(float, [True])
@example(int, [True])
def test_field_has_its_kind_or_raises(kind: type[object], items: list[object]) -> None:
    """Also the items of lists and dicts; an int is accepted for a float."""
    state: Mapping[str, object] = {"one": items[0], "list": items, "dict": {"a": items[0]}}
    fitting = [type(item) is kind or (kind, type(item)) == (float, int) for item in items]
    readers: list[tuple[Callable[..., object], str, str, list[bool]]] = [
        (read_field, "one", "For 'Caller', the state's 'one'", fitting[:1]),
        (
            read_list_field,
            "list",
            f"For 'Caller.list', the state's '{[*fitting, False].index(False)}'",
            fitting,
        ),
        (read_dict_field, "dict", "For 'Caller.dict', the state's 'a'", fitting[:1]),
    ]
    for read, key, where, fits in readers:
        if all(fits):
            actual = read(state, key, kind, "Caller")
            assert actual == state[key]
            inner = actual if isinstance(actual, list) else [actual]
            inner = list(actual.values()) if isinstance(actual, dict) else inner
            assert {type(item) for item in inner} == {kind}
            assert actual is not state[key] or key == "one"
        else:
            with pytest.raises(ValueError, match=f"^{where} must be of type {kind.__name__}, but"):
                read(state, key, kind, "Caller")
        with pytest.raises(ValueError, match="^For 'Caller', the state holds no 'other'.$"):
            read(state, "other", kind, "Caller")


@pytest.mark.parametrize("kind", ["$array", "$tensor", "$tuple", "$dict"])
@pytest.mark.parametrize("content", ["3", "null", '"a"', "{}"])
def test_tagged_object_without_list_raises(kind: str, content: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{kind} without its list")):
        decode(f'{{"a": [{{"{kind}": {content}}}]}}', "state", {})


@given(st.text(st.characters()), st.integers(0, 3))
def test_message_of_any_text_is_printable(part: str, count: int) -> None:
    text = part + 3000 * count * "x"
    shown = truncate_for_message(text)
    shown.encode("utf-8")
    assert len(shown) < 6000
    assert shown == text or len(text) > 5000 or not part.isascii()


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\ud800", "a\\ud800"), (5000 * "x", 5000 * "x"), (5001 * "x", 5000 * "x" + " …")],
)
def test_message_escapes_and_truncates_text(text: str, shown: str) -> None:
    assert truncate_for_message(text) == shown


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_state_is_read_from_file(tmp_path: Path, format: str) -> None:
    path, net = tmp_path / f"x.{format}", nn.Dense(2, 2)
    state = TrainingState.of({"a": [1.5, "ü", np.arange(9, dtype=np.uint32)], "b": {"c": None}})
    save_checkpoint(net, path, append_dict=state.entries(format), format=format)
    result = read_training_checkpoint(path)
    assert (result.path, result.state.text) == (str(path), state.text)
    assert same(dict(result.state.arrays), dict(state.arrays))
    assert same(dict(result.values), state.values())
    assert set(result.parameters) == {parameter.name for parameter in net.get_parameters()}


@given(st.lists(arrays.filter(lambda array: array.size), min_size=1, max_size=2), st.data())
def test_checksum_covers_arrays(values: list[np.ndarray], data: st.DataObject) -> None:
    state = TrainingState.of({"values": values})
    assert state.values()["version"] == 1
    name = data.draw(st.sampled_from(sorted(state.arrays)))
    changed = np.frombuffer(state.arrays[name].tobytes(), np.uint8).copy()
    changed[data.draw(st.integers(0, changed.size - 1))] ^= 1
    other = np.frombuffer(changed, state.arrays[name].dtype).reshape(state.arrays[name].shape)
    with pytest.raises(ValueError, match="^its checksum does not match its content$"):
        TrainingState(state.text, {**state.arrays, name: other}).values()


@pytest.mark.parametrize("text", ["00000000 {}", "x \ud800", "", "0"])
def test_wrong_checksum_raises(text: str) -> None:
    with pytest.raises(ValueError, match="^its checksum does not match its content$"):
        TrainingState(text, {}).values()


def test_invalid_text_bytes_raise(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    text = Tensor(np.frombuffer(b"\xff\xfe {}", np.uint8).copy())
    save_checkpoint(
        nn.Dense(1, 1), path, append_dict={"training_state": text}, format="safetensors"
    )
    with pytest.raises(ValueError, match="^The training state in ") as raised:
        read_training_checkpoint(path)
    assert str(raised.value) == (
        f"The training state in '{path}' is damaged: its checksum does not match its content."
    )


PYTHON = os.environ.get("MINISPORE_MINDSPORE_PYTHON")
LOAD = """
import sys, mindspore
values = mindspore.load_checkpoint(sys.argv[1])
net = mindspore.nn.SequentialCell(
    mindspore.nn.Dense(3, 5), mindspore.nn.Tanh(), mindspore.nn.Dropout(p=0.3),
    mindspore.nn.Dense(5, 3))
missing, _ = mindspore.load_param_into_net(net, values)
print(missing, values["training_state"][9:20], values["3.bias"].asnumpy().tolist())
"""


@pytest.mark.skipif(not PYTHON, reason="MINISPORE_MINDSPORE_PYTHON is not set")
def test_mindspore_loads_training_checkpoint(tmp_path: Path) -> None:
    saver = ModelCheckpoint("net", tmp_path, CheckpointConfig(5, append_info=["training_state"]))
    Training("noise in a buffer", "adam").run([saver], Fault())
    path = saver.latest_ckpt_file_name
    bias = read_training_checkpoint(path).parameters["3.bias"].asnumpy().tolist()
    done = run(PYTHON, "-c", LOAD, path)
    assert done.stdout.splitlines()[-1] == '[] {"version": ' + str(bias)


FIXTURES = Path(__file__).parents[1] / "fixtures"
OPTIMIZERS: dict[str, Callable[[list[Parameter]], nn.Optimizer]] = {
    "sgd": lambda params: nn.SGD(params, 0.1, momentum=0.9),
    "momentum": lambda params: nn.Momentum(params, [0.1, 0.2], 0.9),
    "adam": lambda params: nn.Adam(params, 0.1),
}


def training(name: str) -> nn.TrainOneStepCell:
    net = nn.SequentialCell(nn.Dense(2, 2, weight_init="ones", bias_init="zeros"), nn.ReLU())
    loss = nn.WithLossCell(net, nn.MSELoss())
    return nn.TrainOneStepCell(loss, OPTIMIZERS[name](net.trainable_params()))


def step(train: nn.TrainOneStepCell, number: int) -> None:
    train(Tensor(np.array([[1.0, number]], np.float32)), Tensor(np.array([[1.0, 0.0]], np.float32)))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_continues_from_mindspore_checkpoint(tmp_path: Path, name: str) -> None:
    fixture, path = FIXTURES / f"{name}.ckpt", tmp_path / "x.ckpt"
    train = training(name)
    step(train, 0)
    assert load_param_into_net(train, load_checkpoint(fixture), strict_load=True) == ([], [])
    save_checkpoint(train, path)
    assert path.read_bytes() == fixture.read_bytes()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_same_steps_give_same_state(tmp_path: Path, name: str) -> None:
    train = training(name)
    expected = load_checkpoint(FIXTURES / f"{name}.ckpt")
    for number in range(2):
        step(train, number)
    save_checkpoint(train, tmp_path / "x.ckpt")
    result = load_checkpoint(tmp_path / "x.ckpt")
    assert list(result) == list(expected)
    for key, value in expected.items():
        ours = result[key]
        assert isinstance(value, Parameter)
        assert isinstance(ours, Parameter)
        left, right = ours.asnumpy().astype(np.float64), value.asnumpy().astype(np.float64)
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)
