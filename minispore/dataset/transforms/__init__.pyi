# The names of the module; each is imported when it is first used.

from minispore.dataset.transforms import transforms as transforms
from minispore.dataset.transforms.transforms import *
from minispore.dataset.transforms.transforms import __all__ as __all__
