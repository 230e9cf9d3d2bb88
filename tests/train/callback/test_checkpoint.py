"""ModelCheckpoint: the files after each step, as observed with MindSpore 2.10."""

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from minispore import nn
from minispore.common import Parameter, Tensor
from minispore.dataset import NumpySlicesDataset
from minispore.nn.cell import Cell
from minispore.train import LambdaCallback, Model
from minispore.train.callback import _checkpoint
from minispore.train.callback._checkpoint import CheckpointConfig, ModelCheckpoint
from minispore.train.protocol.callback import (
    EVENTS,
    Callback,
    CallbackManager,
    InternalCallbackParam,
    RunContext,
)
from minispore.train.serialization import load_checkpoint, wait_for_saves
from tests.helpers.stub_models import Rows, make


class Net(Cell):
    """A network whose only parameter counts the steps."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = Parameter(Tensor(np.zeros((), np.int32)))


class Run:
    """A loop without data, of five steps per epoch, which records the files after each change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.net = Net()
        self.changes: list[tuple[int, str]] = []

    def __call__(
        self,
        callbacks: Callback | Sequence[Callback],
        epochs: int = 2,
        fail: int = 0,
    ) -> "Run":
        names: dict[str, object] = {"batch_num": 5, "train_network": self.net}
        context = RunContext(names | {"cur_epoch_num": 0, "cur_step_num": 0})
        params = context.original_args()
        manager = CallbackManager([callbacks] if isinstance(callbacks, Callback) else callbacks)

        def train() -> None:
            manager.on_train_begin(context)
            for step in range(1, 5 * epochs + 1):
                params.cur_step_num, params.cur_epoch_num = step, (step - 1) // 5 + 1
                self.net.steps.set_data(Tensor(np.int32(step)))
                manager.on_train_step_end(context)
                self.record(step)
                if step == fail:
                    raise RuntimeError("boom")
            manager.on_train_end(context)
            self.record(99)

        manager.run(context, train)
        return self

    def record(self, step: int) -> None:
        names = " ".join(checkpoints(self.folder))
        if names != (self.changes[-1][1] if self.changes else ""):
            self.changes.append((step, names))


def checkpoints(folder: Path) -> list[str]:
    """Return the names of the checkpoints in a folder, without prefix and extension."""
    names = sorted(path.name for path in folder.iterdir() if path.suffix != ".meta")
    return [re.sub(r"^m-|\.ckpt$", "", name) for name in names]


# Each step that changes the files, and the files after it; 99 is the end.
OBSERVED: list[tuple[CheckpointConfig, list[tuple[int, str]]]] = [
    (CheckpointConfig(0), []),
    (
        CheckpointConfig(3, keep_checkpoint_max=2),
        [(3, "1_3"), (6, "1_3 2_1"), (9, "2_1 2_4"), (99, "2_4 2_5")],
    ),
    (
        CheckpointConfig(2, keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=5),
        [(2, "1_2"), (4, "1_2 1_4"), (6, "1_2 2_1"), (8, "1_2 2_3"), (10, "1_2 2_5")],
    ),
]


@pytest.mark.parametrize(("config", "expected"), OBSERVED)
def test_files_are_those_of_mindspore(
    tmp_path: Path, config: CheckpointConfig, expected: list[tuple[int, str]]
) -> None:
    assert Run(tmp_path)(ModelCheckpoint("m", str(tmp_path), config)).changes == expected


# Names in the folder, in part of earlier runs; those of no run are left out of account.
NAMES = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["m", "mm", "m+"]),
    st.sampled_from(["", "_0", "_2", "_3", "_10", "_x", "_", "_1_2"]),
    st.sampled_from(["-1_1", "-a_b", "-1", "", "-1_1_breakpoint", "-graph"]),
    st.sampled_from([".ckpt", ".safetensors", ".ckpt.bak", ".tmp", ".meta"]),
)


