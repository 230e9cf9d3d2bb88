"""The fingerprint of a run: short descriptions of its settings by path, compared at a resume.

A value is described by what its type stores, wherever its code is stored and however it is named. A
description is the same in every process: it contains no addresses, and does not depend on the order
of hashes. No code of the user is called. A value whose state is hidden is described as such: a run
that has one is resumed only if that is requested.
"""

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType
from types import ModuleType as Module
from typing import Final, cast

import numpy as np

from minispore.common import Parameter, get_seed
from minispore.common._object_state import (
    State,
    is_a,
    items_of,
    read_field,
    state_of,
    variable_reads,
)
from minispore.dataset import Dataset
from minispore.dataset._description import code_and_data, describe_pipeline, sample_indices
from minispore.dataset.iterators import stateful_objects
from minispore.nn import Cell, Optimizer
from minispore.ops.seed import get_dataset_seed
from minispore.ops.tensors import gradient_hooks
from minispore.train.resume.descriptions import (
    MAX_ITEMS,
    MAX_LISTED,
    Array,
    Parts,
    as_array,
    checksum,
    describe_array,
    describe_base,
    describe_code,
    describe_hidden,
    describe_plain,
    describe_stateless,
    is_library,
    is_stateless,
    is_user_class,
    is_user_function,
    name_of,
    shorten,
)

_UNKNOWN: Final = ", whose state cannot be compared"
# Attributes that a run changes, or that are described otherwise.
_TRAINED: Final = frozenset({"training", "phase"})  # `Model` sets them for all cells that it trains
_OF_DATASET: Final = frozenset({"_node", "_known_size"})
_OF_ENUM: Final = frozenset({"_name_", "_sort_order_", "__objclass__"})
# The generators of Python and numpy that a resume restores.
_GLOBAL_GENERATORS: Final[tuple[object, ...]] = tuple(
    getattr(function, "__self__", None) for function in (random.random, np.random.random_sample)
)
_IMMUTABLE_TYPE: Final = 1 << 8  # a flag of types whose attributes cannot be set


def fingerprint(**roots: object) -> dict[str, str]:
    """Return descriptions, by path, of the seeds, the roots and all objects that these refer to.

    Examples:
        >>> from minispore import nn
        >>> paths = fingerprint(network=nn.SequentialCell(nn.Dropout(p=0.5), nn.ReLU()))
        >>> paths["network.0.p"], paths["network.1"]
        ('0.5', 'ReLU()')
    """
    seeds = {"seed": get_seed(), "dataset_seed": get_dataset_seed()}
    walk = _Walk(roots)
    described = walk.describe_all({**seeds, **roots})
    return {**described, **walk.unknown}


# The paths that earlier versions have compared, although they are no settings.
_FORMER = re.compile(r"train_network\.grad\b")


