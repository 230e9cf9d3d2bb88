"""SummaryCollector: write the values of a training for TensorBoard and MindInsight."""

import math
import os
import re
from collections.abc import Collection, Mapping
from types import NoneType
from typing import Final, Self

import numpy as np

from minispore.common import Parameter, Tensor
from minispore.nn import Cell, Optimizer
from minispore.train.callback._checkpoint import ModelCheckpoint
from minispore.train.callback._summary_landscape import LandscapeSaver, read_landscape_options
from minispore.train.protocol.callback import Callback, InternalCallbackParam, RunContext
from minispore.train.protocol.learning_rate import learning_rates
from minispore.train.protocol.state_fields import StateField, StatefulMixin
from minispore.train.summary.graph import parts_of
from minispore.train.summary.lineage import EvaluationLineage, TrainLineage, check_custom
from minispore.train.summary.summary_record import (
    VALUE_PLUGINS,
    SummaryRecord,
    check_export_options,
    check_folder,
    check_keys,
)
from minispore.utils.arrays import AnyArray
from minispore.utils.checks import as_items, caller, check_arguments, check_int, check_type

__all__ = ["SummaryCollector"]

_SWITCHES: Final = (
    "collect_metric",
    "collect_graph",
    "collect_train_lineage",
    "collect_eval_lineage",
    "collect_input_data",
    "collect_dataset_graph",
)
# Without `collect_tensor_freq`, tensors are written in at most this many steps.
_MAX_TENSOR_STEPS: Final = 20
_FIRST_PARAMETERS: Final = 5
# One row of the image grid.
_MAX_IMAGES: Final = 8
# Large parameters are sampled: a histogram of some thousand elements resembles that of all, and is
# faster. Adjacent elements are read in runs; since the number of runs is prime, they do not all
# begin in the same column.
_RUNS: Final = 61
_RUN_LENGTH: Final = 64
_TENSORS: Final = ("tensor",)
_WITHOUT_TENSORS: Final = tuple(kind for kind in VALUE_PLUGINS if kind not in _TENSORS)


def _check_specified(value: object) -> dict[str, object]:
    """Return a copy of `collect_specified_data`.

    Raises:
        TypeError: A key or value has the wrong type.
        ValueError: A key is unknown.
        NotImplementedError: The graph of the dataset is requested.
    """
    keys = (*_SWITCHES, "histogram_regular", "collect_landscape")
    specified = check_keys(value, keys, "collect_specified_data")
    for key in _SWITCHES:
        check_type(specified.get(key, False), bool, key)
    if specified.get("collect_dataset_graph"):
        raise NotImplementedError(
            f"For '{caller()}', 'collect_dataset_graph' must be False: graphs of datasets are not "
            "written. 'custom_lineage_data' can describe what a run is trained on."
        )
    return specified


def _histogram_pattern(pattern: object) -> str | None:
    """Return the pattern of the parameters with histograms: None for the first, "" for none."""
    regular = check_type(pattern, (str, NoneType), "histogram_regular")
    try:
        re.compile(regular or "")
    except re.error as error:
        raise ValueError(
            f"For '{caller()}', the value of 'histogram_regular' is not a valid regular "
            f"expression: {error}."
        ) from None
    return regular


