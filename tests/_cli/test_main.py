"""The commands `minispore train` and `minispore download`: arguments, errors and files."""

import csv
import os
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import minispore
from minispore._cli import main
from minispore._cli.tutorial import cache_folder
from minispore.dataset import download


def read_table(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# Errors.


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
        (["train", "--threads", "0"], "--threads: must be from 1"),
        (["train", "--resume"], "argument --resume: needs --out DIR, the folder of the run"),
        (["download"], "DIR"),
        (["download", "imagenet", "here"], "invalid choice: 'imagenet'"),
    ],
)
def test_bad_arguments_are_one_line_errors(
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


def error_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one-line error of a command."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"minispore {arguments[0]}: error: ")
    assert err.count("\n") == 1
    return err


def test_folder_without_data_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    nowhere = tmp_path / "nowhere"
    assert str(nowhere) in error_of(["train", "--data", str(nowhere), "--out", str(out)], capsys)
    assert str(tmp_path) in error_of(["train", "--data", str(tmp_path), "--out", str(out)], capsys)
    assert not out.exists()


def test_broken_data_file_is_named(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in digits.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    broken = tmp_path / "train-images-idx3-ubyte"
    broken.write_bytes(broken.read_bytes()[:1000])
    out = str(tmp_path / "out")
    assert broken.name in error_of(["train", "--data", str(tmp_path), "--out", out], capsys)


def test_results_folder_that_is_a_file_is_named(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine", "utf-8")
    assert str(taken) in error_of(["train", "--data", str(digits), "--out", str(taken)], capsys)
    assert taken.read_text("utf-8") == "mine"


def test_missing_gpu_is_reported(
    digits: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.delitem(sys.modules, "minispore.engine.array._cupy", raising=False)
    arguments = ["train", "--data", str(digits), "--out", str(tmp_path), "--device", "gpu"]
    assert "CuPy" in error_of(arguments, capsys)


def test_diverging_loss_is_reported(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "--data", str(digits), "--out", str(tmp_path), "--lr", "1e30"]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "the loss became" in error
    assert "--lr" in error


def test_results_of_another_run_are_not_overwritten(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["train", "--data", str(digits), "--out", str(tmp_path), "--epochs", "1"]
    assert main(arguments) == 0
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    capsys.readouterr()
    error = error_of(arguments, capsys)
    assert f"the folder {tmp_path} contains the results of another run" in error
    assert "--resume" in error
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--lr=0.5", "optimizer.learning_rate: 0.02 when saved, 0.5 now"),
        ("--seed=2", "seed: 1 when saved, 2 now"),
        ("--batch-size=32", "its epochs had 32 steps, and now have 63"),
        ("--epochs=1", "it was saved in epoch 2, and 'epoch' is now 1"),
    ],
)
def test_resume_with_other_arguments_fails(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, words: str
) -> None:
    arguments = ["train", "--data", str(digits), "--out", str(tmp_path), "--epochs", "2"]
    assert main(arguments) == 0
    capsys.readouterr()
    assert words in error_of([*arguments, "--resume", option], capsys)


def test_resume_without_checkpoint_fails(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mnist-graph.ckpt").touch()
    arguments = ["train", "--data", str(digits), "--out", str(tmp_path), "--resume"]
    words = f"there is no checkpoint to resume from in the folder {tmp_path}\n"
    assert error_of(arguments, capsys).endswith(words)


def test_threads_option_after_numpy_import_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = dict(os.environ)
    assert "before numpy is imported" in error_of(["train", "--threads", "1"], capsys)
    assert dict(os.environ) == before


# Successful runs.


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"MINISPORE_CACHE": "/own", "XDG_CACHE_HOME": "/cache"}, "/own"),
        ({"XDG_CACHE_HOME": "/cache"}, "/cache/minispore"),
        ({"XDG_CACHE_HOME": ""}, "/home/ada/.cache/minispore"),
        ({}, "/home/ada/.cache/minispore"),
    ],
)
def test_generated_digits_are_cached(
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


def test_run_writes_checkpoints_table_and_plot(
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


def test_equal_seeds_give_equal_weights(digits: Path, tmp_path: Path) -> None:
    def weights(name: str, seed: int) -> bytes:
        out = tmp_path / name
        random.seed()
        main(["train", "--data", str(digits), "--out", str(out), "--epochs", "1", f"--seed={seed}"])
        return (out / "mnist-1_32.ckpt").read_bytes()

    assert weights("a", 3) == weights("b", 3) != weights("c", 4)


def test_missing_matplotlib_is_reported(
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


def test_first_epoch_reaches_90_percent_accuracy(tmp_path: Path) -> None:
    """On the 60,000 digits that are generated by default."""
    assert main(["train", "--epochs", "1", "--out", str(tmp_path)]) == 0
    assert float(read_table(tmp_path)[-1]["accuracy"]) > 0.9


def test_download_prints_folder_and_next_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def succeed(folder: Path) -> Path:
        return folder

    monkeypatch.setattr(download, "download_mnist", succeed)
    assert main(["download", "mnist", str(tmp_path)]) == 0
    assert f"minispore train --data {tmp_path}" in capsys.readouterr().out


def test_failed_download_is_a_one_line_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_folder: Path) -> None:
        raise RuntimeError("no mirror gave 'file':\n  one: is down\n  two: is down")

    monkeypatch.setattr(download, "download_mnist", fail)
    error = error_of(["download", "mnist", str(tmp_path)], capsys)
    assert error.endswith("no mirror gave 'file': one: is down two: is down\n")


THREADS = """
import os, sys, threading
from minispore._cli import main
status = main(sys.argv[1:])
from threadpoolctl import threadpool_info
others = threading.active_count() - 1  # of Python, such as that of tqdm
computing = len(os.listdir("/proc/self/task")) - others
print(status, computing, *{each["num_threads"] for each in threadpool_info()})
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted by Linux")
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_option_sets_number_of_threads(digits: Path, tmp_path: Path, threads: int) -> None:
    """Compare with the number of threads that Linux counts and that numpy's library reports."""
    threads = min(threads, len(os.sched_getaffinity(0)))
    arguments = ["train", "--data", digits, "--out", tmp_path, "--epochs", "1"]
    process = subprocess.run(
        [sys.executable, "-c", THREADS, *map(str, arguments), f"--threads={threads}"],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert process.stdout.splitlines()[-1] == f"0 {threads} {threads}"


def test_ctrl_c_outside_training_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_folder: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "download_mnist", interrupt)
    assert main(["download", "mnist", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "minispore download: stopped by Ctrl-C\n"
