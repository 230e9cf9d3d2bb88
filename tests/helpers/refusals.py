"""Wrong values for arguments, and the message of the error that they raise."""

from collections.abc import Callable

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
