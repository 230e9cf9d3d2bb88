"""ModelCheckpoint: save what is trained, now and then and at the end."""

import errno
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar
from weakref import WeakSet

from minispore._atomic import replacing
from minispore._checks import check_type
from minispore.train.callback._base import Callback
from minispore.train.callback._checkpoint_config import CheckpointConfig
from minispore.train.callback._run_context import InternalCallbackParam, RunContext
from minispore.train.serialization import save_checkpoint

_OWNER = "ModelCheckpoint"
# How a file or folder is named: once and for all, or anew each time.
_Name = Callable[[InternalCallbackParam], str]


class ModelCheckpoint(Callback):
    """Save the network that is trained, and its optimiser's state, as `config` says.

    The files are `prefix-epoch_step.ckpt`, counting steps from the epoch's beginning. Unless the
    last step has just been saved, it is saved when training ends. If the folder already holds
    checkpoints of that prefix when the callback is made, the prefix gets the next of the endings
    `_1`, `_2`, …, so that no older run's file is replaced.

    It also writes `prefix-graph.meta`, for which MindSpore has its compiled graph; there is none
    here, and the file holds the tree of cells as text.

    Files are removed only by the ModelCheckpoint that wrote them, and never while another one
    keeps the same file.

    Source: mindspore.train.ModelCheckpoint.

    Args:
        prefix: How the files' names begin; or a function that makes a file's whole name but the
            ending from the callback parameters.
        directory: The folder, made if it is not there; by default the current one. Or a function
            that makes it from the callback parameters.
        config: When to save and what to keep; by default each step, the newest 5.

    Raises:
        TypeError: `directory` or `config` is of a wrong type.
        ValueError: `prefix` is of a wrong type or holds a "/", or `directory` is empty.
        NotADirectoryError: `directory` is a file.

    Examples:
        >>> import tempfile
        >>> from minispore import nn
        >>> folder = tempfile.TemporaryDirectory()
        >>> config = CheckpointConfig(save_checkpoint_steps=2, keep_checkpoint_max=2)
        >>> checkpoint = ModelCheckpoint("net", folder.name, config)
        >>> run = RunContext({"train_network": nn.Dense(3, 2), "batch_num": 4})
        >>> checkpoint.on_train_begin(run)
        >>> for step in range(1, 8):
        ...     run.original_args().update(cur_epoch_num=1 + (step - 1) // 4, cur_step_num=step)
        ...     checkpoint.on_train_step_end(run)
        >>> checkpoint.on_train_end(run)
        >>> sorted(os.listdir(folder.name))
        ['net-2_2.ckpt', 'net-2_3.ckpt', 'net-graph.meta']
        >>> folder.cleanup()
    """

    _all: ClassVar[WeakSet["ModelCheckpoint"]] = WeakSet()

    def __init__(
        self,
        prefix: str | _Name = "CKP",
        directory: str | os.PathLike[str] | _Name | None = None,
        config: CheckpointConfig | None = None,
    ) -> None:
        super().__init__()
        check_type(config, CheckpointConfig, "config", _OWNER, none=True)
        self._config = CheckpointConfig() if config is None else config
        self._directory = _directory(directory)
        self._prefix = _prefix(prefix)
        if isinstance(self._prefix, str) and isinstance(self._directory, str):
            self._prefix += _next_ending(self._directory, self._prefix)
        self._files: list[str] = []  # those that are kept, the oldest first
        self._latest = ""
        self._start()
        self._all.add(self)

    @property
    def latest_ckpt_file_name(self) -> str:
        """The path of the newest checkpoint, "" before there is one."""
        return self._latest

    def on_train_begin(self, run_context: RunContext) -> None:
        """Start counting; write the tree of cells."""
        self._start()
        if isinstance(self._prefix, str):
            params = run_context.original_args()
            tree = f"# The tree of cells that minispore trains.\n{params.train_network}\n"
            with replacing(self._path(params, f"{self._prefix}-graph.meta")) as file:
                file.write(tree.encode())

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Save if it is time."""
        params = run_context.original_args()
        steps, seconds = self._config.save_checkpoint_steps, self._config.save_checkpoint_seconds
        due = (
            params.cur_step_num % steps == 0
            if steps
            else seconds and time.monotonic() - self._saved_time > seconds
        )
        if due:
            self._save(params)

    def on_train_end(self, run_context: RunContext) -> None:
        """Save the last step, unless that has been done or nothing is to be saved."""
        params = run_context.original_args()
        wanted = self._config.save_checkpoint_steps or self._config.save_checkpoint_seconds
        if wanted and params.get("cur_step_num", 0) != self._saved_step:
            self._save(params)

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        """Save what has been trained so far, if the policy says so."""
        params = run_context.original_args()
        if self._config.exception_save and params.get("cur_step_num", 0):
            self._write(params, f"{self._name(params)}_breakpoint")

    def _start(self) -> None:
        """Begin a run: nothing saved yet, and the clocks at zero."""
        self._saved_step = 0
        self._saved_time = time.monotonic()
        self._kept_time: float | None = None
        self._newest_only = ""  # the file that the next one replaces, where minutes count

    def _save(self, params: InternalCallbackParam) -> None:
        """Write a checkpoint, then remove those that the policy does not keep."""
        path = self._write(params, self._name(params))
        self._latest = path
        self._saved_step = params.cur_step_num
        self._saved_time = time.monotonic()
        if path in self._files:
            self._files.remove(path)
        self._files.append(path)
        if self._config.keep_checkpoint_per_n_minutes:
            self._keep_by_time(path, 60 * self._config.keep_checkpoint_per_n_minutes)
        elif self._config.keep_checkpoint_max:
            for old in self._files[: -self._config.keep_checkpoint_max]:
                self._remove(old)

    def _keep_by_time(self, path: str, seconds: int) -> None:
        if self._newest_only in self._files and self._newest_only != path:
            self._remove(self._newest_only)
        now = time.monotonic()
        if self._kept_time is None or now - self._kept_time >= seconds:
            self._kept_time, self._newest_only = now, ""
        else:
            self._newest_only = path

    def _remove(self, path: str) -> None:
        self._files.remove(path)
        if not any(path in other._files for other in self._all if other is not self):
            # Whoever has removed or moved it by hand meant to.
            with suppress(FileNotFoundError):
                os.unlink(path)

    def _name(self, params: InternalCallbackParam) -> str:
        if not isinstance(self._prefix, str):
            return self._prefix(params)
        step = (params.cur_step_num - 1) % params.batch_num + 1
        return f"{self._prefix}-{params.cur_epoch_num}_{step}"

    def _path(self, params: InternalCallbackParam, name: str) -> str:
        directory = self._directory
        if not isinstance(directory, str):
            directory = os.path.abspath(directory(params))
        os.makedirs(directory, exist_ok=True)
        return os.path.join(directory, name)

    def _write(self, params: InternalCallbackParam, name: str) -> str:
        config = self._config
        path = self._path(params, f"{name}.{config.format}")
        network = config.saved_network
        save_checkpoint(
            params.train_network if network is None else network,
            path,
            append_dict=self._appended(params),
            crc_check=config.crc_check,
            format=config.format,
        )
        return path

    def _appended(self, params: InternalCallbackParam) -> dict[str, object] | None:
        if self._config.append_dict is None:
            return None
        now = {"epoch_num": params.cur_epoch_num, "step_num": params.cur_step_num}
        return {name: now.get(name, value) for name, value in self._config.append_dict.items()}


def _prefix(prefix: str | _Name) -> str | _Name:
    if not callable(prefix) and (not isinstance(prefix, str) or "/" in prefix or os.sep in prefix):
        raise ValueError(
            f"For '{_OWNER}', the argument 'prefix' must be a function or a str without '/', "
            f"but got {prefix!r}."
        )
    return prefix


def _directory(directory: str | os.PathLike[str] | _Name | None) -> str | _Name:
    if directory is None:
        return os.getcwd()
    if callable(directory):
        return directory
    check_type(directory, (str, os.PathLike), "directory", _OWNER)
    if not os.fspath(directory):
        raise ValueError(f"For '{_OWNER}', the argument 'directory' must not be empty.")
    path = os.path.abspath(directory)
    if os.path.exists(path) and not os.path.isdir(path):
        raise NotADirectoryError(errno.ENOTDIR, f"For '{_OWNER}', 'directory' is a file", path)
    # Made at once: a folder that cannot be made is better known before training than after.
    os.makedirs(path, exist_ok=True)
    return path


def _next_ending(directory: str, prefix: str) -> str:
    """The ending that tells this run's files from those that are there: "" or `_n`."""
    form = re.compile(re.escape(prefix) + r"(?:_(\d+))?-(?!.*_breakpoint\.).*\.(ckpt|safetensors)")
    found = [match for name in os.listdir(directory) if (match := form.fullmatch(name))]
    return f"_{max(int(match[1] or 0) for match in found) + 1}" if found else ""
