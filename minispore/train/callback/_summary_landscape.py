"""SummaryLandscape: the loss over a plane through the parameters that a training went through."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol, cast

import numpy as np

from minispore._checks import as_items, check_type
from minispore.common import Parameter, Tensor
from minispore.common.seed import generator
from minispore.nn import Cell
from minispore.train._dataset import DatasetLike, check_dataset
from minispore.train.callback._landscape_metadata import LandscapeMetadata, read_metadata
from minispore.train.callback._landscape_saver import FOLDER, METADATA
from minispore.train.callback._summary_options import LandscapeOptions, read_landscape
from minispore.train.metrics import Loss
from minispore.train.serialization import load_checkpoint
from minispore.train.summary import _landscape as plane_of
from minispore.train.summary._arguments import check_folder
from minispore.train.summary._event import Landscape
from minispore.train.summary.summary_record import SummaryRecord

_OWNER: Final = "SummaryLandscape"
_METHOD: Final = "SummaryLandscape.gen_landscapes_with_multi_process"


class _Evaluates(Protocol):
    """What a landscape asks of a `Model`; the callbacks don't know the class itself."""

    def eval(self, valid_dataset: DatasetLike) -> dict[str, float]:
        """Give the results by metric."""
        ...


class SummaryLandscape:
    """Make loss landscapes of the parameters that a `SummaryCollector` has saved.

    A landscape shows the loss over two directions in the space of all parameters. That of a
    training has the two in which it went furthest, and its way in them; that of a result has two
    random ones, each filter as long as the filter of the network.

    Collect with ``collect_specified_data={"collect_landscape": {…}}``, which has these keys:

    * ``"landscape_size"``: the points in each direction, 4 to 255, by default 40;
    * ``"unit"``: "step" (by default) or "epoch";
    * ``"num_samples"``: how many samples the loss is the mean of, by default 2048;
    * ``"create_landscape"``: ``{"train": True, "result": False}``: which of the two;
    * ``"intervals"``: lists of three or more steps or epochs, a landscape for each; by default one
      of all.

    MindInsight shows landscapes, TensorBoard does not; `minispore.train.summary.read_events` reads
    them.

    Source: MindSpore's `mindspore.SummaryLandscape`.

    Args:
        summary_dir: The folder of the `SummaryCollector`.

    Raises:
        TypeError: `summary_dir` is no str.
        ValueError: It is empty.
    """

    def __init__(self, summary_dir: str) -> None:
        self._folder = check_folder(summary_dir, "summary_dir", _OWNER)

    def clean_ckpt(self) -> None:
        """Remove the parameters that were saved."""
        from shutil import rmtree

        rmtree(os.path.join(self._folder, FOLDER), ignore_errors=True)

    def gen_landscapes_with_multi_process(
        self,
        callback_fn: Callable[[], object],
        collect_landscape: dict[str, object] | None = None,
        device_ids: list[int] | None = None,
        output: str | None = None,
    ) -> None:
        """Compute the landscapes and write them, all in this process in spite of the name.

        Args:
            callback_fn: Returns a model, its network, the dataset to evaluate, and the model's
                metrics, a dict of which one is a `Loss`.
            collect_landscape: Replaces what was collected with: "landscape_size", "num_samples" and
                "create_landscape".
            device_ids: Accepted as in MindSpore; there is one device.
            output: The folder for the event file; by default `summary_dir`.

        Raises:
            TypeError: An argument, or what `callback_fn` returns, is of the wrong type.
            ValueError: An argument is out of range, or the metrics hold no `Loss`.
            FileNotFoundError: No `SummaryCollector` has saved parameters in `summary_dir`.
        """
        if not callable(callback_fn):
            raise TypeError(
                f"For '{_METHOD}', the argument 'callback_fn' must be a function, "
                f"but got {callback_fn!r} of type {type(callback_fn).__name__}."
            )
        _check_device_ids(device_ids)
        folder = self._folder if output is None else check_folder(output, "output", _OWNER)
        metadata = read_metadata(os.path.join(self._folder, FOLDER, METADATA), f"For '{_METHOD}'")
        options = _options(metadata, collect_landscape)
        loss = _LossOf(callback_fn, options.num_samples)
        with SummaryRecord(folder) as record:
            record.listen(())
            for interval in metadata.intervals:
                if options.train:
                    self._train(record, metadata, options, interval, loss)
            if options.result:
                self._result(record, metadata, options, loss)

    def _train(
        self,
        record: SummaryRecord,
        metadata: LandscapeMetadata,
        options: LandscapeOptions,
        interval: Sequence[int],
        loss: "_LossOf",
    ) -> None:
        found = [n for n in interval if n in metadata.files]
        if len(found) < 2:
            raise ValueError(
                f"For '{_METHOD}', of the {options.unit}s {list(interval)} only {found} were "
                "saved; a way needs two."
            )
        way = [loss.row(metadata.files[n]) for n in found]
        plane, path_x, path_y = plane_of.principal(way)
        path_z = np.zeros(len(way))
        for i, point in enumerate(way):
            path_z[i] = loss(point)
            print(
                f"Drawing landscape path total progress is {i + 1}/{len(way)}, "
                f"landscape path loss is {path_z[i]}."
            )
        size = options.landscape_size
        x, y = plane_of.axis(path_x, size), plane_of.axis(path_y, size)
        landscape = Landscape(
            x, y, plane_of.heights(plane, x, y, loss, _teller(size)), path_x, path_y, path_z,
            tuple(found), (0.0, 0.0, float(path_z[-1])), "PCA", options.unit,
            metadata.step_per_epoch,
        )  # fmt: skip
        record.add_value("landscape", f"landscape_[{interval[0]}, {interval[-1]}]", landscape)
        record.record(interval[-1])

    def _result(
        self,
        record: SummaryRecord,
        metadata: LandscapeMetadata,
        options: LandscapeOptions,
        loss: "_LossOf",
    ) -> None:
        if not metadata.files:
            raise ValueError(f"For '{_METHOD}', no parameters were saved.")
        last = max(metadata.files)
        end = loss.row(metadata.files[last])
        plane = plane_of.around(plane_of.shaped(end, loss.arrays), generator("landscape"))
        size = options.landscape_size
        x = y = np.linspace(-1.0, 1.0, size)
        none = np.zeros(0)
        landscape = Landscape(
            x, y, plane_of.heights(plane, x, y, loss, _teller(size)), none, none, none, (),
            (0.0, 0.0, loss(end)), "Random", options.unit, metadata.step_per_epoch,
        )  # fmt: skip
        record.add_value("landscape", f"landscape_[{last}]", landscape)
        record.record(last)


