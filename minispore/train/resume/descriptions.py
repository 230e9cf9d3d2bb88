"""Descriptions of values that consist of no other objects, and the parts of those made in C."""

import copyreg
import io
import logging
import os
import random
import re
import sys
import threading
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import _lru_cache_wrapper  # the class of what `lru_cache` returns
from gc import get_referents
from pathlib import PurePath
from types import (
    BuiltinMethodType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GenericAlias,
    GetSetDescriptorType,
    MappingProxyType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    UnionType,
    WrapperDescriptorType,
)
from typing import Any, Final, cast
from uuid import UUID

import numpy as np

from minispore.common._object_state import STDLIB, is_a, is_immutable, items_of
from minispore.dataset._description import sample_indices
from minispore.ops.tensors import Tensor

Parts = Iterable[tuple[str, object]]
Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]

MAX_LISTED: Final = 4  # items that are described one by one; more have one checksum
MAX_ITEMS: Final = 1000  # items of a list in its checksum; of a longer list, evenly spaced ones
_MAX_TEXT: Final = 200  # characters of a description; a longer one is cut, with a checksum
_MAX_BYTES: Final = 1 << 20  # of an array with all rows in its checksum
_MAX_DEPTH: Final = 20  # of tuples in tuples that are described as a whole
_MAX_BITS: Final = 1000  # of an int in decimal digits

# Packages whose code is described by the names of functions and classes, as is that of Python. What
# their objects hold is described like the user's objects.
_PACKAGES: Final = frozenset(
    [
        *("minispore", "mindspore", "numpy", "scipy", "pandas", "pyarrow", "polars", "xarray"),
        *("sklearn", "skimage", "matplotlib", "PIL", "cv2", "imageio", "h5py", "zarr", "numba"),
        *("torch", "torchvision", "torchaudio", "torchdata", "tensorflow", "keras"),
        *("jax", "jaxlib", "flax", "optax", "cupy", "mpi4py", "tqdm", "rich", "click", "yaml"),
        *("omegaconf", "hydra", "pydantic", "pydantic_core", "attr", "attrs", "typing_extensions"),
        *("IPython", "ipykernel", "pytest", "_pytest", "hypothesis", "coverage"),
    ]
)
# Immutable values of Python's library, whose repr is complete.
_BY_REPR: Final = frozenset(
    [timedelta, timezone, Decimal, Fraction, UUID, date, GenericAlias, UnionType]
)
# Objects whose state is no setting, and their classes; they are described by their type.
_STATELESS: Final = (
    *(type(threading.Lock()), type(threading.RLock()), random.SystemRandom, Executor),
    *(logging.Logger, logging.Handler, threading.Thread, type(os.environ)),
)
_OF_TYPES: Final = (
    *(MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType),
    GetSetDescriptorType,
)
_FILES: Final = (io.FileIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom)
_SEEDED_BITS: Final = 96  # Without a seed, numpy draws one of 128 bits.


def is_library(module: object) -> bool:
    """Return whether a module is Python's, or of a package that is described by names.

    Args:
        module: The name of the module.
    """
    top = str(module).partition(".")[0]
    if top in _PACKAGES or top.startswith("_cython_"):  # the module of Cython's own types
        return True
    if top not in sys.stdlib_module_names:
        return False
    # A module of the user may have the name of one of Python's.
    file: object = getattr(sys.modules.get(top), "__file__", None)
    return file is None or str(file).startswith(STDLIB)


def is_user_function(function: FunctionType) -> bool:
    """Return whether a function is neither Python's nor of a package described by names.

    `functools.wraps` changes `__module__`, but not the globals.
    """
    return not is_library(function.__globals__.get("__name__"))


def is_user_class(kind: type) -> bool:
    """Return whether a class is neither Python's nor of a package described by names."""
    return not is_library(kind.__module__)


def name_of(value: type | FunctionType) -> str:
    """Return the name in the scope of the definition."""
    return value.__qualname__.rpartition("<locals>.")[2]


def checksum(content: bytes) -> str:
    """Return a short text that differs for other bytes."""
    return f"#{zlib.crc32(content):08x}"


