"""The command line: `minispore train`, `learn`, `play` and the other commands.

Its modules import `_course`, `common`, `dataset`, `minispore`, `nn`, `ops`, `testing`, `train` and
`utils`.
"""

import os
import sys
from collections.abc import Sequence

from minispore._cli.arguments import Arguments, parse
from minispore._cli.errors import UserError
from minispore._cli.output import OutputError, checked_output, print_error

__all__ = ["main"]

NOT_RIGHT = 1
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
        0 for success, 1 for an exercise that is not solved or a script that has to change, 2 for
        invalid arguments or data, or if the output cannot be written, 130 after Ctrl-C.
    """
    try:
        with checked_output():
            return _run(parse(argv))
    except OutputError as error:
        if isinstance(error.__cause__, BrokenPipeError):  # the reader has closed it, as `head` does
            return 0
        print_error(f"minispore: error: the output cannot be written: {error}")
        return 2


def _run(arguments: Arguments) -> int:
    try:
        return _perform(arguments)
    except UserError as error:
        print_error(f"minispore {arguments.command}: error: {error}")
        return 2
    except KeyboardInterrupt:
        print_error(f"minispore {arguments.command}: stopped by Ctrl-C")
        return INTERRUPTED


def _perform(arguments: Arguments) -> int:
    if arguments.threads is not None:
        _set_threads(arguments.threads)
    elif "numpy" not in sys.modules and os.environ.keys().isdisjoint(THREAD_VARIABLES):
        # The matrices are small: several threads save little, and wait for each other where other
        # programs run.
        _set_threads(1)
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
    if arguments.command == "play":
        from minispore._course.playground_server import play

        play(opens_browser=arguments.browser)
        return 0
    if arguments.command == "check-script":
        from minispore._cli.check_script import check_script

        return 0 if check_script(arguments) else NOT_RIGHT
    from minispore._cli import commands

    if arguments.command == "learn":
        return 0 if commands.learn(arguments) else NOT_RIGHT
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
