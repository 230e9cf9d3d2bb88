"""Tools for testing code that is built on minispore.

`record_events` records the events of runs; `check_callback` checks the invariants of a callback in
all kinds of runs; `gradcheck` and `gradgradcheck` compare gradients with finite differences.
`minispore.testing.strategies` has strategies for hypothesis, which
``pip install 'minispore[testing]'`` installs.
"""

from minispore.testing._check_callback import check_callback
from minispore.testing._event import Event
from minispore.testing._gradcheck import GradientError, gradcheck, gradgradcheck
from minispore.testing._invariants import INVARIANTS, CallbackError, Violation
from minispore.testing._recorder import record_events
from minispore.testing._scenario import Fault, InjectedError, InjectedKill, Scenario
from minispore.testing._trace import EventTrace

__all__ = [
    "INVARIANTS",
    "Violation",
    "CallbackError",
    "Event",
    "EventTrace",
    "GradientError",
    "InjectedError",
    "InjectedKill",
    "Scenario",
    "Fault",
    "check_callback",
    "gradcheck",
    "gradgradcheck",
    "record_events",
]
