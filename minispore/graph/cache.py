"""Graph mode: a step is captured once and replayed.

The first step with inputs of a kind is *observed*: it runs eagerly, and what it reads is noted. The
second and third are *captured*: they run eagerly on recorded arrays, and their tapes must be equal.
From then on the plan that is made of the tape is *replayed*. Every replay leaves the bits that the
eager step would leave; what cannot be shown to do so runs eagerly, and `graph_info` says why.
"""

import copy
import logging
import operator
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from types import MethodType
from typing import NamedTuple, TypeVar, cast

import numpy as np

from minispore.common.context import get_context
from minispore.common.tensor import Tensor
from minispore.engine.array import Array, _numpy, device_target, from_host, is_ndarray
from minispore.engine.array.capture_hooks import N, Numbers, recorder
from minispore.engine.dispatch import Variable, wrap
from minispore.engine.graph import in_record_block, is_recording
from minispore.engine.rules.linalg import gemm_observers
from minispore.graph.guards import Guards, Watch
from minispore.graph.program import (
    Entry,
    HostNumber,
    Memory,
    Program,
    View,
    constant_entries,
    has_effect,
    reads,
    views_in,
    writes,
)
from minispore.graph.tape import (
    Recorded,
    Tape,
    bytes_of,
    flattened,
    root_of,
    view_of,
)
from minispore.utils.atomic import atomic_write
from minispore.utils.checks import describe_value, is_dict, is_sequence, is_tuple, map_items

R = TypeVar("R")
_logger = logging.getLogger("minispore")
# The largest number of plans of one step, and of failed attempts in a row to make one.
MAX_PLANS = 8
MAX_FAILURES = 3
# A plan that has been replayed as often has paid for the captures.
REPLAYS_TO_FORGIVE = 16
# How deep a result may be nested.
_MAX_DEPTH = 50
_HELD = "an argument is a list or dict that it reads elsewhere, too"


@dataclass(frozen=True)
class GraphInfo:
    """What graph mode has done with a step.

    Attributes:
        observed: The number of steps that were observed.
        captured: The number of steps that were captured.
        replayed: The number of steps that were replayed.
        eager: The number of steps that ran eagerly for a reason.
        plans: A description of each plan.
        reasons: How many steps ran eagerly, or were captured again, by reason.
        last: What was done with the latest step, and the reason, if any.
    """

    observed: int
    captured: int
    replayed: int
    eager: int
    plans: tuple[str, ...]
    reasons: dict[str, int]
    last: tuple[str, str]

    def __str__(self) -> str:
        total = self.observed + self.captured + self.replayed + self.eager
        counts = f"{self.captured} captured, {self.replayed} replayed, {self.eager} eager"
        lines = [
            f"{total} steps: {self.observed} observed, {counts}",
            *(f"plan {i}: {text}" for i, text in enumerate(self.plans, 1)),
            *(f"{count} × {reason}" for reason, count in self.reasons.items()),
        ]
        return "\n".join(lines)


