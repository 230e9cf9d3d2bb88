"""A capture: a step runs eagerly on captured arrays, and notes say what it has computed."""

import copy
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from minispore.engine.array import Array, _numpy, is_ndarray
from minispore.engine.array.capture_hooks import Numbers, current_hooks
from minispore.engine.dispatch import Variable
from minispore.graph.guards import Guards
from minispore.graph.program import (
    Entry,
    HostNumber,
    Memory,
    View,
    constant_entries,
    has_effect,
    reads,
    views_in,
    writes,
)
from minispore.graph.tape import Captured, Tape
from minispore.graph.watch import Watch
from minispore.ops.tensors import Tensor
from minispore.utils.checks import as_items, is_dict, is_sequence, map_items

R = TypeVar("R")
# How deep a result may be nested.
_MAX_DEPTH = 50
HELD = "an argument is a list or dict that it reads elsewhere, too"


class PlanError(Exception):
    """The reason why a step is not replayed.

    Args:
        reason: The reason.
        keep: Whether the plan may hold in the next step.
        numbers: The host's numbers that were computed for the step, for the eager step.
    """

    def __init__(
        self, reason: str, *, keep: bool = False, numbers: Sequence["Computed"] = ()
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.keep = keep
        self.numbers = numbers


class Computed(NamedTuple):
    """Numbers of the host: the function that computes them, and its result or error."""

    compute: Callable[[], Numbers]
    result: Numbers | Exception


class Output(NamedTuple):
    """A tensor in the result of a step: the view that its array is a copy of."""

    view: View


class Input(NamedTuple):
    """An input in the result of a step: its place among the tensors of the arguments."""

    place: int


class CapturedTensor(NamedTuple):
    """A tensor that a step reads, its array before the step, and that array on the tape."""

    tensor: Variable
    array: Memory
    lifted: Captured


class Capture(NamedTuple):
    """The notes on a step.

    Attributes:
        tape: Its array calls.
        guards: What it reads.
        inputs: The arrays of its arguments, on the tape.
        state: The other tensors.
        result: Its result, with an `Output` in place of each tensor.
        rebound: The tensors to which it gives new memory: the index in `state` and the value.
    """

    tape: Tape
    guards: Guards
    inputs: list[CapturedTensor]
    state: list[CapturedTensor]
    result: object
    rebound: list[tuple[int, View]]

    def signature(self) -> object:
        """Return what is equal for two captures of the same calls."""
        tape = self.tape
        return _signature(
            (
                tape.entries,
                [(decision.operands, decision.outcome) for decision in tape.decisions],
                tape.truths,
                self.result,
                self.rebound,
            )
        )


def capture_step(
    roots: Iterable[object],
    watched: Watch,
    step: Callable[[], R],
    inputs: Sequence[Tensor],
    containers: list[object],
) -> tuple[R, Capture]:
    """Make an eager step on captured arrays, and return its result and the notes on it.

    Args:
        roots: The function or cell of the step, and its arguments that are no tensors.
        watched: The code that ran in the observed step.
        step: The step.
        inputs: The tensors among its arguments.
        containers: The lists and dicts among its arguments.

    Raises:
        PlanError: What the step reads cannot be guarded; it has not been made.
    """
    try:
        guards = Guards(roots, watched)
    except RecursionError as error:
        raise PlanError("what it reads is nested too deeply") from error
    if guards.reason is not None:
        raise PlanError(guards.reason)
    if any(map(guards.holds, containers)):
        raise PlanError(HELD)
    tensors = guards.tensors.values()
    captured = CapturedTensors(inputs, tensors, guards.host.values(), guards.transient)
    tape, before = captured.tape, [_items(container) for container in containers]
    watch = Watch(tape)
    result = run_on_tape(step, tape, watch, captured)
    if not all(
        len(old) == len(new) and all(map(operator.is_, old, new))
        for old, new in zip(before, map(_items, containers), strict=True)
    ):
        tape.refuse("it changes a list or dict among its arguments")
    known: dict[int, Output | Input] = {
        id(item.tensor): Input(i) for i, item in reversed([*enumerate(captured.inputs)])
    }
    read = {id(item.tensor) for item in captured.state}
    encoded = _ResultEncoder(tape, guards, known, read, {*map(id, containers)}).result(result)
    rebound: list[tuple[int, View]] = []
    for item, now in captured.rebound.values():
        index = next((i for i, other in enumerate(captured.state) if other is item), None)
        if index is None or not isinstance(now, Captured) or now.tape is not tape:
            tape.refuse("a tensor gets new memory of unknown origin")
        else:
            rebound.append((index, tape.view(now.values)))
    tape.refuse(guards.untracked_code(watch))
    change = guards.first_change()
    tape.refuse(change and f"while it runs, {change}")
    for tensor in tensors:
        guards.guard_tensor(tensor, memory=id(tensor) not in captured.rebound)
    tape.refuse(_unsuitable(tape, captured.state, captured.host, rebound))
    return result, Capture(tape, guards, captured.inputs, captured.state, encoded, rebound)


def as_memory(tensor: Variable) -> Memory:
    """Return the array of a tensor on the host.

    Raises:
        PlanError: The tensor is on another device.
    """
    data: object = tensor._data
    if isinstance(data, Captured) and data.tape.closed:
        # The step has stored the tensor.
        data = tensor._data = data.values
    if not is_ndarray(data):
        raise PlanError("a tensor is not on the CPU")
    return data


class CapturedTensors:
    """Tensors whose arrays are replaced by captured ones while a step runs.

    Args:
        inputs: The tensors among the arguments of a step.
        state: The other tensors that it reads.
        host: Those that only the host reads.
        transient: The cells with attributes that the step replaces, and the names of these.

    Attributes:
        tape: The tape of the step.
        inputs: The arguments.
        state: The other tensors.
        host: Those that only the host reads.
        rebound: The tensors that got another array, with that, by identity.
    """

    def __init__(
        self,
        inputs: Iterable[Variable],
        state: Iterable[Variable],
        host: Iterable[Variable],
        transient: Iterable[tuple[object, tuple[str, ...]]],
    ) -> None:
        self.tape: Tape = Tape()
        self._by_array: dict[int, tuple[Captured, bool, bool]] = {}
        self.inputs: list[CapturedTensor] = self._lift(inputs, is_input=True)
        self.state: list[CapturedTensor] = self._lift(state)
        self.host: list[CapturedTensor] = self._lift(host, host=True)
        self.rebound: dict[int, tuple[CapturedTensor, Array]] = {}
        self._all = list(
            {id(item.tensor): item for item in (*self.inputs, *self.state, *self.host)}.values()
        )
        self._replaced = [
            (vars(cell), {name: vars(cell)[name] for name in names}) for cell, names in transient
        ]
        self.tape.run_on_host = self._run_on_host

    def _lift(
        self, tensors: Iterable[Variable], *, is_input: bool = False, host: bool = False
    ) -> list[CapturedTensor]:
        found: list[CapturedTensor] = []
        for tensor in tensors:
            array = as_memory(tensor)
            if id(array) not in self._by_array:
                lifted = self.tape.lift(array, is_input=is_input)
                self._by_array[id(array)] = lifted, is_input, host
            lifted, *kind = self._by_array[id(array)]
            if kind != [is_input, host]:
                raise PlanError("two of its tensors share memory")
            found.append(CapturedTensor(tensor, array, lifted))
        return found

    def _run_on_host(self, function: Callable[[], R], /) -> R:
        for tensor, array, _ in self.host:
            tensor._data = array
        try:
            return function()
        finally:
            for tensor, _, lifted in self.host:
                tensor._data = lifted

    def replace(self) -> None:
        """Give each tensor its captured array."""
        for tensor, _, lifted in self._all:
            tensor._data = lifted
        for attributes, values in self._replaced:
            attributes.update({name: copy.copy(value) for name, value in values.items()})

    def restore(self) -> None:
        """Give each tensor its array back, or the one that the step has given it."""
        for attributes, values in self._replaced:
            attributes.update(values)
        for item in self._all:
            now = item.tensor._data
            if now is item.lifted:
                item.tensor._data = item.array
            elif now is not item.array and id(item.tensor) not in self.rebound:
                self.rebound[id(item.tensor)] = item, now
                item.tensor._data = now.values if isinstance(now, Captured) else now


def run_on_tape(
    step: Callable[[], R], tape: Tape, watch: Watch, captured: "CapturedTensors | None" = None
) -> R:
    """Return `step()`, whose array calls are noted, and put everything back.

    Args:
        step: The step.
        tape: The tape.
        watch: What notes the code that runs.
        captured: The tensors whose arrays are replaced by captured ones meanwhile.
    """

    def restore() -> None:
        watch.stop()
        current_hooks.set(None)
        tape.closed = True
        if captured is not None:
            captured.restore()

    try:
        try:
            current_hooks.set(tape)
            if captured is not None:
                captured.replace()
            watch.start()
            return step()
        finally:
            restore()
    finally:
        # Once more, since Ctrl-C may have ended the first call.
        restore()


class _ResultEncoder(NamedTuple):
    """Where the tensors of a result are.

    Attributes:
        tape: The tape of the step.
        guards: What it reads.
        known: What stands for a tensor, by its identity: at first for the arguments.
        read: The identities of the other tensors that the step reads. These may be a part of the
            result.
        containers: The identities of lists and dicts which a replay would make again: those among
            the arguments, and those in the result.
    """

    tape: Tape
    guards: Guards
    known: dict[int, "Output | Input"]
    read: set[int]
    containers: set[int]

    def result(self, result: object) -> object:
        """Return a result with an `Output` for each new tensor, whose array becomes numpy's."""
        encoded = self._encode(result)
        outputs = [value for value in self.known.values() if isinstance(value, Output)]
        buffers = [output.view.buffer for output in outputs]
        if len(set(buffers)) < len(buffers) or any(buffer < 0 for buffer in buffers):
            self.tape.refuse("its result shares memory with another tensor")
        return encoded

    def _encode(self, value: object, depth: int = 0) -> object:
        if depth == _MAX_DEPTH:
            self.tape.refuse("its result is nested too deeply")
            return None
        if isinstance(value, Variable):
            if id(value) in self.read or id(value) in self.known:
                return self.known.get(id(value), value)
            data = value._data
            if type(value) is not Tensor or value._node is not None or type(data) is not Captured:
                self.tape.refuse("its result is a constant, or a parameter of its own")
                if isinstance(data, Captured):
                    value._data = data.values
                return None
            value._data = data.values
            if data.values.copy(order="K").strides != data.values.strides:
                self.tape.refuse("its result is a part of a larger array")
            self.known[id(value)] = Output(self.tape.view(data.values))
            return self.known[id(value)]
        if type(value) in (list, dict):
            if id(value) in self.containers or self.guards.holds(value):
                self.tape.refuse("its result holds a list or dict twice, or one that it was given")
            self.containers.add(id(value))
        if type(value) in (tuple, list, dict):
            return map_items(lambda item: self._encode(item, depth + 1), value)
        if value is not None and type(value) not in (bool, int, float, str):
            self.tape.refuse(f"its result holds a {type(value).__name__}")
        return value


def _items(container: object) -> list[object]:
    """Return the items of a list, or the keys and values of a dict."""
    if isinstance(container, dict):
        return [*container, *container.values()]
    return list(as_items(container) or ())


def _unsuitable(
    tape: Tape,
    state: list[CapturedTensor],
    host: list[CapturedTensor],
    rebound: list[tuple[int, View]],
) -> str | None:
    """Return why the calls cannot be replayed; None if they can."""
    written = {buffer for entry in tape.entries for buffer in writes(entry)}
    used = written.union(*(reads(entry) for entry in tape.entries))
    if written & tape.inputs:
        return "it writes to an input"
    if used & {tape.view(item.lifted.values).buffer for item in host}:
        return "it computes with a tensor of an optimizer"
    buffers = [view.buffer for _, view in rebound]
    if len(set(buffers)) < len(buffers) or any(buffer < 0 for buffer in buffers):
        return "a tensor gets the memory of another"
    if written & {tape.view(state[i].lifted.values).buffer for i, _ in rebound}:
        return "it writes to a tensor and gives it new memory"
    # An index out of range raises an error, which must come from a complete eager step.
    checked = {view for decision in tape.decisions for view in views_in(decision.operands)}
    constants = constant_entries(tape.entries)
    checked |= {view for i in constants for view in views_in(tape.entries[i].result)}
    started = False
    for entry in tape.entries:
        started = started or has_effect(entry)
        is_index = entry.function in _INDEXING
        indices = set(views_in(entry.operands[1:2] if is_index else ()))
        if started and indices - checked:
            return "it computes an index after random numbers or an update"
        checked |= indices
    return None


_INDEXING = (
    operator.getitem,
    np.add.at,
    _numpy.assign,
    _numpy.getitem_at,
    _numpy.scatter_at,
)


def _signature(value: object) -> object:  # noqa: PLR0911 (a case for each type)
    """Return something that is equal for equal calls."""
    if is_ndarray(value):
        return value.shape, value.dtype, value.strides, value.tobytes()
    if isinstance(value, Entry):
        function = None if value.is_live else value.function
        return function, value.kind, _signature((value.operands, value.options, value.result))
    if isinstance(value, View):
        return tuple(value)
    if isinstance(value, HostNumber):
        return HostNumber, value.index
    if is_sequence(value):
        return list, *map(_signature, value)
    if is_dict(value):
        return dict, *map(_signature, value.items())
    if isinstance(value, Variable):
        return Variable, id(value)
    return type(value), value if type(value) is int else repr(value)
