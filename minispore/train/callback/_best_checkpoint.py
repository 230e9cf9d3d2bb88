"""BestCheckpoint: save the network after the epochs with the best monitored values."""

import os
import re
from collections.abc import Mapping
from operator import itemgetter

from minispore.train.callback._checkpoint import (
    can_replace,
    check_prefix,
    check_run_prefix,
    make_folder,
    next_run_suffix,
)
from minispore.train.callback._weight_averaging import evaluated_weights
from minispore.train.checkpoint.retention import RetainedFiles
from minispore.train.checkpoint.saving import save_checkpoint
from minispore.train.protocol.callback import (
    Callback,
    InternalCallbackParam,
    RunContext,
    step_in_epoch,
)
from minispore.train.protocol.monitor import MonitoredMetric
from minispore.train.protocol.state_fields import StateField, StatefulMixin
from minispore.utils.checks import caller, check_bool, check_int, check_one_of
from minispore.utils.warn import warn_at_caller

__all__ = ["BestCheckpoint"]


class BestCheckpoint(Callback, StatefulMixin):
    """Keep the checkpoints of the epochs with the best values of a monitored metric.

    At the end of an epoch with an evaluation, the network and the state of its optimizer are saved
    if the value is among the `top_k` best so far. Of equal values the earlier one ranks higher; NaN
    is never saved, nor are weights that are not finite. The weights are those that were evaluated:
    with `WeightAveraging`, the averages. The files are named `prefix-epoch_step.ckpt`; as in
    ModelCheckpoint, a suffix of the prefix keeps files of earlier runs from being overwritten. A
    file is written completely before a worse one is removed. Only files that this callback wrote
    are removed, and only if no other callback retains them.

    MindSpore has no such callback.

    Args:
        monitor: "loss" for the training loss; in `Model.fit` also "eval_loss" and the names of the
            metrics.
        mode: Whether "min" or "max" is better; "auto" decides by the name, and
            warns of one that it does not know.
        top_k: The number of files to keep.
        prefix: The beginning of the file names.
        directory: The folder, created if it does not exist; by default the current one.
        format: "ckpt" or "safetensors".
        value_in_name: Whether the file names contain the value: `best-3_10-accuracy=0.9375.ckpt`.
        save_last: Whether to save also at the end of each epoch, in the file `prefix-last.ckpt`.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: `top_k` is below 1, `prefix` contains a "/", or `mode` or `format` is unknown;
            in training, if the run does not measure `monitor` or its value is not a single number.
        NotADirectoryError: `directory` is a file.

    Examples:
        >>> import tempfile
        >>> from minispore import nn
        >>> directory = tempfile.TemporaryDirectory()
        >>> best = BestCheckpoint("accuracy", top_k=2, directory=directory.name)
        >>> run = RunContext({"train_network": nn.Dense(3, 2), "batch_num": 10})
        >>> best.on_train_begin(run)
        >>> for epoch, accuracy in enumerate([0.5, 0.75, 0.25, 0.625], start=1):
        ...     results = {"accuracy": accuracy}
        ...     run.original_args().update(
        ...         cur_epoch_num=epoch, cur_step_num=10 * epoch, metrics=results
        ...     )
        ...     best.on_train_epoch_end(run)
        >>> [(os.path.basename(path), value) for path, value in best.files.items()]
        [('best-2_10.ckpt', 0.75), ('best-4_10.ckpt', 0.625)]
        >>> directory.cleanup()
    """

    chief_only = True
    _prefix = StateField(str)
    _values = StateField(dict[str, float])  # by path, the best first

    def __init__(
        self,
        monitor: str = "eval_loss",
        mode: str = "auto",
        top_k: int = 1,
        prefix: str = "best",
        directory: str | os.PathLike[str] | None = None,
        format: str = "ckpt",
        value_in_name: bool = False,
        save_last: bool = False,
    ) -> None:
        super().__init__()
        check_bool(value_in_name, "value_in_name")
        check_bool(save_last, "save_last")
        self._value_in_name = value_in_name
        self._save_last = save_last
        self._monitored = MonitoredMetric(monitor, mode)
        self._top_k = check_int(top_k, "top_k", low=1)
        check_one_of(format, ("ckpt", "safetensors"), "format")
        self._format = format
        self._base_prefix = self._prefix = check_prefix(prefix)
        self._directory = make_folder("." if directory is None else directory)
        self._retained = RetainedFiles()

    @property
    def files(self) -> dict[str, float]:
        """The paths of the retained files with their values, the best first."""
        return dict(self._values)

    @property
    def best_ckpt_file_name(self) -> str:
        """The path of the best checkpoint, "" if there is none."""
        return next(iter(self._values), "")

    def __exit__(self, *exc_info: object) -> None:
        self._retained.release()

    def on_train_begin(self, run_context: RunContext) -> None:
        """Check that the run measures the monitored metric; choose the prefix of this run."""
        self._monitored.check_available(run_context)
        self._prefix = self._base_prefix + next_run_suffix(self._directory, self._base_prefix)
        self._retain(self._values)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Save if the epoch is among the best, then remove the file that no longer is."""
        value = self._monitored.value(run_context)
        is_best = value is not None and self._is_best(value)
        if not (is_best or self._save_last) or not can_replace(run_context.original_args()):
            return
        if self._save_last:
            self._save(run_context, "last")
        if value is not None and is_best:
            path = self._save(run_context, self._name(run_context.original_args(), value))
            self._values.pop(path, None)
            ranked = sorted(
                [*self._values.items(), (path, value)],
                key=itemgetter(1),
                reverse=self._monitored.mode == "max",
            )
            self._values = dict(ranked[: self._top_k])
            self._retained.add(path)
            for old_path, _ in ranked[self._top_k :]:
                self._retained.remove(old_path)

    def state_dict(self) -> dict[str, object]:
        """Return the prefix of the run and the retained files with their values."""
        # Relative paths, so that the folder can be moved.
        values = {os.path.relpath(p, self._directory): value for p, value in self._values.items()}
        return super().state_dict() | {"values": values}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore a state; warn of files that no longer exist, and ignore them.

        Raises:
            ValueError: An entry is missing or has the wrong type, or the prefix is another. The
                callback is unchanged then.
        """
        check_run_prefix(state, self._base_prefix)
        super().load_state_dict(state)
        self._retain({os.path.join(self._directory, p): v for p, v in self._values.items()})

    def _retain(self, values: Mapping[str, float]) -> None:
        """Retain the files in `values` that exist."""
        self._values = {path: value for path, value in values.items() if os.path.exists(path)}
        self._retained.release()
        self._retained = RetainedFiles(self._values)
        missing = [path for path in values if path not in self._values]
        if missing:
            warn_at_caller(
                f"For '{caller()}', these files no longer exist, so new ones are not compared with "
                f"them: {', '.join(missing)}."
            )

    def _is_best(self, value: float) -> bool:
        if value != value:  # noqa: PLR0124 (NaN)
            return False
        better = self._monitored.is_improvement
        return len(self._values) < self._top_k or better(value, [*self._values.values()][-1])

    def _name(self, params: InternalCallbackParam, value: float) -> str:
        """Return what comes after the prefix in the name of a file."""
        name = f"{params.cur_epoch_num}_{step_in_epoch(params)}"
        # The name of a metric may be any text.
        metric = re.sub(r"[^\w.-]", "_", self._monitored.name)
        return f"{name}-{metric}={value:.6g}" if self._value_in_name else name

    def _save(self, run_context: RunContext, name: str) -> str:
        params = run_context.original_args()
        path = os.path.join(self._directory, f"{self._prefix}-{name}.{self._format}")
        os.makedirs(self._directory, exist_ok=True)
        with evaluated_weights(run_context):
            save_checkpoint(params.train_network, path, format=self._format)
        return path
