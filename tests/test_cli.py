"""`minispore train` and `minispore download` as a user meets them."""

import csv
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import minispore
from minispore._cli import downloading, history, main
from minispore._cli.data import cache_folder
from minispore.train import Callback, Model, RunContext

from .train.standins import Batches, ConstantLoss


def read_table(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "minispore", *map(str, arguments)]


# What is refused.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "COMMAND"),
        (["fly"], "invalid choice: 'fly'"),
        (["train", "--epochs", "0"], "--epochs: must be from 1 to 2147483647, but got 0"),
        (["train", "--epochs", "-1"], "--epochs: must be from 1"),
        (["train", "--epochs", "two"], "--epochs: must be a whole number, but got 'two'"),
        (["train", "--batch-size", "0"], "--batch-size: must be from 1"),
        (["train", "--lr", "0"], "--lr: must be positive and finite, but got 0"),
        (["train", "--lr", "nan"], "--lr: must be positive and finite, but got nan"),
        (["train", "--lr", "fast"], "--lr: must be a number, but got 'fast'"),
        (["train", "--seed", "-1"], "--seed: must be from 0 to 4294967295, but got -1"),
        (["train", "--device", "tpu"], "--device: invalid choice: 'tpu'"),
        (["download"], "DIR"),
        (["download", "imagenet", "here"], "invalid choice: 'imagenet'"),
    ],
)
def test_bad_arguments_are_told_in_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    out, err = capsys.readouterr()
    assert exit_.value.code == 2
    assert out == ""
    assert err.startswith("minispore")
    assert err.count("\n") == 1
    assert words in err


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line with which a command refuses to work."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"minispore {arguments[0]}: error: ")
    assert err.count("\n") == 1
    return err


def test_a_folder_without_data_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    nowhere = tmp_path / "nowhere"
    assert str(nowhere) in refused(["train", "--data", str(nowhere), "--out", str(out)], capsys)
    assert str(tmp_path) in refused(["train", "--data", str(tmp_path), "--out", str(out)], capsys)
    assert not out.exists()


