"""SummaryLandscape: planes, loss values, and the files of a training."""

import json
import os
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, nn, train
from minispore.dataset import NumpySlicesDataset
from minispore.train.callback._summary_landscape import (
    LandscapeOptions,
    LandscapeSaver,
    _first_batches,
)
from minispore.train.summary import Landscape, read_events
from tests.helpers.refusals import Refusal, refusals

X = np.random.default_rng(0).random((40, 4), np.float32)
Y = (X.sum(axis=1, keepdims=True) > 2).astype(np.float32)


def data() -> NumpySlicesDataset:
    return NumpySlicesDataset({"x": X, "y": Y}, shuffle=False).batch(8)  # type: ignore[return-value]


def parts() -> tuple[train.Model, nn.Cell, NumpySlicesDataset, dict[str, train.Metric]]:
    net = nn.Dense(4, 1)
    metrics: dict[str, train.Metric] = {"an error": train.MAE(), "Loss": train.Loss()}
    return train.Model(net, nn.MSELoss(), metrics=metrics), net, data(), metrics


def collected(folder: Path, **landscape: object) -> None:
    """Train three epochs with a collector that writes to `folder`."""
    ms.set_seed(1)
    options = {"unit": "epoch", "landscape_size": 5, "num_samples": 16, **landscape}
    collector = train.SummaryCollector(
        str(folder),
        collect_specified_data={"collect_landscape": options},
        keep_default_action=False,
    )
    net = nn.Dense(4, 1)
    train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1)).train(
        3, data(), callbacks=collector
    )


def landscapes(folder: Path) -> list[tuple[int, str, Landscape]]:
    """Return the landscapes in the newest event file with their steps and names."""
    values = [
        (e.step, v) for e in read_events(max(folder.glob("*.events.summary.*"))) for v in e.values
    ]
    return [(step, v.tag, v.content) for step, v in values if isinstance(v.content, Landscape)]


@given(
    unit=st.sampled_from(["step", "epoch"]),
    size=st.integers(4, 5),
    samples=st.integers(1, 50),
    intervals=st.none() | st.sampled_from([[[1, 2, 3]], [[1, 2, 3], [1, 2, 99]]]),
    kinds=st.sampled_from([(True, False), (False, True), (True, True)]),
    overridden=st.booleans(),
    seed=st.integers(1, 3),
)
@example("epoch", 5, 16, [[1, 2, 3], [1, 2, 99]], (True, True), False, 1)
@example("epoch", 4, 9, None, (False, True), True, 1)
def test_landscapes_show_the_loss_around_the_saved_parameters(
    unit: str,
    size: int,
    samples: int,
    intervals: list[list[int]] | None,
    kinds: tuple[bool, bool],
    overridden: bool,
    seed: int,
) -> None:
    """Of each interval and of the result; the call may override options and folder."""
    options: dict[str, object] = {
        "landscape_size": size,
        "num_samples": samples,
        "create_landscape": dict(zip(("train", "result"), kinds, strict=True)),
    }
    with TemporaryDirectory() as name, redirect_stdout(StringIO()) as screen:
        folder = Path(name)
        saved = {} if intervals is None else {"intervals": intervals}
        collected(folder, unit=unit, **saved, **({} if overridden else options))
        output = folder / "other" if overridden else folder
        made: list[list[tuple[int, str, Landscape]]] = []
        for number in (seed,) if kinds[0] else (seed, seed, 9):
            ms.set_seed(number)
            train.SummaryLandscape(name).gen_landscapes_with_multi_process(
                parts, options if overridden else None, [0], str(output)
            )
            made.append(landscapes(output))
        losses = {
            number: loss_of_file(folder / "ckpt_dir" / f"Dense_{number}_{unit}.ckpt", samples)
            for number in range(1, 16 if unit == "step" else 4)
            if intervals is None or number < 4
        }
    chosen = [[*losses]] if intervals is None else intervals
    actual, again, others = (made * 3)[:3]
    expected = [(steps[-1], f"landscape_[1, {steps[-1]}]") for steps in chosen] * kinds[0]
    expected += [(max(losses), f"landscape_[{max(losses)}]")] * kinds[1]
    assert [(step, tag) for step, tag, _ in actual] == expected
    intervals_left, path = iter(chosen), list[float]()
    for (_, tag, content), (*_, same), (*_, other) in zip(actual, again, others, strict=True):
        assert (content.unit, content.step_per_epoch) == (unit, 5)
        assert content.z.shape == (size, size)
        assert content.z.tolist() == same.z.tolist()
        if "," in tag:
            interval = next(intervals_left)
            assert content.decomposition == "PCA"
            # Only the saved steps of an interval count.
            assert content.intervals == tuple(number for number in interval if number in losses)
            path += content.path_z.tolist()
            np.testing.assert_allclose(
                content.path_z, [losses[number] for number in content.intervals], rtol=1e-5
            )
            assert content.path_x.shape == content.path_y.shape == content.path_z.shape
            assert content.end == (0, 0, content.path_z[-1])
        else:
            assert (content.decomposition, content.intervals) == ("Random", ())
            assert content.path_x.size == content.path_y.size == content.path_z.size == 0
            assert kinds[0] or content.z.tolist() != other.z.tolist()
            np.testing.assert_allclose(content.x, np.linspace(-1, 1, size))
            assert content.end[:2] == (0, 0)
            np.testing.assert_allclose(content.end[2], losses[max(losses)], rtol=1e-5)
            if size == 5:  # the centre of the plane is the result
                np.testing.assert_allclose(content.z[2, 2], content.end[2], rtol=1e-5)
    lines = [
        line for line in screen.getvalue().splitlines() if line.startswith("Drawing landscape p")
    ]
    assert len(lines) == len(made) * len(path)


