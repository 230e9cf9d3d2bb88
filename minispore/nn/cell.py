"""`Cell`: a function with parameters, composed of smaller cells.

A cell's parameters and child cells are those attributes in its `__dict__` that are a `Parameter` or
a `Cell`, in the order of assignment. There is no separate registry that could become inconsistent.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, ValuesView
from contextlib import contextmanager
from types import NoneType
from typing import (
    TYPE_CHECKING,
    ClassVar,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    overload,
    runtime_checkable,
)

from minispore.common.dtype import DType, float16, float32
from minispore.engine.dtypes import FLOAT, DTypeLike
from minispore.nn._hooks import HooksMixin, call
from minispore.ops import _device_transfer
from minispore.ops.parameter import Parameter, ParameterTuple
from minispore.ops.tensors import Tensor
from minispore.utils.checks import (
    caller,
    check_one_of,
    check_type,
    describe_value,
    is_mapping,
    is_sequence,
    type_error,
)
from minispore.utils.tables import Table
from minispore.utils.unsupported import missing_attribute
from minispore.utils.warn import warn_at_caller

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


@runtime_checkable
class Constructs(Protocol[P, R_co]):
    """A cell that defines `construct`, whose signature is that of a call."""

    def construct(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Compute the output."""
        ...


class _AnyCell(Protocol):
    """A cell of unknown class; a class that defines `construct` as a method does not match."""

    construct: Callable[..., object]


def _construct_not_implemented(cell: object, *_: object, **__: object) -> object:
    hint = " Rename its method 'forward' to 'construct'." if hasattr(cell, "forward") else ""
    raise AttributeError(
        f"For '{type(cell).__name__}', the method 'construct' is not defined.{hint}"
    )


def _annotate_error(cell: "Cell", error: Exception) -> None:
    """Add a note to an error that names the cell, unless an inner cell has added one."""
    if not any(note.startswith(_WHERE) for note in getattr(error, "__notes__", ())):
        name = f" '{cell.param_prefix}'" if cell.param_prefix else ""
        error.add_note(f"{_WHERE}{name} of class {type(cell).__name__}.")


_WHERE = "This happened in the cell"


