"""Callbacks of data pipelines, in the module in which MindSpore has them."""

import minispore.dataset
from minispore.dataset._ds_callback import DSCallback
from minispore.utils.unsupported import module_attributes

# `callback.pyi` has the same names for type checkers.
__all__ = ["DSCallback", "WaitedDSCallback"]  # noqa: F822  # pyright: ignore[reportUnsupportedDunderAll]


_module_getattr, __dir__ = module_attributes(__name__)


def __getattr__(name: str) -> object:
    if name == "WaitedDSCallback":
        return minispore.dataset.WaitedDSCallback
    return _module_getattr(name)
