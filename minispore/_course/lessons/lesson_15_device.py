"""Lesson 15: a rule asks the array which library it belongs to, and so runs wherever that lives."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import NoReturn, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from minispore._array import Array, Namespace, namespace, register
from minispore._course.exercise import Build, Lesson, law, paragraphs
from minispore._course.source import Bug
from minispore._course.words import Wrong, expect
from minispore.common import Tensor

Floats: TypeAlias = npt.NDArray[np.floating]


class Far:
    """An array in another memory: its library computes with it, and nobody else sees its numbers.

    Args:
        values: The numbers, which are not really far away.
    """

    def __init__(self, values: Floats) -> None:
        self._values = values
        self.shape = values.shape
        self.ndim = values.ndim
        self.dtype = values.dtype

    @property
    def mT(self) -> "Far":  # noqa: N802 (the standard's name)
        """The same, with the last two axes exchanged."""
        return Far(self._values.mT)

    def __getitem__(self, index: object) -> "Far":
        return Far(self._values[cast("slice", index)])

    def __array_ufunc__(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("numpy was asked to compute with an array of another device")

    def __array_function__(self, *_: object) -> NoReturn:
        self.__array_ufunc__()

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("an array of another device was to be copied to the host")

    def __bool__(self) -> NoReturn:
        raise TypeError("a number of another device was looked at, which has to wait for it")

    def __float__(self) -> NoReturn:
        self.__bool__()

    def __iter__(self) -> NoReturn:
        self.__bool__()


def _there(x: object) -> object:
    """What the library has for an argument: its own array's numbers, or a plain number."""
    if isinstance(x, np.ndarray | np.generic):
        raise TypeError("an array of the host was mixed with one of another device")
    return x._values if isinstance(x, Far) else x


def _operator(name: str) -> Callable[[Far, object], Far]:
    def method(self: Far, *others: object) -> Far:
        found = getattr(self._values, name)(*map(_there, others))
        return Far(found)

    return method


for _name in ("add", "sub", "mul", "truediv", "pow", "matmul", "radd", "rsub", "rmul", "rtruediv"):
    setattr(Far, f"__{_name}__", _operator(f"__{_name}__"))
for _name in ("neg", "lt", "le", "gt", "ge"):
    setattr(Far, f"__{_name}__", _operator(f"__{_name}__"))


_HOST: object = namespace(cast("Array", np.zeros(1)))


class FarLibrary:
    """The functions of the contract, for arrays of the other device and no others."""

    def __getattr__(self, name: str) -> Callable[..., Far]:
        if not hasattr(Namespace, name):
            raise AttributeError(f"the contract for array libraries has no '{name}'")
        function = getattr(_HOST, name)

        def call(x: object, *args: object, **kwargs: object) -> Far:
            if not isinstance(x, Far):
                raise TypeError("another device's library was given an array of the host")
            return Far(function(*map(_there, (x, *args)), **kwargs))

        return call


register(cast("type[Array]", Far), cast("Namespace[Array]", FarLibrary()))