def loss_of_file(path: Path, samples: int) -> float:
    """Return the loss over the first batches with so many samples."""
    net = nn.Dense(4, 1)
    ms.load_checkpoint(str(path), net)
    rows = -(-samples // 8) * 8
    return float(((net(Tensor(X[:rows])).asnumpy().astype(np.float64) - Y[:rows]) ** 2).mean())


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> train.SummaryLandscape:
    """Return the landscape of a training, which no test changes."""
    folder = tmp_path_factory.mktemp("saved")
    collected(folder)
    return train.SummaryLandscape(str(folder))


WRONG = """
    make(3)  # TypeError: 'callback_fn' must be a function, but got 3 of type int
    make(lambda: 3)  # TypeError: must return a model, a network
    make(lambda: parts()[:3])  # TypeError: must return a model, a network
    make(lambda: (*parts()[:3], {}))  # ValueError: contain no 'Loss'
    make(lambda: (parts()[0], 3, *parts()[2:]))  # TypeError: 'network'
    make(lambda: (*parts()[:2], 3, parts()[3]))  # TypeError: 'dataset'
    make(lambda: (*parts()[:3], 3))  # TypeError: 'metrics'
    make(parts, device_ids=3)  # TypeError: type of 'device_ids' must
    make(parts, device_ids=(0,))  # TypeError: type of 'device_ids' must
    make(parts, device_ids=["0"])  # TypeError: type of 'device_ids' must
    make(parts, device_ids=[True])  # TypeError: type of 'device_ids' must
    make(parts, output="")  # ValueError: the argument 'output' must
    make(parts, 3)  # TypeError: the type of 'collect_landscape'
    make(parts, {"unit": "step"})  # ValueError: as they were when the parameters were saved
    make(parts, {"intervals": [[1, 2, 3]]})  # ValueError: as they were when the parameters
    make(parts, {"landscape_size": 3})  # ValueError: the argument 'landscape_size'
    make(parts, {"size": 3})  # ValueError: the keys
    SummaryLandscape(3)  # TypeError: the type of 'summary_dir'
"""


@pytest.mark.parametrize("refusal", refusals(WRONG))
def test_refusal_names_the_argument(saved: train.SummaryLandscape, refusal: Refusal) -> None:
    names = {"make": saved.gen_landscapes_with_multi_process, "parts": parts}
    named = refusal._replace(words=["For 'SummaryLandscape", *refusal.words])
    named.check({**names, "SummaryLandscape": train.SummaryLandscape})


def test_missing_and_damaged_metadata_raise(tmp_path: Path) -> None:
    make = train.SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process
    with pytest.raises(FileNotFoundError):
        make(parts)
    (tmp_path / "ckpt_dir").mkdir()
    (tmp_path / "ckpt_dir" / "train_metadata.json").write_text("{", "utf-8")
    method = "'SummaryLandscape.gen_landscapes_with_multi_process'"
    with pytest.raises(ValueError, match=f"^For {method}, the file '.*' is invalid"):
        make(parts)


@pytest.mark.parametrize(
    ("landscape", "intervals", "message"),
    [
        ("train", [3, 8, 9], r"of the epochs \[3, 8, 9\] only \[3\] were saved; .* needs two\.$"),
        ("result", [7, 8, 9], r"^For '.*', no parameters were saved\.$"),
    ],
)
def test_landscape_without_saved_parameters_raises(
    tmp_path: Path, landscape: str, intervals: list[int], message: str
) -> None:
    create = {"train": landscape == "train", "result": landscape == "result"}
    collected(tmp_path, intervals=[intervals], create_landscape=create)
    with pytest.raises(ValueError, match=message):
        train.SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process(parts)


def test_clean_ckpt_removes_only_its_folder(
    tmp_path: Path,
) -> None:
    collected(tmp_path)
    (tmp_path / "mine.ckpt").write_bytes(b"mine")
    others = sorted(path for path in tmp_path.iterdir() if path.name != "ckpt_dir")
    for _ in range(2):
        train.SummaryLandscape(str(tmp_path)).clean_ckpt()
        assert sorted(tmp_path.iterdir()) == others


def test_checkpoint_of_another_network_raises(tmp_path: Path) -> None:
    collected(tmp_path)
    path = tmp_path / "ckpt_dir" / "Dense_2_epoch.ckpt"
    train.save_checkpoint(
        [{"name": "weight", "data": Tensor(np.ones((1, 4), np.float32))}], str(path)
    )
    with pytest.raises(
        ValueError, match=r"the checkpoint '.*Dense_2_epoch.ckpt' has no \['bias'\]"
    ):
        train.SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process(parts)


@given(
    unit=st.sampled_from(["step", "epoch"]),
    first=st.none() | st.integers(0, 2),
    epochs=st.integers(0, 3),
    batches=st.integers(1, 3),
    intervals=st.none() | st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), max_size=2),
    runs=st.integers(1, 2),
)
def test_parameters_of_intervals_are_saved(
    unit: str,
    first: int | None,
    epochs: int,
    batches: int,
    intervals: list[list[int]] | None,
    runs: int,
) -> None:
    """By default those of the complete run; each run has its own."""
    begin = first or 0
    with TemporaryDirectory() as folder:
        saver = LandscapeSaver(folder, LandscapeOptions(5, unit, 9, intervals=intervals))
        assert saver.files == {}
        for more in reversed(range(runs)):
            values: dict[str, object] = {"epoch_num": epochs + more, "batch_num": batches}
            values["network"] = nn.Dense(1, 1)
            if first is not None:
                values["initial_epoch"] = first
            params = train.RunContext(values).original_args()
            saver.begin(params)
            for step in range(1, (epochs + more) * batches + 1):
                epoch = begin + (step - 1) // batches + 1
                params.update(cur_step_num=step, cur_epoch_num=epoch)
                saver.save(params, "step")
                if step % batches == 0:
                    saver.save(params, "epoch")
            saver.end(params)
        start, count = (begin, epochs) if unit == "epoch" else (0, epochs * batches)
        run = [*range(start + 1, start + count + 1)]
        chosen = [run] if intervals is None else intervals
        saved = [number for number in run if any(number in interval for interval in chosen)]
        names = {str(number): f"Dense_{number}_{unit}.ckpt" for number in saved}
        inner = Path(folder, "ckpt_dir")
        files = {path.name for path in inner.glob("*.ckpt")}
        assert files == {*names.values()} or (runs > 1 and files > {*names.values()})
        assert json.loads((inner / "train_metadata.json").read_text("utf-8")) == {
            "epoch_group": {str(i): group for i, group in enumerate(chosen)},
            "model_params_file_map": {n: str(inner / name) for n, name in names.items()},
            "step_per_epoch": batches,
            "unit": unit,
            "num_samples": 9,
            "landscape_size": 5,
            "create_landscape": {"train": True, "result": False},
        }


