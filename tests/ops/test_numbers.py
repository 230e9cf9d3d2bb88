"""Which numbers the arguments of operations and primitives accept.

`numbers.txt` is recorded: `python -m tests.ops.test_numbers > tests/ops/numbers.txt`.
"""

from collections.abc import Iterator
from functools import partial
from inspect import signature
from pathlib import Path

from minispore import ops
from minispore.ops import operations
from tests.helpers.random_op_calls import PRIMITIVES
from tests.nn.test_numbers import Maker, table
from tests.ops.test_bad_input import VALID, run


def makers() -> Iterator[Maker]:
    """Yield the operations, and the primitives whose arguments have defaults."""
    for name, arguments in VALID.items():
        function = getattr(ops, name)
        yield name, lambda _of=function, **given: run(_of, given), arguments
    for name in sorted(PRIMITIVES):
        if isinstance(primitive := getattr(operations, name), type):
            defaults = {p.name: p.default for p in signature(primitive).parameters.values()}
            if defaults and signature(primitive).empty not in defaults.values():
                yield name, partial(primitive), defaults


def test_arguments_accept_the_recorded_numbers() -> None:
    path = Path(__file__).with_name("numbers.txt")
    assert table(makers()) == path.read_text("utf-8").rstrip()


if __name__ == "__main__":
    print(table(makers()))
