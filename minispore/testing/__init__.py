"""Tools for testing what is built on minispore: traces, and laws that anything must keep.

`record_events` writes down what happens in a run; `check_callback` runs a callback through every
way that a run can go; `gradcheck` and `gradgradcheck` compare gradients with finite differences.
`minispore.testing.strategies` has random tensors, networks, pipelines, callbacks and runs for
hypothesis, which ``pip install 'minispore[testing]'`` installs.
"""

from minispore.testing._check_callback import check_callback
from minispore.testing._event import Event
from minispore.testing._gradcheck import GradientError, gradcheck, gradgradcheck
from minispore.testing._laws import LAWS, BrokenLaw, CallbackError
from minispore.testing._recording import record_events
from minispore.testing._schedule import PlannedError, PlannedKill, Schedule, Trouble
from minispore.testing._trace import EventTrace

__all__ = [
    "LAWS",
    "BrokenLaw",
    "CallbackError",
    "Event",
    "EventTrace",
    "GradientError",
    "PlannedError",
    "PlannedKill",
    "Schedule",
    "Trouble",
    "check_callback",
    "gradcheck",
    "gradgradcheck",
    "record_events",
]
