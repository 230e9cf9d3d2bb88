"""The commands that read a file: `minispore eval`, `predict` and `info`."""

import json
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import minispore as ms
from minispore import nn, ops
from minispore._cli import main
from minispore._cli.tutorial import Network, batches
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


@pytest.mark.parametrize("inverted", [False, True])
def test_predict_reads_digits_of_both_colours(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], inverted: bool
) -> None:
    images, labels = generate(20, 3, "test")
    correct = 0
    command: tuple[object, ...] = ()
    answer: dict[str, Any] = {}
    for pixels, label in zip(images, labels, strict=True):
        picture = Image.fromarray(255 - pixels if inverted else pixels)
        picture.resize((56, 56)).save(tmp_path / "digit.png")
        command = ("predict", run / "mnist-1_32.ckpt", tmp_path / "digit.png")
        answer = json.loads(printed(capsys, *command, "--json"))
        assert sum(answer["probabilities"]) == pytest.approx(1)
        assert answer["digit"] == np.argmax(answer["probabilities"])
        correct += answer["digit"] == label
    assert correct >= 10
    first, *lines = printed(capsys, *command).splitlines()
    assert first.endswith(f": a {answer['digit']}")
    bars = [line.count("#") for line in lines]
    assert bars.index(max(bars)) == answer["digit"]
    assert len(bars) == 10


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


def test_info_lists_the_names_of_checkpoints_and_event_files(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = json.loads(printed(capsys, "info", run / "mnist-1_32.ckpt", "--json"))
    weight = {"type": "float32", "shape": "(512, 784)", "numbers": 512 * 784}
    assert {"name": "dense_relu_sequential.0.weight", **weight} in rows
    assert [row["name"] for row in rows if row["type"] == "text"] == ["training_state"]

    ms.save_checkpoint(nn.Dense(2, 3), str(tmp_path / "net.safetensors"), format="safetensors")
    assert "2 entries, 9 numbers" in printed(capsys, "info", tmp_path / "net.safetensors")

    with ms.SummaryRecord(str(tmp_path)) as record:
        for step in (1, 2):
            record.add_value("scalar", "loss", ms.Tensor(1 / step))
            record.add_value("tensor", "weight", ms.Tensor([1.0]))
            record.record(step)
    (row, other) = json.loads(printed(capsys, "info", record.log_dir, "--json"))
    assert row == {"name": "loss", "values": 2, "last step": 2, "last value": "0.5"}
    assert other["last value"] == "ndarray"


def test_files_that_cannot_be_read_are_errors_of_one_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trained, other = run / "mnist-1_32.ckpt", tmp_path / "other.ckpt"
    ms.save_checkpoint(nn.Dense(2, 3), str(other))
    damaged = tmp_path / "damaged.ckpt"
    damaged.write_bytes(trained.read_bytes()[:-100])
    text = tmp_path / "text.png"
    text.write_text("no image", "utf-8")
    for arguments, words in (
        (["info", tmp_path / "no.ckpt"], "no.ckpt"),
        (["eval", other], "no dense_relu_sequential.0.weight"),
        (["eval", damaged], "damaged.ckpt"),
        (["predict", trained, text], "text.png"),
        (["predict", trained, tmp_path / "no.png"], "no.png"),
    ):
        capsys.readouterr()
        assert main([str(word) for word in arguments]) == 2
        error = capsys.readouterr().err
        assert words in error
        assert error.count("\n") == 1
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    assert main(["predict", str(trained), str(text)]) == 2
    assert "pip install 'minispore[images]'" in capsys.readouterr().err
