"""The layers, in the modules where MindSpore has them."""

from minispore.nn.layer.activation import *  # noqa: F403
from minispore.nn.layer.basic import *  # noqa: F403
from minispore.nn.layer.container import *  # noqa: F403
from minispore.nn.layer.conv import *  # noqa: F403
from minispore.nn.layer.embedding import *  # noqa: F403
from minispore.nn.layer.normalization import *  # noqa: F403
from minispore.nn.layer.padding import *  # noqa: F403
from minispore.nn.layer.pooling import *  # noqa: F403
