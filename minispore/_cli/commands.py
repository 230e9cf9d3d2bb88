"""The commands `download`, `learn` and `trace`; each imports what only it needs."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from minispore._cli.arguments import Arguments
from minispore._cli.errors import UserError, as_user_error
from minispore._cli.output import print_error
from minispore.utils.atomic import atomic_write


def download(arguments: Arguments) -> None:
    """Download MNIST, and print the next command.

    Raises:
        UserError: If pooch is missing, all mirrors fail, or the folder cannot be written.
    """
    from minispore.dataset.download import download_mnist

    with as_user_error(ImportError, OSError, RuntimeError):
        folder = download_mnist(arguments.folder)
    print(f"MNIST is in {folder}; next: minispore train --data {folder}")


def learn(arguments: Arguments) -> bool:
    """Perform the action, and print its result.

    Returns:
        Whether the check passed; True for other actions.

    Raises:
        UserError: If there is no such lesson, a file is missing or damaged, or hypothesis is not
            installed.
        KeyboardInterrupt: It has stopped `grade`, whose results until then are printed.
    """
    if find_spec("hypothesis") is None:
        raise UserError("the course needs hypothesis: pip install 'minispore[testing]'")
    from minispore._course import CourseError, commands, translation

    passed, language = True, arguments.language
    translated = partial(translation.translate, language=language)
    with as_user_error(CourseError, OSError, translated=translated):
        match arguments.action:
            case "list":
                text = commands.list_lessons(language)
            case "read":
                text = commands.read(arguments.number, language)
            case "sheet":
                text = commands.sheet(arguments.number)
            case "start" | "notebook" | "hint" | "reset" | "solution":
                actions: dict[str, Callable[[Path, int], str]] = {
                    "start": partial(commands.start, variant=arguments.variant, language=language),
                    "notebook": commands.notebook,
                    "hint": partial(commands.hint, language=language),
                    "reset": partial(commands.reset, language=language),
                    "solution": commands.solution,
                }
                text = actions[arguments.action](arguments.folder, arguments.number)
            case "check":
                text, passed = commands.check(arguments.folder, arguments.number, language)
            case "watch":
                for report in commands.watch(arguments.folder, arguments.number, language):
                    print(report, flush=True)
                return True
            case "run":
                text, passed = commands.run(arguments.folder, partial(print, flush=True), language)
            case "status":
                text = commands.status(arguments.folder, language)
            case _:  # "grade", since the parser accepts no other
                text, complete = commands.grade(
                    arguments.folder,
                    print_error,
                    form=arguments.form,
                    jobs=arguments.jobs,
                    variant=arguments.variant,
                    reports=arguments.reports,
                )
                if not complete:
                    print(text)
                    raise KeyboardInterrupt
    print(text)
    return passed


def trace(arguments: Arguments) -> None:
    """Write the page of a trace.

    Raises:
        UserError: If the trace cannot be read or is invalid, or the page cannot be written.
    """
    from minispore.testing import EventTrace

    path = arguments.file
    out = path.with_suffix(".html") if arguments.out is None else arguments.out
    with as_user_error(ValueError, OSError):
        events = EventTrace.load(path)
        if out.exists() and out.samefile(path):
            raise UserError(f"the page would replace the trace '{path}'")
        with atomic_write(out) as file:
            file.write(events.to_html().encode())
    print(f"{out}: {len(events)} event{'' if len(events) == 1 else 's'}")
