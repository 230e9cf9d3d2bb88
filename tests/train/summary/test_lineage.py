"""What a SummaryCollector tells of a training is what was trained."""

import json
from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor, nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import Model, ModelCheckpoint, RunContext, SummaryCollector
from minispore.train._files.protobuf import double_field
from minispore.train.summary._lineage import EvaluationLineage, TrainLineage, encode
from minispore.train.summary.summary_record import SummaryRecord

from ..standins import Batches

Told = list[tuple[str, object]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """The values that are recorded, by their tags."""
    values: Told = []
    for name in ("add_value", "take"):
        monkeypatch.setattr(
            SummaryRecord, name, lambda _, plugin, tag, value: values.append((tag, value))
        )
    return values


class Pair(nn.Cell):
    """A training network that gives its loss and something else."""

    def __init__(self, *outputs: float) -> None:
        super().__init__()
        self.outputs = outputs

    def construct(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return tuple(Tensor(np.float32(each)) for each in self.outputs)


def data(rows: int, batch: int) -> NumpySlicesDataset:
    columns = {"x": np.ones((rows, 4), np.float32), "y": np.zeros(rows, np.int32)}
    return NumpySlicesDataset(columns, shuffle=False).batch(batch)  # type: ignore[return-value]


@pytest.mark.parametrize(("rows", "batch", "epochs"), [(6, 3, 1), (8, 2, 3), (4, 4, 2)])
def test_the_lineage_of_a_training(
    tmp_path: Path, told: Told, rows: int, batch: int, epochs: int
) -> None:
    net = nn.Dense(4, 3)
    optimizer = nn.SGD(net.trainable_params(), 0.25)
    model = Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    model.train(epochs, data(rows, batch), SummaryCollector(str(tmp_path)))
    [lineage] = [value for tag, value in told if tag == "train"]
    assert isinstance(lineage, TrainLineage)
    assert (lineage.batch_size, lineage.dataset_size) == (batch, rows)
    assert (lineage.epoch, lineage.learning_rate) == (epochs, 0.25)
    assert (lineage.network, lineage.loss_function) == ("Dense", "CrossEntropyLoss")
    assert (lineage.optimizer, lineage.model_path, lineage.model_size) == (
        "SGD",
        '{"ckpt": null}',
        0,
    )
    told.clear()
    saver = ModelCheckpoint("net", tmp_path)
    model.train(1, data(rows, batch), [saver, SummaryCollector(str(tmp_path))])
    [lineage] = [value for tag, value in told if tag == "train"]
    assert isinstance(lineage, TrainLineage)
    assert json.loads(lineage.model_path) == {"ckpt": saver.latest_ckpt_file_name}
    assert lineage.model_size == Path(saver.latest_ckpt_file_name).stat().st_size
    model.eval(data(rows, batch), callbacks=SummaryCollector(str(tmp_path)))
    [evaluation] = [value for tag, value in told if tag == "eval"]
    assert isinstance(evaluation, EvaluationLineage)
    assert evaluation.dataset_size == rows


def test_the_loss_of_several_outputs_is_the_first(tmp_path: Path, told: Told) -> None:
    Model(Pair(0.5, 2.0)).train(1, data(2, 1), SummaryCollector(str(tmp_path)))
    losses = [value for tag, value in told if tag == "loss/auto"]
    assert [float(each) for each in losses if isinstance(each, np.ndarray)] == [0.5]
    [lineage] = [value for tag, value in told if tag == "train"]
    assert isinstance(lineage, TrainLineage)
    assert lineage.loss == 0.5
    assert (lineage.optimizer, lineage.loss_function, lineage.learning_rate) == ("", "", 0.0)


@pytest.mark.parametrize(
    ("outputs", "recorded"),
    [(0.25, [0.25]), (3, [3]), ("text", []), ((), []), (Tensor([[1.0], [2.0]]), [1.5])],
)
def test_only_numbers_are_losses(
    tmp_path: Path, told: Told, outputs: object, recorded: list[float]
) -> None:
    collector = SummaryCollector(str(tmp_path))
    context = RunContext(
        {
            "cur_step_num": 1, "network": nn.Dense(1, 1), "train_network": nn.Dense(1, 1),
            "train_dataset_element": None, "net_outputs": outputs,
        }
    )  # fmt: skip
    collector.on_train_step_end(context)
    collector.__exit__(None, None, None)
    losses = [value for tag, value in told if tag == "loss/auto"]
    assert [each.item() for each in losses if isinstance(each, np.ndarray)] == recorded
    assert len(losses) == len(recorded)


def test_without_a_number_the_loss_of_a_training_is_0(tmp_path: Path, told: Told) -> None:
    collector = SummaryCollector(str(tmp_path), custom_lineage_data={"who": "me"})
    Model(Pair()).train(1, data(2, 1), collector)
    assert ("custom", {"who": "me"}) in told
    [lineage] = [value for tag, value in told if tag == "train"]
    assert isinstance(lineage, TrainLineage)
    assert lineage.loss == 0.0


@pytest.mark.parametrize(
    ("shape", "pictured"),
    [
        ((2, 3, 4, 4), True),
        ((20, 1, 4, 4), True),
        ((2, 4, 4, 4), False),
        ((2, 3), False),
        ((2, 3, 4), False),
        ((2, 3, 0, 4), False),
        ((0, 3, 4, 4), False),
    ],
)
def test_only_images_are_pictured(
    tmp_path: Path, told: Told, shape: tuple[int, ...], pictured: bool
) -> None:
    collector = SummaryCollector(str(tmp_path))
    network = nn.Dense(1, 1)
    context = RunContext(
        {
            "cur_step_num": 1, "network": network, "train_network": network, "net_outputs": 0.5,
            "train_dataset_element": (Tensor(np.ones(shape, np.float32)),),
        }
    )  # fmt: skip
    collector.on_train_step_end(context)
    collector.__exit__(None, None, None)
    images = [value for tag, value in told if tag == "input_data/auto"]
    assert [len(each) for each in images if isinstance(each, np.ndarray)] == [
        min(shape[0], 8)
    ] * pictured


def test_the_graph_has_the_network_and_its_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(SummaryRecord, "trace", lambda _, network, parts: seen.append([*parts]))
    net = nn.Dense(4, 3)
    model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.25))
    model.train(2, data(2, 1), SummaryCollector(str(tmp_path)))
    assert seen == [["Dense", "CrossEntropyLoss"]]


