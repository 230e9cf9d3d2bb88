"""A checkpoint of another training raises an error with the reason, and changes nothing."""

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, nn, train
from minispore.common.seed import get_rng_state
from minispore.dataset import NumpySlicesDataset
from minispore.train.protocol.dataset import DatasetLike
from minispore.train.resume import TrainingState, read_training_checkpoint
from tests.helpers.stub_models import Rows

X = np.linspace(-1, 1, 40, dtype=np.float32).reshape(10, 4)
Y = (np.arange(10) % 3).astype(np.int32)


def random_state() -> str:
    """Return the random state as a text."""
    return TrainingState.of(get_rng_state()).text


class Counter(train.Callback):
    def __init__(self, refuse: bool = False) -> None:
        self.count = 0
        self.refuse = refuse
        self.random_state = ""

    def on_train_begin(self, run_context: train.RunContext) -> None:
        self.random_state = random_state()

    def on_train_step_end(self, run_context: train.RunContext) -> None:
        self.count += 1

    def state_dict(self) -> dict[str, object]:
        return {"count": self.count}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        if self.refuse and state["count"] != self.count:
            raise ValueError("no 'count' today")
        assert isinstance(state["count"], int)
        self.count = state["count"]


def data(rows: int = 10, batch: int = 4) -> DatasetLike:
    return NumpySlicesDataset({"x": X[:rows], "y": Y[:rows]}).batch(batch)


def model(width: int = 3, name: str = "", momentum: float = 0.9) -> train.Model:
    net = nn.Dense(4, width)
    if name:
        net.weight.name = name
    optimizer = nn.SGD(net.trainable_params(), 0.1, momentum=momentum)
    return train.Model(net, nn.CrossEntropyLoss(), optimizer)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    saver = train.ModelCheckpoint(
        "m", tmp_path, train.CheckpointConfig(2, append_info=["training_state"])
    )
    model().train(2, data(), [train.LossMonitor(0), Counter(), saver])
    return tmp_path / "m-2_1.ckpt"


def savers(folder: Path) -> train.ModelCheckpoint:
    return train.ModelCheckpoint(
        "m", folder, train.CheckpointConfig(2, append_info=["training_state"])
    )


Callbacks = Callable[[Path], Sequence[train.Callback]]


def same(path: Path) -> list[train.Callback]:
    return [train.LossMonitor(0), Counter(), savers(path)]


NOT_THIS = "is not one of this training:"
WIDER = f"""{NOT_THIS} these parameters differ:
    weight: the network's is Float32 (5, 4), the file's Float32 (3, 4)
    bias: the network's is Float32 (5,), the file's Float32 (3,)
    accum.weight: the network's is Float32 (5, 4), the file's Float32 (3, 4)
    accum.bias: the network's is Float32 (5,), the file's Float32 (3,)
    stat.weight: the network's is Float32 (5, 4), the file's Float32 (3, 4)
    stat.bias: the network's is Float32 (5,), the file's Float32 (3,)."""
RENAMED = f"""{NOT_THIS} these parameters differ:
    weight: not in the network
    accum.weight: not in the network
    stat.weight: not in the network
    wight: not in the file
    accum.wight: not in the file
    stat.wight: not in the file."""
WERE = "its callbacks with a state were LossMonitor, Counter, ModelCheckpoint, and are now"
DIFFERS = f"{NOT_THIS} these settings differ:\n    "
ANOTHER = "does not fit: The state is that of another dataset, which had"
BATCH, SHUFFLE = "Batch(rows=4, drop_remainder=False)", "Shuffle(buffer_size=2)"
SPLIT = "(If a 'split' differs, set a seed before it.)"
PREFIX = "For 'ModelCheckpoint', the state's 'prefix' 'm' is not 'k'."


def store(rows: int) -> str:
    sampler = "RandomSampler(replacement=False)"
    return f"MapStyleNode(names=('x', 'y'), store={rows} rows, sampler={sampler})"


