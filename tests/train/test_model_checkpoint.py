"""ModelCheckpoint: which files are there after which step, as observed with MindSpore 2.10."""

import errno
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.common import Parameter, Tensor
from minispore.nn.cell import Cell
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.manager import CallbackManager
from minispore.train._protocol.run_context import InternalCallbackParam, RunContext
from minispore.train.callback._checkpoint import ModelCheckpoint
from minispore.train.callback._checkpoint_config import CheckpointConfig
from minispore.train.serialization import load_checkpoint


class Net(Cell):
    """A network whose one parameter counts the steps."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = Parameter(Tensor(np.zeros((), np.int32)))


class Clock:
    """Stands in for the module `time`."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("minispore.train.callback._checkpoint.time", clock)
    return clock


class Run:
    """A loop without data: five steps an epoch, and the list of files after each change."""

    def __init__(self, folder: Path, clock: Clock | None = None, seconds: float = 0.0) -> None:
        self.folder, self.clock, self.seconds = folder, clock, seconds
        self.net = Net()
        self.seen: list[tuple[int, str]] = []

    def __call__(
        self,
        callbacks: Callback | Sequence[Callback],
        epochs: int = 2,
        steps: int = 5,
        stop: int = 0,
        fail: int = 0,
    ) -> "Run":
        names: dict[str, object] = {"batch_num": steps, "train_network": self.net}
        context = RunContext(names | {"cur_epoch_num": 0, "cur_step_num": 0})
        params = context.original_args()
        manager = CallbackManager([callbacks] if isinstance(callbacks, Callback) else callbacks)

        def train() -> None:
            manager.on_train_begin(context)
            for step in range(1, (stop or epochs * steps) + 1):
                params.cur_step_num, params.cur_epoch_num = step, (step - 1) // steps + 1
                self.net.steps.set_data(Tensor(np.int32(step)))
                manager.on_train_step_end(context)
                self.look(step)
                if self.clock is not None:
                    self.clock.now += self.seconds
                if step == fail:
                    raise RuntimeError("boom")
            manager.on_train_end(context)
            self.look(99)

        manager.run(context, train)
        return self

    def look(self, step: int) -> None:
        names = " ".join(checkpoints(self.folder))
        if names != (self.seen[-1][1] if self.seen else ""):
            self.seen.append((step, names))


def checkpoints(folder: Path) -> list[str]:
    """The names of the checkpoints in a folder, without what they have in common."""
    names = sorted(path.name for path in folder.iterdir() if path.suffix != ".meta")
    return [re.sub(r"^m-|\.ckpt$", "", name) for name in names]


