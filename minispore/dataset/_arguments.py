"""Checks of arguments that several operations on datasets share."""

from collections.abc import Sequence
from typing import cast

from minispore._checks import check_int, check_type
from minispore.dataset._node import Node, require_columns

Names = str | Sequence[str]


def column_names(names: object, argument: str, owner: str) -> tuple[str, ...]:
    """Return one or several column names as a tuple.

    Raises:
        TypeError: If it is no string and no list of strings.
        ValueError: If there is none, an empty one, or one twice.
    """
    check_type(names, (str, list, tuple), argument, owner)
    listed: Sequence[object] = [names] if isinstance(names, str) else cast(Sequence[object], names)
    checked: list[str] = []
    for name in listed:
        check_type(name, str, argument, owner)
        if not name or name in checked:
            raise ValueError(
                f"For '{owner}', the argument '{argument}' must hold different names, none empty, "
                f"but got {names!r}."
            )
        checked.append(str(name))
    if not checked:
        raise ValueError(f"For '{owner}', the argument '{argument}' must not be empty.")
    return tuple(checked)


def columns_of(node: Node, names: object, argument: str, owner: str) -> tuple[str, ...]:
    """Return column names as a tuple; RuntimeError if the node has not all of them."""
    chosen = column_names(names, argument, owner)
    require_columns(chosen, node.columns, owner)
    return chosen


def count_or_all(count: object, owner: str) -> int:
    """Return a count from 1, or -1 for None and -1."""
    if count is None:
        return -1
    checked = check_int(count, "count", owner, low=-1, high=2**31 - 1)
    if checked == 0:
        raise ValueError(f"For '{owner}', the argument 'count' must be -1 or above 0, but got 0.")
    return checked


def check_workers(num_parallel_workers: object, owner: str) -> None:
    """Check a number of workers; None is the default."""
    if num_parallel_workers is not None:
        check_int(num_parallel_workers, "num_parallel_workers", owner, low=1)


def check_iterator(num_epochs: object, output_numpy: object, do_copy: object, owner: str) -> None:
    """Check the arguments of an iterator."""
    if check_int(num_epochs, "num_epochs", owner, low=-1) == 0:
        raise ValueError(
            f"For '{owner}', the argument 'num_epochs' must be -1 or above 0, but got 0."
        )
    check_type(output_numpy, bool, "output_numpy", owner)
    check_type(do_copy, bool, "do_copy", owner)
