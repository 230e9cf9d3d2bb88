"""Where MindSpore keeps the callbacks of data pipelines."""

from minispore.dataset import DSCallback, WaitedDSCallback

__all__ = ["DSCallback", "WaitedDSCallback"]
