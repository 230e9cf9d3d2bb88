"""A cell's call when it is watched: its hooks, or its own `bprop`, around `construct`."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, cast

from minispore._autograd import is_recording, record
from minispore._checks import described
from minispore.common.tensor import Tensor
from minispore.nn._joint import joint

Hook: TypeAlias = Callable[..., object]
Args: TypeAlias = tuple[object, ...]
Kwargs: TypeAlias = dict[str, object]


class Entry(NamedTuple):
    """One registered hook."""

    hook: Hook
    with_kwargs: bool
    always_call: bool


class HookHandle:
    """Takes its hook away again.

    >>> from minispore import nn
    >>> relu = nn.ReLU()
    >>> handle = relu.register_forward_hook(lambda cell, inputs, output: print("called"))
    >>> handle.remove()
    """

    def __init__(self, entries: list[Entry], entry: Entry) -> None:
        self._entries = entries
        self._entry = entry

    def remove(self) -> None:
        """Remove the hook; nothing happens if it has been removed before."""
        # By identity: the same function may be registered twice.
        self._entries[:] = [entry for entry in self._entries if entry is not self._entry]


class Hooks:
    """The hooks of one cell, in the order in which they run."""

    def __init__(self) -> None:
        self.forward_pre: list[Entry] = []
        self.forward: list[Entry] = []
        self.backward_pre: list[Entry] = []
        self.backward: list[Entry] = []

    def watch_backward(self) -> bool:
        """Whether gradients have to be caught."""
        return bool(self.backward or self.backward_pre)


def _register(
    entries: list[Entry],
    hook: Hook,
    *,
    prepend: bool = False,
    with_kwargs: bool = False,
    always_call: bool = False,
) -> HookHandle:
    """Add a hook to its list; TypeError if it cannot be called."""
    if not callable(hook):
        raise TypeError(f"A hook must be callable, but got {described(hook)}.")
    entry = Entry(hook, with_kwargs, always_call)
    entries.insert(0 if prepend else len(entries), entry)
    return HookHandle(entries, entry)


class Watchable:
    """What of a cell makes it possible to hook into its calls; `Cell` builds on it."""

    construct: Callable[..., object]

    # Whether a call is nothing but `construct`. Until __init__ has run a call takes the careful
    # way, which reports that it has not.
    _plain: bool = False
    _hooks: Hooks | None = None

    def _check_init(self, when: str) -> None:
        raise NotImplementedError

    def _watch(self) -> Hooks:
        self._check_init("a hook is registered")
        if self._hooks is None:
            self._hooks = Hooks()
        self._plain = False
        return self._hooks

    def register_forward_pre_hook(
        self, hook_fn: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Call `hook_fn(cell, inputs)` before `construct`; what it returns replaces the inputs.

        Args:
            hook_fn: Gets the tuple of positional arguments and returns None, one argument, or a
                tuple of them.
            prepend: Call it before those registered so far instead of after.
            with_kwargs: Call `hook_fn(cell, inputs, kwargs)`, which returns None or both anew.

        Raises:
            TypeError: `hook_fn` cannot be called.
        """
        entries = self._watch().forward_pre
        return _register(entries, hook_fn, prepend=prepend, with_kwargs=with_kwargs)

    def register_forward_hook(
        self,
        hook_fn: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> HookHandle:
        """Call `hook_fn(cell, inputs, output)` after `construct`; its result replaces the output.

        Args:
            hook_fn: Returns None or the new output.
            prepend: Call it before those registered so far instead of after.
            with_kwargs: Call `hook_fn(cell, inputs, kwargs, output)`.
            always_call: Call it also when `construct` raises, with None as the output.

        Raises:
            TypeError: `hook_fn` cannot be called.
        """
        return _register(
            self._watch().forward,
            hook_fn,
            prepend=prepend,
            with_kwargs=with_kwargs,
            always_call=always_call,
        )

    def register_backward_pre_hook(self, hook_fn: Hook) -> HookHandle:
        """Call `hook_fn(cell, grad_output)` when the gradients of the outputs have arrived.

        Args:
            hook_fn: Gets a tuple with the gradient of each output and returns None or new ones.

        Raises:
            TypeError: `hook_fn` cannot be called.
        """
        return _register(self._watch().backward_pre, hook_fn)

    def register_backward_hook(self, hook_fn: Hook) -> HookHandle:
        """Call `hook_fn(cell, grad_input, grad_output)` when the gradients leave the cell.

        >>> from minispore import Tensor, grad, nn
        >>> relu = nn.ReLU()
        >>> handle = relu.register_backward_hook(lambda cell, grad_in, grad_out: grad_in[0] * 3)
        >>> grad(relu)(Tensor([1.0, -1.0]))
        Tensor(shape=[2], dtype=Float32, value= [ 3.00000000e+00,  0.00000000e+00])

        Args:
            hook_fn: Gets the gradients of the Tensors among the positional arguments and those of
                the outputs, zeros where none arrived; returns None or new ones for the arguments.

        Raises:
            TypeError: `hook_fn` cannot be called.
        """
        return _register(self._watch().backward, hook_fn)


def call(cell: Watchable, args: Args, kwargs: Kwargs) -> object:
    """`cell.construct(*args, **kwargs)` with everything that has been registered around it."""
    hooks = cell._hooks or Hooks()
    args, kwargs = _before(cell, hooks.forward_pre, args, kwargs)
    caught: list[tuple[Tensor, ...]] = []
    catching = is_recording() and hooks.watch_backward()
    entered = _enter(cell, hooks.backward, args, caught) if catching else args
    try:
        output = _construct(cell, entered, kwargs)
        for entry in hooks.forward:
            output = _after(cell, entry, args, kwargs, output)
    except BaseException:
        for entry in hooks.forward:
            if entry.always_call:
                _after(cell, entry, args, kwargs, None)
        raise
    return _leave(cell, hooks.backward_pre, output, caught) if catching else output


def _construct(cell: Watchable, args: Args, kwargs: Kwargs) -> object:
    bprop = cast("Hook | None", getattr(cell, "bprop", None))
    if bprop is None or not is_recording():
        return cell.construct(*args, **kwargs)
    with record(on=False):
        output = cell.construct(*args, **kwargs)
    made: list[object] = []

    def backward(gradients: tuple[Tensor, ...]) -> Sequence[Tensor]:
        dout = _refilled(output, gradients)
        answer = bprop(*args, made[0], dout, **kwargs)
        return _answer_of_bprop(cell, answer, args)

    made.append(_refilled(output, joint(_tensors(output), _tensors(args), backward)))
    return made[0]


def _answer_of_bprop(cell: Watchable, answer: object, args: Args) -> list[Tensor]:
    shares = _as_sequence(answer)
    inputs = len(args)
    if len(shares) != inputs:
        raise RuntimeError(
            f"For '{type(cell).__name__}', 'bprop' must return a gradient for each of the {inputs} "
            f"inputs of 'construct', but it returned {len(shares)}."
        )
    chosen = [g for g, x in zip(shares, args, strict=True) if isinstance(x, Tensor)]
    for g in chosen:
        if not isinstance(g, Tensor):
            raise TypeError(
                f"For '{type(cell).__name__}', 'bprop' must return Tensors, but got {described(g)}."
            )
    return cast("list[Tensor]", chosen)


def _before(
    cell: Watchable, entries: Sequence[Entry], args: Args, kwargs: Kwargs
) -> tuple[Args, Kwargs]:
    for entry in tuple(entries):
        if entry.with_kwargs:
            answer = entry.hook(cell, args, kwargs)
            if answer is not None:
                args, kwargs = _new_arguments(answer)
        else:
            answer = entry.hook(cell, args)
            if answer is not None:
                args = cast("Args", answer) if isinstance(answer, tuple) else (answer,)
    return args, kwargs


def _new_arguments(answer: object) -> tuple[Args, Kwargs]:
    if isinstance(answer, tuple) and len(cast("Args", answer)) == 2:
        args, kwargs = cast("Args", answer)
        if isinstance(args, tuple) and isinstance(kwargs, dict):
            return cast("Args", args), cast("Kwargs", kwargs)
    raise RuntimeError(
        "A forward pre hook with kwargs must return None or a tuple of the new positional "
        f"and the new keyword arguments, but got {answer!r}."
    )


def _after(cell: Watchable, entry: Entry, args: Args, kwargs: Kwargs, output: object) -> object:
    if entry.with_kwargs:
        answer = entry.hook(cell, args, kwargs, output)
    else:
        answer = entry.hook(cell, args, output)
    return output if answer is None else answer


def _enter(
    cell: Watchable,
    entries: Sequence[Entry],
    args: Args,
    caught: list[tuple[Tensor, ...]],
) -> Args:
    """The arguments, with a gate for the gradients that leave the cell backwards."""
    tensors = _tensors(args)
    if not entries or not tensors:
        return args

    def backward(gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        for entry in tuple(entries):
            answer = entry.hook(cell, gradients, caught[-1])
            gradients = _replaced(gradients, answer, "backward hook")
        return gradients

    return cast("Args", _refilled(args, joint(tensors, tensors, backward)))


def _leave(
    cell: Watchable, entries: Sequence[Entry], output: object, caught: list[tuple[Tensor, ...]]
) -> object:
    """The output, with a gate for the gradients that enter the cell backwards."""
    tensors = _tensors(output)
    if not tensors:
        return output

    def backward(gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        for entry in tuple(entries):
            answer = entry.hook(cell, gradients)
            gradients = _replaced(gradients, answer, "backward pre hook")
        caught[:] = [gradients]
        return gradients

    return _refilled(output, joint(tensors, tensors, backward))


def _replaced(gradients: tuple[Tensor, ...], answer: object, kind: str) -> tuple[Tensor, ...]:
    if answer is None:
        return gradients
    new = _as_sequence(answer)
    if len(new) != len(gradients) or not all(isinstance(g, Tensor) for g in new):
        raise TypeError(
            f"A {kind} must return None or as many Tensors as it was given gradients, "
            f"which is {len(gradients)}, but got {answer!r}."
        )
    return tuple(cast("Sequence[Tensor]", new))


def _as_sequence(answer: object) -> Sequence[object]:
    """What a hook or bprop returned: several values, or one."""
    return cast("Sequence[object]", answer) if isinstance(answer, tuple | list) else (answer,)


def _tensors(values: object) -> list[Tensor]:
    if isinstance(values, Tensor):
        return [values]
    if isinstance(values, tuple | list):
        return [x for x in cast("Sequence[object]", values) if isinstance(x, Tensor)]
    return []


def _refilled(values: object, tensors: Sequence[Tensor]) -> object:
    """`values` with its tensors replaced, in their order."""
    if isinstance(values, Tensor):
        return tensors[0]
    if not isinstance(values, tuple | list):
        return values
    fresh = iter(tensors)
    items = [next(fresh) if isinstance(x, Tensor) else x for x in cast("list[object]", values)]
    return tuple(items) if isinstance(values, tuple) else items
