"""The modules from which older scripts import operations, and errors for missing ones."""

from importlib import import_module

import pytest

from minispore import ops


@pytest.mark.parametrize("name", ["functional", "composite"])
def test_legacy_module_exports_the_same_objects(name: str) -> None:
    module = import_module(f"minispore.ops.{name}")
    assert module.__all__
    assert all(getattr(module, exported) is getattr(ops, exported) for exported in module.__all__)


def test_missing_operation_error_suggests_apply_rule() -> None:
    with pytest.raises(AttributeError, match="no attribute 'rule'.*'ops.apply_rule' makes"):
        _ = ops.rule  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
