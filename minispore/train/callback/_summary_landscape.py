"""SummaryLandscape: the loss over a plane through the parameters of a training."""

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import NoneType
from typing import Any, ClassVar, Final, NamedTuple, Protocol, cast

import numpy as np

from minispore.common import Parameter, Tensor
from minispore.nn import Cell
from minispore.ops.seed import generator, get_rng_state, set_rng_state
from minispore.train.checkpoint.loading import load_checkpoint
from minispore.train.checkpoint.saving import save_checkpoint
from minispore.train.metrics import Loss
from minispore.train.protocol.callback import InternalCallbackParam
from minispore.train.protocol.dataset import DatasetLike, check_dataset
from minispore.train.protocol.iterable_dataset import IterableDataset
from minispore.train.summary import landscape as planes
from minispore.train.summary.event import Landscape
from minispore.train.summary.summary_record import SummaryRecord, check_folder, check_keys
from minispore.utils.arrays import AnyArray, Float64Array
from minispore.utils.atomic import atomic_write, open_regular_file
from minispore.utils.checks import (
    as_items,
    caller,
    check_function,
    check_int,
    check_one_of,
    check_type,
)

__all__ = ["SummaryLandscape"]

_FOLDER: Final = "ckpt_dir"
_METADATA: Final = "train_metadata.json"
_MAX_NUMBER: Final = 2**63 - 1  # the largest integer in an event file
_KEYS: Final = ("landscape_size", "unit", "num_samples", "create_landscape", "intervals")


class LandscapeOptions(NamedTuple):
    """The options of loss landscapes.

    Attributes:
        landscape_size: The number of points in each direction.
        unit: The unit of `intervals`: "step" or "epoch".
        num_samples: The number of samples over which the loss is averaged.
        train: Whether to make a landscape of each interval of the training.
        result: Whether to make a landscape around the final parameters.
        intervals: Groups of steps or epochs whose parameters are saved; None for one group of all.
    """

    landscape_size: int = 40
    unit: str = "step"
    num_samples: int = 2048
    train: bool = True
    result: bool = False
    intervals: list[list[int]] | None = None


def read_landscape_options(value: object) -> LandscapeOptions:
    """Return the options of a `collect_landscape` dict; raise TypeError or ValueError."""
    items = check_keys(value, _KEYS, "collect_landscape")
    create = items.pop("create_landscape", {})
    created = check_keys(create, ("train", "result"), "create_landscape")
    options = LandscapeOptions(**items, **created)
    check_int(options.landscape_size, "landscape_size", low=4, high=255)
    check_type(options.unit, str, "unit")
    check_one_of(options.unit, ("step", "epoch"), "unit")
    check_int(options.num_samples, "num_samples", low=1)
    check_type(options.train, bool, "train")
    check_type(options.result, bool, "result")
    if "intervals" in items:
        _check_intervals(options.intervals)
    return options


def _check_intervals(value: object) -> None:
    for interval in check_type(value, list[object], "intervals"):
        numbers = check_type(interval, list[object], "each interval of intervals")
        if len(numbers) < 3:
            raise ValueError(
                f"For '{caller()}', each interval of 'intervals' must have at least three numbers, "
                f"but got {numbers}."
            )
        for number in numbers:
            check_type(number, int, "each number of intervals")


