"""The command line: `minispore train`, `download`, `learn` and `trace`."""

import os
import sys
from collections.abc import Sequence

from minispore._cli.arguments import Arguments, parse
from minispore._cli.errors import UserError
from minispore._cli.threads import set_threads

__all__ = ["main"]

NOT_SOLVED = 1
INTERRUPTED = 130  # what a shell reports of a program that Ctrl-C ended


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Args:
        argv: The arguments, without the program's name; by default the process's own.

    Returns:
        0 for success, 1 for an exercise that is not solved, 2 for arguments or data that are no
        good, 130 after Ctrl-C.
    """
    arguments = parse(argv)
    try:
        return _run(arguments)
    except UserError as error:
        print(f"minispore {arguments.command}: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"minispore {arguments.command}: stopped by Ctrl-C", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever reads the output has read enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(arguments: Arguments) -> int:
    if arguments.command == "train":
        if arguments.threads is not None:
            set_threads(arguments.threads)
        # These import numpy.
        from minispore._cli.training import train

        return 0 if train(arguments) else INTERRUPTED
    if arguments.command == "learn":
        from minispore._cli.learning import learn

        return 0 if learn(arguments) else NOT_SOLVED
    if arguments.command == "trace":
        from minispore._cli.tracing import trace

        trace(arguments)
    else:
        from minispore._cli.downloading import download

        download(arguments)
    return 0
