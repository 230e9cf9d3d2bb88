"""What callbacks refuse is said whole: each sentence to its end, in these words."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pytest

from minispore.dataset import DSRunContext, NumpySlicesDataset, WaitedDSCallback
from minispore.train import (
    Callback,
    CheckpointConfig,
    EarlyStopping,
    FlopsUtilizationCollector,
    Model,
    RunContext,
    SummaryCollector,
)
from minispore.train._protocol.manager import refuse_older_names
from minispore.train.callback._landscape_metadata import read_metadata
from minispore.train.callback._summary_landscape import _LossOf

from .standins import ConstantLoss


class Waited(WaitedDSCallback):
    def sync_step_begin(
        self, train_run_context: RunContext, ds_run_context: DSRunContext
    ) -> None: ...


def copy(x: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    return x.copy()


class Older(Callback):
    def step_end(self, run_context: RunContext) -> None: ...
    def begin(self, run_context: RunContext) -> None: ...


def of_two_arguments() -> None:
    CheckpointConfig(one=1, other=2)


def of_nothing_to_count() -> None:
    CheckpointConfig(save_checkpoint_steps=0, keep_checkpoint_max=0)


def of_a_cloud() -> None:
    FlopsUtilizationCollector(10, enable_ma_collector=True)


def of_a_graph_of_data() -> None:
    SummaryCollector("unused", collect_specified_data={"collect_dataset_graph": True})


def of_older_hooks() -> None:
    refuse_older_names([Older()])


def of_no_evaluation() -> None:
    run = RunContext({"metric_names": []})
    EarlyStopping("accuracy").on_train_begin(run)


def of_another_metric() -> None:
    run = RunContext({"metric_names": ["acc"]})
    EarlyStopping("accuracy").on_train_begin(run)


def of_a_larger_step() -> None:
    waited = Waited(step_size=1)
    rows = NumpySlicesDataset([1.0, 2.0], ["x"], shuffle=False).map(copy, callbacks=waited)
    Model(ConstantLoss()).train(1, rows.batch(2), waited)


def of_half_a_model() -> None:
    _LossOf(lambda: (1, 2), 1)


def of_a_group_that_is_none() -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "train_metadata.json"
        path.write_text('{"epoch_group": {"0": 3}, "model_params_file_map": {}}', "utf-8")
        try:
            read_metadata(str(path), "Here")
        except ValueError as error:
            raise ValueError(str(error).replace(str(path), "FILE")) from None


REFUSALS = {
    of_two_arguments: (
        TypeError,
        ("For 'CheckpointConfig', there is no argument 'one', 'other'."),
    ),
    of_nothing_to_count: (
        ValueError,
        (
            "For 'CheckpointConfig', the arguments 'save_checkpoint_steps', "
            "'save_checkpoint_seconds', 'keep_checkpoint_max', 'keep_checkpoint_per_n_minutes' "
            "must not all be 0 or None."
        ),
    ),
    of_a_cloud: (
        NotImplementedError,
        (
            "For 'FlopsUtilizationCollector', 'enable_ma_collector' must be False: there is no "
            "cloud to write for. The figures are printed."
        ),
    ),
    of_a_graph_of_data: (
        NotImplementedError,
        (
            "For 'SummaryCollector', 'collect_dataset_graph' is not covered: MindInsight's graph "
            "of a dataset is not written. 'custom_lineage_data' can say in words what is trained "
            "on."
        ),
    ),
    of_older_hooks: (
        ValueError,
        (
            "For 'Model.fit', the callback Older defines begin, step_end, which would be called "
            "in training and in evaluation alike. Use methods prefixed with 'on_train' or "
            "'on_eval' instead."
        ),
    ),
    of_no_evaluation: (
        ValueError,
        (
            "For 'EarlyStopping', the argument 'monitor' must be one of what this run measures, "
            "'loss', but got 'accuracy'. Only 'Model.fit' with a 'valid_dataset' evaluates."
        ),
    ),
    of_another_metric: (
        ValueError,
        (
            "For 'EarlyStopping', the argument 'monitor' must be one of what this run measures, "
            "'loss', 'acc', but got 'accuracy'."
        ),
    ),
    of_a_larger_step: (
        RuntimeError,
        (
            "The Python code of 'WaitedDSCallback.ds_step_begin' in the dataset's pipeline failed: "
            "RuntimeError: "
            "For 'Waited', the dataset begins with another step before the training has done the "
            "step before. Set 'step_size' to the number of rows that the training takes in a "
            "step; nothing after the 'map' may read ahead, as 'shuffle' does."
        ),
    ),
    of_half_a_model: (
        TypeError,
        (
            "For 'SummaryLandscape.gen_landscapes_with_multi_process', 'callback_fn' must return "
            "a model, a network, a dataset and the model's metrics."
        ),
    ),
    of_a_group_that_is_none: (
        ValueError,
        ("Here, the file 'FILE' is not as it was written: a group is no list."),
    ),
}


@pytest.mark.parametrize("refused", REFUSALS)
def test_whole_sentences(refused: Callable[[], None]) -> None:
    error, words = REFUSALS[refused]
    with pytest.raises(error) as caught:
        refused()
    assert str(caught.value) == words
