"""SummaryLandscape: planes, loss values, and the files of a training."""

import json
import os
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import (
    Callback,
    Loss,
    Model,
    RunContext,
    SummaryCollector,
    SummaryLandscape,
    save_checkpoint,
)
from minispore.train.callback._summary_landscape import (
    LandscapeOptions,
    LandscapeSaver,
    _FirstBatches,
)
from minispore.train.summary import Landscape, read_events

X = np.random.default_rng(0).random((40, 4), np.float32)
Y = (X.sum(axis=1, keepdims=True) > 2).astype(np.float32)


def data() -> NumpySlicesDataset:
    return NumpySlicesDataset({"x": X, "y": Y}, shuffle=False).batch(8)  # type: ignore[return-value]


def parts() -> tuple[Model, nn.Cell, NumpySlicesDataset, dict[str, Loss]]:
    net = nn.Dense(4, 1)
    metrics = {"Loss": Loss()}
    return Model(net, nn.MSELoss(), metrics=metrics), net, data(), metrics


def collected(folder: Path, **landscape: object) -> None:
    """Train three epochs with a collector that writes to `folder`."""
    ms.set_seed(1)
    options = {"unit": "epoch", "landscape_size": 5, "num_samples": 16, **landscape}
    collector = SummaryCollector(
        str(folder),
        collect_specified_data={"collect_landscape": options},
        keep_default_action=False,
    )
    net = nn.Dense(4, 1)
    Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1)).train(
        3, data(), callbacks=collector
    )


def landscapes(folder: Path) -> dict[str, Landscape]:
    [path] = folder.glob("*.events.summary.*")
    return {
        v.tag: v.content
        for e in read_events(path)
        for v in e.values
        if isinstance(v.content, Landscape)
    }


def test_landscapes_of_training_and_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collected(tmp_path, create_landscape={"train": True, "result": True})
    SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process(parts, device_ids=[0])
    actual = landscapes(tmp_path)
    assert set(actual) == {"landscape_[1, 3]", "landscape_[3]"}
    trajectory, result = actual["landscape_[1, 3]"], actual["landscape_[3]"]
    assert (trajectory.decomposition, result.decomposition) == ("PCA", "Random")
    assert (trajectory.unit, trajectory.step_per_epoch, trajectory.intervals) == (
        "epoch",
        5,
        (1, 2, 3),
    )
    assert trajectory.z.shape == result.z.shape == (5, 5)
    assert result.intervals == ()
    np.testing.assert_allclose(result.x, [-1, -0.5, 0, 0.5, 1])
    # The centre of the plane is the end of the trajectory.
    np.testing.assert_allclose(result.z[2, 2], result.end[2], rtol=1e-5)
    assert trajectory.end == (0, 0, trajectory.path_z[-1])
    assert trajectory.path_z[-1] == result.end[2]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Drawing landscape path total progress is 1/3, landscape path loss")
    assert lines[3] == "Drawing landscape total progress: 1/5."
    assert lines[4].startswith("Current local landscape progress is 1/5, landscape loss is ")


def test_loss_uses_the_first_samples(tmp_path: Path) -> None:
    collected(tmp_path)
    SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process(parts)
    [trajectory] = landscapes(tmp_path).values()
    [path] = tmp_path.glob("ckpt_dir/Dense_3_epoch.ckpt")
    net = nn.Dense(4, 1)
    ms.load_checkpoint(str(path), net)
    errors = net(Tensor(X[:16])).asnumpy().astype(np.float64) - Y[:16]
    np.testing.assert_allclose(trajectory.end[2], (errors**2).mean(), rtol=1e-5)


def test_options_and_output_can_be_overridden(tmp_path: Path) -> None:
    collected(tmp_path / "run")
    SummaryLandscape(str(tmp_path / "run")).gen_landscapes_with_multi_process(
        parts,
        {"landscape_size": 4, "create_landscape": {"train": False, "result": True}},
        output=str(tmp_path / "other"),
    )
    [landscape] = landscapes(tmp_path / "other").values()
    assert landscape.z.shape == (4, 4)


