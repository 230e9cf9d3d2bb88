"""Asynchronous saves: values at the call, in order, and every error is raised."""

import shutil
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,  # pyright: ignore[reportUnknownVariableType]
)

from minispore.common import Parameter, Tensor
from minispore.train.checkpoint import (
    async_writer,
    checkpoint_file,
    conversion,
    loading,
    safetensors_file,
    saving,
)
from minispore.train.serialization import (
    async_ckpt_thread_status,
    ckpt_to_safetensors,
    load_checkpoint,
    load_checkpoint_async,
    save_checkpoint,
    wait_for_saves,
)
from tests.helpers.processes import run_python


def parameter(fill: float, count: int = 3) -> Parameter:
    return Parameter(Tensor(np.full(count, fill, np.float32)), name="p")


def value(path: Path) -> float:
    loaded = load_checkpoint(path)["p"]
    assert isinstance(loaded, Parameter)
    assert np.unique(loaded.asnumpy()).size == 1
    return float(loaded.asnumpy()[0])


@pytest.fixture(autouse=True)
def saves(monkeypatch: pytest.MonkeyPatch) -> Iterator[async_writer.AsyncCheckpointWriter]:
    """Use a new writer for the test."""
    fresh = async_writer.AsyncCheckpointWriter()
    for module in (saving, loading, conversion):
        monkeypatch.setattr(module, "background", fresh)
    yield fresh
    wait_for_saves()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Return an event that writing waits for."""
    opened = threading.Event()
    write = saving.write_file

    def late(*arguments: object) -> None:
        assert opened.wait(60)
        write(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(saving, "write_file", late)
    yield opened
    opened.set()
    wait_for_saves()


@pytest.mark.parametrize("how", [True, "thread", "process"])
def test_async_save_writes_values_at_call(
    tmp_path: Path, gate: threading.Event, how: bool | str
) -> None:
    path = tmp_path / "x.ckpt"
    weights = parameter(1.0)
    save_checkpoint([weights], path, async_save=how, append_dict={"note": "text"})
    assert async_ckpt_thread_status()
    assert f"saving {path}" in {thread.name for thread in threading.enumerate()}
    assert not path.exists()
    weights.asnumpy()[:] = 2.0  # as an optimiser does it, in place
    gate.set()
    wait_for_saves()
    assert not async_ckpt_thread_status()
    assert value(path) == 1.0
    assert load_checkpoint(path)["note"] == "text"


@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("format_", ["ckpt", "safetensors"])
def test_async_save_writes_same_bytes(tmp_path: Path, format_: str, crc: bool) -> None:
    weights = parameter(1.0)
    expected = BytesIO()
    write = safetensors_file.write if format_ == "safetensors" else checkpoint_file.write
    write(expected, [("p", weights.asnumpy())], crc_check=crc)
    path = tmp_path / f"x.{format_}"
    for behind in (False, True):
        save_checkpoint([weights], path, async_save=behind, crc_check=crc, format=format_)
        wait_for_saves()
        assert path.read_bytes() == expected.getvalue()
        path.unlink()


def test_folder_is_resolved_at_the_call(
    tmp_path: Path, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save_checkpoint([parameter(1.0)], "x", async_save=True)
    future = load_checkpoint_async("x.ckpt")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    gate.set()
    assert list(future.result()) == ["p"]
    assert value(tmp_path / "x.ckpt") == 1.0


@pytest.mark.parametrize("second", [False, True])
def test_files_appear_in_order_of_saves(
    tmp_path: Path, gate: threading.Event, second: bool
) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint([parameter(1.0)], path, async_save=True)
    threading.Timer(0.05, gate.set).start()
    save_checkpoint([parameter(2.0)], path, async_save=second)
    wait_for_saves()
    assert value(path) == 2.0


@pytest.mark.parametrize("names", [("folder", "folder"), ("folder", "link"), ("link", "folder")])
def test_loading_waits_for_async_save(
    tmp_path: Path, gate: threading.Event, names: tuple[str, str]
) -> None:
    """Under whichever name of the file."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    saved, loaded = (tmp_path / name / "x.ckpt" for name in names)
    save_checkpoint([parameter(1.0)], saved, async_save=True)
    future = load_checkpoint_async(loaded)
    threading.Timer(0.05, gate.set).start()
    assert value(loaded) == 1.0
    assert list(future.result()) == ["p"]
    assert not async_ckpt_thread_status()


def test_conversion_waits_for_async_save(tmp_path: Path, gate: threading.Event) -> None:
    save_checkpoint([parameter(1.0)], tmp_path / "x", async_save=True)
    threading.Timer(0.05, gate.set).start()
    ckpt_to_safetensors(tmp_path)
    assert (tmp_path / "x.safetensors").exists()


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt(), SystemExit(3)])
def test_any_error_of_thread_is_raised_once(
    saves: async_writer.AsyncCheckpointWriter, error: BaseException
) -> None:
    def write() -> None:
        raise error

    saves.start("x", write)
    with pytest.raises(type(error)) as raised:
        saves.wait()
    assert raised.value is error
    saves.wait()


def test_async_error_is_raised_once_by_wait(tmp_path: Path) -> None:
    save_checkpoint([parameter(1.0)], tmp_path / "no" / "x", async_save=True)
    with pytest.raises(FileNotFoundError, match="no/x.ckpt") as caught:
        wait_for_saves()
    path = (tmp_path / "no" / "x.ckpt").resolve()
    note = f"This happened while '{path}' was saved in the background."
    assert caught.value.__notes__ == [note]
    wait_for_saves()


