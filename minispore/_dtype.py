"""Data types under MindSpore's names, and their numpy counterparts."""

from typing import Final, cast

import numpy as np

from minispore._checks import described

DTypeLike = object


class DType:
    """The type of a tensor's elements; there is one object for each, so compare with `is` or `==`.

    Printing gives MindSpore's two spellings:

    >>> float32, str(float32)
    (minispore.float32, 'Float32')
    """

    __slots__ = ("category", "name", "numpy_dtype")

    name: Final[str]
    numpy_dtype: Final["np.dtype[np.generic]"]
    category: Final[int]

    def __init__(self, scalar: type[np.generic], category: int) -> None:
        """Describe `scalar`; `category` orders bool < integer < float for promotion."""
        self.numpy_dtype = np.dtype(scalar)
        self.name = self.numpy_dtype.name
        self.category = category

    def __repr__(self) -> str:
        return f"minispore.{self.name}"

    def __str__(self) -> str:
        return "UInt" + self.name[4:] if self.name[0] == "u" else self.name.capitalize()

    def __reduce__(self) -> str:
        # Pickled and copied by name, so that there stays one object for each type.
        return f"{self.name}_" if self.name == "bool" else self.name


BOOL, INTEGER, FLOAT = range(3)

bool_: Final = DType(np.bool_, BOOL)
int8: Final = DType(np.int8, INTEGER)
int16: Final = DType(np.int16, INTEGER)
int32: Final = DType(np.int32, INTEGER)
int64: Final = DType(np.int64, INTEGER)
uint8: Final = DType(np.uint8, INTEGER)
uint16: Final = DType(np.uint16, INTEGER)
uint32: Final = DType(np.uint32, INTEGER)
uint64: Final = DType(np.uint64, INTEGER)
float16: Final = DType(np.float16, FLOAT)
float32: Final = DType(np.float32, FLOAT)
float64: Final = DType(np.float64, FLOAT)

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

ALL: Final = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64
)  # fmt: skip
_BY_NUMPY: Final[dict[object, DType]] = {dtype.numpy_dtype: dtype for dtype in ALL}
_BY_NAME: Final = {dtype.name: dtype for dtype in ALL} | {"bool_": bool_}
_BY_PYTHON: Final[dict[object, DType]] = {bool: bool_, int: int64, float: float64}


def of(array_dtype: object, owner: str = "Tensor") -> DType:
    """The DType of an array library's dtype object; TypeError if MindSpore has no such type."""
    try:
        return _BY_NUMPY[array_dtype]
    except (KeyError, TypeError):
        raise TypeError(
            f"For '{owner}', the elements must be of one of the types "
            f"{', '.join(dtype.name for dtype in ALL)}, but got {array_dtype}."
        ) from None


def as_dtype(value: DTypeLike, owner: str, name: str = "dtype") -> DType:
    """A DType from itself, its name, a numpy type or a Python type; TypeError otherwise.

    >>> as_dtype("int32", "astype"), as_dtype(np.float16, "astype"), as_dtype(float, "astype")
    (minispore.int32, minispore.float16, minispore.float64)
    """
    if isinstance(value, DType):
        return value
    given = value
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    if isinstance(value, type) and value in _BY_PYTHON:
        return _BY_PYTHON[value]
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        found = _BY_NUMPY.get(np.dtype(cast("type[np.generic]", value)))
        if found is not None:
            return found
    raise TypeError(
        f"For '{owner}', the argument '{name}' must be a data type such as minispore.float32, "
        f"but got {described(given)}."
    )


def check_float(dtype: DType, owner: str) -> DType:
    """Return `dtype`; TypeError unless it is a float type."""
    if dtype.category != FLOAT:
        raise TypeError(f"For '{owner}', 'dtype' must be a float type, but got {dtype!r}.")
    return dtype


def is_name(name: str) -> bool:
    """Whether a data type has that name."""
    return name in _BY_NAME


def promote(x: DType, y: DType, owner: str = "promote") -> DType:
    """The type of a result of operands of types `x` and `y`.

    A float beats an integer whatever their widths, as an integer beats a bool: unlike in numpy,
    int32 with float32 gives float32.

    >>> promote(int32, float32), promote(uint8, int8), promote(float16, float32)
    (minispore.float32, minispore.int16, minispore.float32)
    """
    if x.category != y.category:
        return x if x.category > y.category else y
    wide = np.promote_types(x.numpy_dtype, y.numpy_dtype)
    found = _BY_NUMPY[wide]
    # numpy knows no integer that holds both int64 and uint64 and answers float64.
    if found.category != x.category:
        raise TypeError(
            f"For '{owner}', the types {x!r} and {y!r} have no common integer type; cast one."
        )
    return found


def dtype_to_nptype(type_: DType) -> type[np.generic]:
    """The numpy scalar type of `type_`.

    >>> dtype_to_nptype(int8)
    <class 'numpy.int8'>
    """
    return as_dtype(type_, "dtype_to_nptype", "type_").numpy_dtype.type


def dtype_to_pytype(type_: DType) -> type[bool | int | float]:
    """The Python type that holds one element of `type_`.

    >>> dtype_to_pytype(float16)
    <class 'float'>
    """
    return (bool, int, float)[as_dtype(type_, "dtype_to_pytype", "type_").category]


def pytype_to_dtype(obj: object) -> DType:
    """The DType for a Python or numpy type.

    >>> pytype_to_dtype(bool)
    minispore.bool
    """
    return as_dtype(obj, "pytype_to_dtype", "obj")
