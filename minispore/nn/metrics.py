"""The metrics of `minispore.train`, also found in `minispore.nn` as in older MindSpore versions."""

from minispore import _metrics
from minispore._metrics import *  # noqa: F403

# Assigned by name: type checkers take a list of names that are not written here for an empty one.
globals()["__all__"] = dir(_metrics)
