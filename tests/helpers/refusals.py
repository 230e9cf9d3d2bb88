"""Calls that must be refused, wrong values for arguments, and the messages of the errors."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st


class Thing:
    """A value of a type that no argument accepts."""

    def __repr__(self) -> str:
        return "Thing()"


VALUES = [None, True, 3, 1.5, "a", b"a", (1,), [1], {1}, {"a": 1}, Thing(), int, np.float32(1)]
values: st.SearchStrategy[object] = st.sampled_from(VALUES)


def not_of(types: str) -> st.SearchStrategy[object]:
    """Return a strategy for values whose types are not named in the text."""
    names = {"NoneType": "None", "dict": "Mapping" if "Mapping" in types else "dict"}
    accepted = types.split(", ")
    return values.filter(
        lambda value: names.get(type(value).__name__, type(value).__name__) not in accepted
    )


def type_message(caller: str, name: str, types: str, value: object) -> str:
    """Return the message for a value of another type than those named in the text."""
    return (
        f"For '{caller}', the type of '{name}' must be one of {types}, "
        f"but got {value!r} of type {type(value).__name__}."
    )


def assert_refused(
    error: type[Exception],
    message: str,
    action: Callable[..., object],
    *args: object,
    **arguments: object,
) -> None:
    """Check that the call raises the error with exactly this message."""
    with pytest.raises(error) as raised:
        action(*args, **arguments)
    assert str(raised.value) == message


class Refusal(NamedTuple):
    """A call with the error that it raises, whose message begins with the name of the callee.

    Attributes:
        call: The source of the call.
        error: The name of the error's class.
        words: What the message says, in this order: usually the argument, what was expected, and
            what was given. If they begin the message, it may name another caller: "For 'dense'".
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
        remaining = message
        for word in self.words:
            _, word_in_message, remaining = remaining.partition(word)
            assert word_in_message, f"{message!r} does not say {word!r} at its place"
        assert "\n" not in message
        if not message.startswith(self.words[0]):
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
