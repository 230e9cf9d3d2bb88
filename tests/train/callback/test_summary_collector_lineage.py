"""SummaryCollector: the lineage of a training."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import Tensor, nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import Model, ModelCheckpoint, RunContext, SummaryCollector
from minispore.train.checkpoint.protobuf import double_field
from minispore.train.summary.lineage import EvaluationLineage, TrainLineage, encode
from minispore.train.summary.summary_record import SummaryRecord
from tests.helpers.stub_models import Batches

Added = list[tuple[str, object]]


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Added:
    """Record the added values with their tags."""
    values: Added = []
    watch(values, monkeypatch)
    return values


def watch(values: Added, patch: pytest.MonkeyPatch) -> None:
    for name in ("add_value", "add_value_unchecked"):
        patch.setattr(
            SummaryRecord, name, lambda _, plugin, tag, value: values.append((tag, value))
        )


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
        return tuple(Tensor(np.float32(each)) for each in self.outputs)


def data(rows: int, batch: int) -> NumpySlicesDataset:
    columns = {"x": np.ones((rows, 4), np.float32), "y": np.zeros(rows, np.int32)}
    return NumpySlicesDataset(columns, shuffle=False).batch(batch)  # type: ignore[return-value]


@pytest.mark.parametrize(("rows", "batch", "epochs"), [(6, 3, 1), (8, 2, 3), (4, 4, 2)])
def test_lineage_of_a_training(
    tmp_path: Path, added: Added, rows: int, batch: int, epochs: int
) -> None:
    net = nn.Dense(4, 3)
    optimizer = nn.SGD(net.trainable_params(), 0.25)
    model = Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    model.train(epochs, data(rows, batch), SummaryCollector(str(tmp_path)))
    lineage = train_lineage(added)
    assert (lineage.batch_size, lineage.dataset_size) == (batch, rows)
    assert (lineage.epoch, lineage.learning_rate) == (epochs, 0.25)
    assert (lineage.network, lineage.loss_function) == ("Dense", "CrossEntropyLoss")
    assert (lineage.optimizer, lineage.model_path, lineage.model_size) == (
        "SGD",
        '{"ckpt": null}',
        0,
    )
    added.clear()
    saver = ModelCheckpoint("net", tmp_path)
    model.train(1, data(rows, batch), [saver, SummaryCollector(str(tmp_path))])
    lineage = train_lineage(added)
    assert json.loads(lineage.model_path) == {"ckpt": saver.latest_ckpt_file_name}
    assert lineage.model_size == Path(saver.latest_ckpt_file_name).stat().st_size
    model.eval(data(rows, batch), callbacks=SummaryCollector(str(tmp_path)))
    [evaluation] = [value for tag, value in added if tag == "eval"]
    assert isinstance(evaluation, EvaluationLineage)
    assert evaluation.dataset_size == rows


Output = tuple[object, list[float]]
SIMPLE: list[Output] = [
    (0.25, [0.25]), (3, [3.0]), (Tensor([[1.0], [2.0]]), [1.5]), (Tensor(2.0), [2.0]),
    ("text", []), ((), []), (None, []), (Tensor(np.zeros((0, 2))), []),
]  # fmt: skip


def first_of_two(inner: st.SearchStrategy[Output]) -> st.SearchStrategy[Output]:
    """Put an output before another one."""
    as_list: st.SearchStrategy[Output] = inner.map(lambda each: ([each[0], 7.0], each[1]))
    return as_list | inner.map(lambda each: ((each[0], 7.0), each[1]))


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
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        values: Added = []
        watch(values, patch)
        with SummaryCollector(folder) as collector:
            collector.on_train_step_end(RunContext(params))
        if batch is not None:
            batch[0].asnumpy()[...] = 9.0  # a user may reuse the array
    losses = [value for tag, value in values if tag == "loss/auto"]
    assert [float(np.asarray(each)) for each in losses] == outputs[1]
    images = [value for tag, value in values if tag == "input_data/auto"]
    pictured = shape is not None and len(shape) == 4 and shape[1] in {1, 3} and 0 not in shape
    assert len(images) == pictured
    for image in images:
        assert shape is not None
        np.testing.assert_array_equal(image, np.ones((min(shape[0], 8), *shape[1:])))


@given(st.lists(st.sampled_from([0.5, 2.0]), max_size=2))
def test_lineage_has_the_first_output_or_zero(outputs: list[float]) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        values: Added = []
        watch(values, patch)
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

    def noting(self: SummaryRecord, log_dir: str, **options: object) -> None:
        made.append({"folder": log_dir, **options})
        init(self, log_dir, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(SummaryRecord, "__init__", noting)
    options: dict[str, str | None] = {"tensor_format": "npy"}
    folder = str(tmp_path / "summary")
    with SummaryCollector(folder, max_file_size=10**6, export_options=options):
        pass
    assert made == [{"folder": folder, "max_file_size": 10**6, "export_options": options}]


def test_optimizer_of_train_one_step_network_is_found(tmp_path: Path, added: Added) -> None:
    net = nn.Dense(4, 3)
    weight, bias = net.trainable_params()
    rates = [{"params": [weight], "lr": 0.5}, {"params": [bias], "lr": 0.25}]
    with_loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
    step = nn.TrainOneStepCell(with_loss, nn.SGD(rates))
    Model(step).train(1, data(2, 1), SummaryCollector(str(tmp_path)))
    lineage = train_lineage(added)
    # the first of several learning rates
    assert (lineage.optimizer, lineage.learning_rate) == ("SGD", 0.5)


@pytest.mark.parametrize("message", [{}, {"get_batch_size": 4}, {"get_batch_size": lambda: None}])
def test_unknown_batch_size_counts_as_one(
    tmp_path: Path, added: Added, message: dict[str, object]
) -> None:
    batches = Batches(3)
    vars(batches).update(message)
    Model(Pair(0.5)).train(1, batches, SummaryCollector(str(tmp_path)))
    lineage = train_lineage(added)
    assert (lineage.batch_size, lineage.dataset_size) == (1, 3)


def test_non_numeric_results_are_written_as_text() -> None:
    metrics = {"a": 0.5, "b": np.float32(1.5), "c": Path("x")}
    data = encode(EvaluationLineage(metrics, 8), 1.0)
    assert b'{"a": 0.5, "b": "1.5", "c": "x"}' in data
    assert data.startswith(double_field(1, 1.0))


@pytest.mark.parametrize("expected", [True, False])
def test_only_standalone_evaluation_writes_lineage(
    tmp_path: Path, added: Added, expected: bool
) -> None:
    def collector() -> SummaryCollector:
        specified: dict[str, object] = {"collect_eval_lineage": expected}
        return SummaryCollector(str(tmp_path), collect_specified_data=specified)

    net = nn.Dense(4, 3)
    optimizer = nn.SGD(net.trainable_params(), 0.25)
    model = Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    model.fit(1, data(2, 1), data(2, 1), callbacks=collector())
    assert "eval" not in [tag for tag, _ in added]
    model.eval(data(2, 1), callbacks=collector())
    assert [tag for tag, _ in added].count("eval") == expected
