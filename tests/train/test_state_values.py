"""States come back from text and arrays as they were; files of them are sound or refused."""
# What is compared is of any type.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import Tensor, nn
from minispore.train import Callback, CheckpointConfig, ModelCheckpoint, RunContext, save_checkpoint
from minispore.train._state_values import decode, encode
from minispore.train._training_state import TrainingState, printable, read_training_checkpoint

from .resuming import Training, Trouble, files_in
from .test_resume import newest

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
def test_values_come_back_as_they_were(value: object) -> None:
    text, beside = encode(value, "state")
    # A file keeps one element where there was a scalar.
    stored = {name: array.reshape(array.shape or (1,)) for name, array in beside.items()}
    assert same(decode(text, "state", stored), value)


def test_one_of_each_kind_comes_back() -> None:
    two = np.arange(2.0, dtype=np.float32)
    leaves = [None, True, 1, 0.5, "ü", two, Tensor(two + 1), np.array(7), Tensor([[1], [2]])]
    inner = {"$array": tuple(leaves)}, {"$tuple": [1]}, {"b": {"c": leaves, "d": two}}
    tree: object = {"$dict": (leaves, *inner, [])}
    text, beside = encode(tree, "state")
    assert list(beside) == [f"state.{i}" for i in range(13)]
    # A file keeps one element where there was a scalar.
    stored = {name: array.reshape(array.shape or (1,)) for name, array in beside.items()}
    assert same(decode(text, "state", stored), tree)
    # What needs no sign of its kind has none.
    assert encode({"a": {"b": [1, {}]}}, "state") == ('{"a": {"b": [1, {}]}}', {})
    with pytest.raises(ValueError, match=r"^there is no 'state\.12'$"):
        decode(text, "state", {name: beside[name] for name in list(beside)[:-1]})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({2}, "{2} at '' is of type set"),
        ([{2}], "{2} at '[0]' is of type set"),
        ({"a": [1, {2}]}, "{2} at 'a[1]' is of type set"),
        ({"a": {"b": (np.float32(1),)}}, "np.float32(1.0) at 'a.b[0]' is of type float32"),
        ({"a": {1: 2}}, "the key 1 at 'a' is no str"),
        ({1: 2}, "the key 1 at '' is no str"),
    ],
)
def test_other_values_are_refused_with_their_place(value: object, words: str) -> None:
    with pytest.raises(TypeError) as raised:
        encode(value, "state")
    assert str(raised.value) == words


@pytest.mark.parametrize("kind", ["$array", "$tensor", "$tuple", "$dict"])
@pytest.mark.parametrize("content", ["3", "null", '"a"', "{}"])
def test_what_stands_for_something_else_has_a_list(kind: str, content: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{kind} without its list")):
        decode(f'{{"a": [{{"{kind}": {content}}}]}}', "state", {})


@given(st.text(st.characters()), st.integers(0, 3))
def test_what_is_told_of_a_file_can_be_shown_whatever_is_in_it(part: str, count: int) -> None:
    text = part + 3000 * count * "x"
    shown = printable(text)
    shown.encode("utf-8")
    assert len(shown) < 6000
    assert shown == text or len(text) > 5000 or not part.isascii()


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\ud800", "a\\ud800"), (5000 * "x", 5000 * "x"), (5001 * "x", 5000 * "x" + " …")],
)
def test_how_it_is_shown(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_a_state_comes_back_from_a_file(tmp_path: Path, format: str) -> None:
    path, net = tmp_path / f"x.{format}", nn.Dense(2, 2)
    state = TrainingState.of({"a": [1.5, "ü", np.arange(9, dtype=np.uint32)], "b": {"c": None}})
    save_checkpoint(net, path, append_dict=state.entries(format), format=format)
    found = read_training_checkpoint(path)
    assert (found.path, found.state.text) == (str(path), state.text)
    assert same(dict(found.state.arrays), dict(state.arrays))
    assert same(dict(found.values), state.values())
    assert set(found.parameters) == {each.name for each in net.get_parameters()}


def test_the_check_sum_is_of_the_arrays_too() -> None:
    state = TrainingState.of({"a": np.arange(9), "b": np.arange(4)})
    assert state.values()["version"] == 1
    for name, array in state.arrays.items():
        other = TrainingState(state.text, {**state.arrays, name: np.add(array, 1)})
        with pytest.raises(ValueError, match="^its check sum is not that of its content$"):
            other.values()


@pytest.mark.parametrize("text", ["00000000 {}", "x \ud800", "", "0"])
def test_a_text_with_another_check_sum_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="^its check sum is not that of its content$"):
        TrainingState(text, {}).values()


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    text = Tensor(np.frombuffer(b"\xff\xfe {}", np.uint8).copy())
    save_checkpoint(
        nn.Dense(1, 1), path, append_dict={"training_state": text}, format="safetensors"
    )
    with pytest.raises(ValueError, match="^The training state in ") as raised:
        read_training_checkpoint(path)
    assert str(raised.value) == (
        f"The training state in '{path}' is damaged: its check sum is not that of its content."
    )