def differences(saved: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the differences of two fingerprints, without those of the parts of what differs.

    What cannot be compared counts as a difference.
    """
    lines: list[str] = []
    reported: tuple[str, ...] = ()
    for path in {**saved, **now}:
        if _FORMER.match(path):
            continue
        before, here = saved.get(path, "nothing"), now.get(path, "nothing")
        if path.startswith(reported):
            continue
        if is_unknown(here):
            lines.append(f"{path} is {here}")
        elif before != here:
            lines.append(f"{path}: {before} when saved, {here} now")
            reported += (f"{path}.", f"{path}[")
    return lines


def is_unknown(description: str) -> bool:
    """Return whether a description is that of a value whose state is hidden."""
    return description.endswith(_UNKNOWN)


class _Walk:
    """Describes values and what they refer to, each object once."""

    def __init__(self, roots: Mapping[str, object]) -> None:
        self.unknown: dict[str, str] = {}  # what is in a checksum, but cannot be compared
        # The path of each object by its id; the object is kept alive, so that no id is used twice.
        self._seen: dict[int, tuple[object, str]] = {}
        # The classes of each name by their ids, with their numbers.
        self._classes: dict[str, dict[int, tuple[int, type]]] = {}
        self._trained: set[int] = set()
        self._restored: set[int] = {id(generator) for generator in _GLOBAL_GENERATORS}
        for name, root in roots.items():
            if is_a(root, Cell):
                for _, cell in root.cells_and_names():
                    self._trained.add(id(cell))
                    self._restored |= {id(parameter) for _, parameter in cell._own_parameters()}
            elif is_a(root, Dataset):
                self._restored |= {id(item) for item in stateful_objects(root._node)}
            elif name == "train_dataset" and hasattr(type(root), "load_state_dict"):
                self._restored.add(id(root))

    def describe_all(self, values: Mapping[str, object]) -> dict[str, str]:
        """Return the descriptions of values by path, and of what they refer to."""
        described: dict[str, str] = {}
        # A stack instead of recursion: a network may be deeper than Python's stack.
        stack = list(values.items())[::-1]
        while stack:
            path, value = stack.pop()
            try:
                described[path], parts = self._describe(path, value)
                stack += list(parts)[::-1]
            except Exception:  # a library's object may raise anything
                described[path] = _unknown(value)
        return described

    def _describe(self, path: str, value: object) -> tuple[str, Parts]:
        plain = value if is_a(value, _Line) else describe_plain(value)
        if plain is not None:
            return shorten(plain), ()
        first = self._seen.get(id(value))
        self._seen.setdefault(id(value), (value, path))
        if is_a(value, FunctionType):
            text, parts = self._function(path, value)
        elif is_a(value, type):
            text, parts = self._class(value)
        elif is_a(value, Module):
            text, parts = _module(path, value)
        elif is_a(value, Parameter):
            text, parts = self._parameter(path, value)
        elif first is None:
            text, parts = self._object(path, value)
        else:
            text = f"the same as {first[1]}"
            parts = ()
        return text, parts if first is None else ()

    def _object(  # noqa: PLR0911 (one for each kind of value)
        self, path: str, value: object
    ) -> tuple[str, Parts]:
        kind = type(value)
        if id(value) in self._restored or is_stateless(value):
            return describe_stateless(value), self._class_of(value)
        array = as_array(value)
        if array is not None:
            return describe_array(array), self._of_array(path, value, array)
        if is_a(value, MethodType):
            return self._method(path, value)
        state = state_of(value)
        if state is None:
            hidden = describe_hidden(value)
            if hidden is None:
                return _unknown(value), ()
            text, inside = hidden
            return text, ((f"{path}.{name}", part) for name, part in inside)
        parts = self._of_state(path, value, state)
        if is_a(value, Dataset):
            node = value._node
            lines = ((f"{path}.{i}", _Line(line)) for i, line in enumerate(describe_pipeline(node)))
            inside = ((f"{path}.{name}", part) for name, part in code_and_data(node).items())
            return f"{name_of(kind)}()", (*lines, *inside, *parts)
        if issubclass(kind, Enum):
            return f"{name_of(kind)}.{state.attributes.get('_name_')}", parts
        if state.items is None:
            return describe_base(value), parts
        text, items = self._items(path, value)
        return text, (*items, *parts)

    def _items(self, path: str, value: object) -> tuple[str, Parts]:
        """Describe the items of a list, tuple, set or dict, without a call of their methods."""
        kind = type(value)
        if issubclass(kind, set | frozenset):
            return self._items_of_set(path, value)
        pairs = list(_pairs(value))
        plain = [describe_plain(item) for _, item in pairs]
        known = [text for text in plain if text is not None]
        count = f"{name_of(kind)} of {len(pairs)}"
        if len(pairs) > MAX_LISTED:
            chosen = [pairs[i] for i in map(int, sample_indices(len(pairs), MAX_ITEMS))]
            inside = self.describe_all({f"{path}[{key}]": item for key, item in chosen})
            return f"{count}, {self._checksum(inside)}", ()
        if len(known) < len(plain):
            return count, [(f"{path}[{key}]", item) for key, item in pairs]
        if issubclass(kind, dict):
            known = [f"{key}: {text}" for (key, _), text in zip(pairs, known, strict=True)]
        text = f"{{{', '.join(known)}}}" if issubclass(kind, dict) else f"[{', '.join(known)}]"
        if type(value) not in (list, dict):
            text = f"{name_of(type(value))}({text})"
        return shorten(text), ()

    def _items_of_set(self, path: str, value: object) -> tuple[str, Parts]:
        """Describe the items of a set apart from one another, since their order differs."""
        items = items_of(value)
        kinds = {name_of(type(item)): type(item) for item in items}
        texts = [
            self._checksum(self.describe_all({name: kinds[name]}))
            for name in sorted(kinds)
            if is_user_class(kinds[name])
        ]
        for item in items:
            plain = describe_plain(item)
            seen = self._seen if plain is not None else dict(self._seen)
            texts.append(plain or self._checksum(self.describe_all({f"{path}[…]": item})))
            self._seen = seen
        content = repr(sorted(texts)).encode()
        return f"{name_of(type(value))} of {len(items)}, {checksum(content)}", ()

    def _checksum(self, described: Mapping[str, str]) -> str:
        for path, text in described.items():
            if is_unknown(text):
                self.unknown[path] = text
        return checksum(repr(described).encode())

    def _of_state(self, path: str, value: object, state: State) -> Iterator[tuple[str, object]]:
        """Yield the attributes of an object, and its class if the user has defined it."""
        yield from self._class_of(value)
        kind = type(value)
        attributes = dict(state.attributes)
        omitted: Iterable[str] = ()
        if issubclass(kind, Dataset):
            omitted = _OF_DATASET
        elif issubclass(kind, Enum):
            omitted = _OF_ENUM
        elif issubclass(kind, Cell):
            omitted = set(_TRAINED) if id(value) in self._trained else set()
            for base in kind.__mro__:
                if issubclass(base, Cell) and not is_user_class(base):
                    omitted.update(base._transient, base._not_compared)
            if is_a(value, Optimizer):
                attributes |= value._initial_arguments
        for name, item in attributes.items():
            if name not in omitted:
                yield f"{path}.{name}", item
        for name in state.fields:
            try:
                yield f"{path}.{name}", read_field(value, name)
            except (AttributeError, ValueError):  # a slot that is not set, or an empty cell
                yield f"{path}.{name}", _Line("nothing")

    def _of_array(self, path: str, value: object, array: Array) -> Iterator[tuple[str, object]]:
        if array.dtype.hasobject:
            yield f"{path}.items", array.ravel().tolist()
        kind = type(value)
        if is_user_class(kind) or kind is np.ma.MaskedArray:
            yield from self._class_of(value)
            for name, item in vars(value).items():
                yield f"{path}.{name}", item

    def _parameter(self, path: str, value: Parameter) -> tuple[str, Parts]:
        name = "" if value.has_default_name else f" {value.name}"
        text = f"{name_of(type(value))}{name}{'' if value.requires_grad else ', not trained'}"
        if id(value) not in self._restored:  # The checkpoint contains the values of the others.
            text += f", {describe_array(value.asnumpy())}"
        state = state_of(value)
        parts: dict[str, object] = {} if state is None else dict(state.attributes)
        if hooks := gradient_hooks(value):
            parts["hooks"] = hooks
        return text, ((f"{path}.{name}", item) for name, item in parts.items())

    # Code.

    def _method(self, path: str, method: MethodType) -> tuple[str, Parts]:
        function: object = method.__func__
        bound = (f"{path}.self", method.__self__)
        if not is_a(function, FunctionType):
            return name_of(type(method)), [(f"{path}.function", function), bound]
        text, parts = self._function(path, function)
        parts = () if id(function) in self._seen else parts
        self._seen.setdefault(id(function), (function, path))
        return text, (*parts, bound)

    def _function(self, path: str, function: FunctionType) -> tuple[str, Parts]:
        attributes = ((f"{path}.{name}", item) for name, item in vars(function).items())
        if is_user_function(function):
            text = f"{name_of(function)}, {describe_code(function.__code__)}"
            return text, (*_read_by(path, function), *attributes)
        module, name = function.__globals__["__name__"], function.__code__.co_qualname
        closure = ((f"{path}.{key}", item) for key, item in _closure(function).items())
        return f"{module}.{name}", (*closure, *attributes)

    def _class(self, kind: type) -> tuple[str, Parts]:
        """Describe a class of the user by its members; objects show the results of `__init__`."""
        name = self._class_name(kind)
        if not is_user_class(kind):
            return f"{kind.__module__}.{name}", self._replaced(kind)
        bases = ", ".join(base.__qualname__ for base in kind.__bases__ if base is not object)
        outer = [*kind.__bases__, type(kind)]
        parents = [(self._class_name(parent), parent) for parent in outer if is_user_class(parent)]
        members = ((f"{name}.{key}", item) for key, item in _members(kind))
        return f"class {name}({bases})" if bases else f"class {name}", (
            *members,
            *parents,
            *self._replaced(kind),
        )

    def _class_of(self, value: object) -> Iterator[tuple[str, object]]:
        kind = type(value)
        if is_user_class(kind):
            yield self._class_name(kind), kind
        else:
            yield from self._replaced(kind)

    def _replaced(self, kind: type) -> Iterator[tuple[str, object]]:
        """Yield the methods of a library's class that the user has replaced."""
        for base in kind.__mro__:
            known = id(base) in self._seen or is_user_class(base)
            if known or base.__flags__ & _IMMUTABLE_TYPE:
                continue
            self._seen[id(base)] = base, base.__qualname__
            # Python makes the `__new__` of a named tuple in a module of its own.
            generated = "__new__" if tuple in base.__mro__ else ""
            for name, item in _members(base):
                if name != generated and is_a(item, FunctionType) and is_user_function(item):
                    yield f"{base.__qualname__}.{name}", item

    def _class_name(self, kind: type) -> str:
        """Return the name of a class, with a number if another class has it."""
        name = name_of(kind)
        classes = self._classes.setdefault(name, {})
        number, _ = classes.setdefault(id(kind), (len(classes), kind))
        return f"{name}#{number + 1}" if number else name


class _Line(str):
    """A text that is its own description."""

    __slots__ = ()


def _unknown(value: object) -> str:
    name = name_of(type(value))
    article = "an" if name.lower().startswith(tuple("aeiou")) else "a"
    return f"{article} {name}{_UNKNOWN}"


def _pairs(value: object) -> Iterator[tuple[str, object]]:
    """Yield the items of a list, tuple or dict with their keys as texts."""
    if issubclass(type(value), dict):
        for i, (key, item) in enumerate(cast("list[tuple[object, object]]", items_of(value))):
            plain = describe_plain(key)
            if plain is None:
                yield f"key {i}", key
            yield plain or str(i), item
    else:
        yield from ((str(i), item) for i, item in enumerate(items_of(value)))


def _members(kind: type) -> Iterator[tuple[str, object]]:
    """Yield what a class defines, but `__init__`, and what Python stores in a class."""
    for name, member in vars(kind).items():
        if type(member) in (MemberDescriptorType, GetSetDescriptorType) or name == "__init__":
            continue
        if issubclass(kind, Enum) and name[:1] == name[-1:] == "_":
            continue
        if type(member) in (staticmethod, classmethod):
            yield name, member.__func__
        elif type(member) is property:
            accessors = {name: member.fget, f"{name}.set": member.fset, f"{name}.del": member.fdel}
            yield from ((key, method) for key, method in accessors.items() if method is not None)
        elif is_a(member, FunctionType) or not (name[:2] == name[-2:] == "__"):
            yield name, member


def _module(path: str, module: Module) -> tuple[str, Parts]:
    name = module.__name__
    if is_library(name):
        return name, ()
    entries = [(key, item) for key, item in vars(module).items() if key[:2] != "__"]
    return name, ((f"{path}.{key}", item) for key, item in entries)


def _closure(function: FunctionType) -> dict[str, object]:
    """Return the variables of enclosing functions by name, but those that are not set yet."""
    values: dict[str, object] = {}
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        with suppress(ValueError):
            values[name] = cell.cell_contents
    return values


def _read_by(path: str, function: FunctionType) -> Iterator[tuple[str, object]]:
    """Yield what a function reads: its defaults, and variables of the enclosing scopes."""
    code = function.__code__
    defaults = function.__defaults__ or ()
    arguments = code.co_varnames[: code.co_argcount]
    values = dict(zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True))
    values |= function.__kwdefaults__ or {}
    for name, item in values.items():
        yield f"{path}.{name}", item
    closure = _closure(function)
    for read in variable_reads(code):
        scope = function.__globals__ if read.is_global else closure
        if read.name in scope:
            yield from _selected(f"{path}.{read.name}", scope[read.name], read.steps)