@check_arguments
class SummaryCollector(Callback, StatefulMixin):
    """Write the loss, weights, inputs and the graph of a training into event files.

    The following is written in the first step and in every `collect_freq`-th:

    * ``loss/auto``, the loss, and ``learning_rate/auto``, the learning rate of the step;
      ``learning_rate_0/auto`` and so on if groups of parameters have their own;
    * ``<name>/auto``, a histogram of each of the first five parameters that are trainable when an
      epoch begins; parameters with more than 3,904 elements are sampled;
    * ``input_data/auto``, the first 8 images, if the first column of the batch contains images;
    * the values of the summary operations (`ops.ScalarSummary` etc.) in the network.

    In addition are written: in `Model.fit`, the results of each evaluation, as
    ``eval_<name>/auto``; once, the graph of the network; and at the end, the settings of the
    training. See `SummaryRecord` for the files. Of a run that is resumed in the same folder
    TensorBoard shows each step once, and the graph of the first part.

    Args:
        summary_dir: The folder, created if it does not exist.
        collect_freq: The number of steps between two steps that are written.
        num_process: Accepted for compatibility; no processes are started.
        collect_specified_data: Which data to collect, by key:

            * ``"collect_metric"``: the loss, the learning rate and the results of evaluations;
            * ``"collect_graph"``: the graph of the network;
            * ``"collect_train_lineage"`` and ``"collect_eval_lineage"``: for MindInsight, the
              settings of the training and the results of `Model.eval`;
            * ``"collect_input_data"``: the images of the batch;
            * ``"histogram_regular"``: a pattern that is matched at the beginning of parameter
              names; None for the first five parameters;
            * ``"collect_dataset_graph"``: must be False;
            * ``"collect_landscape"``: a dict; saves the parameters that `SummaryLandscape` needs.

        keep_default_action: Whether to collect the data that `collect_specified_data` does not
            mention.
        custom_lineage_data: For MindInsight, a description of the run: a dict from str to int,
            float or str.
        collect_tensor_freq: The number of steps between two steps in which `TensorSummary` values
            are written; by default at least `collect_freq`, and so large that at most 20 are
            written.
        max_file_size: The maximum number of bytes in a file; None for no limit.
        export_options: ``{"tensor_format": "npy"}`` also saves tensors as numpy files.

    Raises:
        TypeError: An argument, or an element of one, has the wrong type.
        ValueError: An argument is out of range, or a key is unknown.
        NotImplementedError: The graph of the dataset is requested.

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

    Source: MindSpore's `mindspore.SummaryCollector`.
    """

    chief_only = True
    _landscape_files = StateField(dict[str, str])
    _step = StateField(int)
    _names = StateField(list[str])

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
        self._folder = check_folder(summary_dir, "summary_dir")
        check_int(collect_freq, "collect_freq", low=1)
        check_int(num_process, "num_process", low=1)
        if collect_tensor_freq is not None:
            check_int(collect_tensor_freq, "collect_tensor_freq", low=1)
        if max_file_size is not None:
            check_int(max_file_size, "max_file_size", low=1)
        check_export_options(export_options)
        specified = _check_specified(
            {} if collect_specified_data is None else collect_specified_data
        )
        self._collected = {key for key in _SWITCHES if specified.get(key, keep_default_action)}
        self._histograms = _histogram_pattern(
            specified.get("histogram_regular", None if keep_default_action else "")
        )
        landscape = specified.get("collect_landscape")
        options = None if landscape is None else read_landscape_options(landscape)
        self._landscape = None if options is None else LandscapeSaver(self._folder, options)
        self._custom = {} if custom_lineage_data is None else check_custom(custom_lineage_data)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        self._freq = collect_freq
        self._auto_tensors = collect_tensor_freq is None
        self._tensor_freq = collect_tensor_freq or collect_freq
        self._max_tensor_steps = _MAX_TENSOR_STEPS if self._auto_tensors else math.inf
        self._max_file_size = max_file_size
        self._export_options = export_options
        self._record: SummaryRecord | None = None
        self._untraced = False  # whether the graph is not recorded yet
        self._rates: dict[str, float] = {}  # the learning rates of the step, if it is written
        # Determined once per epoch: iterating over all cells takes longer than the histograms.
        self._parameters: list[Parameter] | None = None

    def __enter__(self) -> Self:
        """Open a new set of files."""
        self._open()
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Complete and close the files."""
        record, self._record = self._record, None
        if record is not None:
            record.close()

    def state_dict(self) -> dict[str, object]:
        """Return the last step and the checkpoints for landscapes, after writing all values.

        They must be on the disk, since a run that is resumed from this state does not write them
        again.
        """
        self.reset_state()
        if self._record is not None:
            self._step, self._names = self._record.last
            self._record.flush()
        if self._landscape is not None:
            self._landscape_files = self._landscape.files
        return super().state_dict()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore a state that `state_dict` has returned; TensorBoard drops what was written later.

        Raises:
            ValueError: An entry is missing or has the wrong type.
        """
        super().load_state_dict(state)
        if self._open().restart(self._step, self._names):
            self._untraced = False
        if self._landscape is not None:
            self._landscape.files = self._landscape_files

    def on_train_begin(self, run_context: RunContext) -> None:
        """Write the custom lineage, and reset the schedule of tensors and landscapes."""
        params = run_context.original_args()
        record = self._open()
        if self._auto_tensors:
            steps = params.epoch_num * params.batch_num
            self._tensor_freq = max(self._freq, steps // (_MAX_TENSOR_STEPS - 1))
        self._untraced = "collect_graph" in self._collected
        self._parameters = None
        if self._custom:
            record.add_value("custom_lineage_data", "custom", self._custom)
        if self._landscape is not None:
            self._landscape.begin(params)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Discard the list of parameters: others may be trainable in this epoch."""
        self._parameters = None

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Record the graph in the first step; subscribe to summaries if the step is written."""
        params = run_context.original_args()
        if self._untraced:  # not in `on_train_begin`, since a finished run has no step
            self._untraced = False
            parts = parts_of(params.network, params.loss_fn)
            self._open().trace(params.train_network, parts)
        kinds = self._kinds(params.cur_step_num)
        self._open().subscribe(kinds)
        self._rates = learning_rates(run_context) if kinds else {}

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Write the values of the step if it is due."""
        params = run_context.original_args()
        step = params.cur_step_num
        kinds = self._kinds(step)
        if kinds:
            record = self._open()
            # Evaluations, whose values are not written, call the same network.
            record.subscribe(())
            if kinds != _TENSORS:
                self._add_values(record, params)
            record.record(step)
        if self._landscape is not None:
            self._landscape.save(params, "step")

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Write the results of the evaluation if `fit` has evaluated after this epoch."""
        params = run_context.original_args()
        if "collect_metric" in self._collected and params.get("metrics"):
            record = self._open()
            for name, result in params.metrics.items():
                if isinstance(result, int | float):
                    record.add_value_unchecked("scalar", f"eval_{name}/auto", _scalar(result))
            record.record(params.cur_step_num)
        if self._landscape is not None:
            self._landscape.save(params, "epoch")

    def on_train_end(self, run_context: RunContext) -> None:
        """Write the settings of the training."""
        params = run_context.original_args()
        if "collect_train_lineage" in self._collected:
            record = self._open()
            # A list of rates has none for the step after its last one.
            rates = learning_rates(run_context) or self._rates
            rate = next(iter(rates.values()), 0.0)
            record.add_value("train_lineage", "train", _train_lineage(params, rate))
            record.record(params.cur_step_num)
        if self._landscape is not None:
            self._landscape.end(params)

    def on_eval_end(self, run_context: RunContext) -> None:
        """Write the results of `Model.eval`."""
        params = run_context.original_args()
        if (
            "collect_eval_lineage" in self._collected
            and params.metrics
            and "cur_epoch_num" not in params
        ):
            record = self._open()
            size = params.batch_num * _batch_size(params.valid_dataset)
            record.add_value("eval_lineage", "eval", EvaluationLineage(params.metrics, size))
            record.record(params.cur_step_num)

    def _open(self) -> SummaryRecord:
        """Return this run's `SummaryRecord`, also in custom loops that do not enter callbacks."""
        if self._record is None:
            self._record = SummaryRecord(
                self._folder,
                max_file_size=self._max_file_size,
                export_options=self._export_options,
            )
            self._record.subscribe(())
        return self._record

    def _kinds(self, step: int) -> Collection[str]:
        """Return the kinds of values that are written in a step."""
        values = step == 1 or step % self._freq == 0
        tensors = step == 1 or (
            step % self._tensor_freq == 0 and step // self._tensor_freq < self._max_tensor_steps
        )
        if values:
            return VALUE_PLUGINS if tensors else _WITHOUT_TENSORS
        return _TENSORS if tensors else ()

    def _add_values(self, record: SummaryRecord, params: InternalCallbackParam) -> None:
        if "collect_input_data" in self._collected:
            images = _images(params)
            if images is not None:
                record.add_value_unchecked("image", "input_data/auto", images)
        if "collect_metric" in self._collected:
            loss = _loss(params.net_outputs)
            if loss is not None:
                record.add_value_unchecked("scalar", "loss/auto", _scalar(loss))
            for name, rate in self._rates.items():
                record.add_value_unchecked("scalar", f"{name}/auto", _scalar(rate))
        if self._parameters is None:
            self._parameters = self._histogram_parameters(params.network)
        for parameter in self._parameters:
            record.add_value_unchecked("histogram", f"{parameter.name}/auto", _sample(parameter))

    def _histogram_parameters(self, network: Cell) -> list[Parameter]:
        """Return the parameters whose histograms are written."""
        pattern = self._histograms
        if pattern == "":
            return []
        parameters = [p for p in network.trainable_params() if p.ndim]
        if pattern is None:
            return parameters[:_FIRST_PARAMETERS]
        return [p for p in parameters if re.match(pattern, p.name)]


def _sample(parameter: Parameter) -> AnyArray:
    """Return a copy of the elements of a parameter, or of runs of elements of a large one."""
    elements = parameter.asnumpy().reshape(-1)
    if elements.size > _RUNS * _RUN_LENGTH:
        distance = elements.size // _RUNS
        elements = elements[: _RUNS * distance].reshape(_RUNS, distance)[:, :_RUN_LENGTH]
    return elements.copy()


def _scalar(value: float) -> AnyArray:
    return np.array(value, np.float32)


def _images(params: InternalCallbackParam) -> AnyArray | None:
    """Return a copy of the first images of the batch, None if it does not contain images."""
    batch = params.train_dataset_element
    if batch:
        first = batch[0]
        if first.ndim == 4 and first.shape[1] in {1, 3} and 0 not in first.shape:
            return first.asnumpy()[:_MAX_IMAGES].copy()
    return None


def _loss(outputs: object) -> float | None:
    """Return the loss among the outputs of a network, of several elements the mean."""
    while items := as_items(outputs):
        outputs = items[0]
    if isinstance(outputs, Tensor) and 0 not in outputs.shape:
        return float(outputs.asnumpy().mean(dtype=np.float64))
    return float(outputs) if isinstance(outputs, int | float) else None


def _train_lineage(params: InternalCallbackParam, learning_rate: float) -> TrainLineage:
    optimizer = params.optimizer or _optimizer_in(params.train_network)
    path, size = _checkpoint(params)
    batch_size = _batch_size(params.train_dataset)
    return TrainLineage(
        network=type(params.network).__name__,
        loss_function=_name_of(params.loss_fn),
        optimizer="" if optimizer is None else type(optimizer).__name__,
        learning_rate=learning_rate,
        loss=_loss(params.get("net_outputs")) or 0.0,
        epoch=params.epoch_num,
        batch_size=batch_size,
        dataset_size=params.batch_num * batch_size,
        model_path=path,
        model_size=size,
    )


def _optimizer_in(network: Cell) -> Optimizer | None:
    return next((c for _, c in network.cells_and_names() if isinstance(c, Optimizer)), None)


def _checkpoint(params: InternalCallbackParam) -> tuple[str, int]:
    """Return the path of the last checkpoint, encoded as in MindSpore, and its size in bytes."""
    import json

    checkpoints = (c for c in params.list_callback if isinstance(c, ModelCheckpoint))
    paths = (checkpoint.latest_ckpt_file_name for checkpoint in checkpoints)
    path = next(filter(os.path.isfile, paths), None)
    return json.dumps({"ckpt": path}), os.path.getsize(path) if path else 0


def _name_of(loss_fn: object) -> str:
    """Return the name of a function, or of the class of a cell; "" for None."""
    return "" if loss_fn is None else getattr(loss_fn, "__name__", type(loss_fn).__name__)


def _batch_size(dataset: object) -> int:
    """Return the number of samples in a batch, 1 if the dataset does not report it."""
    get_batch_size = getattr(dataset, "get_batch_size", None)
    size = get_batch_size() if callable(get_batch_size) else 1
    return size if isinstance(size, int) else 1
