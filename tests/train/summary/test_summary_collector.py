"""SummaryCollector: what it writes in which steps, and what it refuses."""

from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

import minispore as ms
from minispore import Tensor, nn, ops
from minispore.dataset import NumpySlicesDataset
from minispore.train import Callback, History, Model, RunContext, SummaryCollector
from minispore.train.summary import Event, Histogram, Image, read_events

DATA = {
    "x": np.random.default_rng(0).random((40, 1, 2, 2), np.float32),
    "y": np.arange(40, dtype=np.int32) % 3,
}


class Watched(nn.Cell):
    """A network that hands out a value of each kind."""

    def __init__(self) -> None:
        super().__init__()
        self.flatten = nn.Flatten()
        self.first = nn.Dense(4, 3)
        self.second = nn.Dense(3, 3)
        self.third = nn.Dense(3, 3)
        self.scalar = ops.ScalarSummary()
        self.tensor = ops.TensorSummary()

    def construct(self, x: Tensor) -> Tensor:
        y = self.third(self.second(self.first(self.flatten(x))))
        self.scalar("mean", y.mean())
        self.tensor("logits", y)
        return y


def data() -> NumpySlicesDataset:
    return NumpySlicesDataset(DATA, shuffle=False).batch(4)  # type: ignore[return-value]


def model(network: nn.Cell | None = None) -> Model:
    net = network or Watched()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    return Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})


def events(folder: Path, kind: str = "events.summary") -> list[Event]:
    """The events of the newest file of a kind, without the first."""
    paths = [p for p in folder.glob(f"*.out.{kind}.*") if not p.name.endswith("_lineage")]
    return list(read_events(max(paths)))[1:] if paths else []


def steps(folder: Path, tag: str) -> list[int]:
    return [e.step for e in events(folder) if tag in [v.tag for v in e.values]]


def collector(folder: Path, **arguments: object) -> SummaryCollector:
    return SummaryCollector(str(folder), **arguments)  # type: ignore[arg-type]


def test_by_default_all_that_there_is_is_written(tmp_path: Path) -> None:
    model().train(2, data(), callbacks=collector(tmp_path))
    found = {v.tag: v.content for v in events(tmp_path)[0].values}
    assert set(found) == {
        "mean", "logits", "input_data/auto", "loss/auto", "first.weight/auto", "first.bias/auto",
        "second.weight/auto", "second.bias/auto", "third.weight/auto",
    }  # fmt: skip
    assert isinstance(found["input_data/auto"], Image)
    assert isinstance(found["first.bias/auto"], Histogram)
    assert [e.step for e in events(tmp_path)] == [1, 10, 20]
    assert [e.graph is None for e in events(tmp_path, "graph.tfevents")] == [False]
    assert events(tmp_path, "tfevents")[0].step == 1
    assert len(list(tmp_path.iterdir())) == 4


