"""The memory that a function needs."""

import tracemalloc
from collections.abc import Callable


def peak_of(function: Callable[[], object]) -> int:
    """Return the greatest number of bytes that are allocated while a function runs."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
