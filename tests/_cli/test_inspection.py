"""The commands that read a file: `minispore eval`, `predict` and `info`."""

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

import minispore as ms
from minispore import nn, ops
from minispore._cli import inspection, main
from minispore._cli.tutorial import Network, batches
from minispore.dataset import digits as generated
from minispore.dataset.digits import generate, write
from minispore.dataset.idx import read_idx


@pytest.fixture(scope="module")
def run(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a training of one epoch."""
    out = tmp_path_factory.mktemp("inspection") / "run"
    with redirect_stdout(StringIO()):
        assert main(["train", "--data", str(digits), "--out", str(out), "--epochs", "1"]) == 0
    return out


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    assert main([str(word) for word in arguments]) == 0
    return capsys.readouterr().out


def test_eval_measures_the_accuracy_of_the_training(
    run: Path, digits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("eval", run / "mnist-1_32.ckpt", "--data", digits)
    results = json.loads(printed(capsys, *command, "--json"))
    assert results.keys() == {"accuracy", "loss"}
    last = (run / "metrics.csv").read_text("utf-8").splitlines()[-1]
    assert results["accuracy"] == float(last.rpartition(",")[2])
    assert f"Accuracy {results['accuracy']:.4f}, loss " in printed(capsys, *command)


def test_eval_with_json_prints_nothing_else(
    run: Path, digits: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digits that are drawn if no data are given are announced otherwise."""
    monkeypatch.setattr(generated, "write", lambda folder, progress: digits)
    command = ("eval", run / "mnist-1_32.ckpt")
    json.loads(printed(capsys, *command, "--json"))
    assert printed(capsys, *command).startswith("Images: digits that minispore draws, once, into ")


@pytest.mark.parametrize("paper", [0, 220, 255])
def test_predict_reads_digits_of_both_colours(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], paper: int
) -> None:
    """Bright on black, and black on grey or white."""
    images, labels = generate(20, 3, "test")
    correct = 0
    command: tuple[object, ...] = ()
    answer: dict[str, Any] = {}
    for pixels, label in zip(images, labels, strict=True):
        # In a corner of a large image.
        large = np.pad(pixels.repeat(3, 0).repeat(3, 1), ((0, 200), (0, 150)))
        Image.fromarray(np.uint8(paper * (1 - large / 255)) if paper else large).save(
            tmp_path / "digit.png"
        )
        command = ("predict", run / "mnist-1_32.ckpt", tmp_path / "digit.png")
        answer = json.loads(printed(capsys, *command, "--json"))
        assert sum(answer["probabilities"]) == pytest.approx(1)
        assert answer["digit"] == np.argmax(answer["probabilities"])
        correct += answer["digit"] == label
    assert correct >= 10
    first, *lines = printed(capsys, *command).splitlines()
    assert first.endswith(f": a {answer['digit']}")
    assert [line.split() for line in lines] == [
        [str(i), f"{p:.1%}", *["#" * round(40 * p)] * (p >= 1 / 80)]
        for i, p in enumerate(answer["probabilities"])
    ]


def test_predict_normalises_an_image_as_the_training_does(
    run: Path, digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "data", train=1, test=1)
    (pixels,) = read_idx(tmp_path / "data" / "t10k-images-idx3-ubyte")
    Image.fromarray(pixels).save(tmp_path / "digit.png")
    network, checkpoint = Network(), run / "mnist-1_32.ckpt"
    ms.load_param_into_net(network, ms.load_checkpoint(str(checkpoint)))
    (image, _) = next(batches(tmp_path / "data", "test", 1).create_tuple_iterator())
    expected = ops.softmax(network(image)).asnumpy()[0]
    answer = json.loads(printed(capsys, "predict", checkpoint, tmp_path / "digit.png", "--json"))
    np.testing.assert_allclose(answer["probabilities"], expected, rtol=1e-5, atol=1e-9)


def pixels_of(picture: Image.Image) -> NDArray[np.float32]:
    """Return what the network gets of a picture, with ink from 0 to 1."""
    with TemporaryDirectory() as folder:
        picture.save(path := Path(folder, "digit.png"))
        return 0.3081 * inspection._image(path) + 0.1307


