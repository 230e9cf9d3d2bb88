"""Graph mode: a step is captured once and replayed.

The first step with inputs of a kind is *observed*: it runs eagerly, and what it reads is noted. The
second and third are *captured*: they run eagerly on captured arrays, and their tapes must be equal.
From then on the plan that is made of the tape is *replayed*. Every replay leaves the bits that the
eager step would leave; what cannot be shown to do so runs eagerly, and `graph_info` says why.
"""

import logging
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from types import MethodType
from typing import TypeVar, cast

import numpy as np

from minispore.common.context import get_context
from minispore.engine.array import device_target, is_ndarray
from minispore.engine.array.capture_hooks import current_hooks
from minispore.engine.graph import in_record_block, is_recording
from minispore.engine.rules.linalg import gemm_observers
from minispore.graph.capture import Computed, PlanError, capture_step, run_on_tape
from minispore.graph.plan import GivenNumbers, Plan, layout
from minispore.graph.tape import Tape
from minispore.graph.watch import Watch
from minispore.ops.tensors import Tensor
from minispore.utils.atomic import atomic_write
from minispore.utils.checks import is_dict, is_list, is_tuple, type_error

R = TypeVar("R")
_logger = logging.getLogger("minispore")
# The largest number of plans of one step, and of failed attempts in a row to make one.
MAX_PLANS = 8
MAX_FAILURES = 3
# A plan that has been replayed as often has paid for the captures.
REPLAYS_TO_FORGIVE = 16


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
        if current_hooks.get() is not None:
            # It is a part of a step that is captured.
            return step()
        turn, turns = object(), self._turns
        try:
            if turns.setdefault("step", turn) is not turn:
                raise PlanError("another thread runs it")
            inputs: list[Tensor] = []
            containers: list[object] = []
            entry = self._entry(step, inputs, containers)
            if entry.plan is None:
                return self._prepare(entry, step, inputs, containers)
            try:
                result = entry.plan.replay(inputs, containers)
            except PlanError as error:
                if not error.keep:
                    entry.restart(error.reason)
                raise
            self._count("replayed")
            return cast("R", result)
        except PlanError as error:
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
        self, reason: str, step: Callable[[], R], numbers: Sequence[Computed] = ()
    ) -> R:
        """Return `step()`, a step that is not captured for a reason."""
        self._count("eager", reason)
        if not numbers:
            return step()
        try:
            current_hooks.set(GivenNumbers(numbers))
            return step()
        finally:
            current_hooks.set(None)

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
            raise PlanError(reason)
        objects: list[object] = [step.func]
        try:
            key = _key((step.args, step.keywords), inputs, objects, containers)
            entry = self._entries.get(key)
        except RecursionError as error:
            raise PlanError("its arguments are nested too deeply") from error
        if entry is None:
            if len(self._entries) >= MAX_PLANS:
                raise PlanError(f"there are {MAX_PLANS} plans already")
            entry = self._entries[key] = _CacheEntry(objects)
        if entry.reason is not None:
            raise PlanError(entry.reason)
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
                raise PlanError("another thread captures a step")
            if entry.watch is None:
                tape = Tape()
                watch = Watch(tape)
                result = run_on_tape(step, tape, watch)
                entry.watch = watch
                self._count("observed")
                return result
            try:
                result, capture = capture_step(entry.objects, entry.watch, step, inputs, containers)
            except PlanError as error:
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
        for other in inputs:
            if other is value:
                break
            if np.may_share_memory(other._data, data):
                # A write to one is a write to the other, and numpy computes `x @ x.T` differently.
                raise PlanError("two of its tensors share memory")
            same += 1
        inputs.append(value)
        if not data.flags.aligned:
            # numpy sums such elements in another order than those of a copy.
            raise PlanError("an input is not aligned to its type")
        return same, layout(data)
    kind = type(value)
    if is_tuple(value) and (kind is tuple or not kind.__dictoffset__):
        if kind is not tuple:
            objects.append(kind)
        return kind, *[_key(item, inputs, objects, containers) for item in value]
    if kind is list or kind is dict:
        same = next((i for i, other in enumerate(containers) if other is value), len(containers))
        containers.append(value)
        items: Iterable[object] = ()
        if same == len(containers) - 1:
            items = value.items() if is_dict(value) else value if is_list(value) else ()
        return kind, same, *[_key(item, inputs, objects, containers) for item in items]
    if value is None or kind in (bool, int, str):
        return kind, value
    if kind is float:
        return kind, repr(value)
    objects.append(value)
    return object, id(value)


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
    found: object = getattr(step, "_captured_steps", step)
    if isinstance(step, MethodType):
        found = vars(step.__self__).get(f"_captured_steps of {step.__name__}", found)
    steps = StepCache() if found is None else found
    if not isinstance(steps, StepCache):
        kinds = "a TrainOneStepCell, a WithEvalCell, a Model, or a function that 'jit' returned"
        raise type_error(step, "step", f"be {kinds}")
    return steps.info()
