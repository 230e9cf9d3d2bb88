"""SummaryCollector: the data that it writes, and the arguments that it rejects."""

from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore as ms
from minispore import Parameter, Tensor, nn, ops
from minispore.dataset import NumpySlicesDataset
from minispore.train import Callback, Metric, Model, RunContext, SummaryCollector
from minispore.train.callback._summary_collector import _sample
from minispore.train.summary import Event, Histogram, Image, read_events
from tests.helpers.stub_models import Rows

DATA = {
    "x": np.random.default_rng(0).random((20, 1, 2, 2), np.float32),
    "y": np.arange(20, dtype=np.int32) % 3,
}


class Watched(nn.Cell):
    """A network with a summary operation of each kind."""

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
    """Return the events of the newest file of a kind, without the first."""
    paths = [p for p in folder.glob(f"*.out.{kind}.*") if not p.name.endswith("_lineage")]
    return list(read_events(max(paths)))[1:] if paths else []


def collector(folder: Path, **arguments: object) -> SummaryCollector:
    return SummaryCollector(str(folder), **arguments)  # type: ignore[arg-type]


SWITCHES = ("collect_metric", "collect_graph", "collect_train_lineage", "collect_input_data")
PARAMETERS = [
    f"{layer}.{name}" for layer in ("first", "second", "third") for name in ("weight", "bias")
]
# The parameters with histograms, by "histogram_regular".
HISTOGRAMS: dict[str | None, list[str]] = {
    None: PARAMETERS[:5],
    "": [],
    r".*\.bias": PARAMETERS[1::2],
    "first": PARAMETERS[:2],
    "irst": [],
}