@given(
    st.integers(0, 9),
    st.integers(2, 4),
    st.tuples(*[st.integers(0, 60)] * 4),
    st.sampled_from(["L", "RGB", "transparent"]),
    st.sampled_from([0, 255]),
)
def test_place_and_colours_of_a_digit_do_not_matter(
    index: int, scale: int, margins: tuple[int, int, int, int], mode: str, colour: int
) -> None:
    """It is centred as in MNIST: a side of 20 pixels, and the centre of mass in the centre."""
    ink = generate(10, 3, "test")[0][index].repeat(scale, 0).repeat(scale, 1)
    found = pixels_of(Image.fromarray(ink))
    assert 19 <= max(np.ptp(positions) + 1 for positions in np.nonzero(found > 0.1)) <= 20
    for axis in (0, 1):
        centre = np.average(np.arange(28), weights=found.sum(1 - axis))
        assert abs(centre - 13.5) <= 0.51
    top, bottom, left, right = margins
    placed = Image.fromarray(np.pad(ink, ((top, bottom), (left, right))))
    if mode == "transparent":
        picture = Image.new("LA", placed.size, (colour, 0))
        picture.putalpha(placed)
    else:
        picture = Image.eval(placed, lambda value: value if colour else 255 - value).convert(mode)
    # Half-transparent ink is rounded, which may move the digit by a pixel.
    differences = np.abs(pixels_of(picture) - found)
    assert differences.mean() < 0.1 if mode == "transparent" else differences.max() < 1e-5