class Cell(HooksMixin):
    """Base class of all networks, layers, loss functions and optimizers.

    A subclass calls `super().__init__()`, assigns parameters and cells to attributes, and defines
    `construct`, which runs when the cell is called. For a type checker, a call has the signature of
    the class's `construct`; a call of a plain `Cell` accepts any arguments and returns a Tensor.

    Args:
        auto_prefix: Whether to prefix the names of the parameters of child cells with the names of
            the attributes.
        flags: Flags to begin with; see `add_flags`.

    Raises:
        TypeError: `auto_prefix` is neither a bool nor a class, or `flags` not a dict.

    Examples:
        >>> import minispore as ms
        >>> from minispore import nn
        >>> class Affine(nn.Cell):
        ...     def __init__(self) -> None:
        ...         super().__init__()
        ...         self.scale = ms.Parameter(ms.Tensor(3.0))
        ...         self.dense = nn.Dense(2, 2)
        ...
        ...     def construct(self, x: ms.Tensor) -> ms.Tensor:
        ...         return self.scale * self.dense(x)
        >>> net = Affine()
        >>> [parameter.name for parameter in net.trainable_params()]
        ['scale', 'dense.weight', 'dense.bias']
        >>> net(ms.Tensor([[1.0, 2.0]])).shape
        (1, 2)

    Source: MindSpore's `mindspore.nn.Cell`.
    """

    construct: Callable[..., object] = _construct_not_implemented

    # For graph mode: attributes that a step replaces, and those whose tensors are operands of array
    # calls (None for all).
    _transient: ClassVar[tuple[str, ...]] = ()
    _captured: ClassVar[frozenset[str] | None] = None
    # For a resume, which compares the others: attributes that follow from others (as names of
    # parameters do), are described otherwise, or have no effect on a call.
    _not_compared: ClassVar[tuple[str, ...]] = (
        "_auto_prefix",
        "_param_prefix",
        "_names_in_parameter_tuples",
        "_flags",
        "_inputs",
        "_calls_construct_directly",
        "requires_grad",
    )

    def __init__(self, auto_prefix: bool = True, flags: dict[str, object] | None = None) -> None:
        if isinstance(auto_prefix, Tensor):
            raise TypeError(
                f"For '{self.cls_name}', the constructor got a Tensor; make the cell first, "
                f"cell = {self.cls_name}(…), and then call it: cell(tensor)."
            )
        # `super().__init__(Net)` for `super(Net, self).__init__()` is common in scripts.
        check_type(auto_prefix, (bool, type), "auto_prefix")
        check_type(flags, (dict, NoneType), "flags")
        self.training = False
        self.phase = "train"  # MindSpore's default
        self.requires_grad = False
        self._auto_prefix = bool(auto_prefix)
        self._param_prefix = ""
        # The names of the parameters in ParameterTuple attributes when they were assigned.
        self._names_in_parameter_tuples: dict[str, tuple[str, ...]] = {}
        self._flags: dict[str, object] = {}
        self._inputs: tuple[object, ...] | dict[str, object] | None = None
        self._calls_construct_directly = not hasattr(type(self), "bprop")
        self.add_flags(**flags or {})

    @overload
    def __call__(self: _AnyCell, *args: object, **kwargs: object) -> Tensor: ...
    @overload
    def __call__(self: Constructs[P, R_co], *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    def __call__(self, *args: object, **kwargs: object) -> object:
        """Run `construct` and the hooks; a note on an error names the innermost cell."""
        try:
            if self._calls_construct_directly:
                return self.construct(*args, **kwargs)
            self._check_init("being called")
            return call(self, args, kwargs)
        except (TypeError, ValueError, IndexError, RuntimeError) as error:
            _annotate_error(self, error)
            raise

    # Attributes.

    if not TYPE_CHECKING:  # type checkers take it for a definition of every attribute
        __getattr__ = missing_attribute

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, Parameter):
            self._check_init(f"the parameter '{name}' is assigned")
            if value.has_default_name:
                value.name = name
        elif isinstance(value, Cell):
            self._check_init(f"the cell '{name}' is assigned")
            if self._auto_prefix:
                value.update_parameters_name(f"{name}.")
        elif isinstance(value, ParameterTuple):
            self._check_init(f"the parameters '{name}' are assigned")
            self._names_in_parameter_tuples[name] = tuple(parameter.name for parameter in value)
        elif value is not None:
            old = self.__dict__.get(name)
            if isinstance(old, Parameter) and isinstance(value, Tensor):
                old.set_data(value)
                return
            if isinstance(old, Parameter | Cell):
                kind = "parameter" if isinstance(old, Parameter) else "cell"
                raise TypeError(
                    f"For '{type(self).__name__}', the attribute '{name}' is a {kind} and can only "
                    f"be replaced by another or None, but got {describe_value(value)}."
                )
        object.__setattr__(self, name, value)

    def _check_init(self, when: str) -> None:
        if "_names_in_parameter_tuples" not in self.__dict__:
            raise AttributeError(
                f"For '{type(self).__name__}', 'super().__init__()' must be called before {when}."
            )

    def insert_child_to_cell(self, child_name: str, child_cell: "Cell | None") -> None:
        """Add a child cell without renaming its parameters, unlike an assignment.

        Raises:
            TypeError: An argument is of the wrong type.
            KeyError: The name is empty, contains a dot, or is that of another attribute.
        """
        check_type(child_name, str, "child_name")
        check_type(child_cell, (Cell, NoneType), "child_cell")
        self._check_new_name(child_name, "child_name", Cell)
        object.__setattr__(self, child_name, child_cell)

    def insert_param_to_cell(
        self, param_name: str, param: Parameter | None, check_name_contain_dot: bool = True
    ) -> None:
        """Add a parameter; it takes the name `param_name` if it has no name.

        Raises:
            TypeError: An argument is of the wrong type.
            KeyError: The name is empty, contains a dot (unless `check_name_contain_dot` is False),
                or is that of another attribute.
        """
        check_type(param_name, str, "param_name")
        check_type(param, (Parameter, NoneType), "param")
        dot = not check_name_contain_dot
        self._check_new_name(param_name, "param_name", Parameter, dot=dot)
        setattr(self, param_name, param)

    def _check_new_name(self, name: str, argument: str, kind: type, *, dot: bool = False) -> None:
        """Raise KeyError for an invalid name, or that of an attribute of another kind."""
        self._check_init(f"'{name}' is inserted")
        if not name or ("." in name and not dot):
            raise KeyError(
                f"For '{caller()}', the argument '{argument}' must not be empty or contain '.', "
                f"but got '{name}'."
            )
        if not isinstance(getattr(self, name, None), kind | None):
            raise KeyError(f"For '{caller()}', there is an attribute '{name}' already.")

    # Parameters.

    def parameters_and_names(
        self, name_prefix: str = "", expand: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield each parameter once, with its path of attribute names, which may not be its name.

        Args:
            name_prefix: A prefix of all paths.
            expand: Whether to include the parameters of child cells.
        """
        seen: set[int] = set()
        cells = self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, self)]
        for prefix, cell in cells:
            for name, parameter in cell._own_parameters():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield (f"{prefix}.{name}" if prefix else name), parameter

    def _own_parameters(self) -> Iterator[tuple[str, Parameter]]:
        self._check_init("its parameters are listed")
        for name, value in self.__dict__.items():
            if isinstance(value, Parameter):
                yield name, value
            elif isinstance(value, ParameterTuple):
                yield from zip(self._names_in_parameter_tuples[name], value, strict=True)

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """Yield each parameter once; without `expand`, only this cell's own parameters."""
        return (parameter for _, parameter in self.parameters_and_names(expand=expand))

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """Return the parameters with `requires_grad`.

        A warning names each attribute that is a list, tuple or dict and holds trainable parameters
        that are not parameters of this cell.

        Args:
            recurse: Whether to include the parameters of child cells.
        """
        parameters = list(self.get_parameters(recurse))
        if recurse:
            _warn_of_unregistered(self.cells_and_names(), parameters)
        return [parameter for parameter in parameters if parameter.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """Return the parameters without `requires_grad`."""
        return [
            parameter for parameter in self.get_parameters(recurse) if not parameter.requires_grad
        ]

    def parameters_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter]:
        """Return the parameters by name."""
        return OrderedDict((p.name, p) for p in self.get_parameters(recurse))

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Parameter, Parameter]:
        """Return each parameter mapped to itself, since all parameters are initialized already.

        Raises:
            ValueError: `auto_parallel_mode` is True.
        """
        if auto_parallel_mode:
            raise ValueError("For 'init_parameters_data', 'auto_parallel_mode' must be False.")
        return {parameter: parameter for parameter in self.get_parameters()}

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Rename each parameter to `prefix` followed by its path from this cell.

        Assigning a cell to an attribute calls this with the attribute's name and a dot.

        Raises:
            TypeError: `prefix` is not a str.
        """
        check_type(prefix, str, "prefix")
        for path, parameter in tuple(self.parameters_and_names(expand=recurse)):
            parameter.name = prefix + path
        for path, cell in self.cells_and_names():
            cell._param_prefix = f"{prefix}{path}." if path else prefix

    @property
    def param_prefix(self) -> str:
        """The prefix of the names of this cell's parameters, without the final dot."""
        return self._param_prefix.removesuffix(".")

    # Child cells.

    def _children(self) -> Iterator[tuple[str, "Cell"]]:
        self._check_init("its cells are listed")
        return ((name, cell) for name, cell in self.__dict__.items() if isinstance(cell, Cell))

    def name_cells(self) -> OrderedDict[str, "Cell"]:
        """Return the child cells by attribute name, each once."""
        cells: OrderedDict[str, Cell] = OrderedDict()
        seen: set[int] = set()
        for name, cell in self._children():
            if id(cell) not in seen:
                seen.add(id(cell))
                cells[name] = cell
        return cells

    def cells(self) -> ValuesView["Cell"]:
        """Return the child cells, each once."""
        return self.name_cells().values()

    def cells_and_names(
        self, cells: Iterable["Cell"] | None = None, name_prefix: str = ""
    ) -> Iterator[tuple[str, "Cell"]]:
        """Yield this cell and all its descendants in depth-first order, each once, with paths.

        Args:
            cells: Cells to omit.
            name_prefix: The path of this cell.
        """
        seen = {id(cell) for cell in cells or ()}
        # A stack instead of recursion, since a network may be deeper than Python's call stack.
        todo: list[tuple[str, Cell]] = [(name_prefix, self)]
        while todo:
            path, cell = todo.pop()
            if id(cell) in seen:
                continue
            seen.add(id(cell))
            yield path, cell
            children = [(f"{path}.{name}" if path else name, c) for name, c in cell._children()]
            todo.extend(reversed(children))

    def apply(self, fn: Callable[["Cell"], object]) -> Self:
        """Call `fn` with each descendant and then with this cell, which is returned.

        Raises:
            TypeError: `fn` is not callable.
        """
        if not callable(fn):
            raise type_error(fn, "fn", "be callable")
        for cell in self.cells():
            cell.apply(fn)
        fn(self)
        return self

    # Modes.

    def set_train(self, mode: bool = True) -> Self:
        """Set training or evaluation mode for this cell and all its descendants.

        Raises:
            TypeError: `mode` is not a bool.
        """
        check_type(mode, bool, "mode")
        for _, cell in self.cells_and_names():
            cell.training = mode
            cell.phase = "train" if mode else "predict"
        return self

    def set_grad(self, requires_grad: bool = True) -> Self:
        """Set the attribute `requires_grad` of this cell and all its descendants; it has no effect.

        Raises:
            TypeError: `requires_grad` is not a bool.
        """
        check_type(requires_grad, bool, "requires_grad")
        for _, cell in self.cells_and_names():
            cell.requires_grad = requires_grad
        return self

    def add_flags(self, **flags: object) -> Self:
        """Set attributes of this cell, which `get_flags` lists. They have no effect of their own.

        Args:
            **flags: The values by the names of the attributes.

        Examples:
            >>> from minispore import nn
            >>> nn.ReLU().add_flags(fp16=True).get_flags()
            {'fp16': True}
        """
        self._check_init("flags are added")
        for name, value in flags.items():
            setattr(self, name, value)
        self._flags.update(flags)
        return self

    def add_flags_recursive(self, **flags: object) -> Self:
        """Set attributes of this cell and all its descendants, as `add_flags` does."""
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict[str, object]:
        """Return the flags of this cell."""
        return self._flags

    # A graph that is compiled before the first call, which minispore does not need.

    def set_inputs(self, *inputs: object, **kwargs: object) -> None:
        """Declare the inputs of later calls; it only sets what `get_inputs` returns.

        Args:
            *inputs: A tensor of the type and shape of each input.
            **kwargs: The same by name, in place of `inputs`.

        Raises:
            ValueError: Both are given.
        """
        if inputs and kwargs:
            raise ValueError(
                "For 'set_inputs', give either 'inputs' or 'kwargs', but got "
                f"{len(inputs)} and {len(kwargs)}."
            )
        self._inputs = kwargs or inputs

    def get_inputs(self) -> tuple[object, ...] | dict[str, object] | None:
        """Return the inputs that were given to `set_inputs`; None if it was not called."""
        return self._inputs

    def compile(self, *args: object, **kwargs: object) -> None:
        """Do nothing: a cell runs without being compiled."""

    def to_float(self, dst_type: DType) -> Self:
        """Set the float type in which this cell and all its descendants compute.

        Inputs and parameters are cast to it in each call; the parameters themselves keep their
        type, and so do their gradients. Batch normalization computes in float32 in any case, and
        returns the type of its input.

        Raises:
            ValueError: `dst_type` is neither float16 nor float32.

        Examples:
            >>> from minispore import Tensor, float16, nn
            >>> net = nn.Dense(2, 1).to_float(float16)
            >>> net(Tensor([[1.0, 2.0]])).dtype, net.weight.dtype
            (minispore.float16, minispore.float32)
        """
        check_one_of(dst_type, (float16, float32), "dst_type")
        for _, cell in self.cells_and_names():
            cell._float_type = dst_type
            cell._calls_construct_directly = False
        return self

    @overload
    def to(
        self,
        device: str | None = None,
        dtype: DTypeLike | None = None,
        non_blocking: bool = False,
    ) -> Self: ...
    @overload
    def to(self, dtype: DTypeLike, non_blocking: bool = False) -> Self: ...
    @overload
    def to(self, other: Tensor, non_blocking: bool = False) -> Self: ...
    def to(self, *args: object, **kwargs: object) -> Self:
        """Move the parameters of this cell and its descendants to another device or dtype.

        The Parameter objects stay the same. An optimizer allocates its state on the device of the
        parameters, so move the network before you make the optimizer.

        Args:
            *args: `(device, dtype)`, `(dtype)` or `(other)`, as for `Tensor.to`; the dtype of
                integer parameters is kept.
            **kwargs: The same by name.

        Returns:
            This cell.

        Raises:
            TypeError: The arguments have none of these forms, or the dtype is not a float dtype.
            ValueError: There is no device of that name.
            RuntimeError: The device is a GPU, and there is no GPU or no CuPy.

        Examples:
            >>> from minispore import float16, nn
            >>> nn.Dense(2, 1).to("CPU", float16).weight.dtype
            minispore.float16
        """
        target = _device_transfer.parse_to_arguments(args, kwargs)
        if target.dtype is not None and target.dtype.category != FLOAT:
            raise TypeError(
                f"For 'to', the type of a cell must be one of floats, but got {target.dtype!r}."
            )
        for parameter in self.get_parameters():
            is_float = parameter.dtype.category == FLOAT
            options = target if is_float else target._replace(dtype=None)
            parameter._data = _device_transfer.to(parameter.data, options)._data
        return self

    # Printing.

    @property
    def cls_name(self) -> str:
        """The name of the cell's class."""
        return type(self).__name__

    def extend_repr(self) -> str:
        """Return the text between the parentheses of `repr`; subclasses override it."""
        return ""

    def __repr__(self) -> str:
        if "_names_in_parameter_tuples" not in self.__dict__:
            return object.__repr__(self)
        extra = self.extend_repr()
        children = [f"({name}): {cell!r}".replace("\n", "\n  ") for name, cell in self._children()]
        if not children:
            return f"{type(self).__name__}({extra})"
        lines = [extra, *children] if extra else children
        return "\n  ".join([f"{type(self).__name__}(", *lines]) + "\n)"

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()

    def _table(self) -> Table:
        """Return a table of the cells, with all parameters of each."""
        rows = [
            (name, type(cell).__name__, cell.extend_repr(), _count(cell.get_parameters()))
            for name, cell in self.cells_and_names()
        ]
        trained = _count(p for p in self.get_parameters() if p.requires_grad)
        title = f"{type(self).__name__}: {rows[0][3]:,} parameters, {trained:,} of them trained"
        return Table(title, ["name", "layer", "settings", "parameters"], rows)


