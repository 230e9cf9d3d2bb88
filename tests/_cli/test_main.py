"""The commands `minispore train` and `minispore download`: arguments, errors and files."""

import csv
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore
from minispore import GRAPH_MODE, PYNATIVE_MODE, get_context
from minispore._cli import THREAD_VARIABLES, _set_threads, main, training
from minispore._cli.output import checked_output
from minispore._cli.training import newest_checkpoint
from minispore._cli.tutorial import cache_folder
from minispore.dataset import digits as generated
from minispore.dataset import download
from minispore.train import Callback, RunContext
from tests.helpers.processes import run_python


def read_table(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# Errors.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
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
        (["train", "--out", ""], "--out: must not be empty"),
        (["train", "--data", ""], "--data: must not be empty"),
        (["eval", ""], "FILE: must not be empty"),
        (["learn", "check", "1", "--folder="], "--folder: must not be empty"),
        (
            ["train", "--fly"],
            "arguments: --fly (the help is `minispore train --help`)",
        ),
        (
            ["learn", "list", "3"],
            "arguments: 3 (the help is `minispore learn --help`)",
        ),
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
    capsys.readouterr()
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"minispore {arguments[0]}: error: ")
    assert err.count("\n") == 1
    return err


def train(data: Path, out: Path, *options: str) -> list[str]:
    return ["train", "--data", str(data), "--out", str(out), *options]


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture(scope="module")
def trained(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return the folder of a training, and the lines that it has printed."""
    out = tmp_path_factory.mktemp("trained") / "run"
    with redirect_stdout(StringIO()) as printed:
        assert main(train(digits, out, "--epochs", "2")) == 0
    return out, printed.getvalue().splitlines()


def test_unusable_paths_are_named(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Folders without data, a damaged file, and a folder for the results that is a file."""
    broken, out = tmp_path / "broken", tmp_path / "out"
    shutil.copytree(digits, broken)
    name = "train-images-idx3-ubyte"
    (broken / name).write_bytes((digits / name).read_bytes()[:1000])
    for data, named in (
        (tmp_path / "nowhere", tmp_path / "nowhere"),
        (tmp_path, tmp_path),
        (broken, broken / name),
    ):
        assert str(named) in error_of(train(data, out), capsys)
    assert not out.exists()
    out.write_text("mine", "utf-8")
    assert str(out) in error_of(train(digits, out), capsys)
    assert out.read_text("utf-8") == "mine"


def test_missing_gpu_is_reported(
    digits: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.delitem(sys.modules, "minispore.engine.array._cupy", raising=False)
    assert "CuPy" in error_of(train(digits, tmp_path, "--device", "gpu"), capsys)


def test_diverging_loss_is_reported(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(train(digits, tmp_path, "--lr", "1e30")) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert re.search(r"the loss became (nan|inf) in step 2: try a smaller --lr", error), error


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "contains the results of another run"),
        (["--resume", "--lr=0.5"], "was started with --lr 0.02, not 0.5: resume it with the same"),
        (["--resume", "--seed=2", "--lr=1"], "with --lr 0.02, not 1.0 and --seed 1, not 2: resume"),
        (["--resume", "--batch-size=32"], "was started with --batch-size 64, not 32: resume it"),
        (["--resume", "--epochs=1"], "--epochs must be at least 2: the run in {out} is in that "),
    ],
)
def test_results_of_another_run_are_unchanged(
    digits: Path,
    trained: tuple[Path, list[str]],
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    words: str,
) -> None:
    out, _ = trained
    before = contents(out)
    error = error_of(train(digits, out, "--epochs", "2", *options), capsys)
    assert words.format(out=out) in error
    assert options or (str(out) in error and "--resume" in error)
    assert contents(out) == before