@given(st.frozensets(NAMES, max_size=4), st.sampled_from(["m", "m+"]))
@example(frozenset({"m_3-1_1.ckpt", "m_10-1_1.ckpt"}), "m")
@example(frozenset({"m-1_1_breakpoint.ckpt"}), "m")
@example(frozenset({"mm-1_1.ckpt"}), "m+")
def test_prefix_suffix_counts_earlier_runs(there: frozenset[str], prefix: str) -> None:
    """As in MindSpore 2.10."""
    runs: list[int] = []
    for name in there:
        start, dash, suffix = name.partition("-")
        number = start.removeprefix(f"{prefix}_")
        is_run = start == prefix or (start.startswith(f"{prefix}_") and number.isdecimal())
        if (
            dash
            and is_run
            and name.endswith((".ckpt", ".safetensors"))
            and "_breakpoint." not in suffix
        ):
            runs.append(0 if start == prefix else int(number))
    ending = f"_{max(runs) + 1}" if runs else ""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file in there:
            (folder / file).touch()
        run = Run(folder)(ModelCheckpoint(prefix, folder, CheckpointConfig(5)), epochs=1)
        made = {path.name for path in folder.iterdir()} - there
        graph = f"{prefix}{ending}-graph.meta"
        assert made == {f"{prefix}{ending}-1_5.ckpt", graph} - there
        text = (folder / graph).read_text("utf-8")
        assert text == f"# The tree of cells that minispore trains.\n{run.net}\n"
        assert all((folder / file).exists() for file in there)  # no file of another run is removed


POLICIES = st.tuples(st.integers(1, 7), st.integers(1, 3))


@given(
    policies=st.lists(POLICIES, min_size=1, max_size=3),
    share=st.booleans(),
    epochs=st.lists(st.integers(1, 2), min_size=1, max_size=2),
    removed=st.booleans(),
)
@example([(1, 1), (6, 3)], True, [1, 2], True)
def test_callbacks_keep_the_union_of_their_files(
    policies: list[tuple[int, int]], share: bool, epochs: list[int], removed: bool
) -> None:
    """Also in a second run with the same callbacks, and after the user has removed a file."""
    files: set[str] = set()
    retained: list[list[str]] = [[] for _ in policies]

    def save(number: int, step: int) -> None:
        label = f"{(step - 1) // 5 + 1}_{(step - 1) % 5 + 1}"
        label = label if share else f"{number}-{label}"
        files.add(label)
        its, most = (
            [*(other for other in retained[number] if other != label), label],
            policies[number][1],
        )
        if len(its) > most:  # what is missing does not count
            its = [file for file in its if file in files]
        retained[number], dropped = its[-most:], its[:-most]
        files.difference_update({*dropped} - {file for listed in retained for file in listed})

    with TemporaryDirectory() as name:
        folder = Path(name)
        savers = [
            ModelCheckpoint(
                "m" if share else f"m-{number}",
                folder,
                CheckpointConfig(every, keep_checkpoint_max=most),
            )
            for number, (every, most) in enumerate(policies)
        ]
        run = Run(folder)
        for length in epochs:
            if removed and files:
                files.remove(first := min(files))
                (folder / f"m-{first}.ckpt").unlink()
            run(savers, epochs=length)
            for step in range(1, 5 * length + 1):
                for number, (every, _) in enumerate(policies):
                    if step % every == 0:
                        save(number, step)
            for number, (every, _) in enumerate(policies):
                if 5 * length % every:
                    save(number, 5 * length)
        assert checkpoints(folder) == sorted(files)


def test_files_are_retained_only_during_the_run(tmp_path: Path) -> None:
    configs = [CheckpointConfig(5, keep_checkpoint_max=most) for most in (9, 1)]
    first, second = (ModelCheckpoint("m", tmp_path, config) for config in configs)
    Run(tmp_path)(first, epochs=1)
    Run(tmp_path)(second, epochs=2)
    assert checkpoints(tmp_path) == ["2_5"]
    assert first.latest_ckpt_file_name == ""  # the second one has removed it


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """An item for each time that the callback waits for saves in the background."""
    items: list[None] = []

    def wait() -> None:
        items.append(None)
        wait_for_saves()

    monkeypatch.setattr(_checkpoint, "wait_for_saves", wait)
    return items


@pytest.mark.parametrize("background", [False, True])
def test_end_of_training_waits_for_its_save(
    tmp_path: Path, background: bool, waits: list[None]
) -> None:
    config = CheckpointConfig(99, async_save=background)
    Run(tmp_path)(ModelCheckpoint("m", str(tmp_path), config))
    assert len(waits) == 2 * background  # before the last step is saved, and after it
    assert checkpoints(tmp_path) == ["2_5"]


