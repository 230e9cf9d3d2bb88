"""Errors for former names of attributes and arguments."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import tensorpack, train
from minispore.dataset import BuiltinSampler
from minispore.nn import DistributedGradReducer
from minispore.testing import Violation
from minispore.train.protocol import RunContext
from minispore.train.summary.summary_record import SummaryRecord
from minispore.utils.renamed import (
    check_overrides,
    reject_renamed_arguments,
    reject_renamed_attributes,
)

names = st.sampled_from("abcdefgh")
# Former names, each with its present name.
renames = st.dictionaries(names, names.map(str.upper), min_size=1, max_size=3)


@given(renames, names)
def test_former_attribute_raises_an_error_with_the_present_name(
    renamed: dict[str, str], name: str
) -> None:
    base: type = reject_renamed_attributes(**renamed)(type("Base", (), {"present": 3}))
    derived = type("Derived", (base,), {})
    for holder in (base, derived, base(), derived()):
        assert getattr(holder, "present") == 3  # noqa: B009
        message = (
            f"^'Base.{name}' was renamed: use 'Base.{renamed[name]}'.$"
            if name in renamed
            else f"has no attribute '{name}'"
        )
        with pytest.raises(AttributeError, match=message):
            getattr(holder, name)


@given(renames, st.lists(names, max_size=2), st.integers(0, 2))
def test_override_of_a_former_name_raises(
    renamed: dict[str, str], defined: list[str], depth: int
) -> None:
    cls: type = reject_renamed_attributes(**renamed)(type("Base", (), {}))
    for _ in range(depth):
        cls = type("Between", (cls,), {})
    derived = type("Derived", (cls,), dict.fromkeys(defined))
    if former := {*defined} & renamed.keys():
        listed = "|".join(f"'Base.{name}' was renamed: use '" for name in sorted(former))
        with pytest.raises(AttributeError, match=f"^({listed})"):
            check_overrides(derived)
    else:
        check_overrides(derived)


@given(renames, st.lists(st.integers(), max_size=2), st.dictionaries(names, st.integers()))
def test_former_argument_raises_before_the_call(
    renamed: dict[str, str], args: list[int], kwargs: dict[str, int]
) -> None:
    calls = list[object]()

    @reject_renamed_arguments(**renamed)
    def stop(*args: int, **kwargs: int) -> object:
        """Stop."""
        calls.append(kwargs)
        return args, kwargs

    assert (stop.__name__, stop.__doc__) == ("stop", "Stop.")
    if former := kwargs.keys() & renamed.keys():
        with pytest.raises(AttributeError, match=r"stop\(\w\)' was renamed: use") as caught:
            stop(*args, **kwargs)
        messages = [f"stop({name})' was renamed: use '" for name in former]
        assert any(message in str(caught.value) for message in messages)
        assert calls == []
    else:
        assert stop(*args, **kwargs) == (tuple(args), kwargs)


@pytest.mark.parametrize(
    ("cls", "old", "new"),
    [
        (BuiltinSampler, "order", "epoch_indices"),
        (DistributedGradReducer, "of_step", "reduce_step"),
        (RunContext, "take_requests", "pop_save_requests"),
        (SummaryRecord, "listen", "subscribe"),
        (Violation, "law", "invariant"),
        (tensorpack.Callback, "hears", "wants_summaries"),
        (train.Callback, "companions", "configure_callbacks"),
    ],
)
def test_former_name_raises_on_the_class(cls: type, old: str, new: str) -> None:
    message = f"'{cls.__name__}.{old}' was renamed: use '{cls.__name__}.{new}'."
    with pytest.raises(AttributeError, match=f"^{re.escape(message)}$"):
        getattr(cls, old)
