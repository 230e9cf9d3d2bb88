"""The public names of the engine."""

from types import ModuleType

import pytest

from minispore import Tensor, engine, ops


def test_dir_lists_only_public_names() -> None:
    assert {"Array", "Variable", "namespace", "record"} <= {*dir(engine)}
    assert not {name for name in dir(engine) if isinstance(getattr(engine, name), ModuleType)}


def test_apply_rule_is_that_of_ops() -> None:
    assert engine.apply_rule is ops.apply_rule


def test_namespace_computes_with_tensors() -> None:
    x = Tensor([2.0])
    assert engine.namespace(x).sqrt(x * x).tolist() == [2.0]


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nodes'"):
        _ = engine.nodes  # type: ignore[attr-defined]
