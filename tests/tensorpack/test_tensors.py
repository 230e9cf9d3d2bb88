"""Callbacks that process, save, check or average arrays of a step."""

import math
import re
import statistics
from contextlib import nullcontext
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, nn, ops
from minispore import tensorpack as tp
from minispore.dataset import NumpySlicesDataset
from minispore.ops.summary import summary_subscribers
from minispore.tensorpack.protocol import Array, RunValues
from minispore.train import Model, RunContext
from minispore.train.summary.image import png
from tests.helpers.stub_models import Batches, ConstantLoss, Rows, make
from tests.tensorpack.small_trainings import train_counting


def test_process_tensors_receives_named_arrays() -> None:
    received: list[tuple[float, ...]] = []
    names = ["loss", "half", "input0", "weight", "global_step"]

    def record(*arrays: Array) -> None:
        received.append(tuple(float(array.ravel()[0]) for array in arrays[:2]))

    train_counting(tp.ProcessTensors(names[:2], record), epochs=1)
    assert received == [(1, 0.5), (2, 1), (3, 1.5)]
    shapes: list[list[tuple[int, ...]]] = []

    def measure(*arrays: Array) -> None:
        shapes.append([array.shape for array in arrays])

    make().train(1, Rows(), [tp.ProcessTensors(["input1", *names[2:]], measure)])
    assert shapes[0] == [(4,), (4, 4), (3, 4), (1,)]


def test_dump_tensors_writes_files_of_due_steps(folder: Path) -> None:
    train_counting(tp.Every(steps=2)(tp.DumpTensors(["loss", "all"])), epochs=1, steps=4)
    assert sorted(path.name for path in folder.iterdir()) == [
        "DumpTensor-2.npz",
        "DumpTensor-4.npz",
    ]
    with np.load(folder / "DumpTensor-4.npz", allow_pickle=False) as arrays:
        assert set(arrays) == {"loss", "all"}
        assert arrays["loss"] == 4


