"""SummaryLandscape: planes, loss values, and the files of a training."""

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
from minispore.train.summary import Landscape, read_events
from minispore.train.summary.landscape import pca_plane

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


@given(hnp.arrays(np.float64, st.tuples(st.integers(3, 6), st.integers(2, 8)),
                  elements=st.floats(-10, 10)))  # fmt: skip
def test_pca_plane_minimizes_distance_to_trajectory(points: NDArray[np.float64]) -> None:
    plane, x, y = pca_plane(list(points))
    np.testing.assert_allclose(plane.first @ plane.first, 1)
    np.testing.assert_allclose(plane.first @ plane.second, 0, atol=1e-9)
    assert (x[-1], y[-1]) == (0, 0)
    steps = points - points[-1]
    rest = steps - np.outer(x, plane.first) - np.outer(y, plane.second)
    # The residual is that of the two greatest singular values (Eckart and Young).
    left = np.linalg.svd(steps, compute_uv=False)[2:]
    np.testing.assert_allclose((rest**2).sum(), (left**2).sum(), atol=1e-8)


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
