"""The arguments of the command line, and their parser."""

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Literal, NoReturn

from minispore import __version__


class Arguments(argparse.Namespace):
    """The arguments. The command determines which of them are set."""

    command: Literal[
        "train", "eval", "predict", "info", "download", "learn", "trace", "play", "check-script"
    ]
    words: list[str]  # of the command line
    # train
    data: str
    epochs: int
    batch_size: int
    lr: float
    seed: int
    device: Literal["cpu", "gpu"]
    out: Path | None = None
    resume: bool = False
    threads: int | None = None
    mode: Literal["pynative", "graph"] = "pynative"
    # download
    dataset: Literal["mnist"]
    folder: Path
    # learn, together with folder
    action: str
    number: int
    language: Literal["en", "zh"] = "en"
    form: Literal["table", "json", "csv"]
    jobs: int | None = None
    variant: int | None = None
    reports: Path | None = None
    # trace, together with out; eval, predict and info
    file: Path
    # play
    browser: bool
    # check-script
    files: list[Path]
    fix: bool
    # predict
    image: Path
    # eval, predict, info and check-script
    json: bool = False


def _integer(low: int, high: int) -> Callable[[str], int]:
    """Return the type of an argument that is an integer within limits."""

    def parse_integer(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be a whole number, but got {text!r}") from None
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"must be from {low} to {high}, but got {text}")
        return number

    return parse_integer


_CHECKPOINT = "the checkpoint, or the folder of a run for its newest one"
_POSITIVE = _integer(1, 2**31 - 1)


def _text(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def _path(text: str) -> Path:
    return Path(_text(text))


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} (the help is `{self.prog} --help`)\n")


def parse(argv: Sequence[str] | None = None) -> Arguments:
    """Return the parsed command line; exit with status 2 if it is invalid.

    >>> parse(["train", "--epochs", "2", "--lr", "0.1"]).epochs
    2
    """
    parser = _Parser(
        prog="minispore", description="MindSpore's training stack, small enough to read."
    )
    parser.add_argument("--version", action="version", version=f"minispore {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_train(commands.add_parser("train", help="train the tutorial's network on digits"))
    _add_eval(commands.add_parser("eval", help="measure a checkpoint on the test images"))
    _add_predict(commands.add_parser("predict", help="read the digit in an image"))
    _add_info(commands.add_parser("info", help="show what a checkpoint or event file contains"))
    _add_download(commands.add_parser("download", help="fetch a data set"))
    _add_learn(commands.add_parser("learn", help="the course: lessons with exercises"))
    _add_trace(commands.add_parser("trace", help="show the events of a run as a page"))
    _add_play(commands.add_parser("play", help="try callbacks in small runs, in a browser"))
    _add_check_script(
        commands.add_parser("check-script", help="list what a script for MindSpore has to change")
    )
    if "_ARGCOMPLETE" in os.environ:
        # The shell asks what can be completed; the extra `completion` has the library.
        import_module("argcomplete").autocomplete(parser)
    words = sys.argv[1:] if argv is None else argv
    arguments, unknown = parser.parse_known_args(words or ["--help"], Arguments())
    command = commands.choices[arguments.command]
    if unknown:
        command.error(f"unrecognized arguments: {' '.join(unknown)}")
    if arguments.command == "train" and arguments.resume and arguments.out is None:
        command.error("argument --resume: needs --out DIR, the folder of the run")
    arguments.words = list(sys.argv[1:] if argv is None else argv)
    return arguments


def _add_train(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Train the network of MindSpore's tutorial to read handwritten digits, and save "
        "checkpoints, metrics and a plot."
    )
    _add_data(parser)
    parser.add_argument("--epochs", type=_POSITIVE, default=3, help="passes over the data")
    parser.add_argument("--batch-size", type=_POSITIVE, default=64, help="images in a step")
    parser.add_argument("--lr", type=_positive_float, default=0.02, help="the learning rate")
    parser.add_argument(
        "--seed", type=_integer(0, 2**32 - 1), default=1, help="seed of all random numbers"
    )
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="where to compute")
    parser.add_argument(
        "--mode",
        choices=("pynative", "graph"),
        default="pynative",
        help="graph: capture the training step once and replay it",
    )
    parser.add_argument(
        "--out",
        type=_path,
        metavar="DIR",
        default=argparse.SUPPRESS,
        help="folder for the results (default: runs/ and the time)",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        default=argparse.SUPPRESS,
        help="resume the run in --out from its newest checkpoint",
    )
    _add_threads(parser)


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.ArgumentDefaultsHelpFormatter
    parser.add_argument(
        "--data",
        type=_text,
        default="digits",
        metavar="DIR|digits",
        help="a folder with MNIST's four files, or 'digits' for generated images",
    )


def _add_threads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--threads",
        type=_POSITIVE,
        default=argparse.SUPPRESS,
        help="number of threads of numpy (default: 1, or that of OPENBLAS_NUM_THREADS)",
    )


def _add_eval(parser: argparse.ArgumentParser) -> None:
    parser.description = "Measure a checkpoint of 'minispore train' on the test images."
    _add_file(parser, _CHECKPOINT)
    _add_data(parser)
    _add_threads(parser)


