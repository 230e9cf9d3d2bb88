"""How `Model` runs in data-parallel processes.

The training loop is the same in both. In data-parallel processes the callback manager synchronizes
stop requests after the events at whose end the loop reads them, so all processes stop at the same
step; datasets are sharded, and the outputs of an evaluation are joined.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar
from zlib import crc32

import numpy as np

from minispore.common import Parameter, Tensor
from minispore.communication import get_group_size, get_rank
from minispore.communication._collectives import (
    abort_unless_all_failed,
    all_gather_object,
    all_reduce_max,
    broadcast_object,
    check_alike,
    described_setting,
    forbid_collectives,
    processes,
    shortened,
)
from minispore.dataset import Dataset
from minispore.dataset.sharding import can_be_sharded, shard_evenly, shard_ids, shared_settings
from minispore.engine.array import to_host
from minispore.nn import Cell
from minispore.nn.wrap.cell_wrapper import batch_size_of
from minispore.nn.wrap.grad_reducer import broadcast_parameters, broadcasts_parameters
from minispore.ops.tensors import tensor_of
from minispore.train._metric_collection import MetricCollection
from minispore.train.metrics import Metric
from minispore.train.protocol.callback import (
    Callback,
    CallbackEvent,
    CallbackManager,
    Callbacks,
    Hook,
    InternalCallbackParam,
    RunContext,
    SaveReason,
    flatten_callbacks,
)
from minispore.train.protocol.dataset import DatasetLike, SupportsState, check_dataset
from minispore.train.protocol.training_state import TrainingState
from minispore.train.resume.compatibility import class_name
from minispore.train.resume.fingerprint import fingerprint
from minispore.train.strategy import SingleProcess
from minispore.utils.checks import as_tuple, caller
from minispore.utils.warn import warn_at_caller

R = TypeVar("R")

# The manager synchronizes stop requests after these events, since the loop reads the request next.
_STOP_EVENTS: Final[tuple[CallbackEvent, ...]] = (
    Callback.on_train_step_end,
    Callback.on_eval_step_end,
    Callback.on_train_epoch_end,
    Callback.on_eval_end,
)
# Arguments that `check_call` omits, or describes in another form.
_SPECIAL_ARGUMENTS: Final = ("self", "callbacks", "resume")


class DataParallel(SingleProcess):
    """What `Model` does in a program whose `parallel_mode` is "data_parallel"."""

    def make_callback_manager(self, callbacks: Callbacks | None) -> CallbackManager:
        """Return a manager that synchronizes the callbacks with those of the other processes."""
        return DistributedCallbackManager(callbacks)

    def check_call(
        self,
        callbacks: Sequence[Callback],
        metrics: Iterable[str],
        arguments: Mapping[str, object],
    ) -> None:
        """Compare a method call with the calls of the other processes.

        Raises:
            RuntimeError: In all processes: some processes call another method.
            ValueError: In all processes: the arguments differ.
        """
        if get_group_size() == 1:
            return
        methods = all_gather_object(caller())
        if len(set(methods)) > 1:
            raise RuntimeError(
                f"For '{caller()}', all processes must call it, but the processes 0, 1, … call "
                f"{', '.join(methods)}."
            )
        described = {
            name: _described_argument(name, value)
            for name, value in arguments.items()
            if name not in _SPECIAL_ARGUMENTS
        }
        # The file may have another path on another machine.
        described["resume"] = "None" if arguments.get("resume") is None else "a file"
        described["metrics"] = repr(sorted(metrics))
        for i, callback in enumerate(callbacks):
            kind = class_name(callback)
            described[f"callbacks[{i}]"] = f"{kind} with chief_only={callback.chief_only}"
        check_alike(caller(), described)
        for name, verb in (("train_dataset", "train on"), ("valid_dataset", "evaluate")):
            if (data := arguments.get(name)) is not None:
                _check_rows_differ(data, name, verb)

    def shard_dataset(self, dataset: object, name: str) -> DatasetLike:
        """Return this process's shard; a dataset that is not a `Dataset` is returned as it is."""
        checked = check_dataset(dataset, name)
        if not isinstance(checked, Dataset):
            return checked
        return check_dataset(shard_evenly(checked, _common_batch_count), name)

    def make_eval_network(self, network: Cell) -> Cell:
        """Return a cell that calls `network` on batches with rows only."""
        return SkipEmptyBatch(network)

    def make_metrics(
        self, metrics: Mapping[str, Metric], indexes: Sequence[int] | None
    ) -> MetricCollection:
        """Return metrics that are updated with the outputs of all processes."""
        return DistributedMetrics(metrics, indexes)


def _described_argument(name: str, value: object) -> str:
    """Return what must be the same in all processes; the batches in a list of them need not."""
    if isinstance(value, Dataset):
        return shared_settings(value)
    is_data = name.endswith("_dataset") and value is not None
    return type(value).__qualname__ if is_data else described_setting(value)


