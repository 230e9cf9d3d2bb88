"""Places of a user's program in which a setting can be, and settings that differ.

Run as a script, it prints a checksum of the fingerprint of each program.
"""

import sys
import textwrap
import zlib

from minispore import set_seed
from minispore.train.resume.fingerprint import fingerprint

HEAD = """
import collections, dataclasses, enum, functools, io, itertools, operator, re, types, typing
import datetime, decimal, fractions, pathlib, random, uuid, weakref
import numpy as np
import minispore as ms
from minispore import nn, ops, Tensor

class Box:
    def __init__(self, item): self.item = item
class Slots:
    __slots__ = ("item", "unset")
    def __init__(self, item): self.item = item
class Hidden:
    __slots__ = ("__item",)
    def __init__(self, item): self.__item = item
class Inner(Slots):
    __slots__ = ()
class Color(enum.Enum):
    RED = 1
    BLUE = 2
def first(x): return x
def second(x): return -x
"""

# Each defines `root` with VALUE.
PLACES = {
    name: textwrap.dedent(source)
    for name, _, source in (
        place.partition("\n")
        for place in """
closure
def outer(v):
    return lambda x: x * v
root = outer(VALUE)
---
closure of a nested function
def outer(v):
    def middle(x):
        return lambda: x * v
    return middle
root = outer(VALUE)
---
default
def root(x, v=VALUE): return x * v
---
default of a keyword
def root(x, *, v=VALUE): return x * v
---
default of a nested function
K = VALUE
def root(x):
    def inner(y, v=K): return y * v
    return inner(x)
---
global
K = VALUE
def root(x): return x * K
---
global of a nested function
K = VALUE
def root(x): return [y * K for y in x]
---
global in a called function
K = VALUE
def helper(x): return x * K
def root(x): return helper(x)
---
attribute of a global
K = Box(VALUE)
def root(x): return x * K.item
---
namespace
K = types.SimpleNamespace(item=VALUE, epochs=1)
def root(x): return x * K.item
---
entry of a dict
K = {"item": VALUE, "epochs": 1}
def root(x): return x * K["item"]
---
dict read as a whole
K = {"item": VALUE, "other": 1}
def root(x): return x * sum(K.values()) + K["other"]
---
dict by another name
K = {"item": VALUE, "other": 1}
def root(x):
    k = K
    return x * k["item"]
---
entry of an entry
K = {"net": {"item": VALUE}}
def root(x): return x * K["net"]["item"]
---
module
K = types.ModuleType("settings")
K.item = VALUE
def root(x): return x * K.item
---
module read as a whole
K = types.ModuleType("settings")
K.item = VALUE
def root(x): return x * getattr(K, "item")
---
module in a module
K = types.ModuleType("settings")
K.inner = types.ModuleType("settings.inner")
K.inner.item = VALUE
def root(x): return x * K.inner.item
---
module of an object
K = types.ModuleType("settings")
K.item = VALUE
root = Box(K)
---
attribute
root = Box(VALUE)
---
private attribute that the class has too
class Net(nn.Cell):
    _k = 0.0
    def __init__(self, k):
        super().__init__()
        self._k = k
root = Net(VALUE)
---
attribute of a layer
root = nn.ReLU()
root.item = VALUE
---
attribute of an inner layer
root = nn.SequentialCell(nn.ReLU(), nn.Tanh())
root[1].item = VALUE
---
flag of a cell
root = nn.ReLU().add_flags(item=VALUE)
---
attribute of an optimizer
root = nn.SGD(nn.Dense(2, 2).trainable_params(), 0.1)
root.item = VALUE
---
class attribute
class Net(nn.Cell):
    k = VALUE
root = Net()
---
attribute of a base class
class Base:
    k = VALUE
class Own(Base): pass
root = Own()
---
attribute of a metaclass
class Meta(type):
    k = VALUE
class Own(metaclass=Meta): pass
root = Own()
---
attribute of a class of an attribute
class Own: pass
Own.k = VALUE
root = Box([Own(), 1, 2, 3, 4])
---
two classes of one name
def make(v):
    class Own:
        k = v
    return Own()
root = [make(0), make(VALUE), make(0)]
---
slot
root = Slots(VALUE)
---
private slot
root = Hidden(VALUE)
---
slot of a base class
root = Inner(VALUE)
---
slots of a dataclass
@dataclasses.dataclass(slots=True)
class Own:
    item: object
root = Own(VALUE)
---
descriptor
class Constant:
    def __init__(self, v): self.v = v
    def __get__(self, owner, kind): raise AssertionError
class Own:
    k = Constant(VALUE)
root = Own()
---
property
class Own:
    def make(v): return property(lambda self, v=v: v)
    k = make(VALUE)
root = Own()
---
setter of a property
class Own:
    def make(v): return property(None, lambda self, new, v=v: v)
    k = make(VALUE)
root = Own()
---
static method
class Own:
    @staticmethod
    def apply(x, v=VALUE): return x * v
root = Own()
---
class method
class Own:
    @classmethod
    def apply(cls, x, v=VALUE): return x * v
root = Own()
---
cached property
class Own:
    @functools.cached_property
    def k(self, v=VALUE): return v
root = Own()
---
partial method
class Own:
    apply = functools.partialmethod(first, VALUE)
root = Own()
---
method of a class that was replaced
class Own:
    def apply(self, x): return x
def other(self, x, v=VALUE): return x
Own.apply = other
root = Own()
---
method of an object that was replaced
root = nn.ReLU()
def other(x, v=VALUE): return x
object.__setattr__(root, "construct", other)
---
method of a library that was replaced
root = nn.Sigmoid()
def other(self, x, v=VALUE): return x
old, nn.Sigmoid.construct = nn.Sigmoid.construct, other
UNDO = lambda: setattr(nn.Sigmoid, "construct", old)
---
function of a module of a library that was replaced
def other(x, v=VALUE): return x
ops.own_function = other
def root(x): return ops.own_function(x)
---
method that is bound to another object
def apply(self, x): return x
root = types.MethodType(apply, Box(VALUE))
---
function of a bound method
def apply(self, x, v=VALUE): return x
root = types.MethodType(apply, 1)
---
method of a list
root = [VALUE].__getitem__
---
attribute of a function
def root(x): return x * root.k
root.k = VALUE
---
decorator
def scaled(v):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(x): return f(x) * v
        return wrapper
    return decorate
@scaled(VALUE)
def root(x): return x
---
decorated function
def decorate(f):
    @functools.wraps(f)
    def wrapper(x): return f(x)
    return wrapper
def make(v):
    @decorate
    def function(x): return x * v
    return function
root = make(VALUE)
---
wrapper of a library's function
def make(v):
    @functools.wraps(np.sin)
    def wrapper(x): return np.sin(x) * v
    return wrapper
root = make(VALUE)
---
cached function
@functools.lru_cache
def root(x, v=VALUE): return x * v
---
context manager
import contextlib
@contextlib.contextmanager
def root(v=VALUE): yield v
---
dispatched function
@functools.singledispatch
def root(x): return x
@root.register(int)
def _(x, v=VALUE): return x * v
---
gradient function
def make(v): return lambda x: (x * v).sum()
root = ms.grad(make(VALUE))
---
argument of a partial
root = functools.partial(first, VALUE)
---
keyword of a partial
root = functools.partial(first, x=VALUE)
---
function of a partial
root = functools.partial(lambda x, v=VALUE: v, 1)
---
attribute of a partial
root = functools.partial(first)
root.k = VALUE
---
vectorized function
root = np.vectorize(lambda x, v=VALUE: x)
---
list
root = [VALUE]
---
long list
root = [0, 1, 2, 3, 4, 5, VALUE, 7]
---
tuple
root = (VALUE, [])
---
long tuple
root = ([], 1, 2, 3, 4, VALUE)
---
dict
root = {"k": VALUE}
---
long dict
root = {**dict.fromkeys("abcdefgh", 0), "k": VALUE}
---
container in containers
root = [[{"a": ([VALUE], 1)}], 1, 2, 3, [4, 5, 6, 7, 8, {"a": 1}]]
---
attribute of a subclass of dict
class Config(dict): pass
root = Config(a=1)
root.k = VALUE
---
item of a subclass of dict
class Config(dict):
    def items(self): raise AssertionError
    def __iter__(self): raise AssertionError
    def __getitem__(self, key): raise AssertionError
root = Config(k=VALUE)
---
item of a subclass of list
class Own(list):
    def __iter__(self): raise AssertionError
root = Own([VALUE])
---
attribute of a subclass of tuple
class Own(tuple): pass
root = Own([1, 2])
root.k = VALUE
---
attribute of a subclass of str
class Own(str): pass
root = Own("a")
root.k = VALUE
---
attribute of a subclass of float
class Own(float): pass
root = Own(1)
root.k = VALUE
---
attribute of a subclass of set
class Own(set): pass
root = Own([1])
root.k = VALUE
---
attribute of an array
class Own(np.ndarray): pass
root = np.zeros(3).view(Own)
root.k = VALUE
---
attribute of a parameter
class Own(ms.Parameter): pass
root = Own(Tensor([1.0]), name="own")
root.k = VALUE
---
field of a named tuple
class Own(typing.NamedTuple):
    k: object
    other: list
root = Own(VALUE, [])
---
default of a named tuple
class Own(typing.NamedTuple):
    k: object = VALUE
root = Own
---
dataclass
@dataclasses.dataclass
class Own:
    k: object
root = Own(VALUE)
---
value of an enum
class Own(enum.Enum):
    A = (VALUE,)
root = Own.A
---
attribute of an enum
class Own(enum.Enum):
    A = 1
Own.A.k = VALUE
root = Box(Own.A)
---
default dict
root = collections.defaultdict(list, k=VALUE)
---
deque
root = collections.deque([1, VALUE])
---
ordered dict
root = collections.OrderedDict(k=VALUE)
---
chain map
root = collections.ChainMap({"a": 1}, {"k": VALUE})
---
user dict
root = collections.UserDict(k=VALUE)
---
mapping proxy
root = types.MappingProxyType({"k": VALUE})
---
array of objects
root = np.array([None, None], object)
root[1] = [VALUE]
---
weak reference
target = Box(VALUE)
root = weakref.ref(target)
---
zip
root = zip([1, 2], [VALUE, 3])
---
map
root = map(lambda x, v=VALUE: x, [1, 2])
---
object in a set
root = {Box(VALUE), Box(None)}
---
function in a set
root = {first, lambda x, v=VALUE: x}
---
object in a set of a frozen set
root = {frozenset([Box(VALUE)]), 1}
---
key of a dict
root = {Box(VALUE): 1}
---
key of a long dict
root = {**dict.fromkeys(range(9)), Box(VALUE): 1}
---
cell in a list
class Net(nn.Cell):
    def __init__(self, k):
        super().__init__()
        self.layers = [nn.ReLU()]
        self.layers[0].k = k
root = Net(VALUE)
---
forward hook
root = nn.ReLU()
root.register_forward_hook(lambda c, x, y, v=VALUE: y)
---
forward pre hook
root = nn.ReLU()
root.register_forward_pre_hook(lambda c, x, v=VALUE: x)
---
backward hook
root = nn.ReLU()
root.register_backward_hook(lambda c, x, y, v=VALUE: x)
---
backward pre hook
root = nn.ReLU()
root.register_backward_pre_hook(lambda c, y, v=VALUE: y)
---
gradient hook of a step
net = nn.Dense(2, 1)
root = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params()))
root.register_gradient_hook(lambda gradients, v=VALUE: None)
---
hook of a parameter
root = nn.Dense(2, 1)
root.weight.register_hook(lambda gradient, v=VALUE: None)
---
custom gradient
class Net(nn.Cell):
    def bprop(self, x, y, g, v=VALUE): return (g,)
root = Net()
---
object with __getattribute__
class Own:
    def __init__(self, k): self.k = k
    def __getattribute__(self, name): raise AssertionError
root = Own(VALUE)
---
object with properties, comparison, text and hash
class Own:
    def __init__(self, k): self.k = k
    def fail(self, *args): raise AssertionError
    text = property(fail)
    __eq__ = __repr__ = __str__ = __bool__ = __len__ = __iter__ = __reduce__ = __array__ = fail
    __getstate__ = __getitem__ = __format__ = __dir__ = __getattr__ = fail
    __class__ = property(fail)
root = Own(VALUE)
""".strip().split("\n---\n")
    )
}

