"""The command line: `minispore train`, `eval`, `predict`, `info`, `download`, `learn`, `trace`."""

import os
import sys
from collections.abc import Sequence

from minispore._cli.arguments import Arguments, parse
from minispore._cli.errors import UserError

__all__ = ["main"]

NOT_SOLVED = 1
INTERRUPTED = 130  # the exit status that shells report after Ctrl-C

# OpenBLAS, MKL, Accelerate and BLIS; the last one is for builds with OpenMP.
THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "BLIS_NUM_THREADS",
    "OMP_NUM_THREADS",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Args:
        argv: The arguments without the program's name; None for those of the process.

    Returns:
        0 for success, 1 for an exercise that is not solved, 2 for invalid arguments or data, 130
        after Ctrl-C.
    """
    try:
        try:
            return _run(parse(argv))
        finally:
            # A closed pipe is noticed here, and not while Python exits.
            print(end="", flush=True)
    except BrokenPipeError:  # the reader of the output has closed it, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(arguments: Arguments) -> int:
    try:
        return _perform(arguments)
    except UserError as error:
        print(f"minispore {arguments.command}: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"minispore {arguments.command}: stopped by Ctrl-C", file=sys.stderr)
        return INTERRUPTED


def _perform(arguments: Arguments) -> int:
    if arguments.threads is not None:
        _set_threads(arguments.threads)
    if arguments.command == "train":
        # These import numpy.
        from minispore._cli.training import train

        return 0 if train(arguments) else INTERRUPTED
    if arguments.command in {"eval", "predict", "info"}:
        from minispore._cli import inspection

        match arguments.command:
            case "eval":
                inspection.evaluate(arguments)
            case "predict":
                inspection.predict(arguments)
            case _:
                inspection.info(arguments)
        return 0
    from minispore._cli import commands

    if arguments.command == "learn":
        return 0 if commands.learn(arguments) else NOT_SOLVED
    if arguments.command == "trace":
        commands.trace(arguments)
    else:
        commands.download(arguments)
    return 0


def _set_threads(number: int) -> None:
    """Set the number of threads, before numpy is imported.

    Raises:
        UserError: If numpy has already been imported.
    """
    if "numpy" in sys.modules:
        raise UserError(
            "--threads must be set before numpy is imported: start the command in its own process"
        )
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(number)))