@pytest.mark.parametrize(
    ("message", "net", "dataset", "callbacks", "epochs"),
    [
        (WIDER, lambda: model(5), data, same, (2, 0)),
        (RENAMED, lambda: model(name="wight"), data, same, (2, 0)),
        (f"{NOT_THIS} its epochs had 3 steps, and now have 5.", model, lambda: data(batch=2),
         same, (2, 0)),
        (f"{NOT_THIS} {WERE} LossMonitor, Counter.", model, data,
         lambda _: [train.LossMonitor(0), Counter()], (2, 0)),
        (f"{NOT_THIS} {WERE} Counter, ModelCheckpoint.", model, data,
         lambda path: [train.LambdaCallback(), Counter(), savers(path)], (2, 0)),
        (f"{NOT_THIS} {WERE} LossMonitor, Counter, ModelCheckpoint, LossMonitor.", model, data,
         lambda path: [*same(path), train.LossMonitor(0)], (2, 0)),
        (f"{NOT_THIS} {WERE} none.", model, data, lambda _: [train.LambdaCallback()], (2, 0)),
        (f"{NOT_THIS} its 'initial_epoch' was 0, and is now 1.", model, data, same, (2, 1)),
        (f"{NOT_THIS} it was saved in epoch 2, and 'epoch' is now 1.", model, data, same, (1, 0)),
        (f"{DIFFERS}train_dataset.1: {store(10)} when saved, {store(9)} now.",
         model, lambda: data(9), same, (2, 0)),
        ("does not fit the callback '1 Counter': no 'count' today", model, data,
         lambda path: [train.LossMonitor(0), Counter(refuse=True), savers(path)], (2, 0)),
        (f"does not fit the callback '2 ModelCheckpoint': {PREFIX}", model, data,
         lambda path: [train.LossMonitor(0), Counter(), train.ModelCheckpoint("k", path)], (2, 0)),
    ],
)  # fmt: skip
def test_checkpoint_of_other_training_raises(
    checkpoint: Path,
    tmp_path: Path,
    message: str,
    net: Callable[[], train.Model],
    dataset: Callable[[], DatasetLike],
    callbacks: Callbacks,
    epochs: tuple[int, int],
) -> None:
    """Every mismatch has its own error; parameters and callbacks are unchanged."""
    trained, listed = net(), callbacks(tmp_path / "other")
    before = [parameter.asnumpy().copy() for parameter in trained.train_network.get_parameters()]
    last, first = epochs
    with pytest.raises(ValueError, match="^The training state") as raised:
        trained.train(last, dataset(), list(listed), initial_epoch=first, resume=checkpoint)
    assert str(raised.value) == f"The training state in '{checkpoint}' {message}"
    assert all(cb.random_state in ("", random_state()) for cb in listed if isinstance(cb, Counter))
    for parameter, value in zip(trained.train_network.get_parameters(), before, strict=True):
        assert np.array_equal(parameter.asnumpy(), value)
    assert all(cb.count == 0 for cb in listed if isinstance(cb, Counter))
    assert not list((tmp_path / "other").glob("*"))


def test_dataset_with_other_operations_raises(checkpoint: Path) -> None:
    shuffled = NumpySlicesDataset({"x": X, "y": Y}).batch(4).shuffle(2)
    there = same(checkpoint.parent / "other")
    with (
        pytest.warns(match="these settings differ") as warned,
        pytest.raises(ValueError, match="^The training state") as raised,
    ):
        model().train(2, shuffled, there, resume=checkpoint, resume_strict=False)
    assert str(raised.value) == (
        f"The training state in '{checkpoint}' {ANOTHER} {BATCH} where this one has {SHUFFLE}. "
        f"{SPLIT}"
    )
    assert str(warned[0].message) == (
        f"The training is resumed from '{checkpoint}', but these settings differ:\n"
        f"    train_dataset.0: {BATCH} when saved, {SHUFFLE} now\n"
        f"    train_dataset.1: {store(10)} when saved, {BATCH} now\n"
        f"    train_dataset.2: nothing when saved, {store(10)} now."
    )