# Expressions for settings that differ.
VALUES = [
    ("1", "2"),
    ("1", "1.0"),
    ("1", "True"),
    ("1", "'1'"),
    ("'a'", "b'a'"),
    ("0.0", "-0.0"),
    ("0", "None"),
    ("1.0", "np.float32(1)"),
    ("np.float32(1)", "np.float64(1)"),
    ("(1, 2)", "(1, 3)"),
    ("(1, (2,))", "(1, (3,))"),
    ("(1, 2)", "[1, 2]"),
    ("[1]", "[1, 2]"),
    ("[1, 2, 3, 4, 5]", "[1, 2, 3, 5, 4]"),
    ("{'k': 1}", "{'k': 2}"),
    ("{1: 0}", "{'1': 0}"),
    ("{1, 2}", "{1, 3}"),
    ("frozenset('ab')", "frozenset('abc')"),
    ("300 * 'x' + 'a'", "300 * 'x' + 'b'"),
    ("np.array([1, 2])", "np.array([2, 1])"),
    ("np.zeros((2, 1))", "np.zeros((1, 2))"),
    ("np.zeros(9)", "np.zeros(9, np.float32)"),
    ("np.array([1, None])", "np.array([2, None])"),
    ("np.ma.array([1, 2], mask=[0, 1])", "np.ma.array([1, 2], mask=[1, 0])"),
    ("Tensor([1.0])", "Tensor([2.0])"),
    ("ms.Parameter(Tensor([1.0]))", "ms.Parameter(Tensor([2.0]))"),
    ("ms.float32", "ms.float16"),
    ("lambda x: x", "lambda x: -x"),
    ("first", "second"),
    ("np.sin", "np.cos"),
    ("abs", "len"),
    ("ops.relu", "ops.tanh"),
    ("Box(1)", "Box(2)"),
    ("Slots(1)", "Slots(2)"),
    ("Box(1)", "Slots(1)"),
    ("Box", "Slots"),
    ("int", "float"),
    ("nn.ReLU()", "nn.Tanh()"),
    ("nn.Dropout(p=0.1)", "nn.Dropout(p=0.2)"),
    ("nn.Dense(2, 1)", "nn.Dense(2, 1).to_float(ms.float16)"),
    ("functools.partial(first, 1)", "functools.partial(first, 2)"),
    ("re.compile('a')", "re.compile('a', re.I)"),
    ("Color.RED", "Color.BLUE"),
    ("decimal.Decimal('0.1')", "decimal.Decimal('0.2')"),
    ("fractions.Fraction(1, 2)", "fractions.Fraction(1, 3)"),
    ("datetime.timedelta(1)", "datetime.timedelta(2)"),
    ("datetime.datetime(2000, 1, 1)", "datetime.datetime(2000, 1, 2)"),
    ("pathlib.Path('a')", "pathlib.Path('b')"),
    ("uuid.UUID(int=1)", "uuid.UUID(int=2)"),
    ("slice(1)", "slice(2)"),
    ("range(3)", "range(4)"),
    ("bytearray(b'a')", "bytearray(b'b')"),
    ("io.BytesIO(b'a')", "io.BytesIO(b'b')"),
    ("operator.itemgetter(0)", "operator.itemgetter(1)"),
    ("collections.OrderedDict(a=1)", "collections.OrderedDict(a=2)"),
    ("collections.defaultdict(int)", "collections.defaultdict(float)"),
    ("types.SimpleNamespace(a=1)", "types.SimpleNamespace(a=2)"),
    ("random.Random(1)", "random.Random(2)"),
    ("np.random.default_rng(1)", "np.random.default_rng(2)"),
    ("np.random.RandomState(1)", "np.random.RandomState(2)"),
]


NAMES: dict[str, object] = {"__name__": "__main__"}
exec(HEAD, NAMES)


def described(place: str, value: str) -> dict[str, str]:
    """Return the fingerprint of a program with a setting in a place."""
    set_seed(1)
    names = dict(NAMES)
    exec(PLACES[place].replace("VALUE", f"({value})"), names)
    try:
        return fingerprint(root=names["root"])
    finally:
        if "UNDO" in names:
            exec("UNDO()", names)


def pairs(place: str, step: int) -> list[tuple[str, str]]:
    """Return every `step`-th pair of values, others for the next place."""
    return VALUES[list(PLACES).index(place) % step :: step]


def main() -> None:
    """Print a checksum of the fingerprint of each program, for some values."""
    for place in PLACES:
        for pair in pairs(place, int(sys.argv[1])):
            for value in pair:
                paths = repr(described(place, value)).encode()
                print(f"{place}, {value}: {zlib.crc32(paths):08x}")


if __name__ == "__main__":
    main()
