"""Loss landscapes: the plane, the heights over it, and what a training leaves behind for them."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import minispore as ms
from minispore import Tensor, nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import Loss, Model, SummaryCollector, SummaryLandscape
from minispore.train.callback._summary_landscape import _First
from minispore.train.summary import Landscape, read_events
from minispore.train.summary._landscape import around, axis, flat, principal, shaped

X = np.random.default_rng(0).random((40, 4), np.float32)
Y = (X.sum(axis=1, keepdims=True) > 2).astype(np.float32)


def data() -> NumpySlicesDataset:
    return NumpySlicesDataset({"x": X, "y": Y}, shuffle=False).batch(8)  # type: ignore[return-value]


def parts() -> tuple[Model, nn.Cell, NumpySlicesDataset, dict[str, Loss]]:
    net = nn.Dense(4, 1)
    metrics = {"Loss": Loss()}
    return Model(net, nn.MSELoss(), metrics=metrics), net, data(), metrics


def collected(folder: Path, **landscape: object) -> None:
    """What a training of three epochs leaves in `folder`."""
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


@given(hnp.arrays(np.float64, st.tuples(st.integers(3, 6), st.integers(2, 8)),
                  elements=st.floats(-10, 10)))  # fmt: skip
def test_the_way_lies_as_near_to_its_plane_as_can_be(points: NDArray[np.float64]) -> None:
    plane, x, y = principal(list(points))
    np.testing.assert_allclose(plane.first @ plane.first, 1)
    np.testing.assert_allclose(plane.first @ plane.second, 0, atol=1e-9)
    assert (x[-1], y[-1]) == (0, 0)
    steps = points - points[-1]
    rest = steps - np.outer(x, plane.first) - np.outer(y, plane.second)
    # What is left is what the two greatest singular values leave (Eckart and Young).
    left = np.linalg.svd(steps, compute_uv=False)[2:]
    np.testing.assert_allclose((rest**2).sum(), (left**2).sum(), atol=1e-8)


def test_random_directions_are_as_long_as_the_filters() -> None:
    arrays = {"w": np.arange(1, 13, dtype=np.float32).reshape(3, 4), "b": np.ones(3, np.float32)}
    plane = around(arrays, np.random.default_rng(0))
    assert np.array_equal(plane.origin, flat(arrays))
    for direction in (plane.first, plane.second):
        parts = shaped(direction, arrays)
        np.testing.assert_allclose(
            np.linalg.norm(parts["w"].astype(float), axis=1),
            np.linalg.norm(arrays["w"], axis=1),
            rtol=1e-5,
        )
        assert not parts["b"].any()


def test_an_axis_goes_a_little_beyond_the_way() -> None:
    np.testing.assert_allclose(axis(np.array([1.0, 0.0]), 3), [-0.2, 0.5, 1.2])
    assert axis(np.array([2.0, 2.0]), 3).tolist() == [1, 2, 3]


def test_a_training_and_its_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collected(tmp_path, create_landscape={"train": True, "result": True})
    SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process(parts, device_ids=[0])
    found = landscapes(tmp_path)
    assert set(found) == {"landscape_[1, 3]", "landscape_[3]"}
    way, result = found["landscape_[1, 3]"], found["landscape_[3]"]
    assert (way.decomposition, result.decomposition) == ("PCA", "Random")
    assert (way.unit, way.step_per_epoch, way.intervals) == ("epoch", 5, (1, 2, 3))
    assert way.z.shape == result.z.shape == (5, 5)
    assert result.intervals == ()
    np.testing.assert_allclose(result.x, [-1, -0.5, 0, 0.5, 1])
    # In the middle stand the last parameters of all, as at the end of the way.
    np.testing.assert_allclose(result.z[2, 2], result.end[2], rtol=1e-5)
    assert way.end == (0, 0, way.path_z[-1])
    assert way.path_z[-1] == result.end[2]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Drawing landscape path total progress is 1/3, landscape path loss")
    assert lines[3] == "Drawing landscape total progress: 1/5."
    assert lines[4].startswith("Current local landscape progress is 1/5, landscape loss is ")


def test_the_loss_is_that_of_the_first_samples(tmp_path: Path) -> None:
    collected(tmp_path)
    SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process(parts)
    [way] = landscapes(tmp_path).values()
    [path] = tmp_path.glob("ckpt_dir/Dense_3_epoch.ckpt")
    net = nn.Dense(4, 1)
    ms.load_checkpoint(str(path), net)
    errors = net(Tensor(X[:16])).asnumpy().astype(np.float64) - Y[:16]
    np.testing.assert_allclose(way.end[2], (errors**2).mean(), rtol=1e-5)


def test_what_was_collected_can_be_overruled_and_written_elsewhere(tmp_path: Path) -> None:
    collected(tmp_path / "run")
    SummaryLandscape(str(tmp_path / "run")).gen_landscapes_with_multi_process(
        parts,
        {"landscape_size": 4, "create_landscape": {"train": False, "result": True}},
        output=str(tmp_path / "other"),
    )
    [landscape] = landscapes(tmp_path / "other").values()
    assert landscape.z.shape == (4, 4)


def test_the_metadata_are_mindspores(tmp_path: Path) -> None:
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


def test_steps_can_be_saved_instead_of_epochs(tmp_path: Path) -> None:
    collected(tmp_path, unit="step", intervals=[[2, 4, 9]])
    names = sorted(path.name for path in tmp_path.glob("ckpt_dir/*.ckpt"))
    assert names == ["Dense_2_step.ckpt", "Dense_4_step.ckpt", "Dense_9_step.ckpt"]


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="'SummaryLandscape', The summary_dir is invalid"):
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
    with pytest.raises(TypeError, match="'device_ids'"):
        make(parts, device_ids=["a"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="'SummaryLandscape', The output is invalid"):
        make(parts, output="")
    with pytest.raises(TypeError, match="^For `collect_landscape` the type"):
        make(parts, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="hold no 'Loss'"):
        make(lambda: (*parts()[:3], {}))
    for fixed in ({"unit": "step"}, {"intervals": [[1, 2, 3]]}):
        with pytest.raises(ValueError, match="as they were when the parameters were saved"):
            make(parts, fixed)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='^For "SummaryLandscape", the "landscape_size"'):
        make(parts, {"landscape_size": 3})
    with pytest.raises(ValueError, match='^For "SummaryLandscape", the keys'):
        make(parts, {"size": 3})
    (tmp_path / "ckpt_dir" / "train_metadata.json").write_text("{", "utf-8")
    method = "'SummaryLandscape.gen_landscapes_with_multi_process'"
    with pytest.raises(ValueError, match=f"^For {method}, the file '.*' is not as it was written"):
        make(parts)


@given(st.integers(1, 60))
def test_samples_are_taken_in_whole_batches_as_far_as_there_are_any(samples: int) -> None:
    first = _First(data(), samples)
    assert first.get_dataset_size() == min(-(-samples // 8), 5)
    for _ in range(2):
        batches = list(first.create_tuple_iterator(num_epochs=1))
        assert len(batches) == first.get_dataset_size()
