from minispore.dataset import DSCallback, WaitedDSCallback

__all__ = ["DSCallback", "WaitedDSCallback"]