# Step after which the files are others, and the files then; 99 is the end.
GOLDEN: dict[str, tuple[CheckpointConfig, list[tuple[int, str]]]] = {
    "each epoch": (CheckpointConfig(5), [(5, "1_5"), (10, "1_5 2_5")]),
    "each third": (
        CheckpointConfig(3),
        [(3, "1_3"), (6, "1_3 2_1"), (9, "1_3 2_1 2_4"), (99, "1_3 2_1 2_4 2_5")],
    ),
    "each third, two kept": (
        CheckpointConfig(3, keep_checkpoint_max=2),
        [(3, "1_3"), (6, "1_3 2_1"), (9, "2_1 2_4"), (99, "2_4 2_5")],
    ),
    "each fourth, one kept": (
        CheckpointConfig(4, keep_checkpoint_max=1),
        [(4, "1_4"), (8, "2_3"), (99, "2_5")],
    ),
    "the end only": (CheckpointConfig(100), [(99, "2_5")]),
    "never": (CheckpointConfig(0), []),
    "none kept is one kept": (
        CheckpointConfig(2, keep_checkpoint_max=0),
        [(2, "1_2"), (4, "1_4"), (6, "2_1"), (8, "2_3"), (10, "2_5")],
    ),
    "by minutes": (
        CheckpointConfig(2, keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=5),
        [(2, "1_2"), (4, "1_2 1_4"), (6, "1_2 2_1"), (8, "1_2 2_3"), (10, "1_2 2_5")],
    ),
    "the default": (
        CheckpointConfig(),
        [
            (1, "1_1"),
            (2, "1_1 1_2"),
            (3, "1_1 1_2 1_3"),
            (4, "1_1 1_2 1_3 1_4"),
            (5, "1_1 1_2 1_3 1_4 1_5"),
            (6, "1_2 1_3 1_4 1_5 2_1"),
            (7, "1_3 1_4 1_5 2_1 2_2"),
            (8, "1_4 1_5 2_1 2_2 2_3"),
            (9, "1_5 2_1 2_2 2_3 2_4"),
            (10, "2_1 2_2 2_3 2_4 2_5"),
        ],
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_files_by_steps(tmp_path: Path, name: str) -> None:
    config, expected = GOLDEN[name]
    checkpoint = ModelCheckpoint("m", str(tmp_path), config)
    assert Run(tmp_path)(checkpoint).seen == expected
    last = expected[-1][1].split()[-1] if expected else ""
    latest = str(tmp_path / f"m-{last}.ckpt") if last else ""
    assert checkpoint.latest_ckpt_file_name == latest


def test_files_by_seconds(tmp_path: Path, clock: Clock) -> None:
    """25 s a step: more than 60 s have passed after the 4th step, and so on."""
    checkpoint = ModelCheckpoint("m", str(tmp_path), CheckpointConfig(None, 60))
    seen = Run(tmp_path, clock, 25)(checkpoint, epochs=2).seen
    assert seen == [(4, "1_4"), (7, "1_4 2_2"), (10, "1_4 2_2 2_5")]


def test_seconds_that_never_pass_leave_the_last_step(tmp_path: Path) -> None:
    checkpoint = ModelCheckpoint("m", str(tmp_path), CheckpointConfig(None, 1000))
    assert Run(tmp_path)(checkpoint).seen == [(99, "2_5")]


def test_kept_by_minutes(tmp_path: Path, clock: Clock) -> None:
    """25 s a step: the first and each third file are kept, and beside them the newest."""
    config = CheckpointConfig(1, keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=1)
    seen = Run(tmp_path, clock, 25)(ModelCheckpoint("m", str(tmp_path), config)).seen
    assert seen[-1] == (10, "1_1 1_4 2_2 2_5")
    assert dict(seen)[6] == "1_1 1_4 2_1"


@given(st.integers(1, 12), st.integers(1, 4), st.integers(1, 3), st.integers(1, 6))
def test_the_newest_are_kept_and_the_last_is_among_them(
    tmp_path_factory: pytest.TempPathFactory, steps: int, keep: int, epochs: int, size: int
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    config = CheckpointConfig(steps, keep_checkpoint_max=keep)
    run = Run(folder)(ModelCheckpoint("m", str(folder), config), epochs, size)
    total = epochs * size
    saved = [*range(steps, total, steps), total][-keep:]
    names = [f"{(s - 1) // size + 1}_{(s - 1) % size + 1}" for s in saved]
    assert sorted(names) == checkpoints(folder)
    for step, name in zip(saved, names, strict=True):
        count = load_checkpoint(folder / f"m-{name}.ckpt")["steps"]
        assert isinstance(count, Parameter)
        assert count.item() == step
    assert run.net.steps.item() == total


# What MindSpore 2.10 calls the prefix "m" where these files are.
@pytest.mark.parametrize(
    ("there", "ending"),
    [
        ("", ""),
        ("m-1_1.ckpt", "_1"),
        ("m-1_1.safetensors", "_1"),
        ("m-a_b.ckpt", "_1"),
        ("m_5-1_1.ckpt", "_6"),
        ("m-1_1.ckpt m_3-1_1.ckpt", "_4"),
        ("m_3-1_1.ckpt m_10-1_1.ckpt", "_11"),
        ("m_0-1_1.ckpt", "_1"),
        ("m_2-1.ckpt", "_3"),
        (
            "m.ckpt m_1.ckpt m_x-1_1.ckpt mm-1_1.ckpt m-1_1.tmp m_1_2-1_1.ckpt m_-1_1.ckpt",
            "",
        ),
        (
            "m-1_1.ckpt.bak m-graph.meta m_1-graph.meta m_2 mckpt m-1_1_breakpoint.ckpt",
            "",
        ),
    ],
)
def test_the_ending_of_the_prefix(tmp_path: Path, there: str, ending: str) -> None:
    for name in there.split():
        (tmp_path / name).touch()
    Run(tmp_path)(ModelCheckpoint("m", str(tmp_path), CheckpointConfig(5)), epochs=1)
    made = {path.name for path in tmp_path.iterdir()} - set(there.split())
    expected = {f"m{ending}-1_5.ckpt", f"m{ending}-graph.meta"}
    assert made == expected - set(there.split())


def test_a_prefix_is_no_pattern(tmp_path: Path) -> None:
    (tmp_path / "mm-1_1.ckpt").touch()
    Run(tmp_path)(ModelCheckpoint("m+", str(tmp_path), CheckpointConfig(5)), epochs=1)
    assert (tmp_path / "m+-1_5.ckpt").exists()


def test_the_tree_of_cells(tmp_path: Path) -> None:
    run = Run(tmp_path)(ModelCheckpoint("mnist", str(tmp_path)), epochs=1)
    text = (tmp_path / "mnist-graph.meta").read_text("utf-8")
    assert text == f"# The tree of cells that minispore trains.\n{run.net}\n"


def test_a_requested_stop_saves_the_last_step(tmp_path: Path) -> None:
    checkpoint = ModelCheckpoint("m", str(tmp_path), CheckpointConfig(3))
    assert Run(tmp_path)(checkpoint, stop=4).seen == [(3, "1_3"), (99, "1_3 1_4")]


@pytest.mark.parametrize("save", [False, True])
def test_an_exception(tmp_path: Path, save: bool) -> None:
    config = CheckpointConfig(3, exception_save=save)
    checkpoint = ModelCheckpoint("m", str(tmp_path), config)
    with pytest.raises(RuntimeError, match="boom"):
        Run(tmp_path)(checkpoint, fail=4)
    assert checkpoints(tmp_path) == ["1_3", "1_4_breakpoint"][: 1 + save]
    assert checkpoint.latest_ckpt_file_name == str(tmp_path / "m-1_3.ckpt")


def test_used_again_it_replaces_its_own_files(tmp_path: Path) -> None:
    checkpoint = ModelCheckpoint("m", str(tmp_path), CheckpointConfig(3, keep_checkpoint_max=3))
    run = Run(tmp_path)
    assert run(checkpoint, epochs=1).seen[-1] == (99, "1_3 1_5")
    run(checkpoint, epochs=2)
    assert checkpoints(tmp_path) == ["2_1", "2_4", "2_5"]


def test_two_in_one_folder(tmp_path: Path) -> None:
    callbacks = [
        ModelCheckpoint(name, str(tmp_path), CheckpointConfig(steps, keep_checkpoint_max=1))
        for name, steps in (("m-a", 3), ("m-b", 2))
    ]
    Run(tmp_path)(callbacks)
    assert checkpoints(tmp_path) == ["a-2_5", "b-2_5"]


def test_a_file_that_another_keeps_is_not_removed(tmp_path: Path) -> None:
    configs = [
        CheckpointConfig(2, keep_checkpoint_max=1),
        CheckpointConfig(3, keep_checkpoint_max=9),
    ]
    Run(tmp_path)([ModelCheckpoint("m", str(tmp_path), config) for config in configs])
    assert checkpoints(tmp_path) == ["1_3", "2_1", "2_4", "2_5"]


def test_files_of_an_older_run_are_not_removed(tmp_path: Path) -> None:
    for _ in range(2):
        config = CheckpointConfig(5, keep_checkpoint_max=1)
        Run(tmp_path)(ModelCheckpoint("m", str(tmp_path), config))
    assert checkpoints(tmp_path) == ["2_5", "m_1-2_5"]


def test_a_file_that_was_removed_by_hand_is_not_missed(tmp_path: Path) -> None:
    checkpoint = ModelCheckpoint("m", str(tmp_path), CheckpointConfig(5, keep_checkpoint_max=1))
    run = Run(tmp_path)(checkpoint, epochs=1)
    (tmp_path / "m-1_5.ckpt").unlink()
    run(checkpoint, epochs=2)
    assert checkpoints(tmp_path) == ["2_5"]


def test_what_is_saved(tmp_path: Path) -> None:
    other = Net()
    info: list[str | dict[str, object]] = ["epoch_num", "step_num", {"lr": 0.5, "note": "x"}]
    config = CheckpointConfig(5, saved_network=other, append_info=info, crc_check=True)
    Run(tmp_path)(ModelCheckpoint("m", str(tmp_path), config))
    loaded = load_checkpoint(tmp_path / "m-2_5.ckpt", crc_check=True)
    found = {n: v if isinstance(v, str) else v.item() for n, v in loaded.items()}
    assert found == {"steps": 0, "epoch_num": 2, "step_num": 10, "lr": 0.5, "note": "x"}


def test_safetensors(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    config = CheckpointConfig(5, format="safetensors")
    Run(tmp_path)(ModelCheckpoint("m", str(tmp_path), config))
    assert checkpoints(tmp_path) == ["1_5.safetensors", "2_5.safetensors"]


def test_names_by_functions(tmp_path: Path) -> None:
    def prefix(params: InternalCallbackParam) -> str:
        return f"epoch{params.cur_epoch_num}"

    def directory(params: InternalCallbackParam) -> str:
        return str(tmp_path / f"of{params.batch_num}")

    Run(tmp_path)(ModelCheckpoint(prefix, directory, CheckpointConfig(5)))
    assert checkpoints(tmp_path / "of5") == ["epoch1", "epoch2"]


@pytest.mark.parametrize("name", ["../x", "/x", "a/b", 3])
def test_a_name_by_a_function_stays_in_the_folder(tmp_path: Path, name: object) -> None:
    folder = tmp_path / "a"
    saver = ModelCheckpoint(lambda _: cast("str", name), folder, CheckpointConfig(5))
    with pytest.raises(ValueError, match=f"'prefix' must be a str .*, but got {name!r}"):
        Run(folder)(saver)
    assert [path.name for path in tmp_path.rglob("*")] == ["a"]


def test_names_by_functions_go_on_after_a_resume(tmp_path: Path) -> None:
    def saver() -> ModelCheckpoint:
        return ModelCheckpoint(lambda params: f"e{params.cur_epoch_num}", str(tmp_path))

    old, new = saver(), saver()
    Run(tmp_path)(old, epochs=1)
    assert old.state_dict()["files"]
    new.load_state_dict(old.state_dict())
    assert new.state_dict() == old.state_dict()


def test_the_folder_is_made_at_once_and_does_not_move(
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


@pytest.mark.parametrize(
    ("error", "argument", "changes"),
    [
        (ValueError, "prefix", {"prefix": 3}),
        (ValueError, "prefix", {"prefix": "a/b"}),
        (ValueError, "prefix", {"prefix": None}),
        (TypeError, "directory", {"directory": 3}),
        (ValueError, "directory", {"directory": ""}),
        (NotADirectoryError, "directory", {"directory": __file__}),
        (TypeError, "config", {"config": 3}),
    ],
)
def test_wrong_arguments(error: type[Exception], argument: str, changes: dict[str, object]) -> None:
    with pytest.raises(error, match=argument):
        ModelCheckpoint(**changes)  # type: ignore[arg-type]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_checkpoints_are_not_to_be_written(tmp_path: Path) -> None:
    Run(tmp_path)(ModelCheckpoint("m", str(tmp_path), CheckpointConfig(5)))
    assert (tmp_path / "m-2_5.ckpt").stat().st_mode & 0o777 == 0o400


def test_a_file_for_a_folder_is_told_as_the_system_does() -> None:
    with pytest.raises(NotADirectoryError, match="For 'ModelCheckpoint', 'directory'") as raised:
        ModelCheckpoint(directory=__file__)
    assert (raised.value.errno, raised.value.filename) == (errno.ENOTDIR, __file__)
