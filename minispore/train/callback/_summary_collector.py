"""SummaryCollector: write what happens in a training for TensorBoard and MindInsight to show."""

import math
import os
import re
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from minispore.common import Parameter, Tensor
from minispore.nn import Cell, Optimizer
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import InternalCallbackParam, RunContext
from minispore.train.callback._checkpoint import ModelCheckpoint
from minispore.train.callback._landscape_saver import LandscapeSaver
from minispore.train.callback._summary_options import check_kind, check_positive, read_options
from minispore.train.summary._arguments import check_folder
from minispore.train.summary._export import check_options
from minispore.train.summary._graph import parts_of
from minispore.train.summary._lineage import EvaluationLineage, TrainLineage, check_custom
from minispore.train.summary.summary_record import HEARD, SummaryRecord

_Array = NDArray[np.generic]

_OWNER: Final = "SummaryCollector"
# Without a frequency of their own, tensors are written in so many steps at most.
_MOST_TENSORS: Final = 20
_FIRST_PARAMETERS: Final = 5
# One row of pictures.
_IMAGES: Final = 8
# A histogram of some thousand elements looks like one of millions, and costs a step less. Elements
# that are neighbours are read at once; by a prime number of runs not all begin at the same column.
_RUNS: Final = 61
_RUN: Final = 64
_TENSORS: Final = ("tensor",)
_WITHOUT_TENSORS: Final = tuple(kind for kind in HEARD if kind not in _TENSORS)