def test_files_without_training_state_raise(tmp_path: Path, checkpoint: Path) -> None:
    plain = tmp_path / "plain.ckpt"
    train.save_checkpoint(nn.Dense(4, 3), plain)
    with pytest.raises(ValueError, match="^The checkpoint file") as raised:
        model().train(2, data(), same(tmp_path), resume=plain)
    assert str(raised.value) == (
        f"The checkpoint file '{plain}' holds no training state to resume from. Files that do are "
        "saved by ModelCheckpoint with CheckpointConfig(append_info=['training_state']), by "
        "BackupAndRestore and by OnRequestExit."
    )
    with pytest.raises(ValueError, match="'nowhere.ckpt' does not exist"):
        model().train(2, data(), same(tmp_path), resume="nowhere.ckpt")
    other = tmp_path / "damaged.ckpt"
    # Texts are stored as MindSpore stores them: four bytes a character.
    old, new = (f'"epoch": {i}'.encode("utf-32-le") for i in (2, 1))
    other.write_bytes(checkpoint.read_bytes().replace(old, new))
    with pytest.raises(ValueError, match="^The training state") as raised:
        model().train(2, data(), same(tmp_path), resume=other)
    assert str(raised.value) == (
        f"The training state in '{other}' is damaged: its checksum does not match its content."
    )
    other.write_bytes(checkpoint.read_bytes()[:-9])
    with pytest.raises(ValueError, match="damaged.ckpt"):
        model().train(2, data(), same(tmp_path), resume=other)


class Marked(Counter):
    """A callback whose state is a number that does not change."""

    def on_train_step_end(self, run_context: train.RunContext) -> None: ...


KINDS_OF_CALLBACKS: list[Callable[[], train.Callback]] = [Marked, Counter, train.LambdaCallback]


@given(st.lists(st.sampled_from(KINDS_OF_CALLBACKS), max_size=4), st.booleans())
@example([Marked, Marked], False)
@example([train.LambdaCallback, Marked, Counter, Marked], True)
def test_each_callback_loads_its_own_state(
    kinds: list[Callable[[], train.Callback]], without_others: bool
) -> None:
    """Those of one class in their order; callbacks without a state may come and go."""
    with TemporaryDirectory() as folder:
        before = [kind() for kind in kinds]
        for i, callback in enumerate(before):
            if isinstance(callback, Counter):
                callback.count = 10 * i
        model().train(1, data(), [*before, savers(Path(folder))])
        chosen = [kind for kind in kinds if kind is not train.LambdaCallback or not without_others]
        after = [kind() for kind in chosen]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            resumed = Path(folder) / "m-1_3.ckpt"
            model().train(1, data(), [*after, savers(Path(folder))], resume=resumed)
    assert [cb.count for cb in after if isinstance(cb, Counter)] == [
        cb.count for cb in before if isinstance(cb, Counter)
    ]
    names = [[type(cb).__name__ for cb in [*listed, savers(Path())]] for listed in (before, after)]
    saved, now = (", ".join(group) for group in names)
    expected = f"but its callbacks were {saved}, and are now {now}."
    assert [str(warning.message).partition("ckpt', ")[2] for warning in caught] == (
        [expected] if len(after) < len(before) else []
    )


