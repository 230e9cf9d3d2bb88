"""BestCheckpoint: save what is trained whenever it is among the best."""

import os
from collections.abc import Mapping
from types import TracebackType

from minispore._checks import check_int, check_one_of
from minispore._warn import warn
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import RunContext
from minispore.train._protocol.states import entries
from minispore.train.callback._file_names import (
    file_prefix,
    folder,
    next_ending,
    prefix_of_run,
)
from minispore.train.callback._kept_files import KeptFiles
from minispore.train.callback._monitored import Monitored
from minispore.train.serialization import save_checkpoint

_OWNER = "BestCheckpoint"


class BestCheckpoint(Callback):
    """Keep the checkpoints of the epochs with the best values.

    At the end of an epoch that was evaluated, the network and its optimiser's state are saved if
    the value is among the best so far. Of equal values the earlier counts as better; NaN is never
    saved. The files are `prefix-epoch_step.ckpt` and are named, like those of ModelCheckpoint, so
    that no older run's file is replaced. A file is written completely before a worse one is
    removed, and only files that this callback wrote are, unless another callback keeps them.

    MindSpore has nothing like it.

    Args:
        monitor: "loss" for the training's; in `Model.fit` also "eval_loss" and the metrics' names.
        mode: Whether "min" or "max" is better, or "auto" for what the name suggests.
        top_k: How many files to keep.
        prefix: How the files' names begin.
        directory: The folder, made if it is not there; by default the current one.
        format: "ckpt" or "safetensors".

    Raises:
        TypeError: An argument is of a wrong type.
        ValueError: `top_k` is below 1, a `prefix` with "/", or an unknown `mode` or `format`; in
            training, if it does not measure what is monitored, or that is no single number.
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

    def __init__(
        self,
        monitor: str = "eval_loss",
        mode: str = "auto",
        top_k: int = 1,
        prefix: str = "best",
        directory: str | os.PathLike[str] | None = None,
        format: str = "ckpt",
    ) -> None:
        super().__init__()
        self._monitored = Monitored(_OWNER, monitor, mode)
        self._top_k = check_int(top_k, "top_k", _OWNER, low=1)
        check_one_of(format, ("ckpt", "safetensors"), "format", _OWNER)
        self._format = format
        self._first_prefix = file_prefix(prefix, _OWNER)
        self._directory = folder(directory, _OWNER)
        self._prefix = prefix
        self._values: dict[str, float] = {}  # by path, the best first
        self._kept = KeptFiles()

    @property
    def files(self) -> dict[str, float]:
        """The paths of the files that are kept, with their values; the best first."""
        return dict(self._values)

    @property
    def best_ckpt_file_name(self) -> str:
        """The path of the best checkpoint, "" before there is one."""
        return next(iter(self._values), "")

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._kept.end_run()

    def on_train_begin(self, run_context: RunContext) -> None:
        """Check that the run will measure what is monitored; name this run's files."""
        self._monitored.require(run_context)
        self._prefix = self._first_prefix + next_ending(self._directory, self._first_prefix)
        self._keep(self._values)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Save if the epoch is among the best, then remove the one that no longer is."""
        value = self._monitored.value(run_context)
        if value is None or value != value:  # noqa: PLR0124 (NaN)
            return
        if len(self._values) < self._top_k or self._monitored.better(value, self._worst()):
            path = self._save(run_context)
            ranked = [(kept, old) for kept, old in self._values.items() if kept != path]
            place = sum(not self._monitored.better(value, old) for _, old in ranked)
            ranked.insert(place, (path, value))
            self._values = dict(ranked[: self._top_k])
            self._kept.add(path)
            for old_path, _ in ranked[self._top_k :]:
                self._kept.remove(old_path)

    def state_dict(self) -> dict[str, object]:
        """Return what the files are called, which are kept, and their values."""
        # Relative, so that the folder can be moved as a whole.
        values = {os.path.relpath(p, self._directory): value for p, value in self._values.items()}
        return {"prefix": self._prefix, "values": values}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on with another one's files; warn of those that do not exist, and forget them.

        Raises:
            ValueError: An entry is missing or of another type, or the prefix is another; nothing is
                changed then.
        """
        values = entries(state, "values", float, _OWNER)
        self._prefix = prefix_of_run(state, self._first_prefix, _OWNER)
        self._keep({os.path.join(self._directory, p): value for p, value in values.items()})

    def _keep(self, values: Mapping[str, float]) -> None:
        self._values = {path: value for path, value in values.items() if os.path.exists(path)}
        self._kept.end_run()
        self._kept = KeptFiles(self._values)
        missing = [path for path in values if path not in self._values]
        if missing:
            warn(
                f"For '{_OWNER}', these files no longer exist, so new ones are not compared with "
                f"them: {', '.join(missing)}."
            )

    def _worst(self) -> float:
        return list(self._values.values())[-1]

    def _save(self, run_context: RunContext) -> str:
        params = run_context.original_args()
        step = (params.cur_step_num - 1) % params.batch_num + 1
        name = f"{self._prefix}-{params.cur_epoch_num}_{step}.{self._format}"
        path = os.path.join(self._directory, name)
        os.makedirs(self._directory, exist_ok=True)
        save_checkpoint(params.train_network, path, format=self._format)
        return path