@pytest.mark.parametrize("with_state", [False, True])
@pytest.mark.parametrize("finished", [False, True])
def test_last_step_has_the_state_if_asked_for_and_counts_if_the_run_was_not_interrupted(
    tmp_path: Path, with_state: bool, finished: bool
) -> None:
    config = CheckpointConfig(99, append_info=["training_state"] if with_state else None)
    saver = ModelCheckpoint("m", str(tmp_path), config)
    stop = LambdaCallback(on_train_step_end=lambda context: context.request_stop(finished=finished))
    network = nn.Dense(1, 1)
    model = Model(network, nn.MSELoss(), nn.SGD(network.trainable_params(), 0.1))
    model.train(1, NumpySlicesDataset((np.ones((3, 1)), np.ones((3, 1)))), [saver, stop])
    (file,) = tmp_path.glob("*.ckpt")
    assert ("training_state" in load_checkpoint(file)) == with_state
    assert bool(saver.state_dict()["files"]) == finished


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("save", [False, True])
def test_exception_save_writes_breakpoint_file(
    tmp_path: Path, save: bool, background: bool, waits: list[None]
) -> None:
    config = CheckpointConfig(3, exception_save=save, async_save=background)
    checkpoint = ModelCheckpoint("m", str(tmp_path), config)
    with pytest.raises(RuntimeError, match="boom"):
        Run(tmp_path)(checkpoint, fail=4)
    assert len(waits) == 2 * background  # before the third step is saved, and at the end
    assert checkpoints(tmp_path) == ["1_3", "1_4_breakpoint"][: 1 + save]
    assert checkpoint.latest_ckpt_file_name == str(tmp_path / "m-1_3.ckpt")


@given(
    st.sampled_from([event for event in EVENTS if event.startswith("on_train") or "eval" in event]),
    st.integers(1, 6),
    st.integers(0, 2),
    st.sampled_from([-1, 2, 9]),
    st.booleans(),
)
@example("on_train_begin", 1, 0, -1, True)
@example("on_train_epoch_begin", 2, 0, -1, False)
@example("on_train_epoch_begin", 1, 2, 9, True)
@example("on_eval_step_end", 2, 0, -1, True)
def test_breakpoint_file_is_written_at_each_event(
    event: str, times: int, initial: int, sink_size: int, first: bool
) -> None:
    """It has the epoch and its step: 0 before the first, as in MindSpore 2.10."""
    at, count = list[int](), 0

    def fail(run_context: RunContext) -> None:
        nonlocal count
        count += 1
        if count == times:
            raise RuntimeError("mine")

    def note(run_context: RunContext) -> None:
        params = run_context.original_args()
        if params.mode == "train":
            at[:] = [params.cur_epoch_num, at[1] + 1 if at[:1] == [params.cur_epoch_num] else 0]

    def begin(run_context: RunContext) -> None:
        at[:] = [0, 0]

    observe = LambdaCallback(
        on_train_begin=begin, on_train_epoch_begin=note, on_train_step_begin=note
    )
    with TemporaryDirectory() as folder:
        config = CheckpointConfig(99, append_info=["epoch_num", "step_num"], exception_save=True)
        rest: list[Callback] = [ModelCheckpoint("p", folder, config)]
        rest.insert(first, LambdaCallback(**{event: fail}))
        model, failed = make({"acc"}), False
        try:
            model.fit(
                initial + 2, Rows(), Rows(), callbacks=[observe, *rest], initial_epoch=initial,
                sink_size=sink_size, dataset_sink_mode=True,
            )  # fmt: skip
        except RuntimeError:
            failed = True
        files = sorted(Path(folder).glob("*_breakpoint.ckpt"))
        epoch, step = at
        number = 3 * max(0, epoch - initial - 1) + step
        in_epoch = (number - 1) % sink_size + 1 if step and sink_size > 0 else step
        assert [file.name for file in files] == [f"p-{epoch}_{in_epoch}_breakpoint.ckpt"] * failed
        for file in files:
            saved = load_checkpoint(file)
            numbers = [Tensor(saved[name]) for name in ("epoch_num", "step_num")]
            assert [value.item() for value in numbers] == [epoch, number]


def test_exception_in_an_evaluation_alone_saves_nothing(tmp_path: Path) -> None:
    def fail(run_context: RunContext) -> None:
        raise RuntimeError("mine")

    saver = ModelCheckpoint("p", tmp_path, CheckpointConfig(exception_save=True))
    with pytest.raises(RuntimeError, match="mine") as raised:
        make({"acc"}).eval(Rows(), [saver, LambdaCallback(on_eval_step_end=fail)])
    assert not [note for note in raised.value.__notes__ if "on_exception" in note]
    assert not list(tmp_path.iterdir())


