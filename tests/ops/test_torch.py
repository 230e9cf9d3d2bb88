"""All operations give PyTorch's values and slopes; methods of tensors are the same operations."""

from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, ops
from minispore._checks import as_items

from .torch_ops import ELSEWHERE, ORDERED, OTHER_METHODS, PAIRS, REASONS, Theirs, names_of, torch


def test_each_operation_has_a_partner_in_pytorch_or_a_reason() -> None:
    """Whoever adds an operation adds a line to a table here."""
    listed = [alias for name in [*PAIRS, *ELSEWHERE, *REASONS] for alias in names_of(name)]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(ops.__all__)


@pytest.mark.parametrize(("name", "file"), ELSEWHERE.items())
def test_another_file_compares_it_with_pytorch(name: str, file: str) -> None:
    text = Path(__file__).parents[1].joinpath(file).read_text("utf-8")
    assert f"ops.{name}(" in text
    assert "torch" in text


def several(outputs: Theirs) -> list[Theirs]:
    return [*outputs] if isinstance(outputs, tuple) else [outputs]


def assert_same(found: object, expected: Theirs) -> None:
    """The same elements, to the last few bits; the type is MindSpore's affair."""
    for ours, theirs in zip(as_items(found) or (found,), several(expected), strict=True):
        assert isinstance(ours, Tensor)
        assert_close(ours, theirs)


def assert_close(found: Tensor, expected: Theirs) -> None:
    assert found.shape == tuple(expected.shape)
    within = 1e-11 if found.dtype is ms.float64 else 1e-6
    ours, theirs = (np.asarray(x, np.float64) for x in (found.asnumpy(), expected.detach().numpy()))
    np.testing.assert_allclose(ours, theirs, rtol=within, atol=within)


def starts(outputs: Theirs) -> list[tuple[Theirs, Theirs]]:
    """Those of PyTorch's outputs that have slopes, each with a gradient to start from."""
    rng = np.random.default_rng(0)
    pairs = [(y, torch.tensor(rng.normal(size=tuple(y.shape)))) for y in several(outputs)]
    return [(each, start.to(each.dtype)) for each, start in pairs if each.requires_grad]


@pytest.mark.filterwarnings("ignore:The gradients are all zero")
@pytest.mark.parametrize("name", PAIRS)
@settings(max_examples=settings().max_examples * 3 // 5)
@given(data=st.data())
def test_values_and_slopes_are_those_of_pytorch(name: str, data: st.DataObject) -> None:
    call = data.draw(PAIRS[name][1])
    by = tuple(i for i, x in enumerate(call.operands) if x.dtype == np.float64)
    ours = [Tensor(x) for x in call.operands]
    theirs = [torch.tensor(x, requires_grad=i in by) for i, x in enumerate(call.operands)]

    def function(*operands: Tensor) -> object:
        operation = ORDERED.get(name) or getattr(ops, name)
        return operation(*([operands] if call.as_list else operands), *call.args)

    expected = PAIRS[name][0](*([theirs] if call.as_list else theirs), *call.args)
    found = function(*ours)
    assert_same(found, expected)
    if not call.as_list and ours:
        for alias in names_of(name) - OTHER_METHODS:
            method = getattr(Tensor, alias, None)
            if method is not None:
                assert repr(method(*ours, *call.args)) == repr(found)

    weighted = starts(expected)
    if not weighted:
        return
    torch.autograd.backward([each for each, _ in weighted], [start for _, start in weighted])

    def weighed(*operands: Tensor) -> Tensor:
        made = as_items(function(*operands)) or (function(*operands),)
        pairs = zip(made, weighted, strict=False)  # what comes after has no slopes
        parts = [cast("Tensor", y) * Tensor(start.numpy()) for y, (_, start) in pairs]
        return ops.sum(ops.stack([ops.sum(part) for part in parts]))

    for i in by:
        assert_same(ms.grad(weighed, i)(*ours), theirs[i].grad)


def test_each_other_method_is_among_the_expressions_that_mindspore_was_asked() -> None:
    """But for what wants a device."""
    same = {alias for name in PAIRS for alias in names_of(name)} - OTHER_METHODS
    methods = {name for name in dir(Tensor) if name[0] != "_" and callable(getattr(Tensor, name))}
    asked = Path(__file__).parents[1].joinpath("common", "oracle.txt").read_text("utf-8")
    assert {name for name in methods - same if f".{name}(" not in asked} == {"move_to"}


def test_each_operation_is_among_the_expressions_that_mindspore_was_asked() -> None:
    """But for one that MindSpore has only as a loss."""
    asked = Path(__file__).with_name("oracle.txt").read_text("utf-8")
    unasked = {name for name in PAIRS if not any(f"ops.{n}" in asked for n in names_of(name))}
    assert unasked == {"softmax_cross_entropy"}
