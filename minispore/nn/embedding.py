"""The embedding layer: a vector for each word."""

from minispore import ops
from minispore._checks import check_bool, check_int, check_type
from minispore._functional.variable import check_tensor
from minispore.common.dtype import DType, float32
from minispore.common.initializer import Initializer
from minispore.common.parameter import Parameter
from minispore.common.tensor import Tensor
from minispore.nn._first_values import first_values
from minispore.nn.cell import Cell


class Embedding(Cell):
    """A table of vectors, of which numbers name the rows.

    >>> from minispore import Tensor, nn
    >>> layer = nn.Embedding(5, 2, embedding_table="ones", padding_idx=0)
    >>> layer(Tensor([0, 3])).tolist()
    [[0.0, 0.0], [1.0, 1.0]]

    Source: MindSpore's `mindspore.nn.Embedding`.

    Args:
        vocab_size: How many vectors there are.
        embedding_size: The length of each.
        use_one_hot: Whether to multiply the table by one-hot vectors rather than to look up its
            rows: the same, but that a number out of range gives zeros.
        embedding_table: The first vectors, for `initializer`.
        dtype: The type of those one-hot vectors. The table is of float32, or of the type of the
            Tensor that is given for it.
        padding_idx: Which vector is 0 at first.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A length is below 1, `padding_idx` out of range, or a Tensor of first values of
            another shape.
    """

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
        owner = "Embedding"
        self.vocab_size: int = check_int(vocab_size, "vocab_size", owner, low=1)
        self.embedding_size: int = check_int(embedding_size, "embedding_size", owner, low=1)
        check_bool(use_one_hot, "use_one_hot", owner)
        check_type(dtype, DType, "dtype", owner)
        self.use_one_hot = use_one_hot
        self.dtype = dtype
        if padding_idx is not None:
            check_int(padding_idx, "padding_idx", owner, low=0, high=vocab_size - 1)
        self.padding_idx = padding_idx
        own = embedding_table.dtype if isinstance(embedding_table, Tensor) else float32
        shape = (vocab_size, embedding_size)
        self.embedding_table: Parameter = first_values(
            embedding_table, shape, own, "embedding_table", owner, named="embedding_table"
        )
        if padding_idx is not None:
            self.embedding_table[padding_idx] = 0

    def construct(self, ids: Tensor) -> Tensor:
        """Apply the layer.

        Args:
            ids: Integers, of any shape.

        Returns:
            Of the shape of `ids` and then (embedding_size,).

        Raises:
            TypeError: `ids` is no tensor of integers.
            IndexError: One is out of range.
        """
        check_tensor(ids, "Embedding", "ids")
        if not self.use_one_hot:
            return ops.gather(self.embedding_table, ids, 0)
        rows = ops.cast(ops.one_hot(ids, self.vocab_size), self.dtype)
        return ops.matmul(rows, self.embedding_table)

    def extend_repr(self) -> str:
        """The settings."""
        return (
            f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, "
            f"use_one_hot={self.use_one_hot}, embedding_table={self.embedding_table}, "
            f"dtype={self.dtype}, padding_idx={self.padding_idx}"
        )
