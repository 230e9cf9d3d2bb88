"""What stands in a drawing is called by the name that a reader knows it by."""

from collections.abc import Callable

import pytest

from minispore import Tensor, ops
from minispore.drawing import draw_graph


@pytest.mark.parametrize("join", [ops.concat, ops.stack])
def test_an_operation_on_a_list_has_its_own_name(join: Callable[[list[Tensor]], Tensor]) -> None:
    picture = draw_graph(lambda x: join([x, x]), Tensor([1.0, 2.0]))
    assert f"{join.__name__}: value" in picture
