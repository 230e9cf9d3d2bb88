"""Lesson 15: a rule gets its functions from the array's namespace, so it runs on every device."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import NoReturn, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, expect
from minispore._course.rule_calls import call_rule, expect_unchanged
from minispore.common import Tensor
from minispore.engine.array import Array, Namespace, namespace, register_namespace

Floats: TypeAlias = npt.NDArray[np.floating]


class DeviceArray:
    """An array on a simulated device; only the namespace of the device reads its elements.

    Args:
        values: The elements.
    """

    def __init__(self, values: Floats) -> None:
        self._values = values
        self.shape = values.shape
        self.ndim = values.ndim
        self.dtype = values.dtype

    @property
    def mT(self) -> "DeviceArray":  # noqa: N802 (the standard's name)
        """The matrix transpose."""
        return DeviceArray(self._values.mT)

    def __getitem__(self, index: object) -> "DeviceArray":
        return DeviceArray(self._values[cast("slice", index)])

    def __array_ufunc__(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("numpy was called with an array of another device")

    def __array_function__(self, *_: object) -> NoReturn:
        self.__array_ufunc__()

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("an array of another device was converted to a numpy array")

    def __bool__(self) -> NoReturn:
        raise TypeError("an element of another device was read, which synchronizes with the device")

    def __float__(self) -> NoReturn:
        self.__bool__()

    def __iter__(self) -> NoReturn:
        self.__bool__()


def _unwrap(x: object) -> object:
    """Return the elements of a device array; return a Python number unchanged."""
    if isinstance(x, np.ndarray | np.generic):
        raise TypeError("an array of the host was combined with one of another device")
    return x._values if isinstance(x, DeviceArray) else x


def _operator(name: str) -> Callable[[DeviceArray, object], DeviceArray]:
    def method(self: DeviceArray, *others: object) -> DeviceArray:
        return DeviceArray(getattr(self._values, name)(*map(_unwrap, others)))

    return method


_OPERATORS = "add sub mul truediv pow matmul radd rsub rmul rtruediv neg lt le gt ge"
for _name in _OPERATORS.split():
    setattr(DeviceArray, f"__{_name}__", _operator(f"__{_name}__"))

_NUMPY_NAMESPACE: object = namespace(cast("Array", np.zeros(1)))


class DeviceNamespace:
    """The functions of the protocol `Namespace` for arrays of the simulated device."""

    def __getattr__(self, name: str) -> Callable[..., DeviceArray]:
        if not hasattr(Namespace, name):
            raise AttributeError(f"the protocol for array namespaces has no '{name}'")
        function = getattr(_NUMPY_NAMESPACE, name)

        def call(x: object, *args: object, **kwargs: object) -> DeviceArray:
            if not isinstance(x, DeviceArray):
                raise TypeError("the namespace of another device got an array of the host")
            return DeviceArray(function(*map(_unwrap, (x, *args)), **kwargs))

        return call


register_namespace(cast("type[Array]", DeviceArray), cast("Namespace[Array]", DeviceNamespace()))


@dataclass(frozen=True)
class Case:
    """A matrix to standardize, and a gradient of the result.

    Attributes:
        rows: The matrix.
        gradient: The elements of the gradient.
        axes: The axes of the mean and the variance.
        epsilon: The term that is added to the variance.
    """

    rows: tuple[tuple[float, ...], ...]
    gradient: tuple[float, ...]
    axes: tuple[int, ...]
    epsilon: float

    def __str__(self) -> str:
        rows = [list(row) for row in self.rows]
        return f"x = {rows}, axes = {self.axes} and epsilon = {self.epsilon}"

    def with_gradient(self) -> str:
        """Format the case with the gradient."""
        return f"x = {self.x.tolist()}, axes = {self.axes}, g = {self.g.tolist()}"

    @property
    def x(self) -> Floats:
        """The matrix."""
        return np.array(self.rows, np.float64)

    @property
    def g(self) -> Floats:
        """The gradient."""
        return np.array(self.gradient, np.float64).reshape(self.x.shape)

    def value(self, x: Floats) -> Floats:
        """Return the expected value for x."""
        deviation = np.std(x, axis=self.axes, keepdims=True)
        centered: Floats = x - np.average(x, axis=self.axes, keepdims=True)
        value: Floats = centered / np.hypot(deviation, self.epsilon**0.5)
        return value

    def x_gradient(self) -> Floats:
        """Return the expected gradient of x, computed by finite differences."""
        gradient = np.zeros_like(self.x)
        for index in np.ndindex(gradient.shape):
            step = np.zeros_like(gradient)
            step[index] = 1e-5
            derivative = (self.value(self.x + step) - self.value(self.x - step)) / 2e-5
            gradient[index] = np.sum(derivative * self.g)
        return np.round(gradient, 6)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Generate matrices of up to two rows and three columns, with multiples of 1/4."""
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


def _value_is_correct(work: ModuleType, case: Case) -> None:
    value, _ = call_rule(work, "standardize", case.x, case.axes, case.epsilon)
    expect("your standardize", value, case.value(case.x), tolerance=1e-9)


