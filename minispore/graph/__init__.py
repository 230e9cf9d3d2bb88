"""Graph mode: a step is captured once, and replayed while its guards hold.

- `cache` has the plans of each step, and decides whether to capture, replay or run it eagerly.
- `capture` runs a step on the arrays of `tape`, which note what is computed with them.
- `guards` compares what the step reads with what it was at the capture.
- `plan` replays the step; its `program` binds the calls of the tape to memory.

The packages below have only hooks, in `engine.array.capture_hooks`.

Its modules import `common`, `engine`, `ops` and `utils`.
"""

from typing import TYPE_CHECKING

from minispore.utils.facade import facade

if not TYPE_CHECKING:  # type checkers take it for a definition of every name
    __getattr__, _ = facade(__name__)
