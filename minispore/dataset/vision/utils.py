"""The enumerations of the image transforms, in the module in which MindSpore has them."""

from minispore.dataset.vision._geometric import Border
from minispore.dataset.vision._resize import Inter
from minispore.utils.unsupported import module_attributes

__all__ = ["Border", "Inter"]
globals()["__getattr__"], globals()["__dir__"] = module_attributes(__name__)
