"""The metrics that `Model.eval` computes, and their names."""

from minispore import _metrics
from minispore._metrics import *  # noqa: F403

__all__: list[str] = []
__all__ += _metrics.__all__