def test_the_loss_is_the_one_that_was_computed(tmp_path: Path) -> None:
    losses: list[float] = []

    class Losses(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            losses.append(run_context.original_args().net_outputs.item())

    model().train(1, data(), callbacks=[collector(tmp_path, collect_freq=1), Losses()])
    found = [v.content for e in events(tmp_path) for v in e.values if v.tag == "loss/auto"]
    assert found == losses
    assert len(losses) == 10


def test_a_collector_changes_nothing(tmp_path: Path) -> None:
    def trained(callbacks: list[Callback]) -> list[object]:
        ms.set_seed(3)
        net = Watched()
        model(net).fit(2, data(), data(), callbacks=callbacks)
        return [p.asnumpy().tolist() for p in net.get_parameters()]

    assert trained([collector(tmp_path, collect_freq=1)]) == trained([])


def test_fit_adds_what_its_evaluations_found_and_nothing_from_inside_them(tmp_path: Path) -> None:
    history = History()
    model().fit(2, data(), data(), callbacks=[collector(tmp_path, collect_freq=3), history])
    assert steps(tmp_path, "eval_accuracy/auto") == [10, 20]
    values = [v.content for e in events(tmp_path) for v in e.values if v.tag.startswith("eval_")]
    assert values == pytest.approx(history.history["accuracy"], rel=1e-6)
    assert steps(tmp_path, "mean") == [1, 3, 6, 9, 12, 15, 18] == steps(tmp_path, "loss/auto")


@pytest.mark.parametrize(
    ("freq", "tensor_freq", "values", "tensors"),
    [
        (10, None, [1, 10, 20], [1, 10, 20]),
        (4, 3, [1, 4, 8, 12, 16, 20], [1, 3, 6, 9, 12, 15, 18]),
        (1, None, list(range(1, 21)), list(range(1, 20))),
    ],
)
def test_tensors_have_a_frequency_of_their_own(
    tmp_path: Path, freq: int, tensor_freq: int | None, values: list[int], tensors: list[int]
) -> None:
    callback = collector(tmp_path, collect_freq=freq, collect_tensor_freq=tensor_freq)
    model().train(2, data(), callbacks=callback)
    assert steps(tmp_path, "mean") == values
    assert steps(tmp_path, "logits") == tensors


def test_as_many_tensors_are_written_as_are_asked_for(tmp_path: Path) -> None:
    callback = collector(tmp_path, collect_tensor_freq=2)
    callback.on_train_begin(RunContext({"epoch_num": 1, "batch_num": 100}))
    found = [step for step in range(1, 101) if "tensor" in callback._kinds(step)]
    callback.__exit__(None, None, None)
    assert found == [1, *range(2, 101, 2)]


# The steps in which MindSpore 2.10 wrote tensors.
@pytest.mark.parametrize(
    ("total", "freq", "wanted"),
    [(600, 10, [1, *range(31, 600, 31)]), (100, 1, [1, *range(5, 100, 5)]), (20, 10, [1, 10, 20])],
)
def test_not_more_than_twenty_tensors(
    tmp_path: Path, total: int, freq: int, wanted: list[int]
) -> None:
    callback = collector(tmp_path, collect_freq=freq, keep_default_action=False)
    callback.on_train_begin(RunContext({"epoch_num": 1, "batch_num": total}))
    found = [step for step in range(1, total + 1) if "tensor" in callback._kinds(step)]
    callback.__exit__(None, None, None)
    assert found == wanted


@pytest.mark.parametrize(
    ("specified", "tags"),
    [
        ({"collect_metric": True}, {"loss/auto"}),
        ({"histogram_regular": r".*\.bias"}, {"first.bias/auto", "second.bias/auto",
         "third.bias/auto"}),
        ({"histogram_regular": None}, {"first.weight/auto", "first.bias/auto",
         "second.weight/auto", "second.bias/auto", "third.weight/auto"}),
        ({"collect_input_data": True}, {"input_data/auto"}),
        (None, set()),
    ],
)  # fmt: skip
def test_only_what_is_asked_for(
    tmp_path: Path, specified: dict[str, object] | None, tags: set[str]
) -> None:
    callback = collector(tmp_path, collect_specified_data=specified, keep_default_action=False)
    model().train(1, data(), callbacks=callback)
    found = {v.tag for e in events(tmp_path) for v in e.values}
    assert found - {"mean", "logits"} == tags
    assert not list(tmp_path.glob("*_lineage")) + list(tmp_path.glob("*.graph.*"))


def test_lineage_is_written_at_the_end(tmp_path: Path) -> None:
    callback = collector(tmp_path, custom_lineage_data={"who": "me"})
    model().train(1, data(), callbacks=callback)
    [path] = tmp_path.glob("*_lineage")
    text = path.read_bytes()
    for part in (b"who", b"me", b"Watched", b"CrossEntropyLoss", b"SGD", b"stand_alone"):
        assert part in text
    model().eval(data(), callbacks=collector(tmp_path))
    assert b'{"accuracy": 0.' in max(tmp_path.glob("*_lineage")).read_bytes()


def test_a_large_parameter_is_sampled_evenly(tmp_path: Path) -> None:
    class Wide(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.weight = ms.Parameter(Tensor(np.arange(20_000, dtype=np.float32)))

        def construct(self, x: Tensor, y: Tensor) -> Tensor:
            return (self.weight * 1.0).mean()

    Model(Wide()).train(1, data(), callbacks=collector(tmp_path))
    [found] = [v.content for v in events(tmp_path)[0].values if v.tag == "weight/auto"]
    assert isinstance(found, Histogram)
    assert found.elements == 61 * 64
    # The runs of 64 begin at every 327th element.
    assert np.ptp(found.counts) <= 64


def test_a_run_that_fails_leaves_whole_files(tmp_path: Path) -> None:
    class Fails(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            if run_context.original_args().cur_step_num == 5:
                raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        model().train(1, data(), callbacks=[collector(tmp_path, collect_freq=2), Fails()])
    assert [e.step for e in events(tmp_path)] == [1, 2, 4]


def test_a_loop_by_hand_needs_no_manager(tmp_path: Path) -> None:
    callback = collector(tmp_path, keep_default_action=False)
    for step in range(1, 3):
        context = RunContext({"cur_step_num": step, "network": Watched(), "net_outputs": 1.0})
        callback.on_train_step_begin(context)
        ops.ScalarSummary()("mine", Tensor(float(step)))
        callback.on_train_step_end(context)
    callback.__exit__(None, None, None)
    assert steps(tmp_path, "mine") == [1]


def test_the_state_holds_the_checkpoints_of_a_landscape(tmp_path: Path) -> None:
    specified: dict[str, object] = {"collect_landscape": {"unit": "epoch"}}
    first = collector(tmp_path, collect_specified_data=specified)
    model().train(3, data(), callbacks=first)
    state = first.state_dict()
    second = collector(tmp_path, collect_specified_data=specified)
    second.load_state_dict(state)
    assert second.state_dict() == state
    assert isinstance(files := state["landscape_files"], Mapping)
    assert list(files) == ["1", "2", "3"]
    with pytest.raises(ValueError, match="'SummaryCollector', the state must have"):
        second.load_state_dict({})


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"collect_freq": 0}, ValueError),
        ({"collect_freq": True}, TypeError),
        ({"collect_freq": 1.5}, TypeError),
        ({"num_process": 0}, ValueError),
        ({"collect_specified_data": 3}, TypeError),
        ({"collect_specified_data": {"x": 1}}, ValueError),
        ({"collect_specified_data": {3: 1}}, TypeError),
        ({"collect_specified_data": {"collect_metric": 1}}, TypeError),
        ({"collect_specified_data": {"collect_dataset_graph": True}}, NotImplementedError),
        ({"collect_specified_data": {"histogram_regular": 1}}, TypeError),
        ({"collect_specified_data": {"histogram_regular": "["}}, ValueError),
        ({"collect_specified_data": {"collect_landscape": 1}}, TypeError),
        ({"collect_specified_data": {"collect_landscape": {"foo": 1}}}, ValueError),
        ({"collect_specified_data": {"collect_landscape": {"landscape_size": 3}}}, ValueError),
        ({"collect_specified_data": {"collect_landscape": {"unit": "x"}}}, ValueError),
        ({"collect_specified_data": {"collect_landscape": {"num_samples": 0}}}, ValueError),
        ({"collect_specified_data": {"collect_landscape": {"intervals": 3}}}, TypeError),
        ({"collect_specified_data": {"collect_landscape": {"intervals": [[1]]}}}, ValueError),
        (
            {"collect_specified_data": {"collect_landscape": {"create_landscape": {"train": 1}}}},
            TypeError,
        ),
        ({"keep_default_action": 1}, TypeError),
        ({"custom_lineage_data": 3}, TypeError),
        ({"custom_lineage_data": {3: 1}}, TypeError),
        ({"custom_lineage_data": {"a": [1]}}, TypeError),
        ({"custom_lineage_data": {"a": 2**31}}, ValueError),
        ({"collect_tensor_freq": 0}, ValueError),
        ({"max_file_size": 0}, ValueError),
        ({"max_file_size": 1.0}, TypeError),
        ({"export_options": 3}, TypeError),
    ],
)
def test_wrong_arguments(
    tmp_path: Path, arguments: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        collector(tmp_path / "never", **arguments)
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize(("folder", "error"), [(None, TypeError), ("", ValueError)])
def test_a_folder_is_needed(folder: object, error: type[Exception]) -> None:
    with pytest.raises(error, match="The summary_dir is invalid"):
        SummaryCollector(folder)  # type: ignore[arg-type]


def test_a_run_that_never_began_leaves_nothing_open(tmp_path: Path) -> None:
    class Fails(Callback):
        def __enter__(self) -> NoReturn:
            raise OSError("not today")

    collector = SummaryCollector(str(tmp_path))
    with pytest.raises(OSError, match="not today"), collector, Fails():
        pass
    collector.__exit__(None, None, None)  # there is nothing left to close
    assert not list(tmp_path.iterdir())