def test_metadata_has_mindspore_format(tmp_path: Path) -> None:
    collected(tmp_path, intervals=[[1, 2, 3], [2, 3, 4]])
    folder = tmp_path / "ckpt_dir"
    files = {str(i): str((folder / f"Dense_{i}_epoch.ckpt").resolve()) for i in (1, 2, 3)}
    assert json.loads((folder / "train_metadata.json").read_text("utf-8")) == {
        "epoch_group": {"0": [1, 2, 3], "1": [2, 3, 4]},
        "model_params_file_map": files,
        "step_per_epoch": 5,
        "unit": "epoch",
        "num_samples": 16,
        "landscape_size": 5,
        "create_landscape": {"train": True, "result": False},
    }
    SummaryLandscape(str(tmp_path)).clean_ckpt()
    assert not folder.exists()


def test_invalid_arguments_raise(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="'SummaryLandscape', the type of 'summary_dir'"):
        SummaryLandscape(3)  # type: ignore[arg-type]
    landscape = SummaryLandscape(str(tmp_path))
    make = landscape.gen_landscapes_with_multi_process
    with pytest.raises(FileNotFoundError):
        make(parts)
    collected(tmp_path)
    with pytest.raises(TypeError, match="'callback_fn' must be a function, but got 3 of type int"):
        make(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must return a model, a network"):
        make(lambda: 3)
    for ids in (3, "0", (0,), ["0"], [True]):
        with pytest.raises(TypeError, match="^For 'SummaryLandscape.* type of 'device_ids' must"):
            make(parts, device_ids=ids)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'SummaryLandscape', the argument 'output' must"):
        make(parts, output="")
    with pytest.raises(TypeError, match="^For 'SummaryLandscape', the type of 'collect_landscape'"):
        make(parts, 3)  # type: ignore[arg-type]
    for position, name in ((1, "network"), (2, "dataset"), (3, "metrics")):
        wrong: list[object] = [*parts()]
        wrong[position] = 3
        with pytest.raises(TypeError, match=f"^For 'SummaryLandscape.gen_.*'{name}'"):
            make(lambda wrong=wrong: tuple(wrong))  # type: ignore[misc]
    with pytest.raises(ValueError, match="contain no 'Loss'"):
        make(lambda: (*parts()[:3], {}))
    for fixed in ({"unit": "step"}, {"intervals": [[1, 2, 3]]}):
        with pytest.raises(ValueError, match="as they were when the parameters were saved"):
            make(parts, fixed)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="^For 'SummaryLandscape', the argument 'landscape_size'"):
        make(parts, {"landscape_size": 3})
    with pytest.raises(ValueError, match="^For 'SummaryLandscape', the keys"):
        make(parts, {"size": 3})
    (tmp_path / "ckpt_dir" / "train_metadata.json").write_text("{", "utf-8")
    method = "'SummaryLandscape.gen_landscapes_with_multi_process'"
    with pytest.raises(ValueError, match=f"^For {method}, the file '.*' is invalid"):
        make(parts)


def made(folder: Path, **landscape: object) -> list[tuple[int, str, Landscape]]:
    """Return the landscapes of a training with their steps and names."""
    collected(folder, **landscape)
    SummaryLandscape(str(folder)).gen_landscapes_with_multi_process(parts)
    [path] = folder.glob("*.events.summary.*")
    return [
        (event.step, value.tag, value.content)
        for event in read_events(path)
        for value in event.values
        if isinstance(value.content, Landscape)
    ]


