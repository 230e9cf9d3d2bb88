"""Hooks of cells, and calls of cells with hooks, with a float type, or with their own `bprop`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from minispore import nn, ops
from minispore.engine.array import A
from minispore.engine.dispatch import apply1
from minispore.engine.dtypes import FLOAT, DType
from minispore.engine.graph import is_recording, record
from minispore.engine.rules import Unary
from minispore.ops._namespace import zeros_like
from minispore.ops.parameter import Parameter
from minispore.ops.tensors import Tensor, checked_gradient
from minispore.utils.checks import (
    all_are,
    as_tuple,
    describe_value,
    is_sequence,
    is_tuple,
    map_items,
)
from minispore.utils.warn import warn_at_caller

Hook: TypeAlias = Callable[..., object]
Args: TypeAlias = tuple[object, ...]
Kwargs: TypeAlias = dict[str, object]
Kind: TypeAlias = Literal["forward_pre", "forward", "backward_pre", "backward"]
# The types of outputs in which no tensor can be overlooked.
_WITHOUT_TENSORS = (
    *(type(None), int, float, str, bytes, np.ndarray, np.generic),
    *(list, tuple, Mapping),
)


class RegisteredHook(NamedTuple):
    """A registered hook with its options."""

    hook: Hook
    with_kwargs: bool
    always_call: bool


class HookHandle:
    """A handle that removes its hook.

    Examples:
        >>> from minispore import nn
        >>> relu = nn.ReLU()
        >>> handle = relu.register_forward_hook(lambda cell, inputs, output: print("called"))
        >>> handle.remove()
    """

    def __init__(self, entries: list[RegisteredHook], entry: RegisteredHook) -> None:
        self._entries = entries
        self._entry = entry

    def remove(self) -> None:
        """Remove the hook if it is still registered."""
        # By identity: the same function may be registered twice.
        self._entries[:] = [entry for entry in self._entries if entry is not self._entry]


class HooksMixin:
    """The methods of `Cell` that register hooks."""

    construct: Callable[..., object]

    # Whether a call only runs `construct`. It is False until __init__ has run, so that a call can
    # check whether it has.
    _calls_construct_directly: bool = False
    # The type in which `construct` computes, if `Cell.to_float` has set it, and whether parameters
    # are cast to it.
    _float_type: DType | None = None
    _casts_parameters: ClassVar[bool] = True
    # The hooks of each kind, in the order in which they run.
    _hooks: dict[Kind, list[RegisteredHook]] | None = None

    def _check_init(self, when: str) -> None:
        raise NotImplementedError

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """Yield each parameter once."""
        raise NotImplementedError

    def _register(
        self,
        kind: Kind,
        hook: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> HookHandle:
        self._check_init("a hook is registered")
        if not callable(hook):
            raise TypeError(f"A hook must be callable, but got {describe_value(hook)}.")
        self._calls_construct_directly = False
        if self._hooks is None:
            self._hooks = {}
        entries = self._hooks.setdefault(kind, [])
        entry = RegisteredHook(hook, with_kwargs, always_call)
        entries.insert(0 if prepend else len(entries), entry)
        return HookHandle(entries, entry)

    def register_forward_pre_hook(
        self, hook_fn: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Register a hook that is called as `hook_fn(cell, inputs)` before `construct`.

        Args:
            hook_fn: A function of the cell and the tuple of positional arguments, which returns
                None, or the argument or tuple of arguments that replaces them.
            prepend: Whether to call it before the hooks registered so far instead of after them.
            with_kwargs: Whether to call `hook_fn(cell, inputs, kwargs)`, which returns None or a
                tuple of new positional and new keyword arguments.

        Returns:
            A handle with a method `remove`.

        Raises:
            TypeError: `hook_fn` is not callable.
        """
        return self._register("forward_pre", hook_fn, prepend=prepend, with_kwargs=with_kwargs)

    def register_forward_hook(
        self,
        hook_fn: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> HookHandle:
        """Register a hook that is called as `hook_fn(cell, inputs, output)` after `construct`.

        Args:
            hook_fn: A function that returns None or the output that replaces `output`.
            prepend: Whether to call it before the hooks registered so far instead of after them.
            with_kwargs: Whether to call `hook_fn(cell, inputs, kwargs, output)`.
            always_call: Whether to call it with the output None when `construct` raises.

        Returns:
            A handle with a method `remove`.

        Raises:
            TypeError: `hook_fn` is not callable.
        """
        return self._register(
            "forward", hook_fn, prepend=prepend, with_kwargs=with_kwargs, always_call=always_call
        )

    def register_backward_pre_hook(self, hook_fn: Hook) -> HookHandle:
        """Register a hook that is called before the backward pass of this cell.

        Args:
            hook_fn: A function of the cell and the tuple of gradients of all Tensors in the output,
                also of those in nested tuples, lists and dictionaries. It returns None or as many
                new gradients of the same shapes and types.

        Returns:
            A handle with a method `remove`.

        Raises:
            TypeError: `hook_fn` is not callable.
        """
        return self._register("backward_pre", hook_fn)

    def register_backward_hook(self, hook_fn: Hook) -> HookHandle:
        """Register a hook that is called after the backward pass of this cell.

        Args:
            hook_fn: A function of the cell, the gradients of all Tensors in the positional
                arguments, and those of all Tensors in the output, which are zeros where no gradient
                arrived. Tensors in nested tuples, lists and dictionaries count. It returns None or
                as many new gradients of the arguments, of the same shapes and types.

        Returns:
            A handle with a method `remove`.

        Raises:
            TypeError: `hook_fn` is not callable.

        Examples:
            >>> from minispore import Tensor, grad, nn
            >>> relu = nn.ReLU()
            >>> handle = relu.register_backward_hook(lambda cell, grad_in, grad_out: grad_in[0] * 3)
            >>> grad(relu)(Tensor([1.0, -1.0])).tolist()
            [3.0, 0.0]
        """
        return self._register("backward", hook_fn)


def call(cell: HooksMixin, args: Args, kwargs: Kwargs) -> object:
    """Return `cell.construct(*args, **kwargs)`, with hooks and a custom `bprop` applied."""
    hooks = cell._hooks or {}
    args, kwargs = _run_forward_pre_hooks(cell, hooks.get("forward_pre", ()), args, kwargs)
    # The gradients of the outputs, for the backward hooks.
    grad_outputs: list[tuple[Tensor, ...]] = []
    before, after = hooks.get("backward_pre", ()), hooks.get("backward", ())
    has_backward_hooks = is_recording() and bool(before or after)
    inputs = _with_input_hooks(cell, after, args, grad_outputs) if has_backward_hooks else args
    # Without an input that could call them, the output does.
    last = () if _tensors(args) else after
    try:
        output = _construct(cell, inputs, kwargs)
        for entry in hooks.get("forward", ()):
            output = _run_forward_hook(cell, entry, args, kwargs, output)
    except BaseException:
        for entry in hooks.get("forward", ()):
            if entry.always_call:
                _run_forward_hook(cell, entry, args, kwargs, None)
        raise
    if not has_backward_hooks:
        return output
    return _with_output_hooks(cell, before, last, output, grad_outputs)


def _construct(cell: HooksMixin, args: Args, kwargs: Kwargs) -> object:
    bprop: Hook | None = getattr(cell, "bprop") if hasattr(type(cell), "bprop") else None  # noqa: B009
    if bprop is None or not is_recording():
        return _construct_in_float_type(cell, args, kwargs)
    output = record(lambda: _construct_in_float_type(cell, args, kwargs), on=False)
    inputs = _tensors(args)
    read: list[tuple[str, Tensor]]
    read = [(f"parameter '{p.name}'", p) for p in cell.get_parameters() if p.requires_grad]
    read += [(f"argument '{name}'", x) for name in kwargs for x in _tensors(kwargs[name])]
    hidden = [
        apply1(_without_gradient, x, name, type(cell).__name__)
        for name, x in read
        if not any(x is other for other in inputs)
    ]

    def backward(gradients: tuple[Tensor, ...]) -> Sequence[Tensor]:
        result = bprop(*args, recorded, _replace_tensors(output, gradients), **kwargs)
        return [*_checked_bprop_result(cell, result, args), *map(zeros_like, hidden)]

    vjp = nn._multi_output_vjp.multi_output_vjp
    recorded = _replace_tensors(output, vjp(_tensors(output), [*inputs, *hidden], backward))
    return recorded


def _without_gradient(x: A, name: str, kind: str) -> Unary[A]:
    """Return what a cell with a `bprop` reads; to compute its gradient is a warning."""

    def pullback(gradient: A) -> A:
        warn_at_caller(
            f"The gradient of the {name} is 0 in the cell of class {kind}, since its 'bprop' "
            "returns gradients of positional inputs only. Give it to 'construct' as one, or do not "
            "train it: requires_grad=False."
        )
        return gradient

    return x, (pullback,)


def _construct_in_float_type(cell: HooksMixin, args: Args, kwargs: Kwargs) -> object:
    """Return what a cell's `construct` returns if it computes in the cell's float type.

    Float inputs are cast. While `construct` runs, the cell's float parameters are replaced by
    their casts; a cast has a derivative, so gradients reach the parameters, in their type.
    """
    dtype = cell._float_type
    if dtype is None:
        return cell.construct(*args, **kwargs)
    attributes: dict[str, object] = vars(cell) if cell._casts_parameters else {}
    parameters = {name: value for name, value in attributes.items() if isinstance(value, Parameter)}
    attributes.update({name: cast_floats(value, dtype) for name, value in parameters.items()})
    try:
        return cell.construct(
            *[cast_floats(value, dtype) for value in args],
            **{name: cast_floats(value, dtype) for name, value in kwargs.items()},
        )
    finally:
        attributes.update(parameters)


def cast_floats(value: object, dtype: DType) -> object:
    """Return a value with its float tensors cast, also those in tuples, lists and dictionaries."""
    return _map_tensors(value, lambda x: ops.cast(x, dtype) if x.dtype.category == FLOAT else x)


def _checked_bprop_result(cell: HooksMixin, result: object, args: Args) -> Sequence[Tensor]:
    """Return the gradients of the Tensors in `args`, in their types."""
    gradients = _as_sequence(result)
    if len(gradients) != len(args):
        raise RuntimeError(
            f"For '{type(cell).__name__}', 'bprop' must return a gradient for each of the "
            f"{len(args)} inputs of 'construct', but it returned {len(gradients)}."
        )
    chosen: list[Tensor] = []
    for given, x in zip(gradients, args, strict=True):
        inputs, found = _tensors(x), _tensors(given)
        if len(found) != len(inputs) and inputs:
            raise TypeError(
                f"For '{type(cell).__name__}', 'bprop' must return Tensors, as many for each input "
                f"as there are in it, but got {describe_value(given)}."
            )
        chosen += [ops.cast(g, x.dtype) for g, x in zip(found, inputs, strict=False)]
    return chosen


def _run_forward_pre_hooks(
    cell: HooksMixin, entries: Sequence[RegisteredHook], args: Args, kwargs: Kwargs
) -> tuple[Args, Kwargs]:
    for entry in tuple(entries):
        result = entry.hook(cell, args, kwargs) if entry.with_kwargs else entry.hook(cell, args)
        if result is None:
            continue
        if entry.with_kwargs:
            args, kwargs = _checked_arguments(result)
        else:
            args = as_tuple(result)
    return args, kwargs


def _checked_arguments(result: object) -> tuple[Args, Kwargs]:
    if is_tuple(result) and len(result) == 2:
        args, kwargs = result
        if is_tuple(args) and isinstance(kwargs, dict):
            return args, cast("Kwargs", kwargs)
    raise RuntimeError(
        "A forward pre hook with kwargs must return None or a tuple of the new positional "
        f"and the new keyword arguments, but got {result!r}."
    )


def _run_forward_hook(
    cell: HooksMixin, entry: RegisteredHook, args: Args, kwargs: Kwargs, output: object
) -> object:
    inputs = (args, kwargs) if entry.with_kwargs else (args,)
    result = entry.hook(cell, *inputs, output)
    return output if result is None else result


def _with_input_hooks(
    cell: HooksMixin,
    entries: Sequence[RegisteredHook],
    args: Args,
    grad_outputs: list[tuple[Tensor, ...]],
) -> Args:
    """Return the arguments, with backward hooks applied to their gradients."""
    if not entries:
        return args

    def backward(gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return _run_backward_hooks(cell, entries, gradients, grad_outputs[-1])

    return as_tuple(_with_vjp(args, backward))


def _run_backward_hooks(
    cell: HooksMixin,
    entries: Sequence[RegisteredHook],
    gradients: tuple[Tensor, ...],
    grad_outputs: tuple[Tensor, ...],
) -> tuple[Tensor, ...]:
    for entry in tuple(entries):
        result = entry.hook(cell, gradients, grad_outputs)
        gradients = _checked_gradients(cell, gradients, result, "input", "backward hook")
    return gradients


def _with_output_hooks(
    cell: HooksMixin,
    entries: Sequence[RegisteredHook],
    last: Sequence[RegisteredHook],
    output: object,
    grad_outputs: list[tuple[Tensor, ...]],
) -> object:
    """Return the output, with backward pre hooks applied to its gradients.

    Raises:
        TypeError: The output is of a class in which tensors are not found.
    """
    if _may_hide_tensors(output):
        raise TypeError(
            f"For '{type(cell).__name__}', which has a backward hook, 'construct' must return "
            "Tensors, alone or in tuples, lists and dictionaries, but it returned "
            f"{describe_value(output)}."
        )

    def backward(gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        for entry in tuple(entries):
            result = entry.hook(cell, gradients)
            gradients = _checked_gradients(cell, gradients, result, "output", "backward pre hook")
        grad_outputs[:] = [gradients]
        _run_backward_hooks(cell, last, (), gradients)
        return gradients

    return _with_vjp(output, backward)


def _with_vjp(values: object, backward: Callable[[tuple[Tensor, ...]], Sequence[Tensor]]) -> object:
    """Return `values`, whose gradients are replaced by `backward` of them."""
    tensors = _tensors(values)
    if not tensors:
        return values
    return _replace_tensors(
        values, nn._multi_output_vjp.multi_output_vjp(tensors, tensors, backward)
    )


def _checked_gradients(
    cell: HooksMixin, gradients: tuple[Tensor, ...], result: object, of: str, kind: str
) -> tuple[Tensor, ...]:
    """Return the gradients that a hook returned, or `gradients` if it returned None."""
    if result is None:
        return gradients
    new = _as_sequence(result)
    if len(new) != len(gradients) or not all_are(new, Tensor):
        raise TypeError(
            f"For '{type(cell).__name__}', a {kind} must return None or as many Tensors as it was "
            f"given gradients, which is {len(gradients)}, but got {describe_value(result)}."
        )
    what = f"For '{type(cell).__name__}', the gradient of {of} {{}} that a {kind} returns"
    pairs = zip(new, gradients, strict=True)
    return tuple(checked_gradient(x, g, what.format(i)) for i, (x, g) in enumerate(pairs))


def _as_sequence(result: object) -> Sequence[object]:
    """Return the result of a hook or `bprop` as a sequence."""
    return result if is_sequence(result) else (result,)


def _tensors(values: object) -> list[Tensor]:
    """Return the tensors in a value, also those in nested tuples, lists and dictionaries."""
    found: list[Tensor] = []
    _map_tensors(values, found.append)
    return found


def _may_hide_tensors(output: object) -> bool:
    return not _tensors(output) and not isinstance(output, _WITHOUT_TENSORS)


def _replace_tensors(values: object, tensors: Iterable[Tensor]) -> object:
    """Return `values` with its tensors replaced by `tensors`, in order."""
    new = iter(tensors)
    return _map_tensors(values, lambda _: next(new))


def _map_tensors(value: object, function: Callable[[Tensor], object]) -> object:
    if isinstance(value, Tensor):
        return function(value)
    return map_items(lambda item: _map_tensors(item, function), value)
