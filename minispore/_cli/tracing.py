"""`minispore trace`: the events of a run as one interactive page that needs no network."""

from minispore._atomic import replacing
from minispore._cli.arguments import Arguments
from minispore._cli.errors import UserError, told_to_the_user
from minispore.testing import EventTrace
from minispore.testing._page import page


def trace(arguments: Arguments) -> None:
    """Write the page of a trace.

    Raises:
        UserError: The trace cannot be read or is none, or the page cannot be written.
    """
    path = arguments.file
    out = path.with_suffix(".html") if arguments.out is None else arguments.out
    with told_to_the_user(ValueError, OSError):
        events = EventTrace.load(path)
        if out.exists() and out.samefile(path):
            raise UserError(f"the page would replace the trace '{path}'")
        with replacing(out) as file:
            file.write(page(events).encode())
    print(f"{out}: {len(events)} event{'' if len(events) == 1 else 's'}")