def test_how_it_is_to_be_written_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[dict[str, object]] = []
    init = SummaryRecord.__init__

    def noting(self: SummaryRecord, folder: str, **options: object) -> None:
        made.append({"folder": folder, **options})
        init(self, folder, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(SummaryRecord, "__init__", noting)
    options: dict[str, str | None] = {"tensor_format": "npy"}
    folder = str(tmp_path / "summary")
    with SummaryCollector(folder, max_file_size=10**6, export_options=options):
        pass
    assert made == [{"folder": folder, "max_file_size": 10**6, "export_options": options}]


def test_a_network_that_does_its_own_steps_has_its_own_optimiser(
    tmp_path: Path, told: Told
) -> None:
    net = nn.Dense(4, 3)
    weight, bias = net.trainable_params()
    rates = [{"params": [weight], "lr": 0.5}, {"params": [bias], "lr": 0.25}]
    with_loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
    step = nn.TrainOneStepCell(with_loss, nn.SGD(rates))
    Model(step).train(1, data(2, 1), SummaryCollector(str(tmp_path)))
    [lineage] = [value for tag, value in told if tag == "train"]
    assert isinstance(lineage, TrainLineage)
    # Of several learning rates the first.
    assert (lineage.optimizer, lineage.learning_rate) == ("SGD", 0.5)


@pytest.mark.parametrize("said", [{}, {"get_batch_size": 4}, {"get_batch_size": lambda: None}])
def test_of_a_dataset_that_does_not_say_each_batch_counts_as_a_sample(
    tmp_path: Path, told: Told, said: dict[str, object]
) -> None:
    batches = Batches(3)
    vars(batches).update(said)
    Model(Pair(0.5)).train(1, batches, SummaryCollector(str(tmp_path)))
    [lineage] = [value for tag, value in told if tag == "train"]
    assert isinstance(lineage, TrainLineage)
    assert (lineage.batch_size, lineage.dataset_size) == (1, 3)


def test_what_is_no_number_in_an_evaluation_is_written_as_it_prints() -> None:
    metrics = {"a": 0.5, "b": np.float32(1.5), "c": Path("x")}
    data = encode(EvaluationLineage(metrics, 8), 1.0)
    assert b'{"a": 0.5, "b": "1.5", "c": "x"}' in data
    assert data.startswith(double_field(1, 1.0))


@pytest.mark.parametrize("wanted", [True, False])
def test_an_evaluation_has_a_lineage_if_it_is_wanted_and_no_part_of_a_training(
    tmp_path: Path, told: Told, wanted: bool
) -> None:
    def collector() -> SummaryCollector:
        specified: dict[str, object] = {"collect_eval_lineage": wanted}
        return SummaryCollector(str(tmp_path), collect_specified_data=specified)

    net = nn.Dense(4, 3)
    optimizer = nn.SGD(net.trainable_params(), 0.25)
    model = Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    model.fit(1, data(2, 1), data(2, 1), callbacks=collector())
    assert "eval" not in [tag for tag, _ in told]
    model.eval(data(2, 1), callbacks=collector())
    assert [tag for tag, _ in told].count("eval") == wanted