def _add_predict(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Read the digit in an image with a checkpoint of 'minispore train', and print the "
        "probability of each digit. The digit may be anywhere in the image, dark on bright or "
        "bright on dark."
    )
    _add_file(parser, _CHECKPOINT)
    parser.add_argument("image", type=_path, metavar="IMAGE", help="the image, such as a PNG file")


def _add_info(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show the names in a checkpoint (.ckpt, .safetensors) or in an event file, the cells in a "
        "description of a network (.meta), or what the files in the folder of a run are."
    )
    _add_file(parser, "the file, or the folder of a run")


def _add_file(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("file", type=_path, metavar="FILE", help=text)
    _add_json(parser)


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON for a program"
    )


def _add_download(parser: argparse.ArgumentParser) -> None:
    parser.description = "Fetch a data set, check it, and put it into a folder."
    parser.add_argument("dataset", choices=("mnist",), help="the data set")
    parser.add_argument("folder", type=_path, metavar="DIR", help="the folder for its files")


def _add_learn(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `minispore learn`."""
    parser.description = (
        "The course: read a lesson, write its exercise, and check it. Without an action, show your "
        "progress."
    )
    folder = Path("minispore-course")
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    parser.set_defaults(action="status", folder=folder)
    for name, text in (
        ("list", "show the lessons"),
        ("read", "show the page of a lesson"),
        ("notebook", "write the page of a lesson into your folder, as a Jupyter notebook"),
        ("start", "write the exercise of a lesson into your folder"),
        ("check", "check your solution"),
        ("watch", "check your solution each time you save it"),
        ("run", "train a network on digits with the functions that you have written"),
        ("hint", "give a hint, and another one each time"),
        ("solution", "show minispore's own source, after your solution has passed"),
        ("reset", "start an exercise again; your file is kept under another name"),
        ("status", "show your progress, and what is next"),
        ("sheet", "show the teacher's sheet of a lesson"),
    ):
        action = actions.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name not in {"list", "run", "status"}:
            action.add_argument(
                "number", type=_integer(0, 99), metavar="N", help="the lesson's number"
            )
        if name not in {"notebook", "sheet", "solution"}:
            action.add_argument(
                "--language",
                choices=("en", "zh"),
                default="en",
                help="English or Chinese (default: en)",
            )
        if name == "start":
            _add_variant(action)
        if name not in {"list", "read", "sheet"}:
            action.add_argument(
                "--folder",
                type=_path,
                metavar="DIR",
                default=folder,
                help="where your solutions are (default: minispore-course)",
            )
    grading = actions.add_parser("grade", help="grade the submissions of a class")
    grading.description = "Check many submissions, each in its own process, with limits."
    grading.add_argument(
        "folder", type=_path, metavar="DIR", help="contains a folder for each submission"
    )
    forms = grading.add_mutually_exclusive_group()
    for form in ("json", "csv"):
        forms.add_argument(
            f"--{form}",
            action="store_const",
            dest="form",
            const=form,
            default="table",
            help=f"{form.upper()} instead of a table",
        )
    _add_variant(grading)
    grading.add_argument(
        "--reports",
        type=_path,
        metavar="OUT",
        default=argparse.SUPPRESS,
        help="write feedback files, gradebooks and similar submissions into this folder",
    )
    grading.add_argument(
        "--jobs",
        type=_POSITIVE,
        default=argparse.SUPPRESS,
        help="checks at the same time (default: half as many as there are cores)",
    )


def _add_variant(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--variant",
        type=_integer(0, 9999),
        metavar="SEED",
        default=argparse.SUPPRESS,
        help="the variant of the exercise, with other names and tasks",
    )


def _add_trace(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make an interactive page of a trace: when each callback was called, how long it took, "
        "what it changed, where a stop was requested, which errors were raised. "
        "minispore.testing.record_events records a trace."
    )
    parser.add_argument("file", type=_path, metavar="FILE", help="the trace, .jsonl or .json")
    parser.add_argument(
        "-o",
        "--out",
        type=_path,
        metavar="PAGE",
        default=argparse.SUPPRESS,
        help="the page to write (default: FILE with the ending .html)",
    )


def _add_play(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Serve the callback playground on this computer, and open it in a browser: choose or write "
        "callbacks, and see the events of a small run, with a stop, an exception or a kill in it. "
        "Ctrl-C ends it."
    )
    parser.add_argument(
        "--no-browser", dest="browser", action="store_false", help="only print the address"
    )


def _add_check_script(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "List what scripts for MindSpore use that minispore does not have or refuses, without "
        "running them, and what it does otherwise."
    )
    parser.add_argument(
        "files", type=_path, nargs="+", metavar="FILE", help="a script or a notebook"
    )
    _add_json(parser)
    parser.add_argument(
        "--fix",
        action="store_true",
        help="write a copy, FILE with the ending _minispore, with the replacements that are safe",
    )


def _positive_float(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, but got {text!r}") from None
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be positive and finite, but got {text}")
    return number
