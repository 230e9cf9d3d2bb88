"""SummaryCollector: the lineage of a training."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import Tensor, nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import LambdaCallback, Model, ModelCheckpoint, RunContext, SummaryCollector
from minispore.train.checkpoint.protobuf import double_field
from minispore.train.summary.lineage import EvaluationLineage, TrainLineage, encode
from minispore.train.summary.summary_record import SummaryRecord
from tests.helpers.stub_models import Batches

Added = list[tuple[str, object]]


@contextmanager
def watched() -> Generator[tuple[str, Added]]:
    """Return a folder, and a list that receives the added values with their tags."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        values: Added = []
        for name in ("add_value", "add_value_unchecked"):
            patch.setattr(
                SummaryRecord, name, lambda _, plugin, tag, value: values.append((tag, value))
            )
        yield folder, values


def train_lineage(values: Added) -> TrainLineage:
    """Return the only lineage of a training among the values."""
    [lineage] = [value for tag, value in values if tag == "train"]
    assert isinstance(lineage, TrainLineage)
    return lineage


class Pair(nn.Cell):
    """A training network that returns several outputs."""

    def __init__(self, *outputs: float) -> None:
        super().__init__()
        self.outputs = outputs

    def construct(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return tuple(Tensor(np.float32(output)) for output in self.outputs)


def data(rows: int, batch: int) -> NumpySlicesDataset:
    columns = {"x": np.ones((rows, 4), np.float32), "y": np.zeros(rows, np.int32)}
    return NumpySlicesDataset(columns, shuffle=False).batch(batch)  # type: ignore[return-value]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.booleans())
@example(2, 3, 1, True)
def test_lineage_of_a_training_and_of_an_evaluation_outside_of_it(
    batches: int, batch: int, epochs: int, evaluation: bool
) -> None:
    rows = batches * batch
    net = nn.Dense(4, 3)
    optimizer = nn.SGD(net.trainable_params(), 0.25)
    net.optimizer_of_another = nn.Adagrad([nn.Dense(1, 1).weight])  # not the one that trains it
    model = Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    with watched() as (folder, added):

        def collector() -> SummaryCollector:
            specified: dict[str, object] = {"collect_eval_lineage": evaluation}
            return SummaryCollector(folder, collect_specified_data=specified)

        model.train(epochs, data(rows, batch), collector())
        expected = TrainLineage(
            "Dense", "CrossEntropyLoss", "SGD", 0.25, train_lineage(added).loss, epochs, batch
        )
        assert train_lineage(added) == expected._replace(dataset_size=rows)
        added.clear()
        saver = ModelCheckpoint("net", folder)
        model.fit(1, data(rows, batch), data(rows, batch), callbacks=[saver, collector()])
        lineage = train_lineage(added)
        assert json.loads(lineage.model_path) == {"ckpt": saver.latest_ckpt_file_name}
        assert lineage.model_size == Path(saver.latest_ckpt_file_name).stat().st_size
        assert "eval" not in dict(added)
        model.eval(data(rows, batch), callbacks=collector())
    evaluations = [record for _, record in added if isinstance(record, EvaluationLineage)]
    assert [record.dataset_size for record in evaluations] == [rows] * evaluation


Output = tuple[object, list[float]]
SIMPLE: list[Output] = [
    (0.25, [0.25]), (3, [3.0]), (Tensor([[1.0], [2.0]]), [1.5]), (Tensor(2.0), [2.0]),
    ("text", []), ((), []), (None, []), (Tensor(np.zeros((0, 2))), []),
]  # fmt: skip


def first_of_two(inner: st.SearchStrategy[Output]) -> st.SearchStrategy[Output]:
    """Put an output before another one."""
    as_list: st.SearchStrategy[Output] = inner.map(lambda drawn: ([drawn[0], 7.0], drawn[1]))
    return as_list | inner.map(lambda drawn: ((drawn[0], 7.0), drawn[1]))


OUTPUTS = st.recursive(st.sampled_from(SIMPLE), first_of_two, max_leaves=3)
SHAPES = hnp.array_shapes(min_dims=1, max_dims=5, max_side=12) | st.sampled_from(
    [(2, 3, 4, 4), (20, 1, 4, 4), (2, 3, 0, 4), (0, 3, 4, 4)]
)


@given(OUTPUTS, st.none() | SHAPES)
def test_first_number_is_the_loss_and_images_are_of_the_batch(
    outputs: tuple[object, list[float]], shape: tuple[int, ...] | None
) -> None:
    network = nn.Dense(1, 1)
    batch = None if shape is None else (Tensor(np.ones(shape, np.float32)),)
    params = {"cur_step_num": 1, "network": network, "train_network": network}
    params |= {"train_dataset_element": batch, "net_outputs": outputs[0]}
    with watched() as (folder, values):
        with SummaryCollector(folder) as collector:
            collector.on_train_step_end(RunContext(params))
        if batch is not None:
            batch[0].asnumpy()[...] = 9.0  # a user may reuse the array
    losses = [value for tag, value in values if tag == "loss/auto"]
    assert [float(np.asarray(loss)) for loss in losses] == outputs[1]
    images = [value for tag, value in values if tag == "input_data/auto"]
    pictured = shape is not None and len(shape) == 4 and shape[1] in {1, 3} and 0 not in shape
    assert len(images) == pictured
    for image in images:
        assert shape is not None
        np.testing.assert_array_equal(image, np.ones((min(shape[0], 8), *shape[1:])))


@given(st.lists(st.sampled_from([0.5, 2.0]), max_size=2))
def test_lineage_has_the_first_output_or_zero(outputs: list[float]) -> None:
    with watched() as (folder, values):
        collector = SummaryCollector(folder, custom_lineage_data={"who": "me"})
        Model(Pair(*outputs)).train(1, data(2, 1), collector)
    assert ("custom", {"who": "me"}) in values
    lineage = train_lineage(values)
    assert lineage.loss == (outputs or [0.0])[0]
    assert (lineage.optimizer, lineage.loss_function, lineage.learning_rate) == ("", "", 0.0)


def test_graph_parts_are_network_and_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    observed: list[list[str]] = []
    monkeypatch.setattr(SummaryRecord, "trace", lambda _, network, parts: observed.append([*parts]))
    net = nn.Dense(4, 3)
    model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.25))
    model.train(2, data(2, 1), SummaryCollector(str(tmp_path)))
    assert observed == [["Dense", "CrossEntropyLoss"]]