class _LossOf:
    """The loss of a model as a function of all its parameters in a row."""

    def __init__(self, callback_fn: Callable[[], object], samples: int) -> None:
        given = as_items(callback_fn())
        if given is None or len(given) != 4:
            raise TypeError(
                f"For '{_METHOD}', 'callback_fn' must return a model, a network, a dataset and "
                "the model's metrics."
            )
        model, network, dataset, metrics = given
        check_type(network, Cell, "network", _METHOD)
        check_type(metrics, dict, "metrics", _METHOD)
        self._model = cast("_Evaluates", model)
        self._data = _First(check_dataset(dataset, "dataset", _METHOD), samples)
        named = cast("dict[str, object]", metrics)
        name = next((key for key, metric in named.items() if isinstance(metric, Loss)), None)
        if name is None:
            raise ValueError(f"For '{_METHOD}', the metrics {sorted(named)} hold no 'Loss'.")
        self._name = name
        self._parameters: list[Parameter] = cast("Cell", network).trainable_params()
        self.arrays = {p.name: p.asnumpy() for p in self._parameters}

    def row(self, path: str) -> plane_of.Floats:
        """The parameters of a checkpoint, in a row."""
        saved = load_checkpoint(path)
        missing = [name for name in self.arrays if name not in saved]
        if missing:
            raise ValueError(f"For '{_METHOD}', the checkpoint '{path}' has no {missing}.")
        found = {name: cast("Parameter", saved[name]).asnumpy() for name in self.arrays}
        return plane_of.flat(found)

    def __call__(self, row: plane_of.Floats) -> float:
        """Evaluate the model with these parameters."""
        values = plane_of.shaped(row, self.arrays)
        for parameter in self._parameters:
            parameter.set_data(Tensor(values[parameter.name]))
        return float(self._model.eval(self._data)[self._name])


class _First:
    """The first batches of a dataset, the same in every evaluation."""

    def __init__(self, dataset: DatasetLike, samples: int) -> None:
        batches: Iterable[Sequence[object]] = dataset.create_tuple_iterator(num_epochs=1)
        self._batches: list[Sequence[object]] = []
        seen = 0
        for batch in batches:
            self._batches.append(batch)
            first = batch[0]
            seen += first.shape[0] if isinstance(first, Tensor) and first.ndim else 1
            if seen >= samples:
                break

    def get_dataset_size(self) -> int:
        """The number of batches."""
        return len(self._batches)

    def create_tuple_iterator(self, *, num_epochs: int) -> Iterable[Sequence[object]]:
        """The batches, as often as they are asked for."""
        return self._batches


def _options(metadata: LandscapeMetadata, given: object) -> LandscapeOptions:
    """What was collected with, with `given` in place of parts of it."""
    collected = metadata.collected
    if given is not None:
        read_landscape(given, _OWNER)
        fixed = {"unit", "intervals"} & cast("dict[str, object]", given).keys()
        if fixed:
            raise ValueError(
                f"For '{_METHOD}', {sorted(fixed)} are as they were when the parameters were saved."
            )
        collected = {**collected, **cast("dict[str, object]", given)}
    return read_landscape(collected, _OWNER)


def _check_device_ids(device_ids: object) -> None:
    check_type(device_ids, list, "device_ids", _METHOD, none=True)
    for number in cast("list[object]", device_ids or []):
        check_type(number, int, "device_ids", _METHOD)


def _teller(size: int) -> Callable[[int, int, float], None]:
    def tell(row: int, column: int, loss: float) -> None:
        if column == 0:
            print(f"Drawing landscape total progress: {row + 1}/{size}.")
        print(f"Current local landscape progress is {column + 1}/{size}, landscape loss is {loss}.")

    return tell
