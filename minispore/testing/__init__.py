"""Tools for testing code that is built on minispore.

`record_events` records the events of runs; `check_callback` checks the invariants of a callback in
all kinds of runs; `gradcheck` and `gradgradcheck` compare gradients with finite differences.
`minispore.testing.strategies` has strategies for hypothesis, which
``pip install 'minispore[testing]'`` installs.

Its modules import `common`, `dataset`, `engine`, `nn`, `ops`, `train` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