def test_file_options_are_passed_to_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[dict[str, object]] = []
    init = SummaryRecord.__init__

    def record_options(self: SummaryRecord, log_dir: str, **options: object) -> None:
        made.append({"folder": log_dir, **options})
        init(self, log_dir, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(SummaryRecord, "__init__", record_options)
    options: dict[str, str | None] = {"tensor_format": "npy"}
    folder = str(tmp_path / "summary")
    with SummaryCollector(folder, max_file_size=10**6, export_options=options):
        pass
    assert made == [{"folder": folder, "max_file_size": 10**6, "export_options": options}]


@given(st.lists(st.sampled_from([0.5, 0.25, 2.0]), min_size=2, max_size=2))
def test_lineage_has_the_first_rate_of_the_optimizer_in_the_network(rates: list[float]) -> None:
    net = nn.Dense(4, 3)
    groups = [
        {"params": [parameter], "lr": rate}
        for parameter, rate in zip(net.trainable_params(), rates, strict=True)
    ]
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.SGD(groups))
    with watched() as (folder, added):
        Model(step).train(1, data(2, 1), SummaryCollector(folder))
    lineage = train_lineage(added)
    assert (lineage.optimizer, lineage.learning_rate) == ("SGD", rates[0])


@pytest.mark.parametrize("message", [{}, {"get_batch_size": 4}, {"get_batch_size": lambda: None}])
def test_unknown_batch_size_counts_as_one(message: dict[str, object]) -> None:
    batches = Batches(3)
    vars(batches).update(message)
    with watched() as (folder, added):
        Model(Pair(0.5)).train(1, batches, SummaryCollector(folder))
    lineage = train_lineage(added)
    assert (lineage.batch_size, lineage.dataset_size) == (1, 3)


@pytest.mark.parametrize("stopped", [False, True])
def test_lineage_of_a_complete_evaluation_is_written(tmp_path: Path, stopped: bool) -> None:
    model = Model(nn.Dense(4, 3), nn.CrossEntropyLoss(), metrics={"accuracy"})
    stop = LambdaCallback(on_eval_step_end=RunContext.request_stop if stopped else None)
    model.eval(data(4, 2), callbacks=[stop, SummaryCollector(str(tmp_path))])
    assert len([*tmp_path.glob("*_lineage")]) == (not stopped)


def test_non_numeric_results_are_written_as_text() -> None:
    metrics = {"a": 0.5, "b": np.float32(1.5), "c": Path("x")}
    data = encode(EvaluationLineage(metrics, 8), 1.0)
    assert b'{"a": 0.5, "b": "1.5", "c": "x"}' in data
    assert data.startswith(double_field(1, 1.0))


@pytest.mark.parametrize(("listed", "expected"), [([0.5, 0.25, 0.125], 0.125), ([0.5, 0.25], 0.25)])
def test_lineage_of_listed_rates_has_the_next_or_else_the_last(
    listed: list[float], expected: float
) -> None:
    net = nn.Dense(4, 3)
    model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), listed))
    with watched() as (folder, added):
        model.train(1, data(2, 1), SummaryCollector(folder, 1))
    assert train_lineage(added).learning_rate == expected
