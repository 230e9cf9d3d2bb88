"""Data types with MindSpore's names."""

from typing import Final, cast

import numpy as np

from minispore.utils.checks import caller, type_error

# The public names, which are also those of `minispore.common.dtype`.
__all__ = [
    "DType", "as_dtype", "bool_", "byte", "double", "dtype_to_nptype", "dtype_to_pytype",
    "float16", "float32", "float64", "float_", "from_array_dtype", "half", "int8", "int16",
    "int32", "int64", "int_", "long", "promote", "pytype_to_dtype", "short", "single",
    "string", "ubyte", "uint", "uint8", "uint16", "uint32", "uint64", "ulong", "ushort",
]  # fmt: skip

DTypeLike = object
BOOL, INTEGER, FLOAT = range(3)


class DType:
    """The type of a tensor's elements. There is one object for each type.

    Attributes:
        name: The name in Python, such as "float32".
        numpy_dtype: numpy's data type.
        category: BOOL, INTEGER or FLOAT, in ascending order for type promotion.

    Args:
        scalar: numpy's scalar type.

    Examples:
        >>> float32, str(float32)
        (minispore.float32, 'Float32')
    """

    __slots__ = ("category", "name", "numpy_dtype")

    def __init__(self, scalar: type[np.generic]) -> None:
        self.numpy_dtype: Final[np.dtype[np.generic]] = np.dtype(scalar)
        self.name: Final = self.numpy_dtype.name
        self.category: Final = {"b": BOOL, "f": FLOAT}.get(self.numpy_dtype.kind, INTEGER)

    def __repr__(self) -> str:
        return f"minispore.{self.name}"

    def __str__(self) -> str:
        return "UInt" + self.name[4:] if self.name[0] == "u" else self.name.capitalize()

    def __reduce__(self) -> str:
        # Pickled and copied by name, so that there is still one object for each type.
        return f"{self.name}_" if self.name == "bool" else self.name


bool_: Final = DType(np.bool_)
int8: Final = DType(np.int8)
int16: Final = DType(np.int16)
int32: Final = DType(np.int32)
int64: Final = DType(np.int64)
uint8: Final = DType(np.uint8)
uint16: Final = DType(np.uint16)
uint32: Final = DType(np.uint32)
uint64: Final = DType(np.uint64)
float16: Final = DType(np.float16)
float32: Final = DType(np.float32)
float64: Final = DType(np.float64)

# MindSpore's other names for the same types.
byte: Final = int8
short: Final = int16
int_: Final = int32
long: Final = int64
ubyte: Final = uint8
ushort: Final = uint16
uint: Final = uint32
ulong: Final = uint64
half: Final = float16
float_: Final = float32
single: Final = float32
double: Final = float64

# The type of columns of data sets that hold strings. Tensors hold none, so it is not a DType.
string: Final = np.str_

DTYPES: Final = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64
)  # fmt: skip
BY_NUMPY: Final[dict[object, DType]] = {dtype.numpy_dtype: dtype for dtype in DTYPES}
_BY_NAME: Final = {dtype.name: dtype for dtype in DTYPES} | {"bool_": bool_}
_BY_PYTHON: Final[dict[object, DType]] = {bool: bool_, int: int64, float: float64}


def from_array_dtype(array_dtype: object) -> DType:
    """Return the data type of an array library's dtype.

    Args:
        array_dtype: The dtype of an array.

    Returns:
        The data type.

    Raises:
        TypeError: MindSpore does not have the data type.

    Examples:
        >>> from_array_dtype(np.zeros(1).dtype)
        minispore.float64
    """
    try:
        return BY_NUMPY[array_dtype]
    except (KeyError, TypeError):
        raise TypeError(
            f"For '{caller()}', the elements must be of one of the types "
            f"{', '.join(dtype.name for dtype in DTYPES)}, but got {array_dtype}."
        ) from None


def as_dtype(value: DTypeLike, name: str = "dtype") -> DType:
    """Return the DType for a DType, its name, a numpy type or a Python type.

    Args:
        value: The type.
        name: The name of its argument in errors.

    Returns:
        The data type.

    Raises:
        TypeError: There is no such data type.

    Examples:
        >>> as_dtype("int32", "astype"), as_dtype(np.float16, "astype"), as_dtype(float, "astype")
        (minispore.int32, minispore.float16, minispore.float64)
    """
    if isinstance(value, DType):
        return value
    argument = value
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    if isinstance(value, type) and value in _BY_PYTHON:
        return _BY_PYTHON[value]
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        dtype = BY_NUMPY.get(np.dtype(cast("type[np.generic]", value)))
        if dtype is not None:
            return dtype
    raise type_error(argument, name, "be a data type such as minispore.float32")


def check_float(dtype: DType) -> DType:
    """Return `dtype`; TypeError if it is not a float type."""
    if dtype.category != FLOAT:
        raise TypeError(f"For '{caller()}', 'dtype' must be a float type, but got {dtype!r}.")
    return dtype


def is_dtype_name(name: str) -> bool:
    """Return whether there is a data type with this name."""
    return name in _BY_NAME


def promote(x: DType, y: DType) -> DType:
    """Return the type of the result of an operation on operands of the types `x` and `y`.

    A float with an integer gives that float type, and an integer with a bool that integer type,
    whatever their widths. In numpy, int32 with float32 gives float64.

    Args:
        x: The type of one operand.
        y: The type of the other one.

    Returns:
        The data type.

    Raises:
        TypeError: No integer type has the values of both.

    Examples:
        >>> promote(int32, float32), promote(uint8, int8), promote(float16, float32)
        (minispore.float32, minispore.int16, minispore.float32)
    """
    if x.category != y.category:
        return x if x.category > y.category else y
    promoted = BY_NUMPY[np.promote_types(x.numpy_dtype, y.numpy_dtype)]
    # For int64 and uint64, which have no common integer type, numpy returns float64.
    if promoted.category != x.category:
        raise TypeError(
            f"For '{caller()}', the types {x!r} and {y!r} have no common integer type; cast one."
        )
    return promoted


def dtype_to_nptype(type_: DType) -> type[np.generic]:
    """Return the numpy scalar type of a data type.

    Args:
        type_: The data type.

    Returns:
        A class such as `numpy.int8`.

    Examples:
        >>> dtype_to_nptype(int8)
        <class 'numpy.int8'>

    Source: MindSpore's `mindspore.dtype_to_nptype`.
    """
    return as_dtype(type_, "type_").numpy_dtype.type


def dtype_to_pytype(type_: DType) -> type[bool | int | float]:
    """Return the Python type of an element: bool, int or float.

    Args:
        type_: The data type.

    Returns:
        The class.

    Examples:
        >>> dtype_to_pytype(float16)
        <class 'float'>

    Source: MindSpore's `mindspore.dtype_to_pytype`.
    """
    return (bool, int, float)[as_dtype(type_, "type_").category]


def pytype_to_dtype(obj: object) -> DType:
    """Return the data type for a Python or numpy type.

    Args:
        obj: The type.

    Returns:
        The data type.

    Raises:
        TypeError: There is no such data type.

    Examples:
        >>> pytype_to_dtype(bool)
        minispore.bool

    Source: MindSpore's `mindspore.pytype_to_dtype`.
    """
    return as_dtype(obj, "obj")
