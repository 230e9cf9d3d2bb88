"""What a script for MindSpore uses that minispore does not have, refuses, or does otherwise.

The script is parsed and not run. Its imports, assignments and classes say which names are those of
MindSpore, and of which class some values are. Each such name is looked up in minispore itself, each
call is bound to the signature there: what they raise is the finding.
"""

import ast
import builtins
import inspect
import re
import tomllib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pkgutil import get_data, resolve_name
from types import ModuleType, UnionType
from typing import Literal, NamedTuple, Self, Union, cast, get_args, get_origin

from minispore._cli.differences import ANY, Pattern, rows
from minispore.common.context import check_option, set_context, set_device
from minispore.common.parallel import check_parallel_option, set_auto_parallel_context
from minispore.nn import Cell, LossBase
from minispore.ops.tensors import Tensor
from minispore.train import Callback, Metric
from minispore.utils.unsupported import (
    Unsupported,
    check_keywords,
    find_advice,
    is_supported,
    missing_attribute,
)

THEIRS, OURS = "mindspore", "minispore"
Kind = Literal["missing", "refused", "differs"]
UNKNOWN = object()
_SCRIPT = "__script__"  # the module of the classes that the script defines
# Classes of which other files of a program may define subclasses with further attributes.
_ABSTRACT = (Cell, LossBase, Callback, Metric)
# An input of `construct` may be one of these instead of a Tensor.
_CONTAINERS = (tuple, list, dict, str)


class Edit(NamedTuple):
    """Columns of a line, in bytes, and what replaces them."""

    line: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, order=True)
class Finding:
    """A place of the script. Lines and columns are counted from 1."""

    line: int
    column: int
    kind: Kind
    name: str
    message: str
    replacement: str | None


@dataclass(frozen=True)
class Known:
    """A module, class or function of minispore, a class of the script, or a method of an object."""

    path: str
    value: object = field(default=None, compare=False)
    owner: "Made | None" = field(default=None, compare=False)


@dataclass(frozen=True)
class Made:
    """An object of a class, and the arguments that are known, where it was constructed."""

    cls: type
    arguments: Mapping[str, object] = field(default_factory=dict[str, object], compare=False)
    guessed: bool = field(default=False, compare=False)  # an input of `construct`


Value = Known | Made | None
VARIES = Known("")  # the value of a name that loops and other statements change
Scope = dict[str, Value]