def shorten(text: str) -> str:
    """Return a text of limited length, with a checksum of what is cut."""
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…, {checksum(text.encode())}"


def describe_plain(  # noqa: PLR0911 (one for each kind of value)
    value: object, depth: int = 0
) -> str | None:
    """Return the complete description of an immutable value; None for any other, and deep ones."""
    kind = type(value)
    if kind is tuple or kind is frozenset:
        items = items_of(value)
        if len(items) > MAX_ITEMS or depth > _MAX_DEPTH:
            return None
        texts = [describe_plain(item, depth + 1) for item in items]
        known = [text for text in texts if text is not None]
        if len(known) < len(texts):
            return None
        if kind is tuple:
            return f"({', '.join(known)}{',' * (len(known) == 1)})"
        return f"frozenset({{{', '.join(sorted(known))}}})"
    if is_a(value, slice):
        parts = describe_plain((value.start, value.stop, value.step))
        return None if parts is None else f"slice{parts}"
    if is_immutable(value):
        if issubclass(kind, np.generic):
            return f"{kind.__name__}({value!s})"
        if type(value) is int and abs(value).bit_length() > _MAX_BITS:
            return hex(value)
        return repr(value)
    if is_a(value, re.Pattern):
        pattern = cast("re.Pattern[str]", value)
        return f"re.compile({pattern.pattern!r}, {pattern.flags})"
    if type(value) is datetime or type(value) is time:
        zone = value.tzinfo
        return repr(value) if zone is None or type(zone) is timezone else None
    if is_a(value, CodeType):
        return describe_code(value)
    by_repr = kind in _BY_REPR or (kind.__module__ == "typing" and not issubclass(kind, type))
    if by_repr or (issubclass(kind, PurePath) and is_library(kind.__module__)):
        return repr(value)
    return None


def describe_code(code: CodeType) -> str:
    """Return a checksum of a function's code without its location, and the version of Python."""

    def text_of(constant: object) -> str:
        if not isinstance(constant, CodeType):
            return describe_plain(constant) or repr(constant)
        names = constant.co_names, constant.co_varnames, constant.co_freevars
        counts = constant.co_argcount, constant.co_posonlyargcount, constant.co_kwonlyargcount
        constants = [text_of(item) for item in constant.co_consts]
        return repr((constant.co_code, counts, *names, constants))

    major, minor = sys.version_info[:2]
    return f"code {checksum(text_of(code).encode())} of Python {major}.{minor}"


def as_array(value: object) -> Array | None:
    """Return the elements of an array or a tensor, also of a package's; None for other objects."""
    kind = type(value)
    if is_a(value, Tensor):
        return Tensor.asnumpy(value)
    if issubclass(kind, np.ndarray):
        return np.ndarray.view(cast("Array", value), np.ndarray)
    arrays = ("__array__", "__array_interface__")  # the second that of Pillow's images
    if kind is memoryview or (not is_user_class(kind) and any(hasattr(kind, a) for a in arrays)):
        detach: Callable[[object], Any] | None = getattr(kind, "detach", None)  # of PyTorch
        return np.asarray(value if detach is None else detach(value).cpu())
    return None


def describe_array(array: Array) -> str:
    """Return type, shape and elements of an array, or a checksum of these."""
    if array.dtype.hasobject:  # whose bytes are addresses
        return f"{array.dtype} {array.shape}"
    if array.size <= MAX_LISTED:
        shape = "" if array.ndim == 1 else f" {array.shape}"
        return f"{array.dtype}{shape} [{', '.join(map(str, array.flat))}]"
    rows = array if array.nbytes <= _MAX_BYTES else array[sample_indices(len(array))]
    return f"{array.dtype} {array.shape}, {checksum(rows.tobytes())}"


