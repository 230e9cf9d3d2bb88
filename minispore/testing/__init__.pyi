# The names of the module; each is imported when it is first used.

from minispore.testing._check_callback import check_callback as check_callback
from minispore.testing._event import Event as Event
from minispore.testing._gradcheck import GradientError as GradientError
from minispore.testing._gradcheck import gradcheck as gradcheck
from minispore.testing._gradcheck import gradgradcheck as gradgradcheck
from minispore.testing._invariants import INVARIANTS as INVARIANTS
from minispore.testing._invariants import CallbackError as CallbackError
from minispore.testing._invariants import Violation as Violation
from minispore.testing._recorder import record_events as record_events
from minispore.testing._scenario import Fault as Fault
from minispore.testing._scenario import InjectedError as InjectedError
from minispore.testing._scenario import InjectedKill as InjectedKill
from minispore.testing._scenario import Scenario as Scenario
from minispore.testing._trace import EventTrace as EventTrace
