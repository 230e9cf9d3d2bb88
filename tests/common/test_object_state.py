"""Where objects hold their state, and which hide it."""

import array
import datetime as dt
import io
import itertools
import random
import re
import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from types import MappingProxyType

import numpy as np
import pytest

from minispore.common._object_state import items_of, read_field, state_of

BASES: list[type] = [
    *(object, dict, list, tuple, set, frozenset, OrderedDict, defaultdict),
    *(str, bytes, int, float, complex),
]


def fail(self: object, *_: object) -> object:
    raise AssertionError


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("slots", [None, (), ("a",), ("a", "__b"), ("a", "__dict__")])
def test_state_is_read_without_a_call_of_the_users_code(
    base: type, slots: tuple[str, ...] | None
) -> None:
    names = (
        "__iter__", "__len__", "items", "__getattribute__", "__eq__", "__class__", "__reduce__",
    )  # fmt: skip
    methods = {**dict.fromkeys(names, fail), "__class__": property(fail), "__hash__": None}
    if slots and issubclass(base, tuple | bytes | int | OrderedDict):
        slots = ()  # Their classes can have none, or have a dict already.
    named = {} if slots is None else {"__slots__": slots}
    kind = type("Own", (base,), {**methods, **named})
    value = kind()
    slot_names = [name.replace("__b", "_Own__b") for name in slots or () if name != "__dict__"]
    for name in slot_names:
        object.__setattr__(value, name, 1)
    has_dict = slots is None or "__dict__" in slots or "__dict__" in dir(base)
    if has_dict:
        object.__setattr__(value, "c", 2)
    state = state_of(value)
    assert state is not None
    assert dict(state.attributes) == ({"c": 2} if has_dict else {})
    assert {name: read_field(value, name) for name in state.fields} == {
        **dict.fromkeys(slot_names, 1),
        **({"default_factory": None} if base is defaultdict else {}),
    }
    assert (state.items is value) is issubclass(base, dict | list | tuple | set | frozenset)
    assert state.items is None or items_of(value) == []


HIDDEN: list[tuple[Callable[..., object], tuple[object, ...]]] = [
    *((random.Random, ()), (io.BytesIO, ()), (threading.Lock, ()), (threading.local, ())),
    *((deque, ()), (itertools.count, ()), (zip, ()), (bytearray, ()), (array.array, ("f",))),
    *((np.ndarray, (1,)), (np.random.default_rng, ()), (iter, ([1],)), (ValueError, (1,))),
    *((MappingProxyType, ({},)), (re.compile, ("a",)), (dt.date, (1, 1, 1))),
]


@pytest.mark.parametrize(("make", "arguments"), HIDDEN)
def test_hidden_state_is_recognized(
    make: Callable[..., object], arguments: tuple[object, ...]
) -> None:
    assert state_of(make(*arguments)) is None
    if isinstance(make, type) and make not in (MappingProxyType, threading.Lock):
        subclass = type("Own", (make,), {"__slots__": ("a",)} if make is not ValueError else {})
        assert state_of(subclass(*arguments)) is None