def kinds_of(step: int, total: int, freq: int, tensor_freq: int | None) -> tuple[bool, bool]:
    """Return whether values, and tensors, are written in a step."""
    distance = tensor_freq or max(freq, total // 19)
    few = tensor_freq is not None or step // distance < 20
    return step == 1 or step % freq == 0, step == 1 or (step % distance == 0 and few)


@given(
    epochs=st.integers(1, 2),
    evaluate=st.booleans(),
    fail=st.none() | st.integers(1, 12),
    freq=st.integers(1, 7),
    tensor_freq=st.none() | st.integers(1, 7),
    keep=st.booleans(),
    specified=st.dictionaries(st.sampled_from(SWITCHES), st.booleans()),
    pattern=st.none() | st.sampled_from([*HISTOGRAMS]).map(lambda pattern: (pattern,)),
)
@example(2, True, None, 3, 4, True, {}, None)
@example(1, False, None, 10, None, False, {}, None)
def test_requested_data_are_written_in_due_steps(
    epochs: int,
    evaluate: bool,
    fail: int | None,
    freq: int,
    tensor_freq: int | None,
    keep: bool,
    specified: dict[str, bool],
    pattern: tuple[str | None] | None,
) -> None:
    """Each event has exactly the values that are due; a failed run leaves complete files."""
    collected = {key for key in SWITCHES if specified.get(key, keep)}
    default = HISTOGRAMS[None if keep else ""]
    histograms = default if pattern is None else HISTOGRAMS[pattern[0]]
    options = {**specified, **({} if pattern is None else {"histogram_regular": pattern[0]})}
    expected: list[tuple[int, dict[str, object]]] = []
    total = 5 * epochs

    class Watch(Callback):
        """Compute what is to be written."""

        def on_train_step_end(self, run_context: RunContext) -> None:
            params = run_context.original_args()
            step = params.cur_step_num
            values, tensors = kinds_of(step, total, freq, tensor_freq)
            tags: dict[str, object] = {}
            if values:
                tags |= {"mean": float} | {f"{name}/auto": Histogram for name in histograms}
                if "collect_input_data" in collected:
                    tags["input_data/auto"] = Image
                if "collect_metric" in collected:
                    tags["loss/auto"] = params.net_outputs.item()
                    tags["learning_rate/auto"] = float(np.float32(0.1))
            if tensors:
                tags["logits"] = np.ndarray
            if tags:
                expected.append((step, tags))
            if step == fail:
                raise RuntimeError("enough")

        def on_train_epoch_end(self, run_context: RunContext) -> None:
            params = run_context.original_args()
            if "collect_metric" in collected and params.get("metrics"):
                result = float(np.float32(params.metrics["accuracy"]))
                expected.append((params.cur_step_num, {"eval_accuracy/auto": result}))

    with TemporaryDirectory() as name:
        folder = Path(name)
        callback = collector(
            folder,
            collect_freq=freq,
            collect_tensor_freq=tensor_freq,
            keep_default_action=keep,
            collect_specified_data=options,
        )
        failing = fail is not None and fail <= total
        with pytest.raises(RuntimeError, match="enough") if failing else nullcontext():
            if evaluate:
                model().fit(epochs, data(), data(), callbacks=[callback, Watch()])
            else:
                model().train(epochs, data(), callbacks=[callback, Watch()])
        actual = events(folder)
        for event, (step, tags) in zip(actual, expected, strict=True):
            assert event.step == step
            contents = {value.tag: value.content for value in event.values}
            assert contents.keys() == tags.keys()
            for tag, wanted in tags.items():
                assert (
                    isinstance(contents[tag], wanted)
                    if isinstance(wanted, type)
                    else contents[tag] == wanted
                )
        assert len(events(folder, "graph.tfevents")) == ("collect_graph" in collected)
        lineage = "collect_train_lineage" in collected and not failing
        assert len(list(folder.glob("*_lineage"))) == lineage


# The steps in which MindSpore 2.10 wrote tensors.
@given(st.integers(1, 1000), st.integers(1, 20), st.none() | st.integers(1, 20))
@example(600, 10, None)
@example(100, 1, None)
@example(20, 10, None)
def test_tensors_are_written_in_at_most_twenty_steps(
    total: int, freq: int, tensor_freq: int | None
) -> None:
    with TemporaryDirectory() as folder:
        callback = collector(Path(folder), collect_freq=freq, collect_tensor_freq=tensor_freq)
        callback.on_train_begin(RunContext({"epoch_num": 1, "batch_num": total}))
        for step in range(1, total + 1):
            kinds = callback._kinds(step)
            expected = kinds_of(step, total, freq, tensor_freq)
            assert ("scalar" in kinds, "tensor" in kinds) == expected
        callback.__exit__(None, None, None)
    if tensor_freq is None:
        assert sum(kinds_of(step, total, freq, None)[1] for step in range(1, total + 1)) <= 20


class Switched(Callback):
    """Freeze the first three parameters in the second epoch."""

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        for parameter in run_context.original_args().network.trainable_params()[:3]:
            parameter.requires_grad = False


def test_histograms_follow_the_trainable_parameters(tmp_path: Path) -> None:
    """Of scalars, there are none."""
    net = Watched()
    net.scale = ms.Parameter(Tensor(2.0), name="a")
    model(net).train(2, data(), callbacks=[Switched(), collector(tmp_path, collect_freq=5)])
    *_, first, second = [
        {value.tag for value in event.values if isinstance(value.content, Histogram)}
        for event in events(tmp_path)
    ]
    assert first == {f"{name}/auto" for name in PARAMETERS[:5]}
    assert second == {f"{name}/auto" for name in PARAMETERS[2:]}


def test_state_is_saved_after_values(tmp_path: Path) -> None:
    """A resumed run does not write the values of earlier steps again."""
    callback = collector(tmp_path, keep_default_action=False)
    context = RunContext({"cur_step_num": 1, "network": Watched(), "net_outputs": 1.0})
    callback.on_train_step_begin(context)
    ops.ScalarSummary()("mine", Tensor(3.0))
    callback.on_train_step_end(context)
    callback.state_dict()
    [event] = events(tmp_path)
    assert [tuple(value) for value in event.values] == [("mine", 3.0)]
    callback.__exit__(None, None, None)


def test_run_that_fails_to_begin_leaves_no_file(tmp_path: Path) -> None:
    class Fails(Callback):
        def __enter__(self) -> NoReturn:
            raise OSError("not today")

    collector = SummaryCollector(str(tmp_path))
    with pytest.raises(OSError, match="not today"), collector, Fails():
        pass
    collector.__exit__(None, None, None)  # nothing is left to close
    assert not list(tmp_path.iterdir())


MOST = 3904


@given(st.integers(1, 5 * MOST))
@example(100)
@example(MOST)
@example(MOST + 1)
@example(3 * MOST + 60)
def test_small_parameter_is_complete_and_large_sampled(size: int) -> None:
    parameter = Parameter(Tensor(np.arange(size, dtype=np.float32)), name="p")
    result = _sample(parameter).reshape(-1).astype(np.int64)
    assert not np.shares_memory(_sample(parameter), parameter.asnumpy())
    assert result.size == min(size, MOST)
    if size <= MOST:
        assert np.array_equal(result, np.arange(size))
    else:
        runs = result.reshape(61, 64)
        assert (np.diff(runs) == 1).all()
        assert (np.diff(runs[:, 0]) == size // 61).all()


class Answers(Metric):
    """A metric with a constant result."""

    def __init__(self, result: object) -> None:
        super().__init__()
        self.result = result

    def clear(self) -> None: ...

    def update(self, *inputs: object) -> None: ...

    def eval(self) -> object:
        return self.result


@pytest.mark.parametrize(("result", "written"), [(0.5, True), (2, True), ([0.5, 1.0], False)])
def test_only_numeric_results_are_written(tmp_path: Path, result: object, written: bool) -> None:
    net = nn.Dense(4, 3)
    metrics: dict[str, Metric] = {"answer": Answers(result)}
    model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params()), metrics=metrics)
    model.fit(1, Rows(), Rows(), callbacks=SummaryCollector(str(tmp_path)))
    events = [e for path in tmp_path.glob("*.summary.*_MS") for e in read_events(path)]
    values = {value.tag: value.content for event in events for value in event.values}
    assert values["loss/auto"]
    assert values.get("eval_answer/auto") == (result if written else None)


def test_state_ignores_files_without_landscape(tmp_path: Path) -> None:
    collector = SummaryCollector(str(tmp_path))
    state = collector.state_dict() | {"landscape_files": {"1": "net-1_2.ckpt"}}
    collector.load_state_dict(state)
    assert collector.state_dict() == {"landscape_files": {}, "step": 0, "names": []}
