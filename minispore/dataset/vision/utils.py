"""The enumerations of the image transforms, in the module in which MindSpore has them."""

from minispore.dataset.vision._geometric import Border
from minispore.dataset.vision._resize import Inter

__all__ = ["Border", "Inter"]
