"""The embedding layer: a table of vectors, indexed by integers."""

from minispore import ops
from minispore.engine.dispatch import check_tensor
from minispore.engine.dtypes import DType, float32
from minispore.nn._parameter_init import init_parameter
from minispore.nn.cell import Cell
from minispore.ops.initializer import Initializer
from minispore.ops.parameter import Parameter
from minispore.ops.tensors import Tensor
from minispore.utils.checks import check_int, check_type
from minispore.utils.unsupported import hint_keywords

__all__ = ["Embedding"]


class Embedding(Cell):
    """A table of vectors whose rows are selected by integers.

    Args:
        vocab_size: The number of vectors.
        embedding_size: The length of each vector.
        use_one_hot: Whether to multiply one-hot vectors by the table instead of indexing it. The
            results are the same, except that an index out of range gives zeros.
        embedding_table: The initial vectors, in any form that `initializer` accepts.
        dtype: The dtype of the one-hot vectors. The table has dtype float32, or that of the Tensor
            given as `embedding_table`.
        padding_idx: The index of a vector whose initial values are 0.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A length is below 1, `padding_idx` is out of range, or a Tensor of initial
            values has the wrong shape.

    Examples:
        >>> from minispore import Tensor, nn
        >>> layer = nn.Embedding(5, 2, embedding_table="ones", padding_idx=0)
        >>> layer(Tensor([0, 3])).tolist()
        [[0.0, 0.0], [1.0, 1.0]]

    Source: MindSpore's `mindspore.nn.Embedding`.
    """

    @hint_keywords
    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        use_one_hot: bool = False,
        embedding_table: Tensor | str | Initializer | float = "normal",
        dtype: DType = float32,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__()
        self.vocab_size: int = check_int(vocab_size, "vocab_size", low=1)
        self.embedding_size: int = check_int(embedding_size, "embedding_size", low=1)
        self.dtype: DType = check_type(dtype, DType, "dtype")
        self.use_one_hot: bool = check_type(use_one_hot, bool, "use_one_hot")
        if padding_idx is not None:
            check_int(padding_idx, "padding_idx", low=0, high=vocab_size - 1)
        self.padding_idx = padding_idx
        table_dtype = embedding_table.dtype if isinstance(embedding_table, Tensor) else float32
        shape, name = (vocab_size, embedding_size), "embedding_table"
        self.embedding_table: Parameter = init_parameter(
            embedding_table, shape, table_dtype, name, name
        )
        if padding_idx is not None:
            self.embedding_table[padding_idx] = 0

    def construct(self, ids: Tensor) -> Tensor:
        """Return the vectors at the indices `ids`.

        Args:
            ids: Integers, of any shape.

        Returns:
            A tensor of shape (*ids.shape, embedding_size).

        Raises:
            TypeError: `ids` is not a tensor of integers.
            IndexError: An index is out of range.
        """
        check_tensor(ids, "ids")
        if not self.use_one_hot:
            return ops.gather(self.embedding_table, ids, 0)
        rows = ops.cast(ops.one_hot(ids, self.vocab_size), self.dtype)
        return ops.matmul(rows, self.embedding_table)

    def extend_repr(self) -> str:
        """Return the arguments for `repr`."""
        return (
            f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, "
            f"use_one_hot={self.use_one_hot}, embedding_table={self.embedding_table}, "
            f"dtype={self.dtype}, padding_idx={self.padding_idx}"
        )
