"""The laws of callbacks, and how it is reported that one is broken."""

from collections.abc import Sequence
from dataclasses import dataclass

LAWS = {
    "errors": "It raises nothing in a run in which nothing else is wrong.",
    "exceptions": "An exception or interrupt that ends a run reaches the caller, the same object.",
    "events": "The run with it has the events of the run without it, up to a stop that it requests,"
    " and every beginning has its end.",
    "bookkeeping": "It leaves alone what the loop keeps about the run, a requested stop included.",
    "parameters": "It leaves alone the weights and the optimiser's memory.",
    "random": "It draws no random numbers that the training or its data may draw from.",
    "reuse": "A second run with the same object goes as the first.",
    "resume": "A run that is resumed after any step goes on as the one that was not interrupted.",
    "output": "It finishes its lines, and is silent after the run.",
    "leaks": "It leaves no open or temporary files, threads, handlers or changed surroundings.",
}


@dataclass(frozen=True)
class BrokenLaw:
    """A law that a callback has broken.

    Attributes:
        law: Its name, one of `LAWS`.
        where: The run in which it was.
        message: What happened.
    """

    law: str
    where: str
    message: str


class CallbackError(AssertionError):
    """A callback breaks laws; the message has each of them with the simplest run that shows it.

    Attributes:
        broken: Every case that was found.
    """

    def __init__(self, name: str, broken: Sequence[BrokenLaw]) -> None:
        self.broken: tuple[BrokenLaw, ...] = tuple(broken)
        laws = list(dict.fromkeys(each.law for each in broken))
        lines = [f"The callback {name} breaks {len(laws)} of {len(LAWS)} laws."]
        for law in laws:
            cases = [each for each in broken if each.law == law]
            runs = len({each.where for each in cases})
            more = f" (and {runs - 1} more runs)" if runs > 1 else ""
            lines += ["", f"{law}: {LAWS[law]}", f"  In {cases[0].where}{more}:"]
            lines += [f"    {each.message}" for each in cases if each.where == cases[0].where][:5]
        super().__init__("\n".join(lines))