def test_a_broken_data_file_is_named(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in digits.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    broken = tmp_path / "train-images-idx3-ubyte"
    broken.write_bytes(broken.read_bytes()[:1000])
    out = str(tmp_path / "out")
    assert broken.name in refused(["train", "--data", str(tmp_path), "--out", out], capsys)


def test_a_results_folder_that_is_a_file_is_named(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine", "utf-8")
    assert str(taken) in refused(["train", "--data", str(digits), "--out", str(taken)], capsys)
    assert taken.read_text("utf-8") == "mine"


def test_a_gpu_that_is_missing_is_told(
    digits: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.delitem(sys.modules, "minispore._array._cupy", raising=False)
    arguments = ["train", "--data", str(digits), "--out", str(tmp_path), "--device", "gpu"]
    assert "CuPy" in refused(arguments, capsys)


def test_a_loss_that_explodes_is_told(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "--data", str(digits), "--out", str(tmp_path), "--lr", "1e30"]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "the loss became" in error
    assert "--lr" in error


# What works.


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"MINISPORE_CACHE": "/own", "XDG_CACHE_HOME": "/cache"}, "/own"),
        ({"XDG_CACHE_HOME": "/cache"}, "/cache/minispore"),
        ({"XDG_CACHE_HOME": ""}, "/home/ada/.cache/minispore"),
        ({}, "/home/ada/.cache/minispore"),
    ],
)
def test_what_can_be_drawn_again_is_kept_in_the_users_cache(
    variables: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ada"))
    for name in ("MINISPORE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(folder)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"minispore {minispore.__version__}\n"


def test_a_run_leaves_checkpoints_a_table_and_a_picture(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert main(["train", "--data", str(digits), "--out", str(out), "--epochs", "2"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in printed[:-1]] == ["epoch 1/2", "epoch 2/2"]
    assert printed[-1].endswith(f"in {out}: mnist-2_32.ckpt, metrics.csv, plot.png")

    files = {file.name for file in out.iterdir()}
    assert files == {
        "mnist-1_32.ckpt", "mnist-2_32.ckpt", "mnist-graph.meta", "metrics.csv", "plot.png",
    }  # fmt: skip
    assert (out / "plot.png").read_bytes().startswith(b"\x89PNG")

    table = read_table(out)
    assert [(row["epoch"], row["step"]) for row in table] == [("1", "32"), ("2", "64")]
    assert all(float(a["seconds"]) < float(b["seconds"]) for a, b in pairwise(table))
    assert float(table[1]["loss"]) < float(table[0]["loss"])
    assert f"Accuracy {float(table[-1]['accuracy']):.4f} after 2 epochs" in printed[-1]


def test_the_same_seed_gives_the_same_weights(digits: Path, tmp_path: Path) -> None:
    def weights(name: str, seed: int) -> bytes:
        out = tmp_path / name
        main(["train", "--data", str(digits), "--out", str(out), "--epochs", "1", f"--seed={seed}"])
        return (out / "mnist-1_32.ckpt").read_bytes()

    assert weights("a", 3) == weights("b", 3) != weights("c", 4)


def test_without_matplotlib_there_is_no_plot_and_it_is_said(
    digits: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["train", "--data", str(digits), "--out", str(tmp_path), "--epochs", "1"]) == 0
    assert "no plot, since matplotlib is not installed" in capsys.readouterr().out.splitlines()[-1]
    assert not (tmp_path / "plot.png").exists()


def test_results_go_to_a_new_folder_by_default(
    digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["train", "--data", str(digits), "--epochs", "1"])
    (out,) = (tmp_path / "runs").iterdir()
    assert (out / "mnist-1_32.ckpt").is_file()


def test_the_first_epoch_is_right_nine_times_of_ten(tmp_path: Path) -> None:
    """On the 60,000 digits that the command draws when it is given no data."""
    assert main(["train", "--epochs", "1", "--out", str(tmp_path)]) == 0
    assert float(read_table(tmp_path)[-1]["accuracy"]) > 0.9


def test_download_says_where_the_files_are_and_what_to_do_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def succeed(folder: Path) -> Path:
        return folder

    monkeypatch.setattr(downloading, "download_mnist", succeed)
    assert main(["download", "mnist", str(tmp_path)]) == 0
    assert f"minispore train --data {tmp_path}" in capsys.readouterr().out


def test_a_download_that_fails_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_folder: Path) -> None:
        raise RuntimeError("no mirror gave 'file':\n  one: is down\n  two: is down")

    monkeypatch.setattr(downloading, "download_mnist", fail)
    error = refused(["download", "mnist", str(tmp_path)], capsys)
    assert error.endswith("no mirror gave 'file': one: is down two: is down\n")


# Ctrl-C.


def test_ctrl_c_outside_of_a_training_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_folder: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(downloading, "download_mnist", interrupt)
    assert main(["download", "mnist", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "minispore download: stopped by Ctrl-C\n"


@pytest.mark.parametrize("stop", [history.EVERY - 1, history.EVERY, history.EVERY + 1])
def test_a_run_that_is_stopped_has_each_step_in_one_row(stop: int, tmp_path: Path) -> None:
    class Stop(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            if run_context.original_args().cur_step_num == stop:
                run_context.request_stop()

    model = Model(ConstantLoss())
    table = history.History(tmp_path / "metrics.csv")
    model.train(1, Batches(2 * history.EVERY), [Stop(), table])
    assert [int(row["step"]) for row in read_table(tmp_path)] == sorted(
        {stop, min(stop, history.EVERY)}
    )


def lines_until_interrupted(process: subprocess.Popen[str]) -> Iterator[str]:
    """The lines of a running process; after the first one it gets SIGINT."""
    assert process.stdout is not None
    for number, line in enumerate(process.stdout):
        if number == 0:
            process.send_signal(signal.SIGINT)
        yield line


@pytest.mark.skipif(os.name == "nt", reason="SIGINT cannot be sent to one process on Windows")
def test_ctrl_c_ends_a_run_with_the_checkpoint_saved(digits: Path, tmp_path: Path) -> None:
    arguments = command("train", "--data", digits, "--out", tmp_path, "--epochs", 100_000)
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        # Should the interrupt not work, the run must not go on for ever.
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        lines = list(lines_until_interrupted(process))
        watchdog.cancel()
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    assert process.returncode == 130
    assert lines[0].startswith("epoch 1/100000: ")
    step = int(read_table(tmp_path)[-1]["step"])
    assert lines[-1].startswith(f"Stopped by Ctrl-C after step {step}; in {tmp_path}: mnist-")
    epoch, in_epoch = (step - 1) // 32 + 1, (step - 1) % 32 + 1
    assert f"mnist-{epoch}_{in_epoch}.ckpt" in lines[-1]
    saved = minispore.load_checkpoint(str(tmp_path / f"mnist-{epoch}_{in_epoch}.ckpt"))
    weight = saved["dense_relu_sequential.0.weight"]
    assert isinstance(weight, minispore.Parameter)
    assert weight.shape == (512, 784)