def _selected(
    path: str, item: object, steps: Iterable[str | tuple[str]]
) -> Iterator[tuple[str, object]]:
    """Yield what is read of a variable: the entry of a dict, an attribute, or all of it.

    So the number of epochs in the same dict as a setting of the network is not compared.
    """
    in_library = False
    for step in steps:
        name = step if isinstance(step, str) else step[0]
        entries = _entries(item, of_dict=not isinstance(step, str))
        if name not in entries:
            break
        in_library |= is_a(item, Module) and is_library(item.__name__)
        item = entries[name]
        path += f".{name}" if isinstance(step, str) else f"[{name!r}]"
    if is_a(item, Module) and is_library(item.__name__):
        return
    if in_library:  # Only what the user may have put there.
        kind = type(item)
        function = is_a(item, FunctionType) and is_user_function(item)
        owner = item if is_a(item, type) else kind
        if not function and not is_user_class(owner) and describe_plain(item) is None:
            return
    yield path, item


def _entries(item: object, *, of_dict: bool) -> Mapping[str, object]:
    """Return what is read of a dict by a key, or of an object by the name of an attribute."""
    if of_dict:
        return cast("dict[str, object]", item) if type(item) is dict else {}
    if is_a(item, Module):
        return vars(item)
    kinds: tuple[type, ...] = type(item).__mro__
    state = None if type in kinds or FunctionType in kinds else state_of(item)
    names = {name for kind in kinds if kind is not object for name in vars(kind)}
    if state is None or "__getattribute__" in names:
        return {}
    return {name: value for name, value in state.attributes.items() if name not in names}