def test_landscape_is_recorded_at_end_of_interval(tmp_path: Path) -> None:
    both = {"train": True, "result": True}
    actual = made(tmp_path, intervals=[[1, 2, 3], [1, 2, 9]], create_landscape=both)
    assert [(step, tag) for step, tag, _ in actual] == [
        (3, "landscape_[1, 3]"),
        (9, "landscape_[1, 9]"),
        (3, "landscape_[3]"),
    ]
    first, second, result = (content for *_, content in actual)
    # Only the saved steps of an interval count; a trajectory needs two.
    assert (first.intervals, second.intervals) == ((1, 2, 3), (1, 2))
    for path_values in (first, second):
        assert (
            path_values.path_x.shape
            == path_values.path_y.shape
            == path_values.path_z.shape
            == (len(path_values.intervals),)
        )
        assert path_values.end == (0, 0, path_values.path_z[-1])
    assert result.path_x.shape == result.path_y.shape == result.path_z.shape == (0,)
    assert result.end == (0, 0, first.path_z[-1])


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
    with pytest.raises(ValueError, match=message):
        made(tmp_path, intervals=[intervals], create_landscape=create)


def test_clean_ckpt_removes_only_its_folder(
    tmp_path: Path,
) -> None:
    collected(tmp_path)
    (tmp_path / "mine.ckpt").write_bytes(b"mine")
    others = sorted(path for path in tmp_path.iterdir() if path.name != "ckpt_dir")
    for _ in range(2):
        SummaryLandscape(str(tmp_path)).clean_ckpt()
        assert sorted(tmp_path.iterdir()) == others


def test_checkpoint_of_another_network_raises(tmp_path: Path) -> None:
    collected(tmp_path)
    path = tmp_path / "ckpt_dir" / "Dense_2_epoch.ckpt"
    save_checkpoint([{"name": "weight", "data": Tensor(np.ones((1, 4), np.float32))}], str(path))
    with pytest.raises(
        ValueError, match=r"the checkpoint '.*Dense_2_epoch.ckpt' has no \['bias'\]"
    ):
        SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process(parts)


def test_random_directions_depend_on_seed(tmp_path: Path) -> None:
    def heights(name: str, seed: int) -> object:
        ms.set_seed(seed)
        folder = tmp_path / name
        SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process(
            parts, {"create_landscape": {"train": False, "result": True}}, output=str(folder)
        )
        [path] = folder.glob("*.events.summary.*")
        values = [value for event in read_events(path) for value in event.values]
        [content] = [v.content for v in values if isinstance(v.content, Landscape)]
        return content.z.tolist()

    collected(tmp_path)
    assert heights("a", 5) == heights("b", 5) != heights("c", 6)


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
        saver = LandscapeSaver(folder, LandscapeOptions(unit=unit, intervals=intervals))
        assert saver.files == {}
        for more in reversed(range(runs)):
            values: dict[str, object] = {"epoch_num": epochs + more, "batch_num": batches}
            values["network"] = nn.Dense(1, 1)
            if first is not None:
                values["initial_epoch"] = first
            params = RunContext(values).original_args()
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
        actual = json.loads((inner / "train_metadata.json").read_text("utf-8"))
        assert actual["epoch_group"] == {str(i): group for i, group in enumerate(chosen)}
        assert {n: Path(path).name for n, path in actual["model_params_file_map"].items()} == names


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

    first = _FirstBatches(Rows(), samples)
    enough = min(batches, -(-samples // max(1, size)))
    assert first.get_dataset_size() == enough
    assert list(first.create_tuple_iterator(num_epochs=1)) == rows[:enough]
    assert requested == [1]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_folders_are_private(tmp_path: Path) -> None:
    specified: dict[str, object] = {"collect_landscape": {"unit": "epoch"}}
    collector = SummaryCollector(str(tmp_path / "run"), collect_specified_data=specified)

    class Removed(Callback):
        def on_train_epoch_begin(self, run_context: RunContext) -> None:
            folders = [tmp_path / "run", tmp_path / "run" / "ckpt_dir"]
            assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700, 0o700]
            rmtree(folders[1])

    net = nn.Dense(4, 1)
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    model.train(2, data(), [collector, Removed()])
