"""Hooks of a cell whose outputs are no tensors, or not only tensors."""

from collections.abc import Sequence

import pytest

from minispore import Tensor, grad, nn
from minispore._checks import as_items


class Gives(nn.Cell):
    """Its input doubled, in a structure with other things."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def construct(self, x: Tensor) -> object:
        return {
            "text": "text",
            "nothing": (),
            "list": [x * 2.0, "text"],
            "tuple": (None, x * 2.0),
        }[self.kind]


@pytest.mark.parametrize(("kind", "seen"), [("text", 0), ("nothing", 0), ("list", 1), ("tuple", 1)])
def test_what_is_no_tensor_goes_through_as_it_is(kind: str, seen: int) -> None:
    cell = Gives(kind)
    gradients: list[tuple[Tensor, ...]] = []
    cell.register_backward_pre_hook(lambda cell, grads: gradients.append(grads))
    outputs: list[object] = []

    def total(x: Tensor) -> Tensor:
        output = cell(x)
        outputs.append(output)
        parts: Sequence[object] = as_items(output) or ()
        return sum((each for each in parts if isinstance(each, Tensor)), x * 1.0)

    slope = grad(total)(Tensor(3.0))
    assert slope == 1 + 2 * seen
    assert len(gradients) == seen
    [output] = outputs
    plain = Gives(kind)(Tensor(3.0))
    assert type(output) is type(plain)
    assert str(output) == str(plain)