@pytest.mark.parametrize("saved", [None, "", "[1]", "{}", pytest.param("[" * 100_000, id="deep")])
def test_difference_of_unknown_arguments_is_reported(
    saved: str | None,
    digits: Path,
    trained: tuple[Path, list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The folder may be of an older version; the advice names no argument of Python."""
    out = tmp_path / "run"
    shutil.copytree(trained[0], out, ignore=lambda *_: ["arguments.json"])
    if saved is not None:
        (out / "arguments.json").write_text(saved, "utf-8")
    error = error_of(train(digits, out, "--epochs", "2", "--resume", "--lr=0.5"), capsys)
    assert "optimizer.learning_rate: float32(0.02) when saved, float32(0.5) now.\n" in error
    assert "resume_strict" not in error


@pytest.mark.parametrize("name", ["metrics.csv", "plot.png"])
def test_one_file_of_another_run_is_unchanged(
    name: str, digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).touch()
    assert "results of another run" in error_of(train(digits, tmp_path), capsys)
    assert contents(tmp_path) == {name: b""}


def test_resume_without_checkpoint_fails(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mnist-graph.ckpt").touch()
    words = f"there is no checkpoint of 'minispore train' in the folder {tmp_path}\n"
    assert error_of(train(digits, tmp_path, "--resume"), capsys).endswith(words)


def test_threads_option_after_numpy_import_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = dict(os.environ)
    assert "before numpy is imported" in error_of(["train", "--threads", "1"], capsys)
    assert dict(os.environ) == before


def test_threads_option_sets_the_variables_of_all_libraries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "numpy")
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, "")
    _set_threads(3)
    assert [os.environ[name] for name in THREAD_VARIABLES] == ["3"] * 5


@pytest.mark.parametrize("name", [None, *THREAD_VARIABLES])
def test_one_thread_is_the_default_unless_a_variable_is_set(
    name: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delitem(sys.modules, "numpy")
    monkeypatch.setattr(os, "environ", {} if name is None else {name: "2"})
    monkeypatch.setattr(download, "download_mnist", Path)
    assert main(["download", "mnist", str(tmp_path)]) == 0
    assert os.environ == (dict.fromkeys(THREAD_VARIABLES, "1") if name is None else {name: "2"})


def test_mode_option_sets_the_mode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for mode, value in (("graph", GRAPH_MODE), ("pynative", PYNATIVE_MODE)):
        assert "nowhere" in error_of(train(tmp_path / "nowhere", tmp_path, "--mode", mode), capsys)
        assert get_context("mode") == value


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 120)), min_size=1, max_size=4))
def test_newest_checkpoint_has_the_greatest_epoch_and_step(names: list[tuple[int, int]]) -> None:
    with TemporaryDirectory() as folder:
        for epoch, step in names:
            Path(folder, f"mnist-{epoch}_{step}.ckpt").touch()
        epoch, step = max(names)
        assert newest_checkpoint(Path(folder)).name == f"mnist-{epoch}_{step}.ckpt"


def test_ctrl_c_ends_the_run_with_its_own_status_and_says_how_to_resume_it(
    digits: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Interrupts(Callback):
        def on_train_step_begin(self, run_context: RunContext) -> None:
            if run_context.original_args().cur_step_num in {3, 5}:
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(training, "RequireFiniteLoss", Interrupts)
    monkeypatch.chdir(tmp_path)
    for step, options in (
        (3, ["--out", "my run"]),
        (5, ["--out", "my run", "--resume"]),
        (3, []),
    ):
        words = ["train", "--data", str(digits), *options]
        assert main(words) == 130
        *_, stopped, advice = capsys.readouterr().out.splitlines()
        out = "my run" if options else str(next(Path("runs").iterdir()))
        files = f"mnist-1_{step}.ckpt, metrics.csv, plot.png"
        assert stopped == f"Stopped by Ctrl-C after step {step}; in {out}: {files}"
        command = advice.removeprefix("To resume it: minispore ")
        expected = ["train", "--data", str(digits), "--out", out, "--resume"]
        assert shlex.split(command) == expected


# Successful runs.


# Each of these writes to standard output; the last two do so where OSErrors are expected.
WRITING = [
    *("--version", "train --help", "learn list", "info {run}/mnist-1_32.ckpt"),
    *("eval {run}/mnist-1_32.ckpt", "train --data {digits} --epochs 1 --out {out}"),
]


@pytest.mark.parametrize("command", WRITING)
@pytest.mark.parametrize("full", [True, False])
def test_closed_or_full_output_ends_the_command(
    command: str,
    full: bool,
    trained: tuple[Path, list[str]],
    digits: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Silently if its reader has closed it, with one line if the disk is full."""
    monkeypatch.setattr(generated, "write", lambda folder, progress: digits)
    if full:
        if not Path("/dev/full").exists():
            pytest.skip("/dev/full is a file of Linux")
        writer = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, writer = os.pipe()
        os.close(reader)
    words = command.format(run=trained[0], digits=digits, out=tmp_path / "run").split()
    with open(writer, "w", encoding="utf-8") as out:  # as when Python exits, this writes the rest
        monkeypatch.setattr(sys, "stdout", out)
        assert main(words) == (2 if full else 0)
    error = "minispore: error: the output cannot be written: No space left on device\n"
    assert capsys.readouterr().err == (error if full else "")


@given(st.lists(st.text()), st.sampled_from(["ascii", "cp1252", "utf-8"]))
@example(["✓ \ud800"], "utf-8")
def test_output_escapes_what_its_encoding_lacks(texts: list[str], encoding: str) -> None:
    written = TextIOWrapper(BytesIO(), encoding, newline="")
    with redirect_stdout(written), checked_output():
        for text in texts:
            print(text, end="")
    written.seek(0)
    assert written.buffer.read() == "".join(texts).encode(encoding, "backslashreplace")


@pytest.mark.parametrize(("missing", "other"), [("stderr", "stdout"), ("stdout", "stderr")])
def test_commands_run_without_a_standard_stream(
    missing: str,
    other: str,
    trained: tuple[Path, list[str]],
    digits: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python sets it to None where there is no console; what would go there goes nowhere else."""
    monkeypatch.setattr(generated, "write", lambda folder, progress: (progress(1), digits)[1])
    monkeypatch.setattr(sys, missing, None)
    monkeypatch.setattr(sys, other, stream := StringIO())
    assert main(train(digits, tmp_path / "run", "--epochs", "1")) == 0
    assert main(["eval", str(trained[0] / "mnist-1_32.ckpt")]) == 0
    assert main(["info", "missing.ckpt"]) == 2
    text = stream.getvalue()
    assert ("epoch 1/1: loss" in text, "error" in text) == (
        (True, False) if missing == "stderr" else (False, True)
    )


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


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("darwin", {}, "/home/ada/Library/Caches/minispore"),
        ("win32", {}, "/home/ada/AppData/Local/minispore/Cache"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/minispore/Cache"),
    ],
)
def test_cache_folder_is_that_of_the_platform(
    platform: str, variables: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ada"))
    for name in ("MINISPORE_CACHE", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_folder() == Path(folder)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("minispore tr", {"trace", "train"}),
        ("minispore train --de", {"--device"}),
        ("minispore train --device ", {"cpu", "gpu"}),
        ("minispore learn so", {"solution"}),
    ],
)
def test_shell_completes_commands_and_options(line: str, words: set[str], tmp_path: Path) -> None:
    completions = tmp_path / "completions"
    variables = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(completions),
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    command = "from minispore._cli import main; main()"
    run_python("-c", command, environment=variables)
    assert set(completions.read_text("utf-8").split("\013")) == words


def test_no_command_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([])
    assert exit_.value.code == 0
    assert "COMMAND" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"minispore {minispore.__version__}\n"


def test_run_writes_checkpoints_table_and_plot(trained: tuple[Path, list[str]]) -> None:
    out, printed = trained
    *epochs, summary, following = printed
    assert [line.split(":")[0] for line in epochs] == ["epoch 1/2", "epoch 2/2"]
    assert summary.endswith(f"in {out}: mnist-2_32.ckpt, metrics.csv, plot.png")
    assert f"'minispore predict {out} IMAGE'" in following
    files = contents(out)
    assert files.keys() == {
        "arguments.json", "mnist-1_32.ckpt", "mnist-2_32.ckpt", "mnist-graph.meta", "metrics.csv",
        "plot.png",
    }  # fmt: skip
    assert files["plot.png"].startswith(b"\x89PNG")
    table = read_table(out)
    assert [(row["epoch"], row["step"]) for row in table] == [("1", "32"), ("2", "64")]
    assert float(table[1]["net_output"]) < float(table[0]["net_output"])
    assert f"Accuracy {float(table[-1]['accuracy']):.4f} after 2 epochs" in summary


@pytest.mark.full
def test_equal_seeds_give_equal_weights(digits: Path, tmp_path: Path) -> None:
    def weights(name: str, seed: int) -> bytes:
        random.seed()
        main(train(digits, tmp_path / name, "--epochs", "1", f"--seed={seed}"))
        return contents(tmp_path / name)["mnist-1_32.ckpt"]

    assert weights("a", 3) == weights("b", 3) != weights("c", 4)


def test_missing_matplotlib_is_reported(
    digits: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(train(digits, tmp_path, "--epochs", "1")) == 0
    *_, last, _ = capsys.readouterr().out.splitlines()
    assert re.match(r"Accuracy 0\.\d{4} after 1 epoch; in ", last)
    assert "no plot, since matplotlib is not installed" in last
    assert not (tmp_path / "plot.png").exists()


def test_results_go_to_a_new_folder_by_default(
    digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["train", "--data", str(digits), "--epochs", "1"])
    (out,) = (tmp_path / "runs").iterdir()
    assert (out / "mnist-1_32.ckpt").is_file()


@pytest.mark.full
def test_first_epoch_reaches_90_percent_accuracy(tmp_path: Path) -> None:
    """On the 60,000 digits that are generated by default."""
    assert main(["train", "--epochs", "1", "--out", str(tmp_path)]) == 0
    assert float(read_table(tmp_path)[-1]["accuracy"]) > 0.9


@pytest.mark.parametrize(
    ("error", "status", "printed"),
    [
        (None, 0, "minispore train --data {folder}\n"),
        (
            RuntimeError("no mirror gave 'file':\n  one: is down\n  two: is down"),
            *(2, "minispore download: error: no mirror gave 'file': one: is down two: is down\n"),
        ),
        (KeyboardInterrupt(), 130, "minispore download: stopped by Ctrl-C\n"),
    ],
)
def test_download_prints_the_next_command_or_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException | None,
    status: int,
    printed: str,
) -> None:
    def download_mnist(folder: Path) -> Path:
        if error:
            raise error
        return folder

    monkeypatch.setattr(download, "download_mnist", download_mnist)
    assert main(["download", "mnist", str(tmp_path)]) == status
    out, err = capsys.readouterr()
    assert out.endswith(printed.format(folder=tmp_path)) if status == 0 else err == printed


THREADS = """
import os, sys, threading
from minispore._cli import THREAD_VARIABLES, _set_threads, main
status = main(sys.argv[1:])
from threadpoolctl import threadpool_info
others = threading.active_count() - 1  # of Python, such as that of tqdm
computing = len(os.listdir("/proc/self/task")) - others
print(status, computing, *{each["num_threads"] for each in threadpool_info()})
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted by Linux")
@pytest.mark.full
@pytest.mark.parametrize(
    ("options", "variables", "threads"),
    [
        ([], {}, 1),
        (["--threads=2"], {}, 2),
        ([], {"OPENBLAS_NUM_THREADS": "2"}, 2),
        (["--threads=1"], {"OPENBLAS_NUM_THREADS": "2"}, 1),
    ],
)
def test_number_of_threads_is_that_of_the_option_or_the_variable_or_one(
    digits: Path, tmp_path: Path, options: list[str], variables: dict[str, str], threads: int
) -> None:
    """Compare with the number of threads that Linux counts and that numpy's library reports."""
    pytest.importorskip("threadpoolctl")
    threads = min(threads, len(os.sched_getaffinity(0)))
    environment = {name: each for name, each in os.environ.items() if name not in THREAD_VARIABLES}
    process = subprocess.run(
        [sys.executable, "-c", THREADS, *train(digits, tmp_path, "--epochs=1"), *options],
        env=environment | variables,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert process.stdout.splitlines()[-1] == f"0 {threads} {threads}"
