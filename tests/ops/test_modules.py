"""Where older scripts import operations from, and what they are told of those that are left out."""

from importlib import import_module

import pytest

from minispore import ops


@pytest.mark.parametrize("name", ["functional", "composite"])
def test_scripts_find_operations_where_mindspores_do(name: str) -> None:
    module = import_module(f"minispore.ops.{name}")
    assert module.__all__
    assert all(getattr(module, each) is getattr(ops, each) for each in module.__all__)


def test_what_is_left_out_says_how_to_do_without() -> None:
    with pytest.raises(AttributeError, match="no attribute 'erfinv'.*'ops.apply_rule' makes"):
        _ = ops.erfinv  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