class _PlanError(Exception):
    """The reason why a step is not replayed.

    Args:
        reason: The reason.
        keep: Whether the plan may hold in the next step.
        numbers: The host's numbers that were computed for the step, for the eager step.
    """

    def __init__(
        self, reason: str, *, keep: bool = False, numbers: Sequence["_Computed"] = ()
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.keep = keep
        self.numbers = numbers


class _Computed(NamedTuple):
    """Numbers of the host: the function that computes them, and its result or error."""

    compute: Callable[[], Numbers]
    result: Numbers | Exception


class _GivenNumbers:
    """What the host computes in an eager step, with the numbers that a replay has computed.

    A learning-rate schedule of the user may change with each call, so it is called once in a step.
    """

    def __init__(self, numbers: Iterable[_Computed]) -> None:
        self._numbers = list(numbers)

    def host_numbers(self, compute: Callable[[], N]) -> N:
        """Return the numbers."""
        for each in self._numbers:
            if each.compute == compute:
                self._numbers.remove(each)
                if isinstance(each.result, Exception):
                    raise each.result
                return cast("N", each.result)
        return compute()

    def commit_numbers(self, advance: Callable[[N], None], numbers: N) -> None:
        """Call the function."""
        advance(numbers)

    def host_values(self, draw: Callable[[], Memory]) -> Array:
        """Return the values."""
        return from_host(draw())

    def host_branch(self, test: Callable[..., bool], arrays: tuple[Array, ...]) -> bool:
        """Return the decision."""
        return test(*arrays)

    def host_check(self, check: Callable[..., None], arrays: tuple[Array, ...]) -> None:
        """Call the check."""
        check(*arrays)


class _Output(NamedTuple):
    """A tensor in the result of a step: the view that its array is a copy of."""

    view: View


class _Input(NamedTuple):
    """An input in the result of a step: its place among the tensors of the arguments."""

    place: int


class _RecordedTensor(NamedTuple):
    """A tensor that a step reads, its array before the step, and that array on the tape."""

    tensor: Variable
    array: Memory
    recorded: Recorded


class _Capture(NamedTuple):
    """The notes on a step.

    Attributes:
        tape: Its array calls.
        guards: What it reads.
        inputs: The arrays of its arguments, on the tape.
        state: The other tensors.
        result: Its result, with an `_Output` in place of each tensor.
        rebound: The tensors to which it gives new memory: the index in `state` and the value.
    """

    tape: Tape
    guards: Guards
    inputs: list[_RecordedTensor]
    state: list[_RecordedTensor]
    result: object
    rebound: list[tuple[int, View]]

    def signature(self) -> object:
        """Return what is equal for two captures of the same calls."""
        tape = self.tape
        return _signature(
            (
                tape.entries,
                [(each.operands, each.outcome) for each in tape.decisions],
                tape.truths,
                self.result,
                self.rebound,
            )
        )


class Plan:
    """A captured step that can be replayed."""

    def __init__(self, capture: _Capture) -> None:
        tape, self._guards = capture.tape, capture.guards
        views = {number: view_of(array, number) for number, array in tape.outside.items()}
        number_of = [tape.view(each.recorded.values).buffer for each in capture.state]
        rebound = {number_of[i] for i, _ in capture.rebound}
        outside = {
            number: bytes_of(array, copied=number in tape.inputs or number in rebound)
            for number, array in tape.outside.items()
        }
        kept = {view.buffer for view in (*views_in(capture.result), *views_in(capture.rebound))}
        self.program: Program = Program(tape.entries, tape.sizes, outside, kept)
        array = self.program.array
        self._inputs = [array(tape.view(each.recorded.values)) for each in capture.inputs]
        self._rebound = [
            (capture.state[i].tensor, array(views[number_of[i]]), array(view))
            for i, view in capture.rebound
        ]
        self._state_roots = {id(root_of(each.array)): each.array for each in capture.state}
        self._decisions = [
            (each.test, [*map(self.program.bind, each.operands)], each.outcome)
            for each in tape.decisions
        ]
        self._numbers, self._advances, self._truths = tape.numbers, tape.advances, tape.truths
        self._result = capture.result
        self._outputs = {view: array(view) for view in views_in(capture.result)}
        self.replays: int = 0

    def __str__(self) -> str:
        program = self.program
        inputs = ", ".join(f"{each.shape} {each.dtype}" for each in self._inputs)
        return (
            f"inputs {inputs}; {len(program.pure) + len(program.rest)} calls, arena "
            f"{program.arena_size / 2**20:.1f} MiB, {self.replays} replays"
        )

    def replay(self, inputs: Sequence[Tensor], containers: Iterable[object] = ()) -> object:
        """Make one step.

        Raises:
            _PlanError: The plan does not hold for this step, and nothing has been changed.
        """
        self._check(containers)
        for static, given in zip(self._inputs, inputs, strict=True):
            data = as_memory(given)
            if self._is_state(data):
                raise _PlanError("an input shares memory with a parameter", keep=True)
            static[...] = data
        try:
            decisions = [test(*operands) for test, operands, _ in self._decisions]
        except Exception as error:
            raise _PlanError("it raises an error", keep=True) from error
        if self._decides_otherwise(decisions):
            raise _PlanError("a decision on its inputs is another one", keep=True)
        computed: list[_Computed] = []
        for compute in self._numbers:
            try:
                computed.append(_Computed(compute, compute()))
            except Exception as error:
                computed.append(_Computed(compute, error))
                reason = "it raises an error"
                raise _PlanError(reason, keep=True, numbers=computed) from error
        values = [cast("Numbers", each.result) for each in computed]
        numbers = [x for each in values for x in flattened(each)]
        if self._branches_otherwise(numbers):
            reason = "a number of the optimizer became zero or nonzero"
            raise _PlanError(reason, numbers=computed)
        program = self.program
        program.set_numbers(numbers)
        try:
            for call in program.pure:
                call()
        except Exception as error:
            raise _PlanError("it raises an error", keep=True, numbers=computed) from error
        for call in program.rest:
            call()
        for advance, own in zip(self._advances, values, strict=True):
            advance(own)
        for tensor, _, value in self._rebound:
            tensor._data = value.copy(order="K")
        self.replays += 1
        return self._build(self._result, inputs, {})

    def _check(self, containers: Iterable[object]) -> None:
        reason = self._guards.first_change()
        if reason is not None:
            raise _PlanError(reason)
        if any(map(self._guards.holds, containers)):
            raise _PlanError(_HELD, keep=True)
        for tensor, static, _ in self._rebound:
            data = as_memory(tensor)
            if _layout(data) != _layout(static):
                raise _PlanError("the shape of a parameter has changed")
            static[...] = data

    def _decides_otherwise(self, decisions: list[bool]) -> bool:
        return decisions != [outcome for _, _, outcome in self._decisions]

    def _branches_otherwise(self, numbers: list[float]) -> bool:
        return list(map(bool, numbers)) != self._truths

    def _is_state(self, data: Memory) -> bool:
        root = root_of(data)
        if is_ndarray(root):
            return id(root) in self._state_roots
        return any(np.may_share_memory(data, each) for each in self._state_roots.values())

    def _build(self, value: object, inputs: Sequence[Tensor], built: dict[View, Tensor]) -> object:
        if isinstance(value, _Input):
            return inputs[value.place]
        if isinstance(value, _Output):
            if value.view not in built:
                array = self._outputs[value.view].copy(order="K")
                built[value.view] = wrap(array, _TENSOR)
            return built[value.view]
        return map_items(lambda item: self._build(item, inputs, built), value)


@dataclass
class _CacheEntry:
    """What is known of steps with inputs of one kind."""

    objects: list[object]
    watch: Watch | None = None
    first: object = None
    plan: Plan | None = None
    failures: int = 0
    reason: str | None = None

    def restart(self, reason: str) -> None:
        """Forget the plan; after several failures in a row, run eagerly for good."""
        if self.plan is not None and self.plan.replays >= REPLAYS_TO_FORGIVE:
            self.failures = 0
        self.failures += 1
        self.watch, self.first, self.plan = None, None, None
        if self.failures > MAX_FAILURES:
            self.reason = reason


class StepCache:
    """The steps of one function: how often they were captured and replayed, and the plans."""

    def __init__(self) -> None:
        self._entries: dict[object, _CacheEntry] = {}
        self._counts: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self.last: tuple[str, str] = ("", "")
        self._turns: dict[str, object] = {}

    def __reduce__(self) -> tuple[type["StepCache"], tuple[()]]:
        # A copy begins without plans.
        return StepCache, ()

    def info(self) -> GraphInfo:
        """Return what was done with the steps."""
        entries = self._entries.values()
        counts = self._counts
        return GraphInfo(
            observed=counts["observed"],
            captured=counts["captured"],
            replayed=counts["replayed"],
            eager=counts["eager"],
            plans=tuple(str(entry.plan) for entry in entries if entry.plan is not None),
            reasons=dict(self._reasons.most_common()),
            last=self.last,
        )

    def run(
        self,
        function: Callable[..., R],
        args: tuple[object, ...],
        kwargs: Mapping[str, object] | None = None,
    ) -> R:
        """Return `function(*args, **kwargs)`, of a replay if possible."""
        step = partial(function, *args, **kwargs) if kwargs else partial(function, *args)
        if recorder.get() is not None:
            # It is a part of a step that is captured.
            return step()
        turn, turns = object(), self._turns
        try:
            if turns.setdefault("step", turn) is not turn:
                raise _PlanError("another thread runs it")
            inputs: list[Tensor] = []
            containers: list[object] = []
            entry = self._entry(step, inputs, containers)
            if entry.plan is None:
                return self._prepare(entry, step, inputs, containers)
            try:
                result = entry.plan.replay(inputs, containers)
            except _PlanError as error:
                if not error.keep:
                    entry.restart(error.reason)
                raise
            self._count("replayed")
            return cast("R", result)
        except _PlanError as error:
            reason, numbers = error.reason, error.numbers
        finally:
            # No function is called here: an interrupt could end it before its first instruction.
            if "step" in turns and turns["step"] is turn:
                del turns["step"]
        return self.run_eagerly(reason, step, numbers)

    def _count(self, kind: str, reason: str = "") -> None:
        self._counts[kind] += 1
        self.last = kind, reason
        if reason:
            if reason not in self._reasons:
                _logger.info("graph mode: %s: %s", kind, reason)
            self._reasons[reason] += 1

    def run_eagerly(
        self, reason: str, step: Callable[[], R], numbers: Sequence[_Computed] = ()
    ) -> R:
        """Return `step()`, a step that is not captured for a reason."""
        self._count("eager", reason)
        if not numbers:
            return step()
        try:
            recorder.set(_GivenNumbers(numbers))
            return step()
        finally:
            recorder.set(None)

    def _entry(
        self, step: "partial[R]", inputs: list[Tensor], containers: list[object]
    ) -> _CacheEntry:
        """Return what is known of steps with such arguments.

        Args:
            step: The step.
            inputs: The tensors among the arguments are appended to it.
            containers: So are lists and dicts among the arguments.
        """
        reason = _environment()
        if reason is not None:
            raise _PlanError(reason)
        objects: list[object] = [step.func]
        try:
            key = _key((step.args, step.keywords), inputs, objects, containers)
            entry = self._entries.get(key)
        except RecursionError as error:
            raise _PlanError("its arguments are nested too deeply") from error
        if entry is None:
            if len(self._entries) >= MAX_PLANS:
                raise _PlanError(f"there are {MAX_PLANS} plans already")
            entry = self._entries[key] = _CacheEntry(objects)
        if entry.reason is not None:
            raise _PlanError(entry.reason)
        return entry

    def _prepare(
        self,
        entry: _CacheEntry,
        step: Callable[[], R],
        inputs: list[Tensor],
        containers: list[object],
    ) -> R:
        """Make an eager step that is observed or captured."""
        turn = object()
        try:
            # Only one thread at a time captures a step, since that replaces the arrays of tensors.
            if _captures.setdefault("step", turn) is not turn:
                raise _PlanError("another thread captures a step")
            if entry.watch is None:
                tape = Tape()
                watch = Watch(tape)
                result = run_recorded(step, tape, watch)
                entry.watch = watch
                self._count("observed")
                return result
            try:
                result, capture = _captured(entry, entry.watch, step, inputs, containers)
            except _PlanError as error:
                entry.restart(error.reason)
                raise
            except BaseException:
                entry.restart("it raises an error")
                raise
            reason = capture.tape.reason
            signature = None if reason else capture.signature()
            if entry.first not in (None, signature):
                reason = reason or "two captures of it differ"
            if reason is not None:
                entry.restart(reason)
            elif entry.first is None:
                entry.first = signature
            else:
                entry.plan = Plan(capture)
                if get_context("save_graphs"):
                    _save(entry)
            self._count("captured", reason or "")
            return result
        finally:
            if "step" in _captures and _captures["step"] is turn:
                del _captures["step"]


_captures: dict[str, object] = {}
_TENSOR = Tensor(0.0)


def _environment() -> str | None:
    """Return why no step can be replayed now; None if steps can."""
    if is_recording() or in_record_block():
        return "its gradient is computed"
    if sys.gettrace() is not None or sys.getprofile() is not None:
        return "a debugger or profiler is active"
    if gemm_observers:
        return "its operations are counted"
    return None if device_target() == "CPU" else "new tensors are not on the CPU"


def _key(
    value: object, inputs: list[Tensor], objects: list[object], containers: list[object]
) -> object:
    """Return what is equal for arguments that the same plan may serve."""
    # Every step calls this, with tensors most often.
    if type(value) is Tensor and value._node is None and is_ndarray(data := value._data):
        same = 0
        for each in inputs:
            if each._data is data:
                if each is not value:
                    # The step may ask for the identity of a tensor, and of its memory.
                    raise _PlanError("two of its tensors share memory")
                break
            same += 1
        inputs.append(value)
        if not data.flags.aligned:
            # numpy sums such elements in another order than those of a copy.
            raise _PlanError("an input is not aligned to its type")
        return same, _layout(data)
    kind = type(value)
    if is_tuple(value) and (kind is tuple or not kind.__dictoffset__):
        if kind is not tuple:
            objects.append(kind)
        return kind, *[_key(item, inputs, objects, containers) for item in value]
    if kind is list or kind is dict:
        same = next((i for i, each in enumerate(containers) if each is value), len(containers))
        containers.append(value)
        items: Iterable[object] = ()
        if same == len(containers) - 1:
            items = value.items() if is_dict(value) else cast("list[object]", value)
        return kind, same, *[_key(item, inputs, objects, containers) for item in items]
    if value is None or kind in (bool, int, str):
        return kind, value
    if kind is float:
        return kind, repr(value)
    objects.append(value)
    return object, id(value)


def _layout(data: Memory) -> tuple[object, ...]:
    """Return what decides on the order in which numpy computes with an array."""
    return data.shape, data.dtype, data.strides


def as_memory(tensor: Variable) -> Memory:
    """Return the array of a tensor on the host.

    Raises:
        _PlanError: The tensor is on another device.
    """
    data: object = tensor._data
    if isinstance(data, Recorded) and data.tape.closed:
        # The step has stored the tensor.
        data = tensor._data = data.values
    if not is_ndarray(data):
        raise _PlanError("a tensor is not on the CPU")
    return data


def run_recorded(
    step: Callable[[], R], tape: Tape, watch: Watch, recorded: "RecordedTensors | None" = None
) -> R:
    """Return `step()`, whose array calls are noted, and put everything back.

    Args:
        step: The step.
        tape: The tape.
        watch: What notes the code that runs.
        recorded: The tensors whose arrays are replaced by recorded ones meanwhile.
    """

    def restore() -> None:
        watch.stop()
        recorder.set(None)
        tape.closed = True
        if recorded is not None:
            recorded.restore()

    try:
        try:
            recorder.set(tape)
            if recorded is not None:
                recorded.replace()
            watch.start()
            return step()
        finally:
            restore()
    finally:
        # Once more, since Ctrl-C may have ended the first call.
        restore()


class RecordedTensors:
    """Tensors whose arrays are replaced by recorded ones while a step runs.

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
        self._by_array: dict[int, tuple[Recorded, bool, bool]] = {}
        self.inputs: list[_RecordedTensor] = self._record(inputs, is_input=True)
        self.state: list[_RecordedTensor] = self._record(state)
        self.host: list[_RecordedTensor] = self._record(host, host=True)
        self.rebound: dict[int, tuple[_RecordedTensor, Array]] = {}
        self._all = list(
            {id(each.tensor): each for each in (*self.inputs, *self.state, *self.host)}.values()
        )
        self._replaced = [
            (vars(cell), {name: vars(cell)[name] for name in names}) for cell, names in transient
        ]
        self.tape.run_on_host = self._run_on_host

    def _record(
        self, tensors: Iterable[Variable], *, is_input: bool = False, host: bool = False
    ) -> list[_RecordedTensor]:
        found: list[_RecordedTensor] = []
        for tensor in tensors:
            array = as_memory(tensor)
            if id(array) not in self._by_array:
                recorded = self.tape.lift(array, is_input=is_input)
                self._by_array[id(array)] = recorded, is_input, host
            recorded, *kind = self._by_array[id(array)]
            if kind != [is_input, host]:
                raise _PlanError("two of its tensors share memory")
            found.append(_RecordedTensor(tensor, array, recorded))
        return found

    def _run_on_host(self, function: Callable[[], R], /) -> R:
        for each in self.host:
            each.tensor._data = each.array
        try:
            return function()
        finally:
            for each in self.host:
                each.tensor._data = each.recorded

    def replace(self) -> None:
        """Give each tensor its recorded array."""
        for each in self._all:
            each.tensor._data = each.recorded
        for attributes, own in self._replaced:
            attributes.update({name: copy.copy(value) for name, value in own.items()})

    def restore(self) -> None:
        """Give each tensor its array back, or the one that the step has given it."""
        for attributes, own in self._replaced:
            attributes.update(own)
        for each in self._all:
            now = each.tensor._data
            if now is each.recorded:
                each.tensor._data = each.array
            elif now is not each.array and id(each.tensor) not in self.rebound:
                self.rebound[id(each.tensor)] = each, now
                each.tensor._data = now.values if isinstance(now, Recorded) else now


def _captured(
    entry: _CacheEntry,
    watched: Watch,
    step: Callable[[], R],
    inputs: Sequence[Tensor],
    containers: list[object],
) -> tuple[R, _Capture]:
    """Make an eager step on recorded arrays, and return its result and the notes on it."""
    try:
        guards = Guards(entry.objects, watched)
    except RecursionError as error:
        raise _PlanError("what it reads is nested too deeply") from error
    if guards.reason is not None:
        raise _PlanError(guards.reason)
    if any(map(guards.holds, containers)):
        raise _PlanError(_HELD)
    tensors = guards.tensors.values()
    recorded = RecordedTensors(inputs, tensors, guards.host.values(), guards.transient)
    tape, before = recorded.tape, [_items(each) for each in containers]
    watch = Watch(tape)
    result = run_recorded(step, tape, watch, recorded)
    if not all(
        len(old) == len(new) and all(map(operator.is_, old, new))
        for old, new in zip(before, map(_items, containers), strict=True)
    ):
        tape.refuse("it changes a list or dict among its arguments")
    known: dict[int, _Output | _Input] = {
        id(each.tensor): _Input(i) for i, each in reversed([*enumerate(recorded.inputs)])
    }
    read = {id(each.tensor) for each in recorded.state}
    encoded = _ResultEncoder(tape, guards, known, read, {*map(id, containers)}).result(result)
    rebound: list[tuple[int, View]] = []
    for each, now in recorded.rebound.values():
        index = next((i for i, other in enumerate(recorded.state) if other is each), None)
        if index is None or not isinstance(now, Recorded) or now.tape is not tape:
            tape.refuse("a tensor gets new memory of unknown origin")
        else:
            rebound.append((index, tape.view(now.values)))
    tape.refuse(guards.untracked_code(watch))
    change = guards.first_change()
    tape.refuse(change and f"while it runs, {change}")
    for tensor in tensors:
        guards.guard_tensor(tensor, memory=id(tensor) not in recorded.rebound)
    tape.refuse(_unsuitable(tape, recorded.state, recorded.host, rebound))
    return result, _Capture(tape, guards, recorded.inputs, recorded.state, encoded, rebound)


def _items(container: object) -> list[object]:
    """Return the items of a list, or the keys and values of a dict."""
    if isinstance(container, dict):
        return [*container, *container.values()]
    return list(cast("list[object]", container))


def _unsuitable(
    tape: Tape,
    state: list[_RecordedTensor],
    host: list[_RecordedTensor],
    rebound: list[tuple[int, View]],
) -> str | None:
    """Return why the calls cannot be replayed; None if they can."""
    written = {buffer for entry in tape.entries for buffer in writes(entry)}
    used = written.union(*(reads(entry) for entry in tape.entries))
    if written & tape.inputs:
        return "it writes to an input"
    if used & {tape.view(each.recorded.values).buffer for each in host}:
        return "it computes with a tensor of an optimizer"
    buffers = [view.buffer for _, view in rebound]
    if len(set(buffers)) < len(buffers) or any(buffer < 0 for buffer in buffers):
        return "a tensor gets the memory of another"
    if written & {tape.view(state[i].recorded.values).buffer for i, _ in rebound}:
        return "it writes to a tensor and gives it new memory"
    # An index out of range raises an error, which must come from a complete eager step.
    checked = {view for each in tape.decisions for view in views_in(each.operands)}
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
    known: dict[int, "_Output | _Input"]
    read: set[int]
    containers: set[int]

    def result(self, result: object) -> object:
        """Return a result with an `_Output` for each new tensor, whose array becomes numpy's."""
        encoded = self._encode(result)
        outputs = [each for each in self.known.values() if isinstance(each, _Output)]
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
            if type(value) is not Tensor or value._node is not None or type(data) is not Recorded:
                self.tape.refuse("its result is a constant, or a parameter of its own")
                if isinstance(data, Recorded):
                    value._data = data.values
                return None
            value._data = data.values
            if data.values.copy(order="K").strides != data.values.strides:
                self.tape.refuse("its result is a part of a larger array")
            self.known[id(value)] = _Output(self.tape.view(data.values))
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


_saved = count(1)


def _save(entry: _CacheEntry) -> None:
    """Write the plan of a cache entry to the folder of the context."""
    folder = str(get_context("save_graphs_path"))
    os.makedirs(folder, exist_ok=True)
    name = getattr(entry.objects[0], "__qualname__", type(entry.objects[0]).__name__)
    text = f"{name}: {entry.plan}\n\n{entry.plan.program if entry.plan else ''}\n"
    file_name = re.sub(r"[^\w.]", "", f"plan_{next(_saved)}_{name}.txt")
    with atomic_write(os.path.join(folder, file_name)) as file:
        file.write(text.encode())


def graph_info(step: object) -> GraphInfo:
    """Return what graph mode has done with the steps of a cell or function.

    Args:
        step: A `TrainOneStepCell` or `WithEvalCell`, such as `Model.train_network` or
            `Model.eval_network`; a `Model`, for its predictions; or a function or bound method
            returned by `jit`.

    Returns:
        How many steps were captured, replayed and run eagerly, and why.

    Raises:
        TypeError: `step` is neither.
    """
    found: object = getattr(step, "_graph", step)
    if isinstance(step, MethodType):
        found = vars(step.__self__).get(f"_graph of {step.__name__}", found)
    steps = StepCache() if found is None else found
    if not isinstance(steps, StepCache):
        raise TypeError(
            "For 'graph_info', the argument 'step' must be a TrainOneStepCell, a WithEvalCell, a "
            f"Model, or a function that 'jit' returned, but got {describe_value(step)}."
        )
    return steps.info()
