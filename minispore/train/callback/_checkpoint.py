"""CheckpointConfig and ModelCheckpoint: save the network periodically and at the end."""

import errno
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import NoneType
from typing import Final, cast

from minispore.nn.cell import Cell
from minispore.train.checkpoint.retention import RetainedFiles
from minispore.train.checkpoint.saving import (
    check_kind,
    check_storage,
    normalize_append_dict,
    save_checkpoint,
    wait_for_saves,
)
from minispore.train.protocol.callback import (
    Callback,
    InternalCallbackParam,
    RunContext,
    SaveReason,
)
from minispore.train.protocol.outputs import has_finite_weights
from minispore.train.protocol.state_fields import StateField, StatefulMixin, read_field
from minispore.train.protocol.training_state import TrainingState
from minispore.utils.atomic import atomic_write
from minispore.utils.checks import caller, check_bool, check_int, check_type, is_list
from minispore.utils.unsupported import hint_keywords
from minispore.utils.warn import warn_at_caller

__all__ = ["CheckpointConfig", "ModelCheckpoint"]

_TRAINING_STATE: Final = "training_state"
_POLICY: Final = (
    "save_checkpoint_steps",
    "save_checkpoint_seconds",
    "keep_checkpoint_max",
    "keep_checkpoint_per_n_minutes",
)
# The name of a file or folder, or a function that computes it for each file.
_Name = Callable[[InternalCallbackParam], str]


