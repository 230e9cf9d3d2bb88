"""Tables of calls that must be refused, and what their error messages must say."""

import re
from collections.abc import Mapping
from typing import NamedTuple

import pytest


class Refusal(NamedTuple):
    """A call with the error that it raises, whose message begins with the name of the callee.

    Attributes:
        call: The source of the call.
        error: The name of the error's class.
        words: What the message says, in this order: usually the argument, what was expected, and
            what was given. The first may name another caller than the callee: "For 'dense'".
    """

    call: str
    error: str
    words: list[str]

    def check(self, names: Mapping[str, object]) -> str:
        """Check the call and return the message.

        Args:
            names: The values of the names in `call`.
        """
        with pytest.raises(Exception, match=".") as raised:
            eval(self.call, dict(names))
        assert type(raised.value).__name__ == self.error
        message = str(raised.value.args[0])
        rest = message
        for word in self.words:
            _, word_in_message, rest = rest.partition(word)
            assert word_in_message, f"{message!r} does not say {word!r} at its place"
        assert "\n" not in message
        if not self.words[0].startswith("For "):
            caller = re.match(r"(?:For|The) '(\w+)|(\w+)\.", message)
            assert caller, message
            assert str(caller[1] or caller[2]) in self.call, message
        return message


def refusals(table: str) -> list[object]:
    """Return the refusals of a table whose lines are `call  # Error: words | words | words`."""
    cases: list[object] = []
    for line in table.strip().splitlines():
        call, _, expected = line.strip().partition("  # ")
        error, _, words = expected.partition(": ")
        cases.append(pytest.param(Refusal(call, error, words.split(" | ")), id=call))
    return cases
