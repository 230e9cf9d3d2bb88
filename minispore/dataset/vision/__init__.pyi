# The names of the module; each is imported when it is first used.

from minispore.dataset.vision._color import (
    AdjustBrightness,
    AdjustContrast,
    AdjustHue,
    AdjustSaturation,
    Invert,
)
from minispore.dataset.vision._decode import Decode
from minispore.dataset.vision._geometric import (
    Affine,
    Border,
    CenterCrop,
    Crop,
    HorizontalFlip,
    Pad,
    Rotate,
    VerticalFlip,
)
from minispore.dataset.vision._pixels import HWC2CHW, Normalize, Rescale, ToTensor
from minispore.dataset.vision._random import (
    RandomAffine,
    RandomCrop,
    RandomCropDecodeResize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
)
from minispore.dataset.vision._random_color import RandomColor, RandomColorAdjust
from minispore.dataset.vision._resize import Inter, Resize

__all__ = [
    "Affine",
    "Border",
    "CenterCrop",
    "Crop",
    "Decode",
    "HWC2CHW",
    "HorizontalFlip",
    "Inter",
    "Normalize",
    "Pad",
    "RandomCrop",
    "RandomCropDecodeResize",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Rescale",
    "Resize",
    "Rotate",
    "ToTensor",
    "VerticalFlip",
    "AdjustBrightness",
    "AdjustContrast",
    "AdjustHue",
    "AdjustSaturation",
    "Invert",
    "RandomAffine",
    "RandomColor",
    "RandomColorAdjust",
]
