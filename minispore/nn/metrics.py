"""The metrics under the name that older releases have for them: `nn.metrics`, `nn.Accuracy`."""

from minispore import _metrics
from minispore._left_out import refusing
from minispore._metrics import *  # noqa: F403
from minispore._metrics._left_out import LEFT_OUT

__all__: list[str] = []
__all__ += _metrics.__all__

# In a dictionary, since a definition would tell type checkers that there is every attribute.
globals()["__getattr__"] = refusing(__name__, LEFT_OUT)