def test_saved_values_of_each_option(tmp_path: Path) -> None:
    other = Net()
    info: list[str | dict[str, object]] = ["epoch_num", "step_num", {"lr": 0.5, "note": "x"}]
    config = CheckpointConfig(5, saved_network=other, append_info=info, crc_check=True)
    Run(tmp_path)(ModelCheckpoint("m", str(tmp_path), config))
    loaded = load_checkpoint(tmp_path / "m-2_5.ckpt", crc_check=True)
    result = {n: v if isinstance(v, str) else v.item() for n, v in loaded.items()}
    assert result == {"steps": 0, "epoch_num": 2, "step_num": 10, "lr": 0.5, "note": "x"}


def test_prefix_and_directory_functions(tmp_path: Path) -> None:
    """A state, which names files only, is loaded as well."""

    def prefix(params: InternalCallbackParam) -> str:
        return f"epoch{params.cur_epoch_num}"

    def directory(params: InternalCallbackParam) -> str:
        return str(tmp_path / f"of{params.batch_num}")

    saver = ModelCheckpoint(prefix, directory, CheckpointConfig(5, keep_checkpoint_max=9))
    Run(tmp_path)(saver)
    assert checkpoints(tmp_path / "of5") == ["epoch1", "epoch2"]
    restored = ModelCheckpoint(prefix, str(tmp_path / "of5"))
    restored.load_state_dict(saver.state_dict())
    assert restored.state_dict() == saver.state_dict()
    assert restored.state_dict()["files"]


@pytest.mark.parametrize("name", ["../x", "/x", "a/b", 3])
def test_prefix_function_cannot_leave_the_folder(tmp_path: Path, name: object) -> None:
    folder = tmp_path / "a"
    saver = ModelCheckpoint(lambda _: cast("str", name), folder, CheckpointConfig(5))
    with pytest.raises(ValueError, match=f"'prefix' must be a str .*, but got {name!r}"):
        Run(folder)(saver)
    assert [path.name for path in tmp_path.rglob("*")] == ["a"]


def test_folder_is_created_in_the_constructor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    checkpoint = ModelCheckpoint("m", "a/b", CheckpointConfig(5))
    assert (tmp_path / "a" / "b").is_dir()
    monkeypatch.chdir("a")
    Run(tmp_path / "a" / "b")(checkpoint, epochs=1)
    assert checkpoints(tmp_path / "a" / "b") == ["1_5"]
    Run(tmp_path / "a")(ModelCheckpoint(config=CheckpointConfig(5)), epochs=1)
    assert (tmp_path / "a" / "CKP-1_5.ckpt").exists()


COUNT = st.none() | st.integers(0, 3)
TENSOR = Tensor(np.ones(2, np.float32))
NAMED = st.dictionaries(
    st.sampled_from(["a", "epoch_num"]), st.sampled_from([1, 0.5, "text", True, TENSOR])
)


@given(COUNT, COUNT, COUNT, COUNT, st.none() | st.builds(Cell))
@example(None, 30, 5, 0, None)
@example(1, 0, 0, 5, Cell())
def test_first_of_each_pair_overrides_the_second(
    steps: int | None,
    seconds: int | None,
    most: int | None,
    minutes: int | None,
    network: Cell | None,
) -> None:
    """With neither a maximum nor minutes, one file is kept."""
    assume(steps or seconds or most or minutes)
    config = CheckpointConfig(steps, seconds, most, minutes, saved_network=network)
    assert config.get_checkpoint_policy() == {
        "save_checkpoint_steps": steps,
        "save_checkpoint_seconds": None if steps else seconds,
        "keep_checkpoint_max": most if most or minutes else 1,
        "keep_checkpoint_per_n_minutes": None if most else minutes,
        "saved_network": network,
    }


@given(
    st.none()
    | st.tuples(
        st.lists(st.sampled_from(["epoch_num", "step_num", "training_state"]), max_size=3),
        st.none() | NAMED,
        st.integers(0, 3),
    )
)
def test_append_info_becomes_append_dict(
    info: tuple[list[str], dict[str, object] | None, int] | None,
) -> None:
    """A given value is not replaced by that of the epoch, wherever it is in the list."""
    if info is None:
        assert CheckpointConfig().append_dict is None
        return
    names, values, position = info
    items: list[str | dict[str, object]] = [*names]
    items[position:position] = [] if values is None else [values]
    config = CheckpointConfig(append_info=items)
    numbers = {name: 0 for name in names if name != "training_state"}
    expected = {**numbers, **(values or {})}
    assert (config.append_dict or {}).items() == expected.items()
    assert (config.append_dict is None) == (not expected)
    assert config.training_state == ("training_state" in names)
