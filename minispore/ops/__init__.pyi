# The names of the module; each is imported when it is first used.

from minispore.engine.dispatch import apply_rule as apply_rule
from minispore.ops import _device_transfer as _device_transfer
from minispore.ops import _numpy_protocol as _numpy_protocol
from minispore.ops import _printing as _printing
from minispore.ops import composite as composite
from minispore.ops import decompositions as decompositions
from minispore.ops import losses as losses
from minispore.ops import operations as operations
from minispore.ops import random as random
from minispore.ops import scattering as scattering
from minispore.ops.arithmetic import *
from minispore.ops.assignment import *
from minispore.ops.binary import *
from minispore.ops.class_losses import *
from minispore.ops.comparison import *
from minispore.ops.composition import *
from minispore.ops.convolution import *
from minispore.ops.creation import *
from minispore.ops.decompositions import *
from minispore.ops.diagonals import *
from minispore.ops.elementwise import *
from minispore.ops.former_names import *
from minispore.ops.gradient_clipping import *
from minispore.ops.gradients import *
from minispore.ops.indexing import *
from minispore.ops.interpolation import *
from minispore.ops.joining import *
from minispore.ops.linalg import *
from minispore.ops.losses import *
from minispore.ops.manipulation import *
from minispore.ops.normalization import *
from minispore.ops.norms import *
from minispore.ops.order import *
from minispore.ops.patches import *
from minispore.ops.pooling import *
from minispore.ops.primitives import *
from minispore.ops.products import *
from minispore.ops.properties import *
from minispore.ops.random import *
from minispore.ops.reduction import *
from minispore.ops.scattering import *
from minispore.ops.summary import *
from minispore.ops.tolerance import *