class LandscapeSaver:
    """Save the parameters of a network after the steps or epochs of landscape intervals.

    Args:
        folder: The folder in which `ckpt_dir` with the files is created.
        options: The intervals, and the options to store for `SummaryLandscape`.

    Attributes:
        files: The checkpoints of this run by step or epoch.
    """

    def __init__(self, folder: str, options: LandscapeOptions) -> None:
        self._folder = os.path.join(folder, _FOLDER)
        self._options = options
        self._intervals: Sequence[Sequence[int]] = []
        self.files: dict[str, str] = {}

    def begin(self, params: InternalCallbackParam) -> None:
        """Determine the intervals of this run."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        self.files = {}
        first = 0
        count = params.epoch_num * params.batch_num
        if self._options.unit == "epoch":
            first, count = params.get("initial_epoch", 0), params.epoch_num
        run = [range(first + 1, first + count + 1)]
        self._intervals = run if self._options.intervals is None else self._options.intervals

    def save(self, params: InternalCallbackParam, unit: str) -> None:
        """Save the parameters at the end of a step or epoch if an interval contains it."""
        if unit != self._options.unit:
            return
        number = params.cur_step_num if unit == "step" else params.cur_epoch_num
        if any(number in interval for interval in self._intervals):
            name = f"{type(params.network).__name__}_{number}_{unit}.ckpt"
            path = os.path.join(self._folder, name)
            os.makedirs(self._folder, mode=0o700, exist_ok=True)  # it may have been removed
            save_checkpoint(params.network, path)
            self.files[str(number)] = path

    def end(self, params: InternalCallbackParam) -> None:
        """Write the metadata that `SummaryLandscape` reads."""
        import json

        options = self._options
        metadata = {
            "epoch_group": {str(i): [*numbers] for i, numbers in enumerate(self._intervals)},
            "model_params_file_map": self.files,
            "step_per_epoch": params.batch_num,
            "unit": options.unit,
            "num_samples": options.num_samples,
            "landscape_size": options.landscape_size,
            "create_landscape": {"train": options.train, "result": options.result},
        }
        with atomic_write(os.path.join(self._folder, _METADATA)) as file:
            file.write(json.dumps(metadata).encode())


class LandscapeMetadata(NamedTuple):
    """The metadata of saved parameters.

    Attributes:
        intervals: The steps or epochs of each landscape.
        files: The checkpoints by step or epoch.
        step_per_epoch: The number of steps in an epoch.
        collected: The options as a `collect_landscape` dict.
        options: The same options, checked and completed.
    """

    intervals: list[list[int]]
    files: dict[int, str]
    step_per_epoch: int
    collected: Mapping[str, object]
    options: LandscapeOptions


def read_metadata(path: str) -> LandscapeMetadata:
    """Read `train_metadata.json`.

    Raises:
        OSError: The file cannot be read.
        ValueError: Its content is invalid.
    """
    import json

    with open(path, "rb", opener=open_regular_file) as file:
        text = file.read()
    try:
        items = _as_object(json.loads(text.decode()), "content")
        groups = _as_object(items.get("epoch_group"), "epoch_group")
        files = _as_object(items.get("model_params_file_map"), "model_params_file_map")
        collected: dict[str, object] = {key: items[key] for key in _KEYS[:4] if key in items}
        return LandscapeMetadata(
            [_as_numbers(group) for group in groups.values()],
            {_parse_number(name): _as_file_name(file) for name, file in files.items()},
            _as_number(items.get("step_per_epoch"), "step_per_epoch"),
            collected,
            read_landscape_options(collected),
        )
    except (ValueError, TypeError, RecursionError) as error:
        # The message may quote a value of any length.
        reason = str(error)[:500].removesuffix(".")
        raise ValueError(f"For '{caller()}', the file '{path}' is invalid: {reason}.") from error


def _as_object(value: object, name: str) -> dict[str, object]:
    return check_type(value, dict[str, object], name, _METADATA)


def _as_numbers(group: object) -> list[int]:
    items = check_type(group, list[object], "epoch_group", _METADATA)
    return [_as_number(item, "epoch_group") for item in items]


def _as_number(value: object, name: str) -> int:
    return check_int(value, name, _METADATA, low=0, high=_MAX_NUMBER)


def _parse_number(text: str) -> int:
    number = int(text) if text.isdecimal() else -1
    return _as_number(number if str(number) == text else text, "model_params_file_map")


def _as_file_name(value: object) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError(f"{value!r} is not a file name")
    return value


class _SupportsEval(Protocol):
    """The method of `Model` that a landscape needs; callbacks do not import the class."""

    def eval(self, valid_dataset: DatasetLike) -> dict[str, Any]:
        """Return the results by metric."""
        ...


class SummaryLandscape:
    """Make loss landscapes of the parameters that a `SummaryCollector` has saved.

    A landscape shows the loss along two directions in the space of all parameters. For a training,
    these are the first two principal components of its trajectory, which is shown as well. For a
    result, they are random, and each filter has the norm of the corresponding filter of the
    network.

    Save the parameters with ``collect_specified_data={"collect_landscape": {…}}``. Its keys are:

    * ``"landscape_size"``: the number of points in each direction, 4 to 255, by default 40;
    * ``"unit"``: "step" (by default) or "epoch";
    * ``"num_samples"``: the number of samples over which the loss is averaged, by default 2048;
    * ``"create_landscape"``: ``{"train": True, "result": False}``, the kinds of landscapes;
    * ``"intervals"``: lists of three or more steps or epochs, one landscape for each list; by
      default one of all.

    MindInsight shows landscapes, TensorBoard does not. `minispore.train.summary.read_events` reads
    them.

    Args:
        summary_dir: The folder of the `SummaryCollector`.

    Raises:
        TypeError: `summary_dir` is not a str.
        ValueError: It is empty.

    Examples:
        >>> import minispore as ms, numpy as np, tempfile
        >>> from minispore import dataset as ds, nn
        >>> rows = {"x": np.eye(4, dtype=np.float32), "y": np.ones((4, 1), np.float32)}
        >>> data = ds.NumpySlicesDataset(rows, shuffle=False).batch(2)
        >>> net = nn.Dense(4, 1)
        >>> metrics = {"loss": ms.train.Loss()}
        >>> model = ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), metrics)
        >>> folder = tempfile.TemporaryDirectory()
        >>> options = {"collect_landscape": {"unit": "epoch", "landscape_size": 4}}
        >>> model.train(3, data, ms.SummaryCollector(folder.name, collect_specified_data=options))
        >>> landscape = SummaryLandscape(folder.name)
        >>> landscape.gen_landscapes_with_multi_process(lambda: (model, net, data, metrics))
        Drawing landscape path total progress is 1/3, landscape path loss is ...
        >>> landscape.clean_ckpt()
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.SummaryLandscape`.
    """

    _name_in_errors: ClassVar[str] = "{kind}.{method}"

    def __init__(self, summary_dir: str) -> None:
        self._folder = check_folder(summary_dir, "summary_dir")

    def clean_ckpt(self) -> None:
        """Remove the saved parameters."""
        from shutil import rmtree

        rmtree(os.path.join(self._folder, _FOLDER), ignore_errors=True)

    def gen_landscapes_with_multi_process(
        self,
        callback_fn: Callable[[], object],
        collect_landscape: dict[str, object] | None = None,
        device_ids: list[int] | None = None,
        output: str | None = None,
    ) -> None:
        """Compute the landscapes and write them; in this process, despite the name.

        Afterwards the network has the parameters of before, as have the random streams.

        Args:
            callback_fn: A function that returns a model, its network, the dataset to evaluate, and
                the metrics of the model: a dict that contains a `Loss`.
            collect_landscape: Replaces the "landscape_size", "num_samples" or "create_landscape"
                with which the parameters were saved.
            device_ids: Accepted for compatibility; there is one device.
            output: The folder for the event file; by default `summary_dir`.

        Raises:
            TypeError: An argument, or what `callback_fn` returns, has the wrong type.
            ValueError: An argument is out of range, or the metrics contain no `Loss`.
            FileNotFoundError: No `SummaryCollector` has saved parameters in `summary_dir`.
        """
        check_function(callback_fn, "callback_fn")
        check_type(device_ids, (list, NoneType), "device_ids")
        for number in device_ids or []:
            check_type(number, int, "device_ids")
        folder = self._folder if output is None else check_folder(output, "output")
        changes = _check_changes({} if collect_landscape is None else collect_landscape)
        metadata = read_metadata(os.path.join(self._folder, _FOLDER, _METADATA))
        options = read_landscape_options({**metadata.collected, **changes})
        metadata = metadata._replace(options=options)
        with _unchanged_generators(), ExitStack() as stack:
            loss = _LossFunction(callback_fn, metadata.options.num_samples)
            stack.callback(loss.restore)
            record = stack.enter_context(SummaryRecord(folder))
            record.subscribe(())
            for interval in metadata.intervals if metadata.options.train else ():
                name = f"landscape_[{interval[0]}, {interval[-1]}]"
                record.add_value("landscape", name, _of_training(metadata, interval, loss))
                record.record(interval[-1])
            if metadata.options.result:
                landscape = _of_result(metadata, loss)
                last = max(metadata.files)
                record.add_value("landscape", f"landscape_[{last}]", landscape)
                record.record(last)


def _of_training(
    metadata: LandscapeMetadata, interval: Sequence[int], loss: "_LossFunction"
) -> Landscape:
    """Return the landscape around the trajectory of a training."""
    options = metadata.options
    numbers = [n for n in interval if n in metadata.files]
    if len(numbers) < 2:
        raise ValueError(
            f"For '{caller()}', of the {options.unit}s {list(interval)} only {numbers} were saved; "
            "a trajectory needs two."
        )
    points = [loss.load(metadata.files[n]) for n in numbers]
    plane, path_x, path_y = planes.pca_plane(points)
    path_z = np.zeros(len(points))
    for i, point in enumerate(points):
        path_z[i] = loss(point)
        print(
            f"Drawing landscape path total progress is {i + 1}/{len(points)}, "
            f"landscape path loss is {path_z[i]}."
        )
    x, y = (planes.axis(path, options.landscape_size) for path in (path_x, path_y))
    z = planes.evaluate_grid(plane, x, y, loss)
    return Landscape(
        x, y, z, path_x, path_y, path_z, tuple(numbers), (0.0, 0.0, float(path_z[-1])),
        "PCA", options.unit, metadata.step_per_epoch,
    )  # fmt: skip


def _of_result(metadata: LandscapeMetadata, loss: "_LossFunction") -> Landscape:
    """Return the landscape around the final parameters."""
    if not metadata.files:
        raise ValueError(f"For '{caller()}', no parameters were saved.")
    end = loss.load(metadata.files[max(metadata.files)])
    plane = planes.random_plane(planes.unravel(end, loss.arrays), generator("landscape"))
    x = y = np.linspace(-1.0, 1.0, metadata.options.landscape_size)
    z = planes.evaluate_grid(plane, x, y, loss)
    empty = np.zeros(0)
    return Landscape(
        x, y, z, empty, empty, empty, (), (0.0, 0.0, loss(end)),
        "Random", metadata.options.unit, metadata.step_per_epoch,
    )  # fmt: skip


@contextmanager
def _unchanged_generators() -> Generator[None, None, None]:
    """Restore the random states: the plane and a shuffled dataset draw random numbers."""
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


class _LossFunction:
    """The loss of a model as a function of the vector of all its parameters."""

    def __init__(self, callback_fn: Callable[[], object], samples: int) -> None:
        items = as_items(callback_fn())
        if items is None or len(items) != 4:
            raise TypeError(
                f"For '{caller()}', 'callback_fn' must return a model, a network, a dataset and "
                "the model's metrics."
            )
        model, network, dataset, metrics = items
        self._parameters = check_type(network, Cell, "network").trainable_params()
        named = check_type(metrics, dict[str, object], "metrics")
        self._model = cast("_SupportsEval", model)
        self._data = _first_batches(check_dataset(dataset, "dataset"), samples)
        name = next((key for key, metric in named.items() if isinstance(metric, Loss)), None)
        if name is None:
            raise ValueError(f"For '{caller()}', the metrics {sorted(named)} contain no 'Loss'.")
        self._name = name
        self.arrays = {p.name: p.asnumpy().copy() for p in self._parameters}

    def load(self, path: str) -> Float64Array:
        """Return the parameters of a checkpoint as a vector."""
        saved = load_checkpoint(path)
        missing = [name for name in self.arrays if name not in saved]
        if missing:
            raise ValueError(f"For '{caller()}', the checkpoint '{path}' has no {missing}.")
        return planes.ravel({n: cast("Parameter", saved[n]).asnumpy() for n in self.arrays})

    def __call__(self, vector: Float64Array) -> float:
        """Evaluate the model with these parameters."""
        self._set(planes.unravel(vector, self.arrays))
        return float(self._model.eval(self._data)[self._name])

    def restore(self) -> None:
        """Give the network its parameters of before."""
        self._set(self.arrays)

    def _set(self, values: Mapping[str, AnyArray]) -> None:
        for parameter in self._parameters:
            parameter.set_data(Tensor(values[parameter.name]))


def _first_batches(dataset: DatasetLike, samples: int) -> IterableDataset:
    """Return the first batches of a dataset, the same ones in each evaluation."""
    batches: list[tuple[object, ...]] = []
    count = 0
    for batch in dataset.create_tuple_iterator(num_epochs=1):
        batches.append(tuple(batch))
        first = batch[0]
        count += first.shape[0] if isinstance(first, Tensor) and first.ndim else 1
        if count >= samples:
            break
    return IterableDataset(batches)


def _check_changes(changes: object) -> dict[str, object]:
    """Return options that replace saved ones; raise TypeError or ValueError for others."""
    read_landscape_options(changes)
    changed = check_type(changes, dict[str, object], "collect_landscape")
    fixed = {"unit", "intervals"} & changed.keys()
    if fixed:
        raise ValueError(
            f"For '{caller()}', {sorted(fixed)} are as they were when the parameters were saved."
        )
    return changed
