"""Floor 5: the public operations under MindSpore's names, and gradients."""

from minispore._functional.apply import apply_rule
from minispore._functional.arithmetic import (
    add,
    div,
    floor_divide,
    maximum,
    minimum,
    mul,
    neg,
    pow,
    remainder,
    sub,
    where,
)
from minispore._functional.class_losses import cross_entropy, nll_loss
from minispore._functional.comparison import (
    all,
    any,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
)
from minispore._functional.convolution import conv2d
from minispore._functional.cross_entropy import binary_cross_entropy_with_logits
from minispore._functional.elementwise import (
    abs,
    cast,
    clip,
    cos,
    exp,
    floor,
    isfinite,
    isinf,
    isnan,
    log,
    relu,
    round,
    sigmoid,
    sign,
    sin,
    softplus,
    sqrt,
    square,
    stop_gradient,
    tanh,
)
from minispore._functional.indexing import gather, gather_elements, one_hot
from minispore._functional.linalg import bmm, dense, matmul
from minispore._functional.losses import l1_loss, mse_loss
from minispore._functional.masking import masked_fill, tril, triu
from minispore._functional.normalization import batch_norm, layer_norm
from minispore._functional.ordering import cumsum, sort, topk
from minispore._functional.padding import pad
from minispore._functional.pooling import avg_pool2d, max_pool2d
from minispore._functional.reduction import (
    amax,
    amin,
    argmax,
    argmin,
    logsumexp,
    max,
    mean,
    min,
    sum,
)
from minispore._functional.repeating import flip, repeat_interleave, tile
from minispore._functional.shape import (
    broadcast_to,
    concat,
    expand_dims,
    flatten,
    permute,
    reshape,
    split,
    squeeze,
    stack,
    swapaxes,
    unsqueeze,
)
from minispore._functional.softmax import log_softmax, softmax, softmax_cross_entropy
from minispore._functional.statistics import norm, std, var
from minispore._left_out import refusing
from minispore.ops import operations
from minispore.ops._assign import assign
from minispore.ops._clip_by import clip_by_global_norm, clip_by_value
from minispore.ops._creation import (
    arange,
    eye,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from minispore.ops._grad import get_grad, grad, value_and_grad
from minispore.ops._properties import rank, shape, size
from minispore.ops._random import dropout, rand, randint, randn
from minispore.ops.operations import *  # noqa: F403 (each of them, in the older form)

# The same operations under MindSpore's other names for them.
absolute = abs
cat = concat
clamp = clip
divide = div
eq = equal
ge = greater_equal
gt = greater
le = less_equal
lt = less
multiply = mul
ne = not_equal
negative = neg
select = where
subtract = sub
transpose = permute

__all__: list[str] = [
    "abs",
    "absolute",
    "add",
    "all",
    "amax",
    "amin",
    "any",
    "apply_rule",
    "arange",
    "argmax",
    "argmin",
    "assign",
    "avg_pool2d",
    "batch_norm",
    "binary_cross_entropy_with_logits",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "bmm",
    "broadcast_to",
    "cast",
    "cat",
    "clamp",
    "clip",
    "clip_by_global_norm",
    "clip_by_value",
    "concat",
    "conv2d",
    "cos",
    "dense",
    "div",
    "divide",
    "eq",
    "equal",
    "exp",
    "expand_dims",
    "eye",
    "flatten",
    "floor",
    "floor_divide",
    "full",
    "full_like",
    "gather",
    "gather_elements",
    "ge",
    "get_grad",
    "grad",
    "greater",
    "greater_equal",
    "gt",
    "isfinite",
    "isinf",
    "isnan",
    "layer_norm",
    "le",
    "less",
    "less_equal",
    "log",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "lt",
    "matmul",
    "max",
    "max_pool2d",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mul",
    "multiply",
    "ne",
    "neg",
    "negative",
    "not_equal",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "permute",
    "pow",
    "relu",
    "remainder",
    "reshape",
    "round",
    "select",
    "sigmoid",
    "sign",
    "sin",
    "softmax",
    "softmax_cross_entropy",
    "softplus",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stop_gradient",
    "sub",
    "subtract",
    "sum",
    "swapaxes",
    "tanh",
    "transpose",
    "unsqueeze",
    "value_and_grad",
    "where",
    "zeros",
    "cross_entropy",
    "nll_loss",
    "l1_loss",
    "mse_loss",
    "masked_fill",
    "tril",
    "triu",
    "cumsum",
    "sort",
    "topk",
    "flip",
    "repeat_interleave",
    "tile",
    "norm",
    "std",
    "var",
    "linspace",
    "dropout",
    "rand",
    "randint",
    "randn",
    "rank",
    "shape",
    "size",
    "zeros_like",
]
__all__ += operations.__all__

# In a dictionary, since a definition would tell type checkers that there is every attribute.
globals()["__getattr__"] = refusing(
    __name__,
    {},
    "there are those of MindSpore's operations that the tutorials' networks need; "
    "'ops.apply_rule' makes one of your own",
)
