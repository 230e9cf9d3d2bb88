"""The metrics of `minispore.train`, also found in `minispore.nn` as in older MindSpore versions."""

from minispore import _metrics
from minispore._metrics import *  # noqa: F403

__all__: list[str] = []
__all__ += _metrics.__all__