@dataclass(frozen=True, init=False, eq=False)
class CheckpointConfig:
    """The policy of a `ModelCheckpoint`: when to save, what to save, and which files to keep.

    If both steps and seconds are given, steps take precedence; if both a maximum number of files
    and minutes are given, the maximum number takes precedence. With neither, one file is kept.

    Args:
        save_checkpoint_steps: Save every so many steps; 0 or None to count seconds instead.
        save_checkpoint_seconds: Save after the first step that ends more than so many seconds after
            the previous checkpoint. If steps and seconds are 0 or None, no checkpoint is saved.
        keep_checkpoint_max: The maximum number of files that a ModelCheckpoint keeps: the newest.
        keep_checkpoint_per_n_minutes: Keep the first file, then one file every n minutes, and in
            addition the newest. Requires `keep_checkpoint_max` to be 0 or None.
        integrated_save: Accepted for compatibility; has no effect, since networks are not split
            over devices.
        async_save: Whether to write files in a background thread: True, "thread" or "process"
            (which uses a thread, too). An error is raised at the next save or at the end of the
            run.
        saved_network: The network to save; by default the trained network with the state of its
            optimizer.
        append_info: Values to save with the network: "epoch_num" and "step_num" (the current
            ones); at most one dict of values by name (int, float, bool, str, Parameter or Tensor);
            and "training_state" (an extension of minispore), with which `Model.train` can resume
            exactly from the file. "training_state" requires `saved_network` to be None.
        enc_key: Must be None: encryption is not supported.
        enc_mode: Accepted for compatibility; has no effect without a key.
        exception_save: Whether to save when an exception, including KeyboardInterrupt, ends the
            training. The name of that file ends with `_breakpoint`, and has the step 0 if there was
            none in the epoch. It has no training state, since an exception may be raised in the
            middle of a step.
        crc_check: Whether files end with a checksum.
        remove_redundancy: Accepted for compatibility; has no effect.
        format: "ckpt" or "safetensors".
        **kwargs: MindSpore's `map_param_inc`, which has no effect; others are an error.

    Attributes:
        append_dict: The values of `append_info` by name, None if there are none; the epoch and the
            step are 0 until a file is written.
        training_state: Whether training can be resumed from the files.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: A number is negative; steps, seconds, maximum and minutes are all 0 or None;
            `format` or a name in `append_info` is unknown; or `append_info` has "training_state"
            and `saved_network` is not None; and, as in MindSpore, `enc_key`, `enc_mode`,
            `crc_check`, `remove_redundancy` or `format` has the wrong type.
        NotImplementedError: `enc_key` is not None.

    Examples:
        >>> config = CheckpointConfig(save_checkpoint_steps=100, append_info=["epoch_num"])
        >>> config.save_checkpoint_steps, config.keep_checkpoint_max, config.append_dict
        (100, 5, {'epoch_num': 0})

    Source: MindSpore's `mindspore.train.CheckpointConfig`.
    """

    save_checkpoint_steps: int | None
    save_checkpoint_seconds: int | None
    keep_checkpoint_max: int | None
    keep_checkpoint_per_n_minutes: int | None
    integrated_save: bool
    async_save: bool | str
    saved_network: Cell | None
    append_dict: dict[str, object] | None
    training_state: bool
    enc_key: bytes | None
    enc_mode: str
    exception_save: bool
    crc_check: bool
    remove_redundancy: bool
    format: str

    @hint_keywords
    def __init__(
        self,
        save_checkpoint_steps: int | None = 1,
        save_checkpoint_seconds: int | None = 0,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_per_n_minutes: int | None = 0,
        integrated_save: bool = True,
        async_save: bool | str = False,
        saved_network: Cell | None = None,
        append_info: Sequence[str | dict[str, object]] | None = None,
        enc_key: bytes | None = None,
        enc_mode: str = "AES-GCM",
        exception_save: bool = False,
        crc_check: bool = False,
        remove_redundancy: bool = False,
        format: str = "ckpt",
        **kwargs: object,
    ) -> None:
        if unknown := kwargs.keys() - {"map_param_inc"}:
            names = ", ".join(map(repr, sorted(unknown)))
            raise TypeError(f"For '{caller()}', there is no argument {names}.")
        values = dict(locals())
        check_storage("enc", async_save, enc_key, enc_mode, crc_check, format)
        check_kind(remove_redundancy, bool, "remove_redundancy")
        check_bool(integrated_save, "integrated_save")
        check_type(saved_network, (Cell, NoneType), "saved_network")
        check_bool(exception_save, "exception_save")
        for name in _POLICY:
            if check_type(values[name], (int, NoneType), name) is not None:
                check_int(values[name], name, low=0)
        if not any(values[name] for name in _POLICY):
            names = ", ".join(map(repr, _POLICY))
            raise ValueError(f"For '{caller()}', the arguments {names} must not all be 0 or None.")
        values["append_dict"] = _append_dict(append_info)
        values["training_state"] = append_info is not None and _TRAINING_STATE in append_info
        if values["training_state"] and saved_network is not None:
            raise ValueError(
                f"For '{caller()}', 'training_state' in 'append_info' is that of the network that "
                "is trained: 'saved_network' must be None."
            )
        # None marks the option that the other one of its pair overrides.
        if save_checkpoint_steps:
            values["save_checkpoint_seconds"] = None
        if keep_checkpoint_max:
            values["keep_checkpoint_per_n_minutes"] = None
        elif not keep_checkpoint_per_n_minutes:
            values["keep_checkpoint_max"] = 1
        vars(self).update({field.name: values[field.name] for field in fields(self)})

    def get_checkpoint_policy(self) -> dict[str, object]:
        """Return when to save, which files to keep and which network to save."""
        return {name: getattr(self, name) for name in (*_POLICY, "saved_network")}


def _append_dict(append_info: object) -> dict[str, object] | None:
    """Return the values of `append_info` by name, with 0 for the current epoch and step."""
    check_type(append_info, (list, NoneType), "append_info")
    values: dict[str, object] = {}
    dicts = 0
    for item in append_info if is_list(append_info) else ():
        if isinstance(item, dict):
            named = cast("dict[str, object]", item)
            normalize_append_dict(named)
            dicts += 1
            values |= named
        elif isinstance(item, str) and item in {"epoch_num", "step_num"}:
            values.setdefault(item, 0)
        elif item != _TRAINING_STATE:
            raise (ValueError if isinstance(item, str) else TypeError)(
                f"For '{caller()}', an element of 'append_info' must be 'epoch_num', 'step_num', "
                f"'training_state' or a dict, but got {item!r}."
            )
    if dicts > 1:
        raise TypeError(f"For '{caller()}', 'append_info' must hold at most one dict, got {dicts}.")
    return values or None