def _check_rows_differ(data: object, name: str, verb: str) -> None:
    """Raise ValueError in all processes if two of them train on, or evaluate, the same rows.

    Where the rows are not those of a `Dataset` that has shards, it is a warning: the code of the
    user may choose them by the rank.
    """
    described = fingerprint(data=data)
    rows = [(path, text) for path, text in described.items() if path.startswith("data")]
    shards = shard_ids(data) if isinstance(data, Dataset) else []
    gathered = all_gather_object((shards, crc32(repr(rows).encode())))
    alike = [rank for rank, choice in enumerate(gathered) if gathered.count(choice) > 1]
    if not alike:
        return
    message = (
        f"For '{caller()}', each process must {verb} other rows, but '{name}' is the same in "
        f"{processes(alike)}"
    )
    if isinstance(data, Dataset) and can_be_sharded(data):
        raise ValueError(
            f"{message}. Give the source num_shards=get_group_size() and shard_id=get_rank()."
        )
    warn_at_caller(f"{message}, unless its code chooses the rows by the rank.")


def _common_batch_count(size: int, drop_remainder: bool) -> int:
    """Return the batch count of all processes, given that of this one."""
    return -all_reduce_max(-size) if drop_remainder else all_reduce_max(size)


class DistributedCallbackManager(CallbackManager):
    """The callbacks of this process, synchronized with those of the other processes.

    Args:
        callbacks: The callbacks of the run. Where `chief_only` is True, processes other than
            rank 0 call a placeholder instead.
    """

    def __init__(self, callbacks: Callbacks | None) -> None:
        items = list(callbacks) if isinstance(callbacks, Iterable) else flatten_callbacks(callbacks)
        super().__init__(items)
        if get_rank() != 0:
            super().__init__(_replace_chief_only(items, self.callbacks))

    def wrap_hook(self, index: int, name: str, hook: Hook) -> Hook:
        """Return the hook; that of a `chief_only` callback raises an error for a collective."""
        callback = self.callbacks[index]
        if get_group_size() == 1 or not callback.chief_only:
            return hook

        def guarded(run_context: RunContext) -> None:
            with forbid_collectives(type(callback).__name__):
                hook(run_context)

        return guarded

    def emit(self, event: CallbackEvent, run_context: RunContext) -> None:
        """Call the hooks of `event`, and synchronize what they requested."""
        if event in (Callback.on_train_begin, Callback.on_eval_begin):
            _check_equal_batch_counts(run_context)
        params = run_context.original_args()
        if event is Callback.on_eval_begin:
            # Such as the moving averages of `BatchNorm`, of which the chief's are saved.
            broadcast_parameters(params.eval_network, trained=False)
            check_parameters(params.eval_network, params)
        if event is Callback.on_train_end:
            # A barrier: no process removes a file that another has yet to resume from.
            all_reduce_max(0)
        super().emit(event, run_context)
        if event is Callback.on_train_begin:
            path = broadcast_object(run_context.get_resume_requested())
            if path is not None:
                run_context.request_resume(path)
            broadcast_parameters(params.train_network)
        if event in _STOP_EVENTS:
            _all_reduce_stop(run_context)
        if event in (Callback.on_train_epoch_end, Callback.on_train_end):
            check_parameters(params.train_network, params)
        if event is Callback.on_train_end:
            broadcast_parameters(params.train_network, trained=False)

    def run(self, run_context: RunContext, body: Callable[[], R]) -> R:
        """Run `body` as the base class does; abort all processes if only some of them fail."""
        try:
            return super().run(run_context, body)
        except BaseException as error:
            abort_unless_all_failed(error)
            raise


class NullCallback(Callback):
    """A placeholder for a `chief_only` callback in a process of another rank than 0.

    Args:
        original: The callback, by the name of whose class a training state identifies it.
    """

    def __init__(self, original: Callback) -> None:
        self._stands_for: str = type(original).__qualname__
        self.chief_only: bool = original.chief_only

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, reason: SaveReason
    ) -> None:
        """Do nothing: rank 0 writes the file."""