class Analysis(ast.NodeVisitor):
    """The findings in a script, the edits that make it import minispore, and its other imports.

    Args:
        source: The text of the script.

    Raises:
        SyntaxError: It is no Python.
    """

    def __init__(self, source: str) -> None:
        self.edits: set[Edit] = set()
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self._found: set[Finding] = set()
        # A form feed is no end of a line.
        self._lines = [line.encode() for line in re.split(r"\r\n|\r|\n", source)]
        self._stars: list[Known] = []
        self._attributes: dict[tuple[type, str], Value] = {}
        self._exact: dict[ast.Attribute, str] = {}
        tree = ast.parse(source)
        nodes = list(ast.walk(tree))
        # Attributes that the script sets, if only by their names in strings.
        self._set = {n.attr for n in nodes if isinstance(n, ast.Attribute) and _is_stored(n)}
        self._set |= {str(node.value) for node in nodes if isinstance(node, ast.Constant)}
        self._sets_any = re.search(r"setattr|insert_child|__dict__", source) is not None
        self._guarded = {
            node
            for block in nodes
            if isinstance(block, ast.Try) and any(map(_catches_import_errors, block.handlers))
            for each in block.body
            for node in ast.walk(each)
        }
        module = _scope(tree.body)
        self._scopes: list[Scope] = []
        self._class: type | None = None  # that of the method
        self._later = deque([partial(self._visit_body, tree.body, [module], None)])
        while self._later:
            self._later.popleft()()
        self._replace(module)

    @property
    def findings(self) -> list[Finding]:
        """The findings, in the order of the script."""
        return sorted(self._found)

    # Where names get their values.

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            root, _, rest = alias.name.partition(".")
            value: Value = None
            if root in {THEIRS, OURS}:
                self._rename(alias)
                module = self._module(f"{OURS}.{rest}".rstrip("."), alias)
                value = module if alias.asname else Known(OURS, import_module(OURS))
            elif node not in self.imports:
                self.imports.append(node)
            self._bind(alias.asname or root, value)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        root, _, rest = (node.module or "").partition(".")
        module: Known | None = None
        if node.level == 0 and root in {THEIRS, OURS}:
            self._rename(node)
            module = self._module(f"{OURS}.{rest}".rstrip("."), node)
        else:
            self.imports.append(node)
        for alias in node.names:
            if alias.name != "*":
                value = module and self._member(module, alias.name, alias)
                self._bind(alias.asname or alias.name, value)
            elif module:
                self._stars.append(module)

    def visit_Assign(self, node: ast.Assign) -> None:
        value: Value = self.visit(node.value)
        for target in node.targets:
            owner: Value = self.visit(target.value) if isinstance(target, ast.Attribute) else None
            if isinstance(target, ast.Name):
                self._bind(target.id, value)
            elif isinstance(target, ast.Attribute) and isinstance(owner, Made):
                key = owner.cls, target.attr
                self._attributes[key] = _joined(self._attributes.get(key, value), value)
            else:
                self.visit(target)

    def _bind(self, name: str, value: Value) -> None:
        if self._scopes[-1].get(name) != VARIES:
            self._scopes[-1][name] = value

    # Functions and classes.

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._bind(node.name, None)
        self._function(node, self._class, self._scopes)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for each in [*node.decorator_list, *node.keywords]:
            self.visit(each)
        cls = self._new_class(node, [self.visit(base) for base in node.bases])
        self._bind(node.name, Known(node.name, cls) if cls else None)
        scopes = self._scopes
        self._scopes = [*scopes, {}]
        # What other methods use is set in the first.
        for each in sorted(node.body, key=lambda each: getattr(each, "name", "") != "__init__"):
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                self._function(each, cls, scopes, is_method=not each.decorator_list)
            else:
                self.visit(each)
        self._scopes = scopes

    def _new_class(self, node: ast.ClassDef, bases: list[Value]) -> type | None:
        """Return an empty class with these bases and names, if they are all known."""
        known = [base.value for base in bases if isinstance(base, Known)]
        classes = tuple(each for each in known if isinstance(each, type))
        if not classes or len(classes) != len(bases):
            return None
        names: dict[str, object] = {"__module__": _SCRIPT}
        for each in node.body:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                names[each.name] = _of_script
            elif isinstance(each, ast.Assign | ast.AnnAssign):
                targets = [node for node in ast.walk(each) if isinstance(node, ast.Name)]
                names |= {n.id: None for n in targets if _is_stored(n) and n.id[:2] != "__"}
        try:
            return type(node.name, classes, names)
        except TypeError as error:  # a callback with a method that is no event
            self._report(node, "refused", node.name, str(error))
            return None

    def _function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        cls: type | None,
        scopes: list[Scope],
        *,
        is_method: bool = False,
    ) -> None:
        """Visit the signature now, and the body when all names around it are known."""
        for each in [node.args, *node.decorator_list, *([node.returns] if node.returns else [])]:
            self.visit(each)
        parameters = _parameters(node.args)
        scope = _scope(node.body) | {each.arg: None for each in parameters}
        if cls and is_method and parameters:
            scope[parameters[0].arg] = Made(cls)
            if node.name == "construct" and issubclass(cls, Cell):
                inputs = node.args.args[1 : len(node.args.args) - len(node.args.defaults)]
                scope |= {each.arg: Made(Tensor, guessed=True) for each in inputs}
        self._later.append(partial(self._visit_body, node.body, [*scopes, scope], cls))

    def _visit_body(self, body: Iterable[ast.AST], scopes: list[Scope], cls: type | None) -> None:
        self._scopes, self._class = scopes, cls
        for node in body:
            self.visit(node)

    # Expressions.

    def visit_Name(self, node: ast.Name) -> Value:
        scope = next((scope for scope in reversed(self._scopes) if node.id in scope), None)
        if scope is not None:
            value = scope[node.id]
            if node.id == THEIRS and value == Known(OURS):
                self._rename(node)
            self._check_rows(node, value)
            return value
        modules = [] if hasattr(builtins, node.id) else self._stars
        module = next((each for each in modules if hasattr(each.value, node.id)), None)
        return self._member(module, node.id, node) if module else None

    def visit_Attribute(self, node: ast.Attribute) -> Value:
        owner: Value = self.visit(node.value)
        value: Value = None
        if isinstance(owner, Known) and isinstance(owner.value, ModuleType | type | Unsupported):
            value = self._member(owner, node.attr, node)
        elif isinstance(owner, Made):
            value = self._attribute(owner, node)
        self._check_rows(node, value)
        return value

    def visit_BinOp(self, node: ast.BinOp) -> Value:
        values: list[Value] = [self.visit(node.left), self.visit(node.right)]
        is_tensor = any(isinstance(each, Made) and issubclass(each.cls, Tensor) for each in values)
        return Made(Tensor, guessed=True) if is_tensor else None

    def visit_Subscript(self, node: ast.Subscript) -> Value:
        value: Value = self.visit(node.value)
        self.visit(node.slice)
        return value if value == Made(Tensor) else None

    def visit_Call(self, node: ast.Call) -> Value:
        function: Value = self.visit(node.func)
        values: dict[ast.expr, Value] = {each: self.visit(each) for each in node.args}
        values |= {each.value: self.visit(each.value) for each in node.keywords}
        if isinstance(node.func, ast.Name) and node.func.id == "super" and self._class:
            return Made(self._class.__mro__[1])
        if isinstance(function, Made):
            name = "construct" if Cell in function.cls.__mro__ else "__call__"
            function = Known(name, getattr(function.cls, name, None), function)
        called = function.value if isinstance(function, Known) else None
        if isinstance(called, type) and called.__module__ == _SCRIPT:
            return Made(called)
        if isinstance(function, Known) and callable(called) and called is not _of_script:
            with suppress(TypeError, ValueError):  # a function without a signature
                literals = {each: _literal(each, value) for each, value in values.items()}
                return self._call(node, function, inspect.signature(called), literals)
        return None

    def _call(
        self,
        node: ast.Call,
        function: Known,
        signature: inspect.Signature,
        literals: Mapping[ast.expr, object],
    ) -> Value:
        """Bind the arguments to the signature, and return what the function returns."""
        called = cast("Callable[..., object]", function.value)
        parameters = signature.parameters
        is_open = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        keywords = {each.arg: each for each in node.keywords if each.arg}
        unexpected = {} if is_open else {k: v for k, v in keywords.items() if k not in parameters}
        for name, keyword in unexpected.items():
            text = f"{called.__qualname__}() has no argument '{name}'"
            try:
                check_keywords(called, parameters, [name])
            except TypeError as error:
                text = str(error)
            self._report(keyword, "refused", f"{ast.unparse(node.func)}({name}=)", text)
        args = [*([UNKNOWN] if function.owner else []), *(literals[each] for each in node.args)]
        kwargs = {k: literals[v.value] for k, v in keywords.items() if k not in unexpected}
        is_starred = any(isinstance(each, ast.Starred) for each in node.args)
        is_partial = is_starred or unexpected or len(keywords) < len(node.keywords)
        values: Mapping[str, object] = {}
        try:
            bound = (
                signature.bind_partial(**kwargs) if is_partial else signature.bind(*args, **kwargs)
            )
            values = self._check_rows(node.func, function, bound)
        except TypeError as error:
            self._report(node.func, "refused", ast.unparse(node.func), str(error))
        if isinstance(called, type):
            return Made(called, values)
        return _result(called, signature.return_annotation, function.owner)

    def _check_rows(
        self, node: ast.expr, value: Value, bound: inspect.BoundArguments | None = None
    ) -> Mapping[str, object]:
        """Report the rows about a name or a call, and return the arguments with their defaults."""
        given: dict[str, object] = {}
        values: dict[str, object] = {}
        if bound:
            given |= bound.arguments | bound.arguments.get("kwargs", {})
            given.pop("kwargs", None)
            bound.apply_defaults()
            values |= bound.arguments | given
        named = value.value if isinstance(value, Known) else None
        for name, option in given.items() if named in _OPTION_CHECKS else ():
            try:
                if option is not UNKNOWN:
                    _OPTION_CHECKS[named](name, option)
            except (TypeError, ValueError) as error:
                self._report(node, "refused", f"{ast.unparse(node)}({name}=)", str(error))
        for row in rows():
            target, expected = row.pattern
            if (expected is None) == (bound is None) and _extends(named, target):
                pairs = (expected or {}).items()
                if all(k in given if v is ANY else _matches(values.get(k), v) for k, v in pairs):
                    self._report(node, row.kind, row.topic, row.text)
        return values

    # Names of minispore.

    def _module(self, path: str, node: ast.ImportFrom | ast.alias) -> Known | None:
        try:
            module = import_module(path)
        except ImportError as error:
            if node not in self._guarded:
                self._report(node, "missing", path, str(error))
            return None
        if _is_left_out(module) and isinstance(node, ast.alias):  # else its names are reported
            return self._missing(node, path, module)
        return Known(path, module)

    def _member(self, owner: Known, name: str, node: ast.expr | ast.alias) -> Value:
        """Return a member of a module or a class."""
        path = f"{owner.path}.{name}"
        try:
            value: object = getattr(owner.value, name)
        except AttributeError as error:
            is_of_script = getattr(owner.value, "__module__", "") == _SCRIPT
            if node not in self._guarded and not is_of_script and not name.startswith("__"):
                self._report(node, "missing", path, str(error))
            return None
        # The attributes of a class are left out with it.
        if _is_left_out(value) and not re.search(r"\.[A-Z]\w*\.", path):
            return self._missing(node, path, value)
        return Known(path, value)

    def _missing(self, node: ast.expr | ast.alias, path: str, value: object) -> Known:
        """Report a name with advice; return the module that is to be used instead, or the value."""
        use = self._report(node, "missing", path, find_advice(path) or "")
        instead: object = resolve_name(f"{OURS}.{use}") if use else None
        if isinstance(node, ast.Attribute) and use and is_replaced_exactly(path):
            self._exact[node] = use
        return (
            Known(f"{OURS}.{use}", instead)
            if isinstance(instead, ModuleType)
            else Known(path, value)
        )

    def _attribute(self, owner: Made, node: ast.Attribute) -> Value:
        """Return the value of an attribute of an object, if it is known."""
        cls, name = owner.cls, node.attr
        for each in cls.__mro__:
            if (each, name) in self._attributes:
                return self._attributes[each, name]
        if hasattr(cls, name):
            value = getattr(cls, name)
            return Known(f"{cls.__name__}.{name}", value, owner) if callable(value) else None
        home = next(each for each in cls.__mro__ if each.__module__ != _SCRIPT)
        text = _missing_text(home, name)
        may_exist = (
            name in self._set
            or name.startswith("_")
            or name in _names_in_source(home)
            or (owner.guessed and any(hasattr(each, name) for each in _CONTAINERS))
            or (
                home is not cls
                and (self._sets_any or (home in _ABSTRACT and text.endswith(repr(name))))
            )
        )
        if not may_exist:
            self._report(node, "missing", f"{home.__name__}.{name}", text)
        return None

    # Reports.

    def _report(self, node: ast.AST, kind: Kind, name: str, message: str) -> str | None:
        """Add a finding, and return the name to use instead, if the message has one."""
        line, start = self._position(node)
        column = len(self._lines[line - 1][:start].decode()) + 1
        text = re.sub(r"^For '\w*', ", "", " ".join(message.split()))
        use = re.search(r"\b[Uu]se ([A-Za-z_][\w.]*\w)", text)
        replacement = use[1] if use and is_supported(use[1]) else None
        self._found.add(Finding(line, column, kind, name, text, replacement))
        return replacement

    def _position(self, node: ast.AST) -> tuple[int, int]:
        """Return the line and the column, in bytes, of a name."""
        if isinstance(node, ast.Attribute):
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            return node.end_lineno, node.end_col_offset - len(node.attr.encode())
        assert isinstance(node, ast.stmt | ast.expr | ast.alias | ast.keyword)
        if isinstance(node, ast.ImportFrom):  # the module, which may be on a further line
            start = self._lines[node.lineno - 1].find((node.module or "").encode(), node.col_offset)
            return node.lineno, max(node.col_offset, start)
        return node.lineno, node.col_offset

    def _rename(self, node: ast.AST) -> None:
        """Add the edit of "mindspore" at a place."""
        line, start = self._position(node)
        end = start + len(THEIRS)
        if self._lines[line - 1][start:end] == THEIRS.encode():
            self.edits.add(Edit(line, start, end, OURS))

    def _replace(self, scope: Scope) -> None:
        """Add the edits of the names whose replacement takes the same arguments."""
        for node, use in self._exact.items():
            package, _, name = use.rpartition(".")
            known = Known(f"{OURS}.{package}")
            alias = next((each for each, value in scope.items() if value == known), None)
            if alias and node.lineno == node.end_lineno and node.end_col_offset:
                edit = Edit(node.lineno, node.col_offset, node.end_col_offset, f"{alias}.{name}")
                self.edits.add(edit)


