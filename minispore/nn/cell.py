"""`Cell`: a function with parameters, made of smaller cells.

A cell's attributes live where every Python object's do, in its `__dict__`. Its parameters and its
child cells are those of the attributes that are a `Parameter` or a `Cell`, in the order in which
they were assigned: nothing is registered twice, and nothing can get out of step.
"""

from collections.abc import Callable, Iterable, Iterator, ValuesView
from typing import ParamSpec, Protocol, Self, TypeVar, overload

from minispore._checks import check_one_of, check_type, described
from minispore.common.dtype import DType, float16, float32
from minispore.common.parameter import Parameter, ParameterTuple
from minispore.common.tensor import Tensor
from minispore.nn._hidden import warn_of_hidden
from minispore.nn._hooks import Watchable, call
from minispore.nn._moving import Movable

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class _Constructs(Protocol[P, R_co]):
    """A cell with a `construct` of its own: calling it is calling that."""

    def construct(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Compute the output."""
        ...


class _AnyCell(Protocol):
    """A cell of which no more is known. A method does not fit a member that can be assigned to."""

    construct: Callable[..., object]


def _undefined(cell: object, *_: object, **__: object) -> object:
    instead = " It has a 'forward', which must be called that." if hasattr(cell, "forward") else ""
    raise AttributeError(
        f"For '{type(cell).__name__}', the method 'construct' is not defined.{instead}"
    )


def _say_where(cell: "Cell", error: Exception) -> None:
    """Add to an error the innermost cell that it went through, unless one has said so before."""
    if not any(note.startswith(_WHERE) for note in getattr(error, "__notes__", ())):
        name = f" '{cell.param_prefix}'" if cell.param_prefix else ""
        error.add_note(f"{_WHERE}{name} of class {type(cell).__name__}.")


_WHERE = "This happened in the cell"


class Cell(Movable, Watchable):
    """The base of all networks, layers, losses and optimisers.

    A subclass calls `super().__init__()`, assigns its parts to attributes and defines
    `construct`, which runs when the cell is called. To a type checker, a call has the signature
    of the class's own `construct`; where only `Cell` is known, it takes anything and gives a
    Tensor.

    Source: MindSpore's `mindspore.nn.Cell`.

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

    Args:
        auto_prefix: Put the names of child cells' attributes before their parameters' names.
        flags: MindSpore's compiler flags, which have no counterpart here: only None.

    Raises:
        TypeError: `auto_prefix` is no bool, or `flags` no dict.
        ValueError: `flags` is neither None nor empty.
    """

    construct: Callable[..., object] = _undefined

    def __init__(self, auto_prefix: bool = True, flags: dict[str, object] | None = None) -> None:
        if isinstance(auto_prefix, Tensor):
            raise TypeError(
                f"For '{self.cls_name}', a Tensor is given where the cell is made; first make it, "
                f"cell = {self.cls_name}(…), and then call it: cell(tensor)."
            )
        check_type(auto_prefix, bool, "auto_prefix", "Cell")
        check_type(flags, dict, "flags", self.cls_name, none=True)
        if flags:
            raise ValueError(f"For '{self.cls_name}', 'flags' are not supported, but got {flags}.")
        self.training = False
        self.phase = "train"  # MindSpore's word for it, and its default
        self.requires_grad = False
        self._auto_prefix = auto_prefix
        self._param_prefix = ""
        # The names under which the members of ParameterTuple attributes were assigned.
        self._listed: dict[str, tuple[str, ...]] = {}
        self._plain = not hasattr(self, "bprop")

    @overload
    def __call__(self: _AnyCell, *args: object, **kwargs: object) -> Tensor: ...
    @overload
    def __call__(self: _Constructs[P, R_co], *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    def __call__(self, *args: object, **kwargs: object) -> object:
        """Run `construct`, with the hooks if there are any; an error says in which cell it was."""
        try:
            if self._plain:
                return self.construct(*args, **kwargs)
            self._check_init("being called")
            return call(self, args, kwargs)
        except (TypeError, ValueError, IndexError, RuntimeError) as error:
            _say_where(self, error)
            raise

    # Attributes.

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
            self._listed[name] = tuple(parameter.name for parameter in value)
        elif value is not None:
            old = self.__dict__.get(name)
            if isinstance(old, Parameter) and isinstance(value, Tensor):
                old.set_data(value)
                return
            if isinstance(old, Parameter | Cell):
                kind = "parameter" if isinstance(old, Parameter) else "cell"
                raise TypeError(
                    f"For '{type(self).__name__}', the attribute '{name}' is a {kind} and can only "
                    f"be replaced by another or None, but got {described(value)}."
                )
        object.__setattr__(self, name, value)

    def _check_init(self, when: str) -> None:
        if "_listed" not in self.__dict__:
            raise AttributeError(
                f"For '{type(self).__name__}', 'super().__init__()' must be called before {when}."
            )

    def insert_child_to_cell(self, child_name: str, child_cell: "Cell | None") -> None:
        """Add a child cell under a name; unlike assigning it, that renames no parameter.

        Raises:
            TypeError: An argument is of the wrong type.
            KeyError: The name is empty, contains a dot, or is that of another attribute.
        """
        check_type(child_name, str, "child_name", "insert_child_to_cell")
        check_type(child_cell, Cell, "child_cell", "insert_child_to_cell", none=True)
        old = self._insertable(child_name, "child_name", "insert_child_to_cell", dot=False)
        if old is not None and not isinstance(old, Cell):
            raise KeyError(
                f"For 'insert_child_to_cell', there is an attribute '{child_name}' already."
            )
        object.__setattr__(self, child_name, child_cell)

    def insert_param_to_cell(
        self, param_name: str, param: Parameter | None, check_name_contain_dot: bool = True
    ) -> None:
        """Add a parameter under a name, which becomes the parameter's if it has none yet.

        Raises:
            TypeError: An argument is of the wrong type.
            KeyError: The name is empty, contains a dot (unless `check_name_contain_dot` is False),
                or is that of another attribute.
        """
        check_type(param_name, str, "param_name", "insert_param_to_cell")
        check_type(param, Parameter, "param", "insert_param_to_cell", none=True)
        dot = not check_name_contain_dot
        old = self._insertable(param_name, "param_name", "insert_param_to_cell", dot=dot)
        if old is not None and not isinstance(old, Parameter):
            raise KeyError(
                f"For 'insert_param_to_cell', there is an attribute '{param_name}' already."
            )
        setattr(self, param_name, param)

    def _insertable(self, name: str, argument: str, owner: str, *, dot: bool) -> object:
        self._check_init(f"'{name}' is inserted")
        if not name or ("." in name and not dot):
            raise KeyError(
                f"For '{owner}', the argument '{argument}' must not be empty or contain '.', "
                f"but got '{name}'."
            )
        return getattr(self, name, None)

    # Parameters.

    def parameters_and_names(
        self, name_prefix: str = "", expand: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Each parameter once, with its path of attribute names, which can differ from its name.

        Args:
            name_prefix: What paths start with, if not empty.
            expand: Include those of child cells.
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
                yield from zip(self._listed[name], value, strict=True)

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """Each parameter once; without `expand`, only those of this cell itself."""
        return (parameter for _, parameter in self.parameters_and_names(expand=expand))

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The parameters with `requires_grad`.

        A warning names an attribute that is a plain list, tuple or dict of cells or parameters
        which are in no Cell, ParameterTuple or attribute: they are not found.
        """
        found = list(self.get_parameters(recurse))
        if recurse:
            warn_of_hidden(self.cells_and_names(), found)
        return [parameter for parameter in found if parameter.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The parameters without `requires_grad`."""
        return [
            parameter for parameter in self.get_parameters(recurse) if not parameter.requires_grad
        ]

    def parameters_dict(self, recurse: bool = True) -> dict[str, Parameter]:
        """The parameters by name."""
        return {parameter.name: parameter for parameter in self.get_parameters(recurse)}

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Parameter, Parameter]:
        """Each parameter mapped to itself: here they have their values from the start.

        Raises:
            ValueError: `auto_parallel_mode` is True.
        """
        if auto_parallel_mode:
            raise ValueError("For 'init_parameters_data', 'auto_parallel_mode' must be False.")
        return {parameter: parameter for parameter in self.get_parameters()}

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Rename parameters to `prefix` and their path from this cell.

        Assigning a cell to an attribute does this, with the attribute's name.

        Raises:
            TypeError: `prefix` is no str.
        """
        check_type(prefix, str, "prefix", "update_parameters_name")
        for path, parameter in tuple(self.parameters_and_names(expand=recurse)):
            parameter.name = prefix + path
        for path, cell in self.cells_and_names():
            cell._param_prefix = f"{prefix}{path}." if path else prefix

    @property
    def param_prefix(self) -> str:
        """What the names of this cell's parameters start with, without the final dot."""
        return self._param_prefix.removesuffix(".")

    # Child cells.

    def _children(self) -> Iterator[tuple[str, "Cell"]]:
        self._check_init("its cells are listed")
        return ((name, cell) for name, cell in self.__dict__.items() if isinstance(cell, Cell))

    def name_cells(self) -> dict[str, "Cell"]:
        """The child cells by attribute name, each once."""
        cells: dict[str, Cell] = {}
        seen: set[int] = set()
        for name, cell in self._children():
            if id(cell) not in seen:
                seen.add(id(cell))
                cells[name] = cell
        return cells

    def cells(self) -> ValuesView["Cell"]:
        """The child cells, each once."""
        return self.name_cells().values()

    def cells_and_names(
        self, cells: Iterable["Cell"] | None = None, name_prefix: str = ""
    ) -> Iterator[tuple[str, "Cell"]]:
        """This cell and all below it, parents first, each once, with their paths.

        Args:
            cells: Cells to leave out.
            name_prefix: The path of this cell.
        """
        seen = {id(cell) for cell in cells or ()}
        # A stack instead of recursion: a network may be deeper than Python's stack.
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
        """Call `fn` with every cell, children first, and return this one.

        Raises:
            TypeError: `fn` cannot be called.
        """
        if not callable(fn):
            raise TypeError(
                f"For 'apply', the argument 'fn' must be callable, but got {described(fn)}."
            )
        for cell in self.cells():
            cell.apply(fn)
        fn(self)
        return self

    # Modes.

    def set_train(self, mode: bool = True) -> Self:
        """Set `training` of this cell and all below: Dropout, for one, does nothing without.

        Raises:
            TypeError: `mode` is no bool.
        """
        check_type(mode, bool, "mode", "set_train")
        for _, cell in self.cells_and_names():
            cell.training = mode
            cell.phase = "train" if mode else "predict"
        return self

    def set_grad(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of this cell and all below, which has no effect here.

        Raises:
            TypeError: `requires_grad` is no bool.
        """
        check_type(requires_grad, bool, "requires_grad", "set_grad")
        for _, cell in self.cells_and_names():
            cell.requires_grad = requires_grad
        return self

    def to_float(self, dst_type: DType) -> Self:
        """Compute in `dst_type`, which can only be float32, as it always is.

        Raises:
            ValueError: `dst_type` is neither float16 nor float32.
            NotImplementedError: It is float16: mixed precision is not covered.
        """
        check_one_of(dst_type, (float16, float32), "dst_type", "to_float")
        if dst_type is float16:
            raise NotImplementedError("For 'to_float', mixed precision (float16) is not supported.")
        return self

    # Printing.

    @property
    def cls_name(self) -> str:
        """The name of the cell's class."""
        return type(self).__name__

    def extend_repr(self) -> str:
        """What to print between the parentheses; for subclasses to override."""
        return ""

    def __repr__(self) -> str:
        if "_listed" not in self.__dict__:
            return object.__repr__(self)
        extra = self.extend_repr()
        children = [f"({name}): {cell!r}".replace("\n", "\n  ") for name, cell in self._children()]
        if not children:
            return f"{type(self).__name__}({extra})"
        lines = [extra, *children] if extra else children
        return "\n  ".join([f"{type(self).__name__}(", *lines]) + "\n)"