class SummaryCollector(Callback):
    """Write the loss, weights, inputs and the graph of a training into event files.

    In the first step and in every `collect_freq`-th are written:

    * ``loss/auto``, the loss;
    * ``<name>/auto``, a histogram of each of the first five parameters that are trainable when an
      epoch begins; of one with more than 3,904 elements so many, in runs that are evenly spread;
    * ``input_data/auto``, the first 8 images, if the batch's first column holds images;
    * what the `ops` summaries inside of the network hand out.

    In `fit` follow an evaluation's results, as ``eval_<name>/auto``; once, the network's graph; and
    at the end, with what was trained. See `SummaryRecord` for the files.

    Source: MindSpore's `mindspore.SummaryCollector`.

    Args:
        summary_dir: The folder, made if there is none.
        collect_freq: Steps from one that is written to the next.
        num_process: Accepted as in MindSpore; no processes are started.
        collect_specified_data: What is collected, by key:

            * ``"collect_metric"``: loss and results of evaluations;
            * ``"collect_graph"``: the network's graph;
            * ``"collect_train_lineage"`` and ``"collect_eval_lineage"``: for MindInsight, with what
              was trained, and what an evaluation found;
            * ``"collect_input_data"``: the batch;
            * ``"histogram_regular"``: a pattern that the names of parameters begin with; None for
              the first five;
            * ``"collect_dataset_graph"``: not covered, only False;
            * ``"collect_landscape"``: a dict, see `SummaryLandscape`, which needs parameters that
              are saved while training.

        keep_default_action: Whether what `collect_specified_data` does not name is collected.
        custom_lineage_data: For MindInsight, your own words on the run: a dict from str to int,
            float or str.
        collect_tensor_freq: Steps from one written `TensorSummary` to the next; by default as
            `collect_freq`, and so that not more than 20 are written.
        max_file_size: The most bytes of a file; None for no limit.
        export_options: ``{"tensor_format": "npy"}`` also saves tensors as files of numpy.

    Raises:
        TypeError: An argument, or what stands in one, is of the wrong type.
        ValueError: An argument is out of range, or there is no such key.
        NotImplementedError: The graph of the dataset is asked for.

    Examples:
        >>> import minispore as ms, numpy as np, os, tempfile
        >>> from minispore import dataset as ds, nn
        >>> data = {"x": np.eye(4, dtype=np.float32), "y": np.arange(4, dtype=np.int32)}
        >>> data = ds.NumpySlicesDataset(data, shuffle=False).batch(2)
        >>> net = nn.Dense(4, 4)
        >>> model = ms.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.train(1, data, callbacks=[SummaryCollector(folder)])
        ...     [name.split(".")[2] for name in sorted(os.listdir(folder))]
        ['events', 'events', 'graph', 'tfevents']
    """

    chief_only = True

    def __init__(
        self,
        summary_dir: str,
        collect_freq: int = 10,
        num_process: int = 32,
        collect_specified_data: dict[str, object] | None = None,
        keep_default_action: bool = True,
        custom_lineage_data: dict[str, int | float | str] | None = None,
        collect_tensor_freq: int | None = None,
        max_file_size: int | None = None,
        export_options: dict[str, str | None] | None = None,
    ) -> None:
        super().__init__()
        self._folder = check_folder(summary_dir, "summary_dir", _OWNER)
        check_positive(collect_freq, "collect_freq")
        check_positive(num_process, "num_process")
        check_positive(collect_tensor_freq, "collect_tensor_freq", none=True)
        check_positive(max_file_size, "max_file_size", none=True)
        check_kind(keep_default_action, (bool,), "keep_default_action")
        check_options(export_options, _OWNER)
        self._options = read_options(collect_specified_data, keep_default=keep_default_action)
        self._custom = {}
        if custom_lineage_data is not None:
            self._custom = check_custom(custom_lineage_data, "custom_lineage_data")
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        self._freq = collect_freq
        self._auto_tensors = collect_tensor_freq is None
        self._tensor_freq = collect_freq if collect_tensor_freq is None else collect_tensor_freq
        self._most_tensors = float(_MOST_TENSORS) if self._auto_tensors else math.inf
        self._max_file_size = max_file_size
        self._export_options = export_options
        self._record: SummaryRecord | None = None
        self._untraced = False  # whether the graph has still to be seen
        # Looked for once in an epoch: through all cells it takes longer than their histograms.
        self._parameters: list[Parameter] | None = None
        self._landscape = (
            None
            if self._options.landscape is None
            else LandscapeSaver(self._folder, self._options.landscape)
        )

    def __enter__(self) -> Self:
        """Open a new set of files."""
        self._open()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Finish the files."""
        record, self._record = self._record, None
        if record is not None:
            record.close()

    def state_dict(self) -> dict[str, object]:
        """The checkpoints that a landscape will be made of; what was recorded is on the disk.

        A run that is resumed from here would not record it again.
        """
        if self._record is not None:
            self._record.flush()
        return {"landscape_files": {} if self._landscape is None else dict(self._landscape.files)}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continue from the state of another; ValueError if it is none."""
        files = state.get("landscape_files")
        if not isinstance(files, dict):
            raise ValueError(
                f"For '{_OWNER}', the state must have a dict 'landscape_files', but got {files!r}."
            )
        if self._landscape is not None:
            named = cast("dict[object, object]", files)
            self._landscape.files = {str(number): str(path) for number, path in named.items()}

    def on_train_begin(self, run_context: RunContext) -> None:
        """Write the custom lineage."""
        params = run_context.original_args()
        record = self._open()
        if self._auto_tensors:
            steps = params.epoch_num * params.batch_num
            self._tensor_freq = max(self._freq, steps // (_MOST_TENSORS - 1))
        self._untraced = self._options.graph
        self._parameters = None
        if self._custom:
            record.add_value("custom_lineage_data", "custom", self._custom)
        if self._landscape is not None:
            self._landscape.begin(params)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Look anew for the parameters: others may be trained in this epoch."""
        self._parameters = None

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """See the graph in the first step; listen to the network, if the step is to be written."""
        params = run_context.original_args()
        if self._untraced:  # a run that is resumed at its end comes to no step
            self._untraced = False
            parts = parts_of(params.network, params.loss_fn)
            self._open().trace(params.train_network, parts)
        kinds = self._kinds(params.cur_step_num)
        if kinds:
            self._open().listen(kinds)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Write the step, if it is one to be written."""
        params = run_context.original_args()
        step = params.cur_step_num
        kinds = self._kinds(step)
        if kinds:
            record = self._open()
            # Evaluations call the same network.
            record.listen(())
            if kinds != _TENSORS:
                self._add_values(record, params)
            record.record(step)
        if self._landscape is not None:
            self._landscape.step_end(params)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Write the results of the epoch's evaluation, if `fit` made one."""
        params = run_context.original_args()
        if self._options.metric and params.get("metrics"):
            record = self._open()
            for name, result in params.metrics.items():
                if isinstance(result, int | float):
                    record.take("scalar", f"eval_{name}/auto", _scalar(result))
            record.record(params.cur_step_num)
        if self._landscape is not None:
            self._landscape.epoch_end(params)

    def on_train_end(self, run_context: RunContext) -> None:
        """Write with what was trained."""
        params = run_context.original_args()
        if self._options.train_lineage:
            record = self._open()
            record.add_value("train_lineage", "train", _train_lineage(params))
            record.record(params.cur_step_num)
        if self._landscape is not None:
            self._landscape.end(params)

    def on_eval_end(self, run_context: RunContext) -> None:
        """Write what an evaluation of its own found."""
        params = run_context.original_args()
        if self._options.eval_lineage and params.metrics and "cur_epoch_num" not in params:
            record = self._open()
            size = params.batch_num * _batch_size(params.valid_dataset)
            record.add_value("eval_lineage", "eval", EvaluationLineage(params.metrics, size))
            record.record(params.cur_step_num)

    def _open(self) -> SummaryRecord:
        """The record of this run, also where a loop of your own does not enter its callbacks."""
        if self._record is None:
            self._record = SummaryRecord(
                self._folder,
                max_file_size=self._max_file_size,
                export_options=self._export_options,
            )
            self._record.listen(())
        return self._record

    def _kinds(self, step: int) -> Collection[str]:
        """The kinds of values that are written in a step."""
        values = step == 1 or step % self._freq == 0
        tensors = step == 1 or (
            step % self._tensor_freq == 0 and step // self._tensor_freq < self._most_tensors
        )
        if values:
            return HEARD if tensors else _WITHOUT_TENSORS
        return _TENSORS if tensors else ()

    def _add_values(self, record: SummaryRecord, params: InternalCallbackParam) -> None:
        if self._options.input_data:
            images = _images(params)
            if images is not None:
                record.take("image", "input_data/auto", images)
        if self._options.metric:
            loss = _loss(params.net_outputs)
            if loss is not None:
                record.take("scalar", "loss/auto", _scalar(loss))
        if self._parameters is None:
            self._parameters = self._watched(params.network)
        for parameter in self._parameters:
            record.take("histogram", f"{parameter.name}/auto", _sample(parameter))

    def _watched(self, network: Cell) -> list[Parameter]:
        """The parameters whose histograms are written."""
        pattern = self._options.histograms
        if pattern == "":
            return []
        parameters = [p for p in network.trainable_params() if p.ndim]
        if pattern is None:
            return parameters[:_FIRST_PARAMETERS]
        return [p for p in parameters if re.match(pattern, p.name)]


def _sample(parameter: Parameter) -> _Array:
    """A copy of all elements of a parameter, or of runs of those of a large one."""
    elements = parameter.asnumpy().reshape(-1)
    if elements.size > _RUNS * _RUN:
        step = elements.size // _RUNS
        elements = elements[: _RUNS * step].reshape(_RUNS, step)[:, :_RUN]
    return elements.copy()


def _scalar(value: float) -> _Array:
    return np.array(value, np.float32)


def _images(params: InternalCallbackParam) -> _Array | None:
    """A copy of the first images of the batch, if it is one of images."""
    batch = params.train_dataset_element
    if batch:
        first = batch[0]
        if first.ndim == 4 and first.shape[1] in {1, 3} and 0 not in first.shape:
            return first.asnumpy()[:_IMAGES].copy()
    return None


def _loss(outputs: object) -> float | None:
    """The loss among a network's outputs: the mean, if it is of several elements."""
    if isinstance(outputs, tuple | list) and outputs:
        return _loss(outputs[0])  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(outputs, Tensor) and 0 not in outputs.shape:
        array = outputs.asnumpy()
        return float(array.item() if array.size == 1 else array.mean(dtype=np.float64))
    return float(outputs) if isinstance(outputs, int | float) else None


def _train_lineage(params: InternalCallbackParam) -> TrainLineage:
    optimizer = params.optimizer or _optimizer_in(params.train_network)
    path, size = _checkpoint(params)
    batch_size = _batch_size(params.train_dataset)
    return TrainLineage(
        network=type(params.network).__name__,
        loss_function="" if params.loss_fn is None else type(params.loss_fn).__name__,
        optimizer="" if optimizer is None else type(optimizer).__name__,
        learning_rate=0.0 if optimizer is None else _learning_rate(optimizer),
        loss=_loss(params.get("net_outputs")) or 0.0,
        epoch=params.epoch_num,
        batch_size=batch_size,
        dataset_size=params.batch_num * batch_size,
        model_path=path,
        model_size=size,
    )


def _optimizer_in(network: Cell) -> Optimizer | None:
    return next((c for _, c in network.cells_and_names() if isinstance(c, Optimizer)), None)


def _learning_rate(optimizer: Optimizer) -> float:
    rate = optimizer.get_lr()
    return (rate[0] if isinstance(rate, tuple) else rate).item()


def _checkpoint(params: InternalCallbackParam) -> tuple[str, int]:
    """The last checkpoint that was saved, as MindSpore writes it, and its size in bytes."""
    import json

    for callback in params.list_callback:
        if isinstance(callback, ModelCheckpoint) and os.path.isfile(
            path := callback.latest_ckpt_file_name
        ):
            return json.dumps({"ckpt": path}), os.path.getsize(path)
    return json.dumps({"ckpt": None}), 0


def _batch_size(dataset: object) -> int:
    """The samples of a batch; 1 of a dataset that does not say."""
    ask = getattr(dataset, "get_batch_size", None)
    size = ask() if callable(ask) else 1
    return size if isinstance(size, int) else 1