def _is_left_out(value: object) -> bool:
    """Return whether a module or another name is one that stands for one of MindSpore."""
    spec = value.__spec__ if isinstance(value, ModuleType) else None
    return isinstance(value, Unsupported) or (spec is not None and spec.origin is None)


def _is_stored(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _catches_import_errors(handler: ast.ExceptHandler) -> bool:
    caught = ast.unparse(handler.type) if handler.type else "Exception"
    return re.search(r"Import|ModuleNotFound|\bException", caught) is not None


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    others = [arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
    return [*arguments.posonlyargs, *arguments.args, *filter(None, others)]


def _scope(body: Iterable[ast.AST]) -> Scope:
    """Return a scope in which the names vary that have a value from a loop, a `with` or others."""
    nodes = [*_own_nodes(body)]
    known = {
        id(target) for each in nodes if isinstance(each, ast.Assign) for target in each.targets
    }
    known |= {id(node.target) for node in nodes if isinstance(node, ast.AugAssign)}
    names = [node for node in nodes if isinstance(node, ast.Name) and _is_stored(node)]
    inner = [arg for node in nodes if isinstance(node, ast.Lambda) for arg in ast.walk(node.args)]
    scope: Scope = {node.id: VARIES for node in names if id(node) not in known}
    return scope | {node.arg: VARIES for node in inner if isinstance(node, ast.arg)}


def _own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, without those of functions and classes in it."""
    for node in nodes:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _own_nodes(ast.iter_child_nodes(node))


def _joined(one: Value, other: Value) -> Value:
    """Return what is known of a name that has one of two values."""
    if isinstance(one, Made) and isinstance(other, Made):
        if issubclass(one.cls, other.cls):
            return other
        return one if issubclass(other.cls, one.cls) else None
    return one if one == other else None


def _literal(node: ast.expr, value: Value) -> object:
    """Return the value of an argument, if it can be known."""
    if isinstance(value, Known):
        return value.value
    try:
        return value or ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNKNOWN


def _check_context(name: str, value: object) -> None:
    check_option(name, value)
    if (name, value) == ("device_target", "GPU") and find_spec("cupy") is None:
        raise ValueError("the device_target 'GPU' needs CuPy, which is not installed")


_OPTION_CHECKS: dict[object, Callable[[str, object], None]] = {
    set_context: _check_context,
    set_device: _check_context,
    set_auto_parallel_context: check_parallel_option,
}


def _of_script() -> None:
    """Stand for a method of the script's."""


def _extends(value: object, target: object) -> bool:
    if isinstance(value, type) and isinstance(target, type):
        return issubclass(value, target)
    return value is target


def _matches(value: object, expected: object) -> bool:
    """Return whether an argument is what a row is about."""
    if isinstance(expected, Pattern):
        pairs = (expected.arguments or {}).items()
        return (
            isinstance(value, Made)
            and _extends(value.cls, expected.target)
            and all(_matches(value.arguments.get(name), each) for name, each in pairs)
        )
    return type(value) is type(expected) and value == expected


def _result(function: Callable[..., object], annotation: object, owner: Made | None) -> Value:
    """Return an object of the class that a function returns, if it says so."""
    if isinstance(annotation, str):
        known: dict[str, object] = {"Tensor": Tensor, "Self": Self}
        known |= vars(inspect.getmodule(function))
        annotation = known.get(annotation.partition("[")[0])
    if annotation is Self:
        return owner
    is_union = get_origin(annotation) in {Union, UnionType}
    members: tuple[object, ...] = get_args(annotation) if is_union else (annotation,)
    classes: list[object] = [get_origin(each) or each for each in members]
    cls = classes[0]
    if isinstance(cls, type) and cls.__module__.startswith(OURS):
        return Made(cls) if classes.count(cls) == len(classes) else None
    return None


def _missing_text(cls: type[object], name: str) -> str:
    """Return the error of an object of a class that has no such attribute."""
    try:
        missing_attribute(object.__new__(cls), name)
    except (AttributeError, TypeError) as error:
        if isinstance(error, AttributeError):
            return str(error)
    return f"'{cls.__name__}' object has no attribute '{name}'"  # of an abstract class


@cache
def _names_in_source(cls: type) -> frozenset[str]:
    """Return the names that the methods of a class and of its bases give to their objects."""
    ours = [each for each in cls.__mro__ if each.__module__.startswith(OURS)]
    texts = (inspect.getsource(each) for each in ours)
    return frozenset(re.findall(r"(?:\bself\.|^    )(\w+)", "\n".join(texts), re.MULTILINE))


def is_replaced_exactly(path: str) -> bool:
    """Return whether the name in the advice does the same with the same arguments.

    >>> is_replaced_exactly("minispore.numpy.sin"), is_replaced_exactly("minispore.numpy.max")
    (True, False)
    """
    module, _, name = path.rpartition(".")
    tables = tomllib.loads((get_data("minispore.utils", "unsupported.toml") or b"").decode())
    return name in tables["exact"].get(module, "").split()