def _pullback_is_correct(work: ModuleType, case: Case) -> None:
    x, g = case.x, case.g
    value, pullback = call_rule(work, "standardize", x, case.axes, case.epsilon)
    before = np.array(value)
    for subject in ("your pullback", "the second call of your pullback"):
        expect(subject, pullback(g), case.x_gradient(), tolerance=1e-5)
    arrays = ("x", x, case.x), ("the gradient", g, case.g), ("the value", value, before)
    expect_unchanged("standardize", *arrays)


def _keeps_the_dtype(work: ModuleType, case: Case) -> None:
    x, g = case.x.astype(np.float32), case.g.astype(np.float32)
    value, pullback = call_rule(work, "standardize", x, case.axes, case.epsilon)
    for name, result in (("standardize", value), ("pullback", pullback(g))):
        expect(f"your {name}", str(getattr(result, "dtype", None)), "float32")


def _stays_on_the_device(work: ModuleType, case: Case) -> None:
    value, pullback = call_rule(work, "standardize", DeviceArray(case.x), case.axes, case.epsilon)
    for name, result in (("standardize", value), ("pullback", pullback(DeviceArray(case.g)))):
        if not isinstance(result, DeviceArray):
            raise WrongResult(f"your {name} gave {type(result).__name__}, which is on the host")
    assert isinstance(value, DeviceArray)
    expect("your standardize", _unwrap(value), case.value(case.x), tolerance=1e-9)


def _accepts_tensors(work: ModuleType, case: Case) -> None:
    value, pullback = call_rule(work, "standardize", Tensor(case.x), case.axes, case.epsilon)
    for name, result, expected in (
        ("standardize", value, case.value(case.x)),
        ("pullback", pullback(Tensor(case.g)), case.x_gradient()),
    ):
        if not isinstance(result, Tensor):
            raise WrongResult(f"your {name} gave {type(result).__name__}, but Tensor was expected")
        expect(f"your {name}", result.asnumpy(), expected, tolerance=1e-5)


_NUMPY = '__import__("numpy")'

LESSON = Lesson(
    title="Device-independent array code",
    exercise=CodeExercise(
        module="minispore.engine.rules.normalization",
        tasks={
            "standardize": "Return the value and a tuple with its pullback. With v for the value, "
            "the pullback returns (g − mean of g − v · mean of g · v) / √(variance + ε); each mean "
            "is over `axes`, with keepdims=True. Use only operators and the array's namespace."
        },
        properties=(
            Property(
                "The value is (x − mean) / √(variance + ε), with mean and variance over the axes.",
                cases(), _value_is_correct, examples=60,
            ),
            Property(
                "The pullback agrees with finite differences of the value.",
                cases(), _pullback_is_correct, show=Case.with_gradient, examples=60,
            ),
            Property(
                "For float32, the value and the gradient are float32.",
                cases(), _keeps_the_dtype, show=lambda case: f"float32 and {case}", examples=20,
            ),
            Property(
                "The results are on the device of x, and no array is transferred.",
                cases(), _stays_on_the_device,
                show=lambda case: f"{case} on another device", examples=40,
            ),
            Property(
                "For tensors, the value and the gradient are tensors.",
                cases(), _accepts_tensors, show=lambda case: f"{case}, as tensors", examples=20,
            ),
        ),
        bugs=bugs(
            "standardize",
            ("numpy is called, whatever x is", "namespace(x)", _NUMPY),
            ("the pullback calls numpy",
             "gradient -= xp.mean(", f"gradient -= {_NUMPY}.mean("),
            ("epsilon is a numpy scalar, which promotes the result to float64",
             "variance + epsilon", f"variance + {_NUMPY}.float64(epsilon)"),
            ("the variance is compared on the host, which synchronizes with the device",
             "xp.sqrt(variance + epsilon)",
             "xp.sqrt(variance + epsilon) if xp.max(variance) >= 0 else variance"),
            ("epsilon is missing", "variance + epsilon", "variance"),
            ("the value of a numpy array is float64",
             "value *= scale",
             f"value = value * scale * ({_NUMPY}.float64(1) if hasattr(x, 'flags') else 1.0)"),
            ("the mean is that of the complete matrix",
             "xp.mean(x, axis=axes, keepdims=True)", "xp.mean(x)"),
            ("the pullback ignores that the mean depends on each element",
             "gradient -= xp.mean(g, axis=axes, keepdims=True)", ""),
            ("the pullback ignores that the variance depends on each element",
             "value * (xp.inner(g, value, axis=axes, keepdims=True) / -count)", "0.0 * value"),
            ("the pullback does not divide by the deviation", "gradient *= scale", ""),
            ("the value of a tensor is a numpy array",
             "return value, (pullback,)",
             "return getattr(value, 'asnumpy', lambda: value)(), (pullback,)"),
        ),
    ),
    hints="""
        namespace(x) is the library of x: xp.mean(x, axis=axes, keepdims=True), xp.sqrt(x). The
        operators +, -, * and / are methods of the array, so they need no namespace.

        Write the value first: the mean, x minus the mean, the mean of its square, the square root
        of that plus epsilon.

        If it works with numpy and not on the other device: is there a np., a float(…), an `if` on
        an array, or a loop over one? All of these read elements on the host. Use Python's numbers
        as constants.

        The pullback: along = value * xp.mean(g * value, axis=axes, keepdims=True), and then
        (g - xp.mean(g, axis=axes, keepdims=True) - along) / deviation. Return value, (pullback,).
        """,
)  # fmt: skip
