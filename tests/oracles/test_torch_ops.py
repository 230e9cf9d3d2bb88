"""Values and gradients of all operations match PyTorch's; methods equal operations."""

from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, ops
from minispore.utils.checks import as_items
from tests.oracles.names import recorded as names_of_mindspore
from tests.oracles.torch_ops import (
    ELSEWHERE,
    ORDERED,
    OTHER_METHODS,
    PAIRS,
    REASONS,
    Theirs,
    names_of,
    torch,
)


def test_each_operation_is_compared_or_excused() -> None:
    """A new operation needs an entry in one of the tables."""
    listed = [alias for name in [*PAIRS, *ELSEWHERE, *REASONS] for alias in names_of(name)]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(dir(ops))


@pytest.mark.parametrize(("name", "file"), ELSEWHERE.items())
def test_another_file_compares_it_with_pytorch(name: str, file: str) -> None:
    text = Path(__file__).parents[1].joinpath(file).read_text("utf-8")
    assert f"ops.{name}(" in text
    assert "torch" in text


def several(outputs: Theirs) -> list[Theirs]:
    return [*outputs] if isinstance(outputs, tuple) else [outputs]


def assert_same(actual: object, expected: Theirs) -> None:
    """Assert equal elements up to rounding; the dtypes are those of MindSpore."""
    for ours, theirs in zip(as_items(actual) or (actual,), several(expected), strict=True):
        assert isinstance(ours, Tensor)
        assert_close(ours, theirs)


def assert_close(actual: Tensor, expected: Theirs) -> None:
    assert actual.shape == tuple(expected.shape)
    within = 1e-11 if actual.dtype is ms.float64 else 1e-6
    ours, theirs = (
        np.asarray(x, np.float64) for x in (actual.asnumpy(), expected.detach().numpy())
    )
    np.testing.assert_allclose(ours, theirs, rtol=within, atol=within)


def starts(outputs: Theirs) -> list[tuple[Theirs, Theirs]]:
    """Return the differentiable outputs of PyTorch, each with a gradient to start from."""
    rng = np.random.default_rng(0)
    pairs = [(y, torch.tensor(rng.normal(size=tuple(y.shape)))) for y in several(outputs)]
    return [(y, start.to(y.dtype)) for y, start in pairs if y.requires_grad]


@pytest.mark.filterwarnings("ignore:The gradients are all zero")
@pytest.mark.parametrize("name", PAIRS)
@settings(max_examples=settings().max_examples * 3 // 5)
@given(data=st.data())
def test_values_and_gradients_match_pytorch(name: str, data: st.DataObject) -> None:
    call = data.draw(PAIRS[name][1])
    by = tuple(i for i, x in enumerate(call.operands) if x.dtype == np.float64)
    ours = [Tensor(x) for x in call.operands]
    theirs = [torch.tensor(x, requires_grad=i in by) for i, x in enumerate(call.operands)]

    def function(*operands: Tensor) -> object:
        operation = ORDERED.get(name) or getattr(ops, name)
        return operation(*([operands] if call.as_list else operands), *call.args)

    expected = PAIRS[name][0](*([theirs] if call.as_list else theirs), *call.args)
    actual = function(*ours)
    assert_same(actual, expected)
    if not call.as_list and ours:
        for alias in names_of(name) - OTHER_METHODS:
            method = getattr(Tensor, alias, None)
            if method is not None:
                assert repr(method(*ours, *call.args)) == repr(actual)

    weighted = starts(expected)
    if not weighted:
        return
    torch.autograd.backward([y for y, _ in weighted], [start for _, start in weighted])

    def weighed(*operands: Tensor) -> Tensor:
        made = as_items(function(*operands)) or (function(*operands),)
        pairs = zip(made, weighted, strict=False)  # further outputs are not differentiable
        parts = [cast("Tensor", y) * Tensor(start.numpy()) for y, (_, start) in pairs]
        return ops.sum(ops.stack([ops.sum(part) for part in parts]))

    for i in by:
        assert_same(ms.grad(weighed, i)(*ours), theirs[i].grad)


def test_each_other_method_has_recorded_outputs() -> None:
    """Except for a method that needs a device, and one of other libraries' arrays."""
    same = {alias for name in PAIRS for alias in names_of(name)} - OTHER_METHODS
    methods = {name for name in dir(Tensor) if name[0] != "_" and callable(getattr(Tensor, name))}
    recorded = Path(__file__).parents[1].joinpath("oracles", "common.txt").read_text("utf-8")
    assert {name for name in methods - same if f".{name}(" not in recorded} == {
        "from_dlpack",
        "move_to",
    }


def test_each_operation_has_recorded_outputs() -> None:
    """Except for an operation that MindSpore has not, or only as a loss."""
    recorded = Path(__file__).with_name("ops.txt").read_text("utf-8")
    theirs = {name for listed in names_of_mindspore().values() for name in listed}
    missing = {name for name in PAIRS if not any(f"ops.{n}" in recorded for n in names_of(name))}
    # MindSpore has `einsum` on GPUs only.
    assert {name for name in missing if theirs & names_of(name)} == {"einsum"}