def test_only_chief_compares_settings(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train.RunContext, "is_chief", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        others = [*same(tmp_path / "other"), train.LambdaCallback()]
        model(momentum=0.5).train(2, data(), others, resume=checkpoint)


def changed(checkpoint: Path, change: str) -> Path:
    """Write a changed state with a correct checksum."""
    result = read_training_checkpoint(checkpoint)
    values, parameters = copy.deepcopy(dict(result.values)), dict(result.parameters)
    names = {"Parameter": Parameter, "Tensor": Tensor, "np": np}
    exec(change, {"values": values, "parameters": parameters, **names})
    path = checkpoint.with_name("changed.ckpt")
    listed = [{"name": name, "data": x} for name, x in parameters.items()]
    train.save_checkpoint(listed, path, append_dict=TrainingState.of(values).entries())
    return path


KINDS: dict[str, str] = {
    **dict.fromkeys(("initial_epoch", "batch_num", "epoch", "step"), "int"),
    **dict.fromkeys(("closed", "finished"), "bool"),
    **dict.fromkeys(("net_outputs", "parameters", "callbacks", "savers"), "list"),
    **dict.fromkeys(("random", "states", "data"), "dict"),
}
PLACE = {"closed": "bool", "ended": "bool", "source": "dict"}


def misfits() -> Iterator[tuple[str, str]]:
    """Yield changes of a training state, and the message that each has."""
    for row in Path(__file__).with_name("misfits.txt").read_text("utf-8").splitlines():
        change, _, message = row.partition("  # ")
        yield change, message.replace("\\n", "\n")
    must = "the state's '{}' must be of type {}, but got 1.5."
    for key, kind in PLACE.items():
        message = f"does not fit: For 'EpochIterator', {must.format(key, kind)}"
        yield f"values['data']['{key}'] = 1.5", message
    for key, kind in KINDS.items():
        damaged = "is damaged: For 'TrainingValues',"
        yield f"values['{key}'] = 1.5", f"{damaged} {must.format(key, kind)}"
        yield f"del values['{key}']", f"{damaged} the state holds no '{key}'."
        for number in (-1, 2**63) if kind == "int" else ():
            yield f"values['{key}'] = {number}", f"is damaged: its '{key}' is {number}."


def test_changed_training_state_raises_without_effect(checkpoint: Path, tmp_path: Path) -> None:
    """Each change has its own error, and nothing of the run is changed."""
    trained, listed, rows = model(), same(tmp_path / "other"), data()
    others = {"version", "fingerprint"}
    assert read_training_checkpoint(checkpoint).values.keys() == KINDS.keys() | others
    for change, message in misfits():
        path = changed(checkpoint, change)
        with pytest.raises(ValueError, match="^The training state") as raised:
            trained.train(2, rows, listed, resume=path)
        assert str(raised.value) == f"The training state in '{path}' {message}"
        assert isinstance(listed[1], Counter)
        assert listed[1].count == 0
        assert listed[1].random_state in ("", random_state())
        listed[1].random_state = ""


def test_unserializable_state_raises_with_path(tmp_path: Path) -> None:
    class Odd(Counter):
        def state_dict(self) -> dict[str, object]:
            return {"numbers": [1, {"set"}]}

    with pytest.raises(TypeError, match="^The training state cannot be saved: ") as raised:
        model().train(1, data(), [Odd(), savers(tmp_path)])
    assert str(raised.value).endswith(
        f" {{'set'}} at 'states.0 {Odd.__qualname__}.numbers[1]' is of type set."
    )


def test_dataset_with_other_split_raises(tmp_path: Path) -> None:
    def part(seed: int) -> DatasetLike:
        from minispore.dataset import config

        config.set_seed(seed)
        return NumpySlicesDataset({"x": X, "y": Y}).split([6, 4])[0].batch(3)

    model().train(1, part(1), savers(tmp_path))
    path = tmp_path / "m-1_2.ckpt"
    with pytest.raises(ValueError, match="dataset_seed: 1 when saved, 2 now"):
        model().train(2, part(2), savers(tmp_path), resume=path)
    with (
        pytest.warns(match="dataset_seed: 1 when saved, 2 now"),
        pytest.raises(ValueError, match="If a 'split' differs, set a seed"),
    ):
        model().train(2, part(2), savers(tmp_path), resume=path, resume_strict=False)


def test_shorter_custom_dataset_raises(tmp_path: Path) -> None:
    class Shrinking(Rows):
        def get_dataset_size(self) -> int:
            return 3

    model().train(1, Shrinking(), savers(tmp_path))
    path = tmp_path / "m-1_2.ckpt"
    with (
        pytest.warns(match=r"train_dataset\.rows: 10 when saved, 4 now"),
        pytest.raises(ValueError, match="^The training state") as raised,
    ):
        model().train(1, Shrinking(4), savers(tmp_path), resume=path, resume_strict=False)
    assert str(raised.value) == (
        f"The training state in '{path}' does not fit: The dataset has come to its end before "
        "batch 2."
    )


@pytest.mark.parametrize("half", ["state_dict", "load_state_dict"])
def test_callback_with_half_of_state_methods_raises(tmp_path: Path, half: str) -> None:
    kind = type("Half", (train.Callback,), {half: lambda *_: {}})
    with pytest.raises(TypeError, match="^The callback") as raised:
        model().train(1, data(), [kind(), savers(tmp_path)])
    assert str(raised.value) == (
        "The callback Half must define both 'state_dict' and 'load_state_dict', or neither."
    )
