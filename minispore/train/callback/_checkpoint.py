"""ModelCheckpoint: save what is trained, now and then and at the end."""

import os
import time
from collections.abc import Callable, Mapping
from types import TracebackType

from minispore._atomic import replacing
from minispore._checks import check_type
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import InternalCallbackParam, Occasion, RunContext
from minispore.train._protocol.states import entry, numbers
from minispore.train._training_state import TrainingState
from minispore.train.callback._checkpoint_config import CheckpointConfig
from minispore.train.callback._file_names import file_prefix, folder, next_ending, prefix_of_run
from minispore.train.callback._kept_files import KeptFiles
from minispore.train.serialization import save_checkpoint, wait_for_saves

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

    Files are removed only by the ModelCheckpoint that wrote them, and never while another callback
    keeps the same file.

    With ``append_info=["training_state"]`` in `config`, `Model.train` and `Model.fit` can resume
    from the files. Each is then saved when all callbacks have seen the step, and a resumed run
    writes and removes the files that the uninterrupted one would have. The last step of a run that
    is stopped is saved beside the files that are kept, and is removed by a resumed run when it
    saves its next.

    Source: mindspore.train.ModelCheckpoint.

    Args:
        prefix: How the files' names begin; or a function that makes a file's whole name but the
            ending from the callback parameters.
        directory: The folder, made if it is not there; by default the current one. Or a function
            that makes it from the callback parameters.
        config: When to save and what to keep; by default each step, the newest 5.

    Raises:
        TypeError: `directory` or `config` is of a wrong type.
        ValueError: `prefix`, or in training what it returns, is of a wrong type or holds a "/"; or
            `directory` is empty.
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

    chief_only = True
    _kept: str
    _kept_time: float | None
    _resumed: bool

    def __init__(
        self,
        prefix: str | _Name = "CKP",
        directory: str | os.PathLike[str] | _Name | None = None,
        config: CheckpointConfig | None = None,
    ) -> None:
        super().__init__()
        check_type(config, CheckpointConfig, "config", _OWNER, none=True)
        self._config = CheckpointConfig() if config is None else config
        self._directory = directory if callable(directory) else folder(directory, _OWNER)
        self._prefix = prefix if callable(prefix) else file_prefix(prefix, _OWNER)
        self._first_prefix = self._prefix
        if isinstance(self._prefix, str) and isinstance(self._directory, str):
            self._prefix += next_ending(self._directory, self._prefix)
        self._files = KeptFiles()
        self._latest = ""
        self._start()

    @property
    def latest_ckpt_file_name(self) -> str:
        """The path of the newest checkpoint, "" if there is none."""
        path = self._in_passing or self._latest
        # A file of an earlier run may be gone; one saved in the background may not exist yet.
        return path if self._config.async_save or os.path.exists(path) else ""

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._files.end_run()

    def on_train_begin(self, run_context: RunContext) -> None:
        """Start counting."""
        self._start()
        self._files = KeptFiles(self._files)
        if self._config.training_state:
            run_context.add_state_saver(self)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Save if it is time; before the first time, write the tree of cells."""
        params = run_context.original_args()
        if not self._described:
            self._describe(params)
        if self._resumed:
            self._resumed = False
            self._adopt(params, params.cur_step_num - 1)
        steps, seconds = self._config.save_checkpoint_steps, self._config.save_checkpoint_seconds
        due = (
            params.cur_step_num % steps == 0
            if steps
            else seconds and time.monotonic() - self._saved_time > seconds
        )
        if due and self._config.training_state:
            run_context.request_save(self)
        elif due:
            self._save(params)

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, occasion: Occasion
    ) -> None:
        """Save with the training state: what is due, and the last step wherever a run is left."""
        params = run_context.original_args()
        if occasion == "asked" or (occasion == "ended" and self._is_missing(params)):
            self._save(params, state)
        elif occasion == "stopped" and self._is_missing(params):
            self._save_in_passing(params, state)
        elif occasion == "resumed":
            self._adopt(params, params.cur_step_num)

    def on_train_end(self, run_context: RunContext) -> None:
        """Save the last step, unless that has been done or nothing is to be saved."""
        params = run_context.original_args()
        if not self._config.training_state and self._is_missing(params):
            if run_context.is_interrupted():
                self._save_in_passing(params)
            else:
                self._save(params)
        if self._config.async_save:
            wait_for_saves()
        self._remove_old()

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        """Save what has been trained so far, if the policy says so."""
        params = run_context.original_args()
        if self._config.exception_save and params.get("cur_step_num"):
            self._write(params, f"{self._name(params)}_breakpoint")
        if self._config.async_save:
            wait_for_saves()

    def state_dict(self) -> dict[str, object]:
        """What the files are called, which are kept, and how long ago the last were saved."""
        saved, kept, now = self._saved_time, self._kept_time, time.monotonic()
        return {
            "prefix": self._prefix if isinstance(self._prefix, str) else "",
            "files": [self._told(path) for path in self._files],
            "latest": self._told(self._latest),
            "newest_only": self._told(self._newest_only),
            "kept": self._told(self._kept),
            "saved_step": self._saved_step,
            # Nothing about time where only steps count: the files are then always the same.
            "since_saved": now - saved if self._counts_time() else 0.0,
            "since_kept": None if kept is None else now - kept,
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on with those files.

        Raises:
            ValueError: It is no such state, or that of another prefix.
        """
        files = numbers(state, "files", str, _OWNER)
        latest = entry(state, "latest", str, _OWNER)
        newest_only = entry(state, "newest_only", str, _OWNER)
        last_kept = entry(state, "kept", str, _OWNER)
        saved_step = entry(state, "saved_step", int, _OWNER)
        since_saved = entry(state, "since_saved", float, _OWNER)
        kept = state.get("since_kept") is not None
        since_kept = entry(state, "since_kept", float, _OWNER) if kept else None
        if isinstance(self._first_prefix, str):
            self._prefix = prefix_of_run(state, self._first_prefix, _OWNER)
        now = time.monotonic()
        self._saved_step, self._saved_time = saved_step, now - since_saved
        self._kept_time = None if since_kept is None else now - since_kept
        self._latest, self._newest_only = self._full(latest), self._full(newest_only)
        self._kept = self._full(last_kept)
        self._files.end_run()
        self._files = KeptFiles(map(self._full, files))
        self._resumed = not self._config.training_state

    def _start(self) -> None:
        """Begin a run: nothing saved yet, and the clocks at zero."""
        self._described = False
        self._saved_step = 0
        self._saved_time = time.monotonic()
        self._kept, self._kept_time = "", None
        self._newest_only = ""  # the file that the next one replaces, where minutes count
        self._in_passing = ""  # the file that was only saved because the run was left there,
        self._surplus = KeptFiles()  # until the run, having been resumed, has saved its next
        self._resumed = False  # whether what a stop has left is yet to be found

    def _is_missing(self, params: InternalCallbackParam) -> bool:
        """Whether the last step has yet to be saved."""
        wanted = self._config.save_checkpoint_steps or self._config.save_checkpoint_seconds
        return bool(wanted) and params.get("cur_step_num", 0) != self._saved_step

    def _save(self, params: InternalCallbackParam, state: TrainingState | None = None) -> None:
        """Write a checkpoint, then remove those that the policy does not keep."""
        if self._config.async_save:
            # Only when a file is there can those before it go.
            wait_for_saves()
            self._remove_old()
        path = self._write(params, self._name(params), state)
        self._supersede(path)
        self._latest = path
        self._saved_step = params.cur_step_num
        self._saved_time = time.monotonic()
        self._files.add(path)
        if not self._config.async_save:
            self._remove_old()

    def _save_in_passing(
        self, params: InternalCallbackParam, state: TrainingState | None = None
    ) -> None:
        """Write the step at which a stop has interrupted the run."""
        path = self._write(params, self._name(params), state)
        self._supersede(path)
        self._in_passing = path

    def _adopt(self, params: InternalCallbackParam, last: int) -> None:
        """Find what stops have left since the last saving: the state tells nothing of it."""
        # Of names that a function makes, only the present one is known.
        first = self._saved_step + 1 if isinstance(self._prefix, str) else last
        folder = self._path(params, "")
        for step in range(first, last + 1):
            name = f"{self._name(params, params.cur_step_num - step)}.{self._config.format}"
            path = os.path.join(folder, name)
            if path not in self._files and os.path.exists(path):
                self._supersede(path)
                self._in_passing = path

    def _supersede(self, path: str) -> None:
        """Let `path` take the place of a file that was only saved because the run was left."""
        if self._in_passing not in {"", path}:
            self._surplus.add(self._in_passing)
        self._in_passing = ""

    def _remove_old(self) -> None:
        self._surplus.keep_newest(0)
        if self._config.keep_checkpoint_per_n_minutes:
            self._keep_by_time(60 * self._config.keep_checkpoint_per_n_minutes)
        elif self._config.keep_checkpoint_max:  # pragma: no branch (one of the two is set)
            self._files.keep_newest(self._config.keep_checkpoint_max)

    def _keep_by_time(self, seconds: int) -> None:
        path = self._latest
        # Where the clock is coarse, two files may have been saved at the same time.
        kept = path == self._kept and self._kept_time == self._saved_time
        if kept or path == self._newest_only:
            return
        if self._newest_only in self._files:
            self._files.remove(self._newest_only)
        if self._kept_time is None or self._saved_time - self._kept_time >= seconds:
            self._kept, self._kept_time, self._newest_only = path, self._saved_time, ""
        else:
            self._newest_only = path

    def _name(self, params: InternalCallbackParam, ago: int = 0) -> str:
        """The name of the present step's file, or of that of some steps ago."""
        if not isinstance(self._prefix, str):
            return file_prefix(self._prefix(params), _OWNER)
        step = params.cur_step_num - 1
        epochs_ago = step // params.batch_num - (step - ago) // params.batch_num
        epoch = params.cur_epoch_num - epochs_ago
        return f"{self._prefix}-{epoch}_{(step - ago) % params.batch_num + 1}"

    def _path(self, params: InternalCallbackParam, name: str) -> str:
        directory = self._directory
        if not isinstance(directory, str):
            directory = os.path.abspath(directory(params))
        os.makedirs(directory, exist_ok=True)
        return os.path.join(directory, name)

    def _base(self) -> str:
        """The folder from which paths are told, so that it can be moved as a whole."""
        return self._directory if isinstance(self._directory, str) else os.path.abspath(os.sep)

    def _told(self, path: str) -> str:
        return path and os.path.relpath(path, self._base())

    def _full(self, path: str) -> str:
        return path and os.path.join(self._base(), path)

    def _counts_time(self) -> bool:
        config = self._config
        return bool(config.save_checkpoint_seconds or config.keep_checkpoint_per_n_minutes)

    def _describe(self, params: InternalCallbackParam) -> None:
        """Write the tree of cells."""
        self._described = True
        if isinstance(self._prefix, str):
            tree = f"# The tree of cells that minispore trains.\n{params.train_network}\n"
            with replacing(self._path(params, f"{self._prefix}-graph.meta")) as file:
                file.write(tree.encode())

    def _write(
        self, params: InternalCallbackParam, name: str, state: TrainingState | None = None
    ) -> str:
        config = self._config
        path = self._path(params, f"{name}.{config.format}")
        network = config.saved_network
        save_checkpoint(
            params.train_network if network is None else network,
            path,
            integrated_save=config.integrated_save,
            async_save=config.async_save,
            append_dict=self._appended(params) | (state.entries(config.format) if state else {}),
            crc_check=config.crc_check,
            format=config.format,
            remove_redundancy=config.remove_redundancy,
        )
        return path

    def _appended(self, params: InternalCallbackParam) -> dict[str, object]:
        now = {"epoch_num": params.cur_epoch_num, "step_num": params.cur_step_num}
        given = self._config.append_dict or {}
        return {name: now.get(name, value) for name, value in given.items()}