def describe_hidden(value: object) -> tuple[str, Parts] | None:  # noqa: PLR0911 (one for each kind)
    """Return the description of an object whose type stores its state in C, and the parts.

    Returns:
        None if the state is not known.
    """
    kind = type(value)
    name = f"{kind.__qualname__}()"
    if kind in _OF_TYPES:
        return str(getattr(value, "__qualname__", name)), ()
    if kind in (BuiltinMethodType, MethodWrapperType):
        return _describe_builtin(value)
    if kind is _lru_cache_wrapper:  # which stores results
        wrapped: object = getattr(value, "__wrapped__", None)
        return name, [("function", wrapped)]
    if kind is bytearray:
        return shorten(repr(value)), ()
    if kind is MappingProxyType:
        return name, [("mapping", referent) for referent in get_referents(value)]
    if kind is weakref.ReferenceType or kind.__module__ == "weakref":
        return name, [("object", cast("weakref.ReferenceType[object]", value)())]
    if kind in _FILES or kind is io.TextIOWrapper:
        return _describe_file(cast("io.BufferedReader | io.TextIOWrapper", value)), ()
    if is_user_class(kind):
        return None
    found = _global_name(value)
    if found is not None:
        return found, ()
    return (f"{name} without a seed", ()) if _is_unseeded(value) else _reduced(value)


def describe_base(value: object) -> str:
    """Return the name of an object's class, with the value of a number or a text."""
    kind = type(value)
    for base in (str, bytes, int, float, complex):
        if issubclass(kind, base):
            return f"{name_of(kind)}({vars(base)['__repr__'](value)})"
    return f"{name_of(kind)}()"


def describe_stateless(value: object) -> str:
    """Return the name of an object's class, with the name of a logger."""
    name = f" {value.name}" if type(value) is logging.Logger else ""
    return f"{name_of(type(value))}(){name}"


def is_stateless(value: object) -> bool:
    """Return whether an object's state is no setting of a run, such as that of a lock."""
    return issubclass(type(value), _STATELESS) or type(value).__qualname__ == "_abc_data"


def _describe_builtin(value: object) -> tuple[str, Parts]:
    name = str(getattr(value, "__qualname__", type(value).__qualname__))
    owner: object = getattr(value, "__self__", None)
    if isinstance(owner, ModuleType):
        return f"{owner.__name__}.{name}", ()
    return name, [("self", owner)]


def _describe_file(file: "io.BufferedReader | io.TextIOWrapper") -> str:
    name = type(file).__qualname__
    if not file.readable():  # What a run writes is no setting.
        return f"{name}()"
    position = cast("io.BufferedReader", getattr(file, "buffer", file)).tell()
    return f"{name}({file.name!r}) at {position}"


def _global_name(value: object) -> str | None:
    """Return the name under which a library's module has an object, such as a ufunc."""
    name: object = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    modules = (getattr(value, "__module__", None), "numpy", "scipy.special")
    for module in modules if isinstance(name, str) else ():
        found: object = sys.modules.get(str(module))
        for part in str(name).split("."):
            found = vars(found).get(part) if isinstance(found, ModuleType | type) else None
        if found is value and is_library(module):
            return f"{module}.{name}"
    return None


def _is_unseeded(value: object) -> bool:
    """Return whether a generator of numpy was made without a seed, and differs in each process."""
    generator: object = getattr(value, "_bit_generator", None)  # of RandomState
    for generated in (value, generator, getattr(value, "bit_generator", None)):
        sequence: object = getattr(generated, "seed_seq", generated)
        if isinstance(sequence, np.random.SeedSequence):
            entropy = sequence.entropy
            return isinstance(entropy, int) and entropy.bit_length() > _SEEDED_BITS
    return False


def _reduced(value: object) -> tuple[str, Parts] | None:
    """Return a description by what `pickle` and `copy` would store of an object of a library."""
    kind = type(value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Some iterators of Python deprecate this.
        reduce = copyreg.dispatch_table.get(kind)
        try:
            reduced = reduce(value) if reduce else value.__reduce_ex__(2)
        except Exception:  # a TypeError of most types that cannot be copied, but not of all
            return None
    if isinstance(reduced, str):
        module = sys.modules.get(kind.__module__)
        named = module is not None and vars(module).get(reduced) is value
        return (f"{kind.__module__}.{reduced}", ()) if named else None
    return f"{kind.__qualname__}()", _reduced_parts(reduced[1:])


def _reduced_parts(parts: Iterable[Any]) -> Iterator[tuple[str, object]]:
    for i, part in enumerate(parts):
        if part is not None:
            # Those of a list and of a dict are iterators.
            yield str(i), list(part) if i in (2, 3) else part