@pytest.mark.parametrize("when", ["before it is written", "while it is written"])
def test_removed_folder_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gate: threading.Event, when: str
) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    write, removed = checkpoint_file.write, list[bool]()

    def remove_and_write(*arguments: object, **options: object) -> None:
        write(*arguments, **options)  # type: ignore[arg-type]
        if not removed:
            shutil.rmtree(folder.parent)
            removed.append(True)

    save_checkpoint([parameter(1.0)], folder / "x", async_save=True)
    if when == "while it is written":
        monkeypatch.setattr(checkpoint_file, "write", remove_and_write)
    else:
        shutil.rmtree(folder.parent)
    gate.set()
    wait_for_saves()
    assert value(folder / "x.ckpt") == 1.0


def test_invalid_arguments_raise_at_call(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="save_obj"):
        save_checkpoint([3], tmp_path / "x", async_save=True)  # type: ignore[arg-type]
    with pytest.raises(IsADirectoryError):
        save_checkpoint([parameter(1.0)], tmp_path, async_save=True)
    assert not async_ckpt_thread_status()


@pytest.mark.skipif(sys.platform == "win32", reason="the signal is POSIX's")
def test_interrupted_wait_can_be_repeated(tmp_path: Path, gate: threading.Event) -> None:
    save_checkpoint([parameter(1.0)], tmp_path / "x", async_save=True)
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        wait_for_saves()
    assert async_ckpt_thread_status()
    threading.Timer(0.1, gate.set).start()
    wait_for_saves()
    assert value(tmp_path / "x.ckpt") == 1.0


def test_copies_are_released_after_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saves: async_writer.AsyncCheckpointWriter
) -> None:
    copies: list[weakref.ref[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]] = []
    contiguous: list[bool] = []
    write = saving.write_file

    def remember(path: str, values: Iterator[tuple[str, object]], *others: object) -> None:
        pairs = list(values)
        copies.extend(weakref.ref(array) for _, array in pairs)  # type: ignore[arg-type]
        contiguous.extend(array.flags.c_contiguous for _, array in pairs)  # type: ignore[attr-defined]
        write(path, pairs, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(saving, "write_file", remember)
    transposed = Tensor.from_numpy(np.ones((2, 3), np.float32).T)
    save_checkpoint({"p": transposed}, tmp_path / "x", async_save=True)
    saves.wait_for(str(tmp_path / "x.ckpt"))
    assert [copy() for copy in copies] == [None]
    assert contiguous == [True]  # so that writing needs no other copy


def test_concurrent_saves_all_complete(tmp_path: Path) -> None:
    errors: list[OSError] = []

    def save(path: Path) -> None:
        while True:  # what raises another save's error has not been done
            try:
                return save_checkpoint([parameter(1.0)], path, async_save=True)
            except FileNotFoundError as error:
                errors.append(error)

    def work(number: int) -> None:
        for turn in range(6):
            save((tmp_path / "no" if turn % 3 == 2 else tmp_path) / f"{number}-{turn}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    save(tmp_path / "last")
    wait_for_saves()
    assert len(list(tmp_path.glob("*.ckpt"))) == 4 * 4 + 1
    assert len({error.filename for error in errors}) == len(errors) == 4 * 2


AT_EXIT = """
import sys
import numpy as np
from minispore import Parameter, Tensor
from minispore.train.serialization import save_checkpoint
weights = Parameter(Tensor(np.ones(1_000_000, np.float32)), name="p")
save_checkpoint([weights], sys.argv[1], async_save=True)
"""


def at_exit(path: Path) -> str:
    return run_python("-c", AT_EXIT, path).stderr


@pytest.mark.full
def test_program_end_waits_for_save(tmp_path: Path) -> None:
    assert at_exit(tmp_path / "x.ckpt") == ""
    assert value(tmp_path / "x.ckpt") == 1.0


@pytest.mark.full
def test_program_end_prints_pending_error(tmp_path: Path) -> None:
    printed = at_exit(tmp_path / "no" / "x.ckpt")
    assert "FileNotFoundError" in printed
    assert "no/x.ckpt" in printed


class Saves(RuleBasedStateMachine):
    """A state machine of saves, failing saves and waits, compared with the expected files."""

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.files: dict[str, float] = {}
        self.pending = False
        self.count = 0.0

    def attempt(self, action: Callable[[], None]) -> bool:
        """Return whether the call succeeded; it must fail if an error is pending."""
        if self.pending:
            self.pending = False
            with pytest.raises(FileNotFoundError):
                action()
            return False
        action()
        return True

    @rule(name=st.sampled_from("ab"), background=st.booleans())
    def save(self, name: str, background: bool) -> None:
        self.count += 1
        weights = parameter(self.count)
        path = self.path / f"{name}.ckpt"
        if self.attempt(lambda: save_checkpoint([weights], path, async_save=background)):
            self.files[name] = self.count
        weights.asnumpy()[:] = -1

    @rule()
    def fail(self) -> None:
        path = self.path / "no" / "x"
        if self.attempt(lambda: save_checkpoint([parameter(0)], path, async_save=True)):
            self.pending = True

    @rule()
    def wait(self) -> None:
        self.attempt(wait_for_saves)

    @invariant()
    def what_is_loaded_was_saved(self) -> None:
        for name, expected in self.files.items():
            assert value(self.path / f"{name}.ckpt") == expected
        assert {path.stem for path in self.path.glob("*.ckpt")} == self.files.keys()

    def teardown(self) -> None:
        self.wait()
        self.folder.cleanup()


def test_save_state_machine() -> None:
    run_state_machine_as_test(Saves, settings=settings(stateful_step_count=15))
