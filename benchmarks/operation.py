"""One recorded operation, forward and backward, on a tensor of one element."""

from benchmarks import _peers
from benchmarks._timing import Contestant, Row, compare
from minispore import Tensor, grad

COUNT = 2000
DEPTH = 1000


def rows() -> list[Row]:
    """A lone multiplication, and one of many in a chain."""
    factor, value = Tensor([1.0000001]), Tensor([1.0])

    def product(x: Tensor) -> Tensor:
        return x * factor

    def chain(x: Tensor) -> Tensor:
        for _ in range(DEPTH):
            x = x * factor
        return x

    def lone() -> None:
        for _ in range(COUNT):
            grad(product)(value)

    def chained() -> None:
        grad(chain)(value)

    torch = _peers.torch()
    if torch is None:
        return []
    their_factor = torch.tensor([1.0000001])
    their_value = torch.tensor([1.0], requires_grad=True)

    def their_lone() -> None:
        for _ in range(COUNT):
            torch.autograd.grad(their_value * their_factor, their_value)

    def their_chain() -> None:
        x = their_value
        for _ in range(DEPTH):
            x = x * their_factor
        torch.autograd.grad(x, their_value)

    return [
        *compare(
            f"{COUNT} times x · c forward and backward",
            lone,
            [Contestant("PyTorch eager", their_lone, 0.8)],
            turns=21,
        ),
        *compare(
            f"a chain of {DEPTH} multiplications, forward and backward",
            chained,
            [Contestant("PyTorch eager", their_chain)],
            turns=41,
        ),
    ]