@pytest.mark.parametrize("grey", [0, 1, 128, 255])
@pytest.mark.parametrize("size", [(28, 28), (300, 200)])
@pytest.mark.parametrize("noise", [0, 8])
def test_blank_image_has_no_digit(
    grey: int,
    size: tuple[int, int],
    noise: int,
    run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pixels = grey + np.random.default_rng(1).integers(-noise, noise + 1, size)
    Image.fromarray(np.uint8(pixels.clip(0, 255))).save(path := tmp_path / "blank.png")
    error = one_line_error(capsys, "predict", run, path)
    assert f"no digit found in the image {path}: it is blank" in error


def test_folder_of_a_run_stands_for_its_newest_checkpoint(
    run: Path, digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newest = run / "mnist-1_32.ckpt"
    (tmp_path / "mnist-1_4.ckpt").touch()
    (tmp_path / newest.name).symlink_to(newest)
    Image.fromarray(generate(1, 3, "test")[0][0]).save(image := tmp_path / "digit.png")
    for command, *arguments in (("eval", "--data", digits), ("predict", image)):
        expected = printed(capsys, command, newest, *arguments)
        assert printed(capsys, command, tmp_path, *arguments) == expected


def test_info_describes_each_file_of_a_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(printed(capsys, "info", run, "--json"))
    assert [row["file"] for row in rows] == sorted(file.name for file in run.iterdir())
    assert all(row["bytes"] == (run / row["file"]).stat().st_size for row in rows)
    (checkpoint,) = (row for row in rows if row["file"].endswith(".ckpt"))
    assert checkpoint["content"] == "the checkpoint after step 32 of epoch 1"
    assert printed(capsys, "info", run).startswith(f"{run}: a run of 'minispore train'\n")


def test_info_prints_the_cells_of_a_network(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = run / "mnist-graph.meta"
    text = path.read_text("utf-8")
    assert printed(capsys, "info", path) == text
    assert json.loads(printed(capsys, "info", path, "--json")) == {"cells": text}


def test_info_lists_the_names_of_checkpoints_and_event_files(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = json.loads(printed(capsys, "info", run / "mnist-1_32.ckpt", "--json"))
    weight = {"type": "float32", "shape": "(512, 784)", "numbers": 512 * 784}
    assert {"name": "dense_relu_sequential.0.weight", **weight} in rows
    state = ms.load_checkpoint(run / "mnist-1_32.ckpt")["training_state"]
    assert isinstance(state, str)
    text = {"type": "text", "shape": f"{len(state)} characters", "numbers": 0}
    assert {"name": "training_state", **text} in rows

    path = tmp_path / "an.output.safetensors"
    ms.save_checkpoint(nn.Dense(2, 3), str(path), format="safetensors")
    title = f"{path}: a checkpoint with 2 entries, 9 numbers\n"
    assert printed(capsys, "info", path).startswith(title)

    with ms.SummaryRecord(str(tmp_path)) as record:
        for step in (1, 3):
            record.add_value("scalar", "loss", ms.Tensor(1 / step))
            record.add_value("tensor", "weight", ms.Tensor([1.0]))
            record.record(step)
    (row, other) = json.loads(printed(capsys, "info", record.log_dir, "--json"))
    assert row == {"name": "loss", "values": 2, "last step": 3, "last value": "0.333333"}
    assert other["last value"] == "ndarray"
    title = f"{record.log_dir}: an event file with 2 names\n"
    assert printed(capsys, "info", record.log_dir).startswith(title)


# What makes a file unreadable; a file of that name may be of any kind.
Spoil = Callable[[Path], object]
SPOILED: dict[str, Spoil] = {
    "missing": lambda path: None,
    "folder": Path.mkdir,
    "garbage": lambda path: path.write_bytes(b"\xff no file"),
}
# The commands with the names of such a file; "trained" is a checkpoint that can be read.
READING = [
    *(f"{command} x{end}" for command in ("info", "eval") for end in (".ckpt", ".safetensors")),
    *("info x.out.events", "info x.meta", "trace x.jsonl", "predict x.ckpt image.png"),
    *("predict trained x.png", "eval trained --data x", "train --data x --out results"),
]


def one_line_error(capsys: pytest.CaptureFixture[str], command: str, *arguments: object) -> str:
    """Return the error that a command prints on one line."""
    capsys.readouterr()
    assert main([command, *map(str, arguments)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"minispore {command}: error: ")
    return err


@pytest.mark.parametrize("spoiled", SPOILED)
@pytest.mark.parametrize("line", READING)
def test_a_file_that_cannot_be_read_is_named_on_one_line(
    line: str, spoiled: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *words = line.split()
    paths = {word: tmp_path / word for word in words if word[0] != "-"}
    (path,) = (path for word, path in paths.items() if word.startswith("x"))
    SPOILED[spoiled](path)
    values = {**paths, "trained": run / "mnist-1_32.ckpt"}
    assert str(path) in one_line_error(capsys, command, *(values.get(word, word) for word in words))
    assert list(tmp_path.iterdir()) == [path] * (spoiled != "missing")


def image(kind: str) -> bytes:
    Image.fromarray(np.zeros((28, 28), np.uint8)).save(file := BytesIO(), kind)
    return file.getvalue()


# Images for which Pillow raises errors of different classes.
DAMAGED = {
    "incomplete": image("PNG")[:-20],
    "broken chunk": image("PNG").replace(b"\x10IDAT", b"\x01IDAT"),
    "too large": image("BMP")[:18] + b"\0\0\xff\0" * 2 + image("BMP")[26:],
}


def test_a_cache_that_cannot_be_written_is_named_on_one_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "file"
    cache.touch()
    monkeypatch.setenv("MINISPORE_CACHE", str(cache))
    assert str(cache) in one_line_error(capsys, "eval", run / "mnist-1_32.ckpt", "--json")


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_image_is_named_on_one_line(
    name: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x").write_bytes(DAMAGED[name])
    error = one_line_error(capsys, "predict", run / "mnist-1_32.ckpt", tmp_path / "x")
    assert f"the image {tmp_path / 'x'} cannot be read: " in error


def test_checkpoints_of_other_networks_and_a_missing_library_are_named(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trained, other = run / "mnist-1_32.ckpt", tmp_path / "other.ckpt"
    ms.save_checkpoint(nn.Dense(2, 3), str(other))
    assert "no dense_relu_sequential.0.weight" in one_line_error(capsys, "eval", other)
    monkeypatch.setitem(sys.modules, "PIL", None)
    error = one_line_error(capsys, "predict", trained, tmp_path / "digit.png")
    assert "pip install 'minispore[images]'" in error
