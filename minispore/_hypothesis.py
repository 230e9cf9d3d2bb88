"""What hypothesis calls when it is imported, by an entry point: its `from_type` makes tensors."""

from hypothesis import strategies as st

from minispore.common import Parameter, Tensor
from minispore.engine.dtypes import DTYPES, DType


def register() -> None:
    """Register strategies for `Tensor`, `Parameter` and `DType`.

    Examples:
        >>> from hypothesis import find
        >>> register()
        >>> find(st.from_type(Tensor), lambda tensor: tensor.ndim == 1 and tensor.size > 0)
        Tensor(shape=[1], dtype=Bool, value= [False])
    """
    st.register_type_strategy(DType, st.sampled_from(DTYPES))
    st.register_type_strategy(Tensor, _tensors)
    st.register_type_strategy(Parameter, lambda _: st.builds(Parameter, _tensors(Tensor)))


def _tensors(_kind: type[Tensor]) -> st.SearchStrategy[Tensor]:
    """Return a strategy that `hypothesis write` can write: it builds, and maps nothing."""
    from minispore.testing.strategies import repeat_to_shape

    values = st.lists(st.integers(-100, 100), min_size=1)
    shapes = st.lists(st.integers(0, 4), max_size=3)
    return st.builds(repeat_to_shape, values, shapes, st.sampled_from(DTYPES))