@given(st.data())
def test_a_mutated_file_is_sound_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """What the state says is as it was, or the file is refused with the documented error."""
    path = tmp_path_factory.mktemp("state") / "x.ckpt"
    state = TrainingState.of({"a": [1.5, "ü", np.arange(9, dtype=np.uint32)], "b": {"c": None}})
    save_checkpoint(nn.Dense(2, 2), path, append_dict=state.entries())
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, len(content)))
    path.chmod(0o600)
    path.write_bytes(content[: cut if data.draw(st.booleans()) else None])
    problem = ""
    try:
        found = read_training_checkpoint(path).state
        assert found.text == state.text
        assert same(dict(found.arrays), dict(state.arrays))
    except ValueError as error:
        problem = str(error)
    assert not problem or "x.ckpt" in problem


class Clock:
    """Stands in for the module `time`; another one for each process."""

    def __init__(self, now: float) -> None:
        self.now = now

    def monotonic(self) -> float:
        return self.now


class Tick(Callback):
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self.clock.now += 25.0


@pytest.mark.parametrize("step", [1, 4, 6, 9, 14])
@pytest.mark.parametrize(
    "config",
    [
        lambda info: CheckpointConfig(1, 0, 0, 1, append_info=info),
        lambda info: CheckpointConfig(0, 60, 2, append_info=info),
        lambda info: CheckpointConfig(0, 30, 0, 2, append_info=info),
    ],
)
def test_clocks_go_on_where_they_stood(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    config: Callable[[list[str]], CheckpointConfig],
    step: int,
) -> None:
    def run(place: str, now: float, trouble: Trouble, resume: Path | None = None) -> None:
        clock = Clock(now)
        monkeypatch.setattr("minispore.train.callback._checkpoint.time", clock)
        saver = ModelCheckpoint("net", tmp_path / place, config(["training_state"]))
        Training().go([Tick(clock), saver], trouble, resume)

    run("a", 1000.0, Trouble())
    run("b", 1000.0, Trouble("on_train_step_begin", step, "kill"))
    resume = newest(tmp_path / "b")
    run("b", 7000.0, Trouble(), resume)
    assert files_in(tmp_path / "a") == files_in(tmp_path / "b")


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
def test_mindspore_opens_the_file(tmp_path: Path) -> None:
    saver = ModelCheckpoint("net", tmp_path, CheckpointConfig(5, append_info=["training_state"]))
    Training("noise in a buffer", "adam").go([saver], Trouble())
    path = saver.latest_ckpt_file_name
    bias = read_training_checkpoint(path).parameters["3.bias"].asnumpy().tolist()
    command = [str(PYTHON), "-c", LOAD, path]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.splitlines()[-1] == '[] {"version": ' + str(bias)