class NullStatefulCallback(NullCallback):
    """A placeholder for a `chief_only` callback with a state."""

    def state_dict(self) -> dict[str, object]:
        """Return an empty state."""
        return {}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Ignore the state, which is that of rank 0."""


def _replace_chief_only(items: Sequence[Callback], flat: Sequence[Callback]) -> list[Callback]:
    """Return the callbacks of a run with placeholders for those that only rank 0 calls.

    All processes resume from the training state of rank 0, which lists its callbacks, so each
    process must have equally many in the same order. A callback that `configure_callbacks` added is
    replaced by the one that the callbacks of this process add, or by a placeholder.
    """
    callbacks: list[Callback] = []
    for item in items:
        callbacks += item.callbacks if isinstance(item, CallbackManager) else [item]
    local = [_placeholder_for(item) if item.chief_only else item for item in callbacks]
    added_locally = {type(item): item for item in flatten_callbacks(local) if item not in local}
    added = [item for item in flat if item not in callbacks]
    return [*(added_locally.get(type(item)) or _placeholder_for(item) for item in added), *local]


def _placeholder_for(callback: Callback) -> Callback:
    kind = NullStatefulCallback if isinstance(callback, SupportsState) else NullCallback
    return kind(callback)


def _check_equal_batch_counts(run_context: RunContext) -> None:
    """Raise ValueError in all processes unless all have equally many batches."""
    params = run_context.original_args()
    data = params.valid_dataset if params.mode == "eval" else params.train_dataset
    sizes = all_gather_object(data.get_dataset_size())
    if len(set(sizes)) > 1:
        raise ValueError(
            "In data parallel training all processes must have equally many batches, but those of "
            f"the processes 0, 1, … are {', '.join(map(str, sizes))}. A data set with 'num_shards' "
            "and 'shard_id' gives each as many."
        )


def _all_reduce_stop(run_context: RunContext) -> None:
    """Request a stop in all processes if one has requested it; a final stop takes precedence."""
    stopped, interrupted = run_context.get_stop_requested(), run_context.is_interrupted()
    requested = 2 * stopped - interrupted
    agreed = all_reduce_max(requested)
    if agreed > requested:
        run_context.request_stop(finished=agreed == 2)


def check_parameters(network: Cell, params: InternalCallbackParam) -> None:
    """Compare the trained parameters, and those of the optimizer, with the other processes'.

    Parameters that are not trained may differ, such as the moving averages of `BatchNorm`.

    Args:
        network: The network.
        params: The parameters of the run.

    Raises:
        RuntimeError: In all processes: some parameters differ.
    """
    if get_group_size() == 1 or not broadcasts_parameters():
        return
    parameters = list(network.get_parameters())
    sums = [_checksum(parameter) if parameter.requires_grad else 0 for parameter in parameters]
    gathered = all_gather_object(np.array(sums, np.uint32).tobytes())
    if len(set(gathered)) == 1:
        return
    table = np.array([np.frombuffer(row, np.uint32) for row in gathered])
    unlike = table != table[0]
    names = [f"'{parameters[i].name}'" for i in np.flatnonzero(unlike.any(axis=0))]
    others = processes(np.flatnonzero(unlike.any(axis=1)).tolist())
    when = "in an evaluation" if params.mode == "eval" else f"after epoch {params.cur_epoch_num}"
    raise RuntimeError(
        f"In data parallel training all processes must have the same parameters, but {when} these "
        f"differ from process 0's in {others}: {shortened(names, ', ')}. What changes parameters, "
        "such as 'load_checkpoint' or a callback, must do so in all processes; the callback's "
        "'chief_only' must be False."
    )


def _checksum(parameter: Parameter) -> int:
    values = to_host(parameter._data)
    if values.dtype.kind == "f" and np.isnan(values).any():
        # NaNs have different bit patterns: which one a sum has depends on its operands' order.
        values = np.where(np.isnan(values), np.nan, values)
    return crc32(values.tobytes())


class SkipEmptyBatch(Cell):
    """A cell that calls a network on batches with rows only."""

    def __init__(self, network: Cell) -> None:
        super().__init__(auto_prefix=False)
        self.network = network

    @property
    def cls_name(self) -> str:
        """The name of the network's class, for errors."""
        return self.network.cls_name

    def construct(self, *batch: Tensor) -> object:
        """Return the network's outputs; None for a batch without rows."""
        return self.network(*batch) if batch_size_of(batch) else None


class DistributedMetrics(MetricCollection):
    """The metrics of an evaluation in several processes."""

    def update(self, outputs: object, rows: int) -> None:
        """Update the metrics with the joined outputs of all processes.

        Outputs that are neither rows nor a single number are passed on process by process.
        """
        gathered = [pair for pair in all_gather_object((rows, outputs)) if pair[0]]
        counts = [count for count, _ in gathered]
        parts = [as_tuple(part) for _, part in gathered]
        joined = [_join(items, counts) for items in zip(*parts, strict=True)]
        if any(item is None for item in joined):
            for items, count in zip(parts, counts, strict=True):
                super().update(items, count)
        else:
            super().update(tuple(joined), sum(counts))


def _join(parts: Sequence[object], rows: Sequence[int]) -> Tensor | None:
    """Return one output of the complete batch, given those of its parts; None if it is unknown."""
    arrays = [part.asnumpy() for part in parts if isinstance(part, Tensor)]
    if len(arrays) < len(rows):
        return None
    if all(array.ndim and len(array) == n for array, n in zip(arrays, rows, strict=True)):
        # Shards take rows in turn, so rows are joined in turn.
        positions = np.concatenate([np.arange(n) for n in rows])
        return tensor_of(np.concatenate(arrays)[np.argsort(positions, kind="stable")])
    if all(array.size == 1 for array in arrays):
        mean = np.average([array.item() for array in arrays], weights=rows)
        return tensor_of(np.full_like(arrays[0], mean))
    return None