def _count(parameters: Iterable[Parameter]) -> int:
    return sum(parameter.size for parameter in parameters)


def _warn_of_unregistered(
    cells: Iterable[tuple[str, Cell]], parameters: Iterable[Parameter]
) -> None:
    """Warn of each attribute that holds trainable parameters in a plain list, tuple or dict.

    Args:
        cells: The cells of a network with their paths.
        parameters: The parameters of the network.
    """
    known = {id(parameter) for parameter in parameters}
    for path, cell in cells:
        for name, value in vars(cell).items():
            if not _items_of(value):
                continue
            hidden = [p for p in _parameters_in(value) if p.requires_grad and id(p) not in known]
            if hidden:
                warn_at_caller(
                    f"The attribute '{f'{path}.{name}' if path else name}' of the cell is a "
                    f"{type(value).__name__}, in which parameters are not found, such as "
                    f"'{hidden[0].name}'. Cells belong in a CellList or SequentialCell, parameters "
                    "in a ParameterTuple, or each in an attribute."
                )


@contextmanager
def evaluation_mode(cell: Cell, *, stays: bool = False) -> Generator[None, None, None]:
    """Set evaluation mode for a `with` block, then the mode that each cell had before.

    Args:
        cell: The cell, whose descendants are set too.
        stays: Whether evaluation mode stays after the block.
    """
    modes = [(member, member.training, member.phase) for _, member in cell.cells_and_names()]
    cell.set_train(mode=False)
    try:
        yield
    finally:
        for member, training, phase in () if stays else modes:
            member.training, member.phase = training, phase


def _parameters_in(value: object) -> Iterator[Parameter]:
    """Yield the parameters in nested lists, tuples and dicts, and those of the cells in them."""
    seen: set[int] = set()
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, Parameter):
            yield item
        elif isinstance(item, Cell):
            yield from item.get_parameters()
        elif id(item) not in seen:
            seen.add(id(item))
            todo.extend(_items_of(item))


def _items_of(value: object) -> Collection[object]:
    if is_mapping(value):
        return value.values()
    return value if is_sequence(value) else ()