def test_dumped_files_have_the_names_and_contents_of_the_arrays(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A name has a "-" in place of "/"; by default an array is drawn as it is, times 255."""

    class Network(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.images = ops.TensorSummary()

        def construct(self, *inputs: Tensor) -> Tensor:
            self.images("a/b", Tensor([[[[0.0], [0.5]]], [[[1.0], [2.0]]]]))
            return Tensor(0.5)

    caplog.set_level("INFO", "minispore.tensorpack")
    dumps = [tp.DumpTensors("a/b"), tp.DumpTensorAsImage("a/b"), tp.TensorPrinter("loss")]
    Model(Network()).train(1, Batches(1), dumps)
    assert caplog.messages == ["loss: 0.5"]
    with np.load(folder / "DumpTensor-1.npz", allow_pickle=False) as arrays:
        assert arrays["a-b"].ravel().tolist() == [0, 0.5, 1, 2]
    for name, pixels in (("a-b-ep001.png", [0, 127]), ("a-b-ep001-1.png", [255, 255])):
        assert (folder / name).read_bytes() == png(np.array(pixels, np.uint8).reshape(1, 2, 1))


@pytest.mark.parametrize("several", [False, True])
def test_dump_tensor_as_image_writes_and_logs_scaled_pixels(several: bool, folder: Path) -> None:
    image = np.array([[np.nan, 0.5, 2.0], [-1.0, np.inf, 0.1]])
    images: list[tuple[str, list[float]]] = []

    class Monitor(tp.MonitorBase):
        def process_image(self, name: str, val: Array) -> None:
            images.append((name, val.ravel().tolist()))

    def convert(array: Array) -> Array | list[Array]:
        assert array.shape == ()
        return [image, image[:, :, np.newaxis]] if several else image

    train_counting(tp.DumpTensorAsImage("half", "x", convert, 100), Monitor(), epochs=1)
    pixels = [0, 50, 200, 0, 255, 10]  # NaN is black
    names = ["x", "x-1"] if several else ["x"]
    assert images == [(name, pixels) for name in names]
    files = [folder / f"x-ep001{name[1:]}.png" for name in names]
    assert sorted(folder.iterdir()) == sorted(files)
    assert all(
        file.read_bytes() == png(np.array(pixels, np.uint8).reshape(2, 3, 1)) for file in files
    )


@pytest.mark.filterwarnings("ignore:The loss of epoch 1, step 2 is not finite")
@pytest.mark.parametrize(
    ("each_epoch", "each_step", "where"),
    [(False, False, None), (True, False, "After 3 steps"), (True, True, "After 2 steps")],
)
def test_check_numerics_raises_at_the_next_check(
    each_epoch: bool, each_step: bool, where: str | None
) -> None:
    class Spoil(tp.Callback):
        def _before_run(self, run_context: object) -> None:
            if self.global_step == 1:
                parameter = self.trainer.params.train_network.trainable_params()[0]
                value = parameter.asnumpy().copy()
                value.ravel()[:2] = math.nan, math.inf
                parameter.set_data(Tensor(value))

    message = f"{where}, the parameter 'weight' has"
    with pytest.raises(FloatingPointError, match=message) if where else nullcontext():
        make().train(1, Rows(), [Spoil(), tp.CheckNumerics(each_epoch, each_step)])


@given(st.lists(st.sampled_from([0.0, math.nan, math.inf, -math.inf]), min_size=12, max_size=12))
def test_check_numerics_counts_the_elements(values: list[float]) -> None:
    model = make()
    model.train_network.parameters_dict()["weight"].set_data(Tensor(values).reshape(3, 4))
    nan = sum(map(math.isnan, values))
    message = f"'weight' has {nan} NaN and {sum(map(math.isinf, values))} infinite of 12 elements"
    with pytest.raises(FloatingPointError, match=message) if any(values) else nullcontext():
        model.train(1, Rows(), [tp.CheckNumerics()])


rows = st.lists(st.tuples(st.integers(-8, 8), st.integers(-8, 8)), min_size=1, max_size=7)


@given(
    values=rows,
    decay=st.none() | st.sampled_from([0.0, 0.5, 0.75, 1.0]),
    window=st.integers(1, 4),
    epochs=st.integers(1, 2),
    trainings=st.integers(1, 2),
)
def test_averages_weight_the_means_of_arrays(
    values: list[tuple[int, int]], decay: float | None, window: int, epochs: int, trainings: int
) -> None:
    """They are computed again in each training."""
    data = NumpySlicesDataset({"x": np.array(values, np.float32)}, shuffle=False).batch(1)
    ema = tp.MovingAverageSummary("x") if decay is None else tp.MovingAverageSummary("x", decay)
    factor, sma = 0.95 if decay is None else decay, tp.SimpleMovingAverage("x", window)
    means = [sum(pair) / 2 for pair in values] * epochs
    ends = range(len(values), len(means) + 1, len(values))
    weights = [factor**i for i in range(len(means))]
    expected = [
        sum(w * x for w, x in zip(weights, means[:n][::-1], strict=False)) / sum(weights[:n])
        for n in ends
    ]
    due = range(window, len(means) + 1, window)
    for _ in range(trainings):
        history = tp.ScalarHistory()
        Model(ConstantLoss()).train(epochs, data, [ema, sma, history])
        assert [step for step, _ in history.get_history("x/EMA")] == list(ends)
        assert [value for _, value in history.get_history("x/EMA")] == pytest.approx(expected)
        assert [step for step, _ in history.get_history("x/SMA")] == list(due)
        assert [value for _, value in history.get_history("x/SMA")] == pytest.approx(
            [statistics.fmean(means[n - window : n]) for n in due]
        )


names = st.lists(st.sampled_from(["loss", "input0", "input1", "half"]), max_size=3)


@given(st.lists(st.none() | names, min_size=1, max_size=5))
def test_after_run_receives_the_arrays_that_before_run_named(asked: list[list[str] | None]) -> None:
    class Varying(tp.Callback):
        wants_summaries = True

        def _before_run(self, run_context: RunContext) -> list[str] | None:
            return asked[self.global_step]

        def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
            expected = [self.trainer.array(name) for name in asked[self.global_step - 1] or ()]
            received.append(len(expected))
            for actual, array in zip(run_values.results, expected, strict=True):
                np.testing.assert_array_equal(actual, array)

    received: list[int] = []
    train_counting(Varying(), epochs=1, steps=len(asked))
    assert received == [len(one or ()) for one in asked]


@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_summaries_are_those_of_the_current_step(emits: list[bool]) -> None:
    class Sometimes(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.step = count()
            self.scalar = ops.ScalarSummary()

        def construct(self, *inputs: Tensor) -> Tensor:
            step = next(self.step)
            if emits[step]:
                self.scalar("step", Tensor(float(step)))
            return Tensor(0.5)

    history = tp.ScalarHistory()
    before = [*summary_subscribers()]
    Model(Sometimes()).train(1, Batches(len(emits)), [tp.MergeAllSummaries(1), history])
    expected = [(i + 1, float(i)) for i, emitted in enumerate(emits) if emitted]
    assert history.get_history("step") == expected
    assert summary_subscribers() == before


@given(
    period=st.integers(0, 4),
    key=st.sampled_from([None, "^h", "a", "none"]),
    epochs=st.integers(1, 2),
    steps=st.integers(1, 3),
)
def test_merge_all_summaries_logs_due_and_last_steps_of_an_epoch(
    period: int, key: str | None, epochs: int, steps: int
) -> None:
    received: list[tuple[str, int]] = []

    class Kinds(tp.MonitorBase):
        def process_image(self, name: str, val: Array) -> None:
            received.append((name, self.global_step))
            assert val.shape == (1, 2, 3, 1)

        def process_histogram(self, name: str, val: Array) -> None:
            received.append((name, self.global_step))

    merge = tp.MergeAllSummaries(period, key=key)
    history = train_counting(merge, Kinds(), epochs=epochs, steps=steps)
    due = [
        n for n in range(1, epochs * steps + 1) if n % steps == 0 or (period and n % period == 0)
    ]
    names = [name for name in ("half", "picture", "all") if re.search(key or "", name)]
    assert history.get_history("half") == [(n, n / 2) for n in due if "half" in names]
    assert received == [(name, n) for n in due for name in names if name != "half"]