@dataclass(frozen=True)
class Case:
    """A matrix to standardise, and a gradient to pull back.

    Attributes:
        rows: The matrix.
        gradient: As many numbers as it has elements.
        axes: Over which axes.
        epsilon: What is added to the variance.
    """

    rows: tuple[tuple[float, ...], ...]
    gradient: tuple[float, ...]
    axes: tuple[int, ...]
    epsilon: float

    def __str__(self) -> str:
        rows = [list(row) for row in self.rows]
        return f"x = {rows}, axes = {self.axes} and epsilon = {self.epsilon}"

    def with_gradient(self) -> str:
        """In words, with the gradient."""
        return f"x = {self.x.tolist()}, axes = {self.axes}, g = {self.g.tolist()}"

    def on_the_device(self) -> str:
        """In words, with the place."""
        return f"{self} on another device"

    @property
    def x(self) -> Floats:
        """The matrix."""
        return np.array(self.rows, np.float64)

    @property
    def g(self) -> Floats:
        """The gradient."""
        return np.array(self.gradient, np.float64).reshape(self.x.shape)

    def value(self, x: Floats) -> Floats:
        """What is expected for x."""
        spread = np.std(x, axis=self.axes, keepdims=True)
        found: Floats = (x - np.average(x, axis=self.axes, keepdims=True)) / np.hypot(
            spread, self.epsilon**0.5
        )
        return found

    def pulled(self) -> Floats:
        """The gradient of x, measured."""
        found = np.zeros_like(self.x)
        for place in np.ndindex(found.shape):
            step = np.zeros_like(found)
            step[place] = 1e-5
            slope = (self.value(self.x + step) - self.value(self.x - step)) / 2e-5
            found[place] = np.sum(slope * self.g)
        return found


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Matrices of up to two rows and three columns, of quarters."""
    rows, columns = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    numbers = st.integers(-8, 8).map(lambda n: n / 4)
    row = st.lists(numbers, min_size=columns, max_size=columns).map(tuple)
    size = rows * columns
    return Case(
        tuple(draw(st.lists(row, min_size=rows, max_size=rows))),
        tuple(draw(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=size, max_size=size))),
        draw(st.sampled_from([(0,), (1,), (-1,), (0, 1)])),
        draw(st.sampled_from([1.0, 0.25])),
    )


def _values(work: ModuleType, case: Case) -> None:
    value, _ = work.standardize(case.x, case.axes, case.epsilon)
    expect("your standardize", value, case.value(case.x), tolerance=1e-9)


def _pulls(work: ModuleType, case: Case) -> None:
    _, (pullback,) = work.standardize(case.x, case.axes, case.epsilon)
    expect("your pullback", pullback(case.g), np.round(case.pulled(), 6), tolerance=1e-5)


def _keeps_the_type(work: ModuleType, case: Case) -> None:
    x, g = case.x.astype(np.float32), case.g.astype(np.float32)
    value, (pullback,) = work.standardize(x, case.axes, case.epsilon)
    for name, found in (("standardize", value), ("pullback", pullback(g))):
        expect(f"your {name}", str(found.dtype), "float32")


def _stays_there(work: ModuleType, case: Case) -> None:
    value, (pullback,) = work.standardize(Far(case.x), case.axes, case.epsilon)
    there = [("standardize", value, case.value(case.x)), ("pullback", pullback(Far(case.g)), None)]
    for name, found, wanted in there:
        if not isinstance(found, Far):
            raise Wrong(f"your {name} gave {type(found).__name__}, which lives on the host")
        if wanted is not None:
            expect(f"your {name}", found._values, wanted, tolerance=1e-9)


def _takes_tensors(work: ModuleType, case: Case) -> None:
    value, (pullback,) = work.standardize(Tensor(case.x), case.axes, case.epsilon)
    there = [("standardize", value, case.value(case.x))]
    there.append(("pullback", pullback(Tensor(case.g)), np.round(case.pulled(), 6)))
    for name, found, wanted in there:
        if not isinstance(found, Tensor):
            raise Wrong(f"your {name} gave {type(found).__name__}, but Tensor was expected")
        expect(f"your {name}", found.asnumpy(), wanted, tolerance=1e-5)


_NUMPY = '__import__("numpy")'

LESSON = Lesson(
    title="The same code on another device",
    idea="An array knows where it lives: ask it for its library, and compute with nothing else.",
    minutes=35,
    explains=(
        "minispore.set_context",
        "minispore._array.register",
    ),
    exercise=Build(
        module="minispore._rules.normalization",
        tasks={
            "standardize": "Return the value and, in a tuple, its pullback. With v for the value, "
            "that gives (g − mean of g − v · mean of g · v) / √(variance + ε); each mean is over "
            "`axes`, with keepdims=True. Whatever computes must come from the array."
        },
        laws=(
            law(
                "The value is (x − mean) / √(variance + ε), with mean and variance over the axes.",
                cases(),
                _values,
                show=str,
                examples=60,
            ),
            law(
                "The pullback gives the gradient that can be measured.",
                cases(),
                _pulls,
                show=Case.with_gradient,
                examples=60,
            ),
            law(
                "What goes in as float32 comes out as float32.",
                cases(),
                _keeps_the_type,
                show=lambda case: f"float32 and {case}",
                examples=20,
            ),
            law(
                "What is made of an array lives where the array does, and nothing travels.",
                cases(),
                _stays_there,
                show=Case.on_the_device,
                examples=40,
            ),
            law(
                "A Tensor is an array like any other.",
                cases(),
                _takes_tensors,
                show=lambda case: f"{case}, as tensors",
                examples=20,
            ),
        ),
        bugs=(
            Bug("it computes with numpy, wherever x lives", "standardize", "namespace(x)", _NUMPY),
            Bug(
                "the pullback computes with numpy",
                "standardize", "along = value * xp.mean(", f"along = value * {_NUMPY}.mean(",
            ),
            Bug(
                "epsilon is a number of numpy's, and makes everything a float64",
                "standardize", "variance + epsilon", f"variance + {_NUMPY}.float64(epsilon)",
            ),
            Bug(
                "it looks whether there is any variance, and waits for the device",
                "standardize", "xp.sqrt(variance + epsilon)",
                "xp.sqrt(variance + epsilon) if xp.max(variance) >= 0 else variance",
            ),
            Bug("epsilon is left out", "standardize", "variance + epsilon", "variance"),
            Bug(
                "the mean is that of the whole matrix",
                "standardize", "xp.mean(x, axis=axes, keepdims=True)", "xp.mean(x)",
            ),
            Bug(
                "the pullback forgets that every element is part of the mean",
                "standardize", "g - xp.mean(g, axis=axes, keepdims=True) - along", "g - along",
            ),
            Bug(
                "the pullback forgets that every element is part of the variance",
                "standardize", " - along", "",
            ),
            Bug(
                "the pullback forgets the deviation",
                "standardize", "- along) / deviation", "- along)",
            ),
        ),
    ),
    hints=paragraphs(
        """
        namespace(x) is the library of x: xp.mean(x, axis=axes, keepdims=True), xp.sqrt(x). Plus,
        minus, times and divided by are methods of the array, so they need no library.

        Write the value first: the mean, x minus the mean, the mean of that times itself, the
        root of that plus epsilon.

        If it works with numpy and not on the other device: is there a np., a float(…), an `if` on
        an array, or a loop over one? All of these need the numbers on the host. Numbers of your
        own should be Python's.

        The pullback: along = value * xp.mean(g * value, axis=axes, keepdims=True), and then
        (g - xp.mean(g, axis=axes, keepdims=True) - along) / deviation. Return value, (pullback,).
        """
    ),
)  # fmt: skip