@given(st.integers(0, 5), st.integers(1, 12), st.integers(1, 12))
def test_first_batches_are_minimal(size: int, batches: int, samples: int) -> None:
    """Rows without a batch axis count as one sample each."""
    rows = [(Tensor(np.zeros((size, 2) if size else (), np.float32)),) for _ in range(batches)]
    requested: list[int] = []

    class Rows:
        def get_dataset_size(self) -> int:
            return batches

        def create_tuple_iterator(self, *, num_epochs: int) -> list[tuple[Tensor]]:
            requested.append(num_epochs)
            return rows

    first = _first_batches(Rows(), samples)
    enough = min(batches, -(-samples // max(1, size)))
    assert first.get_dataset_size() == enough
    assert list(first.create_tuple_iterator(num_epochs=1)) == rows[:enough]
    assert requested == [1]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_folders_are_private(tmp_path: Path) -> None:
    specified: dict[str, object] = {"collect_landscape": {"unit": "epoch"}}
    collector = train.SummaryCollector(str(tmp_path / "run"), collect_specified_data=specified)

    class Removed(train.Callback):
        def on_train_epoch_begin(self, run_context: train.RunContext) -> None:
            folders = [tmp_path / "run", tmp_path / "run" / "ckpt_dir"]
            assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700, 0o700]
            rmtree(folders[1])

    net = nn.Dense(4, 1)
    model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    model.train(2, data(), [collector, Removed()])
