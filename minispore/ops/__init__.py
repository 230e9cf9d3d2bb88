"""The public operations under MindSpore's names, and gradients."""

from minispore.ops import composite as composite
from minispore.ops import operations as operations
from minispore.ops.functional import *  # noqa: F403
