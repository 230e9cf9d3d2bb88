"""Callbacks of data pipelines, in the module in which MindSpore has them."""

from minispore.dataset._ds_callback import DSCallback

# `callback.pyi` has the same names for type checkers.
__all__ = ["DSCallback", "WaitedDSCallback"]  # noqa: F822  # pyright: ignore[reportUnsupportedDunderAll]
