"""The arguments of `minispore`, each checked as it is read."""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NoReturn

from minispore import __version__


class Arguments(argparse.Namespace):
    """What was asked for. Which names are set depends on the command."""

    command: Literal["train", "download", "learn", "trace"]
    # train
    data: str
    epochs: int
    batch_size: int
    lr: float
    seed: int
    device: Literal["cpu", "gpu"]
    out: Path | None = None
    resume: bool
    threads: int | None = None
    # download
    dataset: Literal["mnist"]
    folder: Path
    # learn, which has a folder too
    action: Literal["list", "start", "check", "hint", "reset", "status", "grade"]
    number: int
    as_json: bool
    jobs: int | None = None
    # trace, which has an out too
    file: Path


class _Parser(argparse.ArgumentParser):
    """A parser that complains in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def parse(argv: Sequence[str] | None = None) -> Arguments:
    """Read the command line; leave the program with status 2 if it makes no sense.

    >>> parse(["train", "--epochs", "2", "--lr", "0.1"]).epochs
    2
    """
    parser = _Parser(
        prog="minispore", description="MindSpore's training stack, small enough to read."
    )
    parser.add_argument("--version", action="version", version=f"minispore {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_train(commands.add_parser("train", help="train the tutorial's network on digits"))
    _add_download(commands.add_parser("download", help="fetch a data set"))
    _add_learn(commands.add_parser("learn", help="the course: lessons with exercises"))
    _add_trace(commands.add_parser("trace", help="show the events of a run as a page"))
    arguments = parser.parse_args(sys.argv[1:] if argv is None else argv, Arguments())
    if arguments.command == "train" and arguments.resume and arguments.out is None:
        parser.error("argument --resume: needs --out DIR, the folder of the run")
    return arguments


def _add_train(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Train the network of MindSpore's tutorial to read handwritten digits, and save "
        "checkpoints, metrics and a plot."
    )
    parser.formatter_class = argparse.ArgumentDefaultsHelpFormatter
    parser.add_argument(
        "--data",
        default="digits",
        metavar="DIR|digits",
        help="a folder with MNIST's four files, or 'digits' for images that minispore draws itself",
    )
    parser.add_argument("--epochs", type=_positive_int, default=3, help="passes over the data")
    parser.add_argument("--batch-size", type=_positive_int, default=64, help="images in a step")
    parser.add_argument("--lr", type=_positive_float, default=0.02, help="the learning rate")
    parser.add_argument("--seed", type=_seed, default=1, help="of all random numbers")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="where to compute")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        default=argparse.SUPPRESS,
        help="folder for what the run leaves behind (default: runs/ and the time)",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        default=False,
        help="go on with the run in --out from its newest checkpoint",
    )
    parser.add_argument(
        "--threads",
        type=_positive_int,
        default=argparse.SUPPRESS,
        help="threads that numpy computes with (default: its library's choice, often all cores)",
    )


def _add_download(parser: argparse.ArgumentParser) -> None:
    parser.description = "Fetch a data set, check it, and put it into a folder."
    parser.add_argument("dataset", choices=("mnist",), help="which one")
    parser.add_argument("folder", type=Path, metavar="DIR", help="where to put its files")


def _add_learn(parser: argparse.ArgumentParser) -> None:
    """The actions of `minispore learn`."""
    parser.description = "The course: its pages are in docs/learn, its exercises are made here."
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text in (
        ("list", "show the lessons"),
        ("start", "put the exercise of a lesson into your folder"),
        ("check", "say whether your solution is right"),
        ("hint", "give a hint, and another one each time"),
        ("reset", "begin an exercise anew; your file is kept beside it"),
        ("status", "show how far you are"),
    ):
        action = actions.add_parser(name, help=text, description=f"{text.capitalize()}.")
        if name in {"start", "check", "hint", "reset"}:
            action.add_argument("number", type=_lesson, metavar="N", help="the lesson's number")
        if name != "list":
            action.add_argument(
                "--folder",
                type=Path,
                metavar="DIR",
                default=Path("minispore-course"),
                help="where your solutions are (default: minispore-course)",
            )
    grading = actions.add_parser("grade", help="check what a class has handed in")
    grading.description = "Check many submissions, each in its own process, with limits."
    grading.add_argument(
        "folder", type=Path, metavar="DIR", help="has a folder for each submission"
    )
    grading.add_argument("--json", action="store_true", dest="as_json", help="JSON, and no table")
    grading.add_argument(
        "--jobs",
        type=_positive_int,
        default=argparse.SUPPRESS,
        help="checks at the same time (default: half as many as there are cores)",
    )


def _add_trace(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make an interactive page of a trace: who was called when, for how long, what it changed, "
        "where a stop was requested, what was raised. minispore.testing.record_events records a "
        "trace."
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the trace, .jsonl or .json")
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="PAGE",
        default=argparse.SUPPRESS,
        help="the page to write (default: FILE with the ending .html)",
    )


def _lesson(text: str) -> int:
    return _whole_number(text, 1, 99)


def _positive_int(text: str) -> int:
    return _whole_number(text, 1, 2**31 - 1)


def _seed(text: str) -> int:
    return _whole_number(text, 0, 2**32 - 1)


def _whole_number(text: str, low: int, high: int) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, but got {text!r}") from None
    if not low <= number <= high:
        raise argparse.ArgumentTypeError(f"must be from {low} to {high}, but got {text}")
    return number


def _positive_float(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, but got {text!r}") from None
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be positive and finite, but got {text}")
    return number
