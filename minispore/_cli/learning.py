"""`minispore learn`: the course, which is loaded only here, since it needs hypothesis."""

from importlib.util import find_spec

from minispore._cli.arguments import Arguments
from minispore._cli.errors import UserError, told_to_the_user


def learn(arguments: Arguments) -> bool:
    """Do what was asked for, and print what came of it.

    Returns:
        False if a check was not passed.

    Raises:
        UserError: There is no such lesson, a file is missing or damaged, or hypothesis is not
            installed.
    """
    if find_spec("hypothesis") is None:
        raise UserError("the course needs hypothesis: pip install 'minispore[testing]'")
    from minispore._course import commands
    from minispore._course.errors import CourseError

    passed = True
    with told_to_the_user(CourseError, OSError):
        match arguments.action:
            case "list":
                text = commands.listed()
            case "start":
                text = commands.started(arguments.folder, arguments.number)
            case "check":
                text, passed = commands.checked(arguments.folder, arguments.number)
            case "hint":
                text = commands.hint(arguments.folder, arguments.number)
            case "reset":
                text = commands.begun_anew(arguments.folder, arguments.number)
            case "status":
                text = commands.status(arguments.folder)
            case "grade":  # pragma: no branch (the parser knows no other)
                text = commands.graded(
                    arguments.folder, as_json=arguments.as_json, jobs=arguments.jobs
                )
    print(text, flush=True)
    return passed