class ModelCheckpoint(Callback, StatefulMixin):
    """Save the trained network and the state of its optimizer according to a `CheckpointConfig`.

    The files are named `prefix-epoch_step.ckpt`, where steps are counted within the epoch. When
    training ends, the last step is saved unless it has just been saved. If the folder already
    contains checkpoints with that prefix when the callback is created, `_1`, `_2`, … is appended to
    the prefix, so that files of earlier runs are not overwritten. Weights that are not finite are
    not saved, with a warning: the file of the last finite ones stays.

    The callback also writes `prefix-graph.meta`. MindSpore stores its compiled graph there; this
    file holds the tree of cells as text.

    A ModelCheckpoint removes only files that it has written, and only if no other callback retains
    them.

    With ``append_info=["training_state"]`` in `config`, `Model.train` and `Model.fit` can resume
    from the files. A file is then saved after all callbacks have handled the step, and a resumed
    run writes and removes the same files as an uninterrupted one. If a run is stopped, its last
    step is saved in addition to the retained files; a resumed run removes that file at its next
    save.

    Args:
        prefix: The beginning of the file names, or a function that returns a complete file name
            without extension for the callback parameters.
        directory: The folder, created if it does not exist; by default the current one. Or a
            function that returns it for the callback parameters.
        config: When to save and which files to keep; by default save each step, keep the newest 5.

    Raises:
        TypeError: `directory` or `config` has the wrong type.
        ValueError: `prefix`, or in training what it returns, is not a str or contains a "/"; or
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

    Source: MindSpore's `mindspore.train.ModelCheckpoint`.
    """

    chief_only = True
    _run_prefix = StateField(str, key="prefix")
    _kept_files = StateField(list[str], key="files")
    _latest = StateField(str)
    _provisional = StateField(str)
    _last_kept: StateField[str] = StateField(str)
    _saved_step = StateField(int)
    _since_saved = StateField(float)
    _last_kept_time: float | None
    _resumed: bool

    @hint_keywords
    def __init__(
        self,
        prefix: str | _Name = "CKP",
        directory: str | os.PathLike[str] | _Name | None = None,
        config: CheckpointConfig | None = None,
    ) -> None:
        super().__init__()
        check_type(config, (CheckpointConfig, NoneType), "config")
        self._config = CheckpointConfig() if config is None else config
        folder = "." if directory is None else directory
        self._directory = folder if callable(folder) else make_folder(folder)
        self._base_prefix = prefix if callable(prefix) else check_prefix(prefix)
        self._prefix = self._base_prefix
        if isinstance(self._prefix, str) and isinstance(self._directory, str):
            self._prefix += next_run_suffix(self._directory, self._prefix)
        self._files = RetainedFiles()
        self._latest = ""
        self._reset()

    @property
    def latest_ckpt_file_name(self) -> str:
        """The path of the newest checkpoint, "" if there is none."""
        path = self._temporary or self._latest
        # A file of an earlier run may be gone; one saved in the background may not exist yet.
        return path if self._config.async_save or os.path.exists(path) else ""

    def __exit__(self, *exc_info: object) -> None:
        self._files.release()

    def on_train_begin(self, run_context: RunContext) -> None:
        """Reset the counters and the clock."""
        self._reset()
        self._files = RetainedFiles(self._files)
        if self._config.training_state:
            run_context.add_state_saver(self)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Save if the step is due; write `prefix-graph.meta` after the first step."""
        params = run_context.original_args()
        if not self._graph_written:
            self._write_graph(params)
        if self._resumed:
            self._resumed = False
            self._rediscover(params, params.cur_step_num - 1)
        steps, seconds = self._config.save_checkpoint_steps, self._config.save_checkpoint_seconds
        due = (
            params.cur_step_num % steps == 0
            if steps
            else seconds and time.monotonic() - self._saved_time > seconds
        )
        if due and self._config.training_state:
            # Before the state is taken: it lists only files that exist.
            self._complete_save()
            run_context.request_save(self)
        elif due:
            self._save(params)

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, reason: SaveReason
    ) -> None:
        """Save a requested step, or the last step of a run, with the training state."""
        params = run_context.original_args()
        if reason == "requested" or (reason == "finished" and self._is_unsaved(params)):
            self._save(params, state)
        elif reason == "interrupted" and self._is_unsaved(params):
            self._save_temporary(params, state)
        elif reason == "restored":
            self._rediscover(params, params.cur_step_num)

    def on_train_end(self, run_context: RunContext) -> None:
        """Save the last step, unless it has been saved or the policy saves nothing."""
        params = run_context.original_args()
        if not self._config.training_state and self._is_unsaved(params):
            if run_context.is_interrupted():
                self._save_temporary(params)
            else:
                self._save(params)
        if self._config.async_save:
            wait_for_saves()
        self._remove_old()

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        """Save the current parameters if the policy requires it."""
        params = run_context.original_args()
        if self._config.exception_save and "train_network" in params:  # not in an evaluation alone
            self._write(params, f"{self._breakpoint_name(params)}_breakpoint")
        if self._config.async_save:
            wait_for_saves()

    def state_dict(self) -> dict[str, object]:
        """Return the file names, the retained files, and the seconds since the last saves."""
        kept_time, now = self._last_kept_time, time.monotonic()
        config = self._config
        counts_time = config.save_checkpoint_seconds or config.keep_checkpoint_per_n_minutes
        self._run_prefix = self._prefix if isinstance(self._prefix, str) else ""
        self._kept_files = [self._relative_path(path) for path in self._files]
        # 0 if the policy counts only steps, so that the training state is deterministic.
        self._since_saved = now - self._saved_time if counts_time else 0.0
        return super().state_dict() | {
            "latest": self._relative_path(self._latest),
            "provisional": self._relative_path(self._provisional),
            "last_kept": self._relative_path(self._last_kept),
            "since_kept": None if kept_time is None else now - kept_time,
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore a state that `state_dict` has returned.

        Raises:
            ValueError: An entry is missing or has the wrong type, or the prefix is another.
        """
        was_kept = state.get("since_kept") is not None
        since_kept = read_field(state, "since_kept", float) if was_kept else None
        if isinstance(self._base_prefix, str):
            check_run_prefix(state, self._base_prefix)
        super().load_state_dict(state)
        if isinstance(self._base_prefix, str):
            self._prefix = self._run_prefix
        now = time.monotonic()
        self._saved_time = now - self._since_saved
        self._last_kept_time = None if since_kept is None else now - since_kept
        self._latest = self._absolute_path(self._latest)
        self._provisional = self._absolute_path(self._provisional)
        self._last_kept = self._absolute_path(self._last_kept)
        self._files.release()
        self._files = RetainedFiles(map(self._absolute_path, self._kept_files))
        self._resumed = not self._config.training_state

    def _reset(self) -> None:
        """Begin a run: nothing is saved yet."""
        self._graph_written = False
        self._saved_step = 0
        self._saved_time = time.monotonic()
        self._last_kept = ""
        self._last_kept_time = None
        self._provisional = ""  # with time retention: the file that the next one replaces
        self._temporary = ""  # the file that was saved only because the run was stopped
        self._obsolete = RetainedFiles()  # temporary files to remove at the next save
        self._resumed = False  # whether temporary files of earlier runs are not yet rediscovered

    def _is_unsaved(self, params: InternalCallbackParam) -> bool:
        """Return whether the policy saves at all and the current step is not saved yet."""
        saves = self._config.save_checkpoint_steps or self._config.save_checkpoint_seconds
        return bool(saves) and params.get("cur_step_num", 0) != self._saved_step

    def _save(self, params: InternalCallbackParam, state: TrainingState | None = None) -> None:
        """Write a checkpoint, then remove the files that the policy does not retain."""
        if not can_replace(params):
            return
        self._complete_save()
        path = self._write(params, self._name(params), state)
        self._replace_temporary(path)
        self._latest = path
        self._saved_step = params.cur_step_num
        self._saved_time = time.monotonic()
        self._files.add(path)
        if not self._config.async_save:
            self._remove_old()

    def _complete_save(self) -> None:
        """Wait for the file that is being written, then remove those that it replaces."""
        if self._config.async_save:
            wait_for_saves()
            self._remove_old()

    def _save_temporary(
        self, params: InternalCallbackParam, state: TrainingState | None = None
    ) -> None:
        """Write the step at which the run was stopped."""
        if not can_replace(params):
            return
        path = self._write(params, self._name(params), state)
        self._replace_temporary(path)
        self._temporary = path

    def _rediscover(self, params: InternalCallbackParam, last: int) -> None:
        """Find the temporary files written since the last save: the state does not list them."""
        # Of names that a function returns, only the current one is known.
        first = self._saved_step + 1 if isinstance(self._prefix, str) else last
        folder = self._folder(params)
        for step in range(first, last + 1):
            name = self._name(params, params.cur_step_num - step)
            path = os.path.join(folder, f"{name}.{self._config.format}")
            if path not in self._files and os.path.exists(path):
                self._replace_temporary(path)
                self._temporary = path

    def _replace_temporary(self, path: str) -> None:
        """Mark the temporary file as obsolete, unless it is `path`."""
        if self._temporary not in {"", path}:
            self._obsolete.add(self._temporary)
        self._temporary = ""

    def _remove_old(self) -> None:
        self._obsolete.prune_to(0)
        if self._config.keep_checkpoint_per_n_minutes:
            self._apply_time_retention(60 * self._config.keep_checkpoint_per_n_minutes)
        elif self._config.keep_checkpoint_max:  # pragma: no branch (one of the two is set)
            self._files.prune_to(self._config.keep_checkpoint_max)

    def _apply_time_retention(self, seconds: int) -> None:
        path = self._latest
        # On a coarse clock, two files may have the same time.
        is_kept = path == self._last_kept and self._last_kept_time == self._saved_time
        if is_kept or path == self._provisional:
            return
        if self._provisional in self._files:
            self._files.remove(self._provisional)
        if self._last_kept_time is None or self._saved_time - self._last_kept_time >= seconds:
            self._last_kept = path
            self._last_kept_time = self._saved_time
            self._provisional = ""
        else:
            self._provisional = path

    def _name(self, params: InternalCallbackParam, steps_ago: int = 0) -> str:
        """Return the file name, without extension, of the current or an earlier step."""
        if not isinstance(self._prefix, str):
            return check_prefix(self._prefix(params))
        current = params.cur_step_num - 1
        step = current - steps_ago
        epoch = params.cur_epoch_num - (current // params.batch_num - step // params.batch_num)
        return f"{self._prefix}-{epoch}_{step % params.batch_num + 1}"

    def _breakpoint_name(self, params: InternalCallbackParam) -> str:
        """Return the file name at an exception, which may be raised before the epoch's steps."""
        epoch = params.get("cur_epoch_num", 0)
        size = params.train_dataset.get_dataset_size() if "train_dataset" in params else 0
        before = size * max(0, epoch - params.get("initial_epoch", 0) - 1)
        if isinstance(self._prefix, str) and params.get("cur_step_num", 0) <= before:
            return f"{self._prefix}-{epoch}_0"
        return self._name(params)

    def _folder(self, params: InternalCallbackParam) -> str:
        """Return the folder of the current step's file, created if needed."""
        directory = self._directory
        if not isinstance(directory, str):
            directory = os.path.abspath(directory(params))
        os.makedirs(directory, exist_ok=True)
        return directory

    def _base_folder(self) -> str:
        """Return the folder to which saved paths are relative, so that it can be moved."""
        return self._directory if isinstance(self._directory, str) else os.path.abspath(os.sep)

    def _relative_path(self, path: str) -> str:
        return path and os.path.relpath(path, self._base_folder())

    def _absolute_path(self, path: str) -> str:
        return path and os.path.join(self._base_folder(), path)

    def _write_graph(self, params: InternalCallbackParam) -> None:
        """Write the tree of cells."""
        self._graph_written = True
        if isinstance(self._prefix, str):
            tree = f"# The tree of cells that minispore trains.\n{params.train_network}\n"
            path = os.path.join(self._folder(params), f"{self._prefix}-graph.meta")
            with atomic_write(path) as file:
                file.write(tree.encode())

    def _write(
        self, params: InternalCallbackParam, name: str, state: TrainingState | None = None
    ) -> str:
        config = self._config
        path = os.path.join(self._folder(params), f"{name}.{config.format}")
        current = {"epoch_num": "cur_epoch_num", "step_num": "cur_step_num"}
        values = {
            name: params.get(current[name], 0) if name in current else value
            for name, value in (config.append_dict or {}).items()
        }
        save_checkpoint(
            params.train_network if config.saved_network is None else config.saved_network,
            path,
            integrated_save=config.integrated_save,
            async_save=config.async_save,
            append_dict=values | (state.entries(config.format) if state else {}),
            crc_check=config.crc_check,
            format=config.format,
            remove_redundancy=config.remove_redundancy,
        )
        return path


def can_replace(params: InternalCallbackParam) -> bool:
    """Return whether the weights are finite; warn if not, since earlier files are then kept."""
    finite = has_finite_weights(params.get("network", params.train_network))
    if not finite:
        warn_at_caller(
            f"{caller()} saves nothing, and removes no earlier file: weights are not finite."
        )
    return finite


def check_prefix(prefix: object) -> str:
    """Return `prefix` if file names can begin with it; raise ValueError otherwise."""
    if not isinstance(prefix, str) or "/" in prefix or os.sep in prefix:
        raise ValueError(
            f"For '{caller()}', the argument 'prefix' must be a str without '/' (or a function "
            f"that returns one, where one is taken), but got {prefix!r}."
        )
    return prefix


def make_folder(directory: str | os.PathLike[str], name: str = "directory") -> str:
    """Return the absolute path of a folder, created if needed.

    Raises:
        TypeError: `directory` is not a path.
        ValueError: It is empty.
        NotADirectoryError: It is a file.
    """
    check_type(directory, (str, os.PathLike), name)
    if not os.fspath(directory):
        raise ValueError(f"For '{caller()}', the argument '{name}' must not be empty.")
    path = os.path.abspath(directory)
    if os.path.exists(path) and not os.path.isdir(path):
        raise NotADirectoryError(errno.ENOTDIR, f"For '{caller()}', '{name}' is a file", path)
    # Created before training, so that an error is raised before time is spent.
    os.makedirs(path, exist_ok=True)
    return path


def next_run_suffix(directory: str, prefix: str) -> str:
    """Return "", or `_n` if files of earlier runs with that prefix exist."""
    form = re.compile(re.escape(prefix) + r"(?:_(\d+))?-(?!.*_breakpoint\.).*\.(ckpt|safetensors)")
    runs = [int(match[1] or 0) for name in os.listdir(directory) if (match := form.fullmatch(name))]
    return f"_{max(runs) + 1}" if runs else ""


def check_run_prefix(state: Mapping[str, object], prefix: str) -> None:
    """Raise ValueError if the state's "prefix" is not `prefix` with an optional suffix."""
    saved = read_field(state, "prefix", str)
    if not re.fullmatch(re.escape(prefix) + r"(_\d+)?", saved):
        raise ValueError(f"For '{caller()}', the state's 'prefix' {saved!r} is not {prefix!r}.")
