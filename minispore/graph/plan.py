"""The plan of a captured step, which replays it with the bits of an eager step."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from minispore.engine.array import bytes_of, is_ndarray, root_of
from minispore.engine.array.capture_hooks import CaptureHooks, Numbers
from minispore.engine.dispatch import aliases
from minispore.graph.capture import HELD, Capture, Computed, Input, Output, PlanError, as_memory
from minispore.graph.program import Memory, Program, View, views_in
from minispore.graph.tape import flattened
from minispore.ops.tensors import Tensor, tensor_of
from minispore.utils.checks import map_items


class Plan:
    """A captured step that can be replayed.

    Args:
        capture: The notes on the step.
    """

    def __init__(self, capture: Capture) -> None:
        tape, self._guards = capture.tape, capture.guards
        state = [tape.view(item.lifted.values) for item in capture.state]
        copied = tape.inputs | {state[i].buffer for i, _ in capture.rebound}
        outside = {
            number: np.empty(tape.sizes[number], np.uint8) if number in copied else bytes_of(array)
            for number, array in tape.outside.items()
        }
        kept = {view.buffer for view in (*views_in(capture.result), *views_in(capture.rebound))}
        self.program: Program = Program(tape.entries, tape.sizes, outside, kept)
        array = self.program.array
        self._inputs = [array(tape.view(item.lifted.values)) for item in capture.inputs]
        self._rebound = [
            (capture.state[i].tensor, array(state[i]), array(view)) for i, view in capture.rebound
        ]
        self._state_roots = {id(root_of(item.array)): item.array for item in capture.state}
        self._tests = [
            (decision.test, [*map(self.program.bind, decision.operands)])
            for decision in tape.decisions
        ]
        self._outcomes = [decision.outcome for decision in tape.decisions]
        self._numbers, self._commits, self._truths = tape.numbers, tape.commits, tape.truths
        # The numbers of the latest replay; None before the first.
        self._latest: list[Numbers] | None = None
        self._result = capture.result
        self._outputs = {view: array(view) for view in views_in(capture.result)}
        self.replays: int = 0

    def __str__(self) -> str:
        program = self.program
        inputs = ", ".join(f"{array.shape} {array.dtype}" for array in self._inputs)
        return (
            f"inputs {inputs}; {len(program.pure) + len(program.rest)} calls, arena "
            f"{program.arena_size:,} bytes, {self.replays} replays"
        )

    def replay(self, inputs: Sequence[Tensor], containers: Iterable[object] = ()) -> object:
        """Make one step.

        Raises:
            PlanError: The plan does not hold for this step, and nothing has been changed.
        """
        self._check(containers)
        for static, given in zip(self._inputs, inputs, strict=True):
            data = as_memory(given)
            if self._is_state(data):
                raise PlanError("an input shares memory with a parameter", keep=True)
            static[...] = data
        try:
            outcomes = [test(*operands) for test, operands in self._tests]
        except Exception as error:
            raise PlanError("it raises an error", keep=True) from error
        if self._decides_otherwise(outcomes):
            raise PlanError("a decision on its inputs is another one", keep=True)
        program, values = self.program, self._next_numbers()
        try:
            for call in program.pure:
                call()
        except Exception as error:
            raise self._refusal("it raises an error", values) from error
        for call in program.rest:
            call()
        for commit, step_numbers in zip(self._commits, values, strict=True):
            commit(step_numbers)
        for tensor, _, value in self._rebound:
            tensor._data = value.copy(order="K")
        self.replays += 1
        return self._build(self._result, inputs, {})

    def _next_numbers(self) -> list[Numbers]:
        """Compute the host's numbers of the coming step, and give them to the program."""
        values: list[Numbers] = []
        try:
            for compute in self._numbers:
                values.append(compute())  # noqa: PERF401 (those before an error are kept)
        except Exception as error:
            raise self._refusal("it raises an error", [*values, error]) from error
        if values != self._latest:
            numbers = [x for value in values for x in flattened(value)]
            if self._branches_otherwise(numbers):
                reason = "a number of the optimizer became zero or nonzero"
                raise self._refusal(reason, values, keep=False)
            self.program.set_numbers(numbers)
            self._latest = values
        return values

    def _refusal(
        self, reason: str, results: Sequence[Numbers | Exception], *, keep: bool = True
    ) -> PlanError:
        computed = [*map(Computed, self._numbers, results)]
        return PlanError(reason, keep=keep, numbers=computed)

    def _check(self, containers: Iterable[object]) -> None:
        reason = self._guards.first_change()
        if reason is not None:
            raise PlanError(reason)
        if any(map(self._guards.holds, containers)):
            raise PlanError(HELD, keep=True)
        for tensor, static, _ in self._rebound:
            data = as_memory(tensor)
            if aliases(tensor):
                raise PlanError("a parameter that gets new memory shares it with a view", keep=True)
            if layout(data) != layout(static):
                raise PlanError("the shape of a parameter has changed")
            static[...] = data

    def _decides_otherwise(self, outcomes: list[bool]) -> bool:
        return outcomes != self._outcomes

    def _branches_otherwise(self, numbers: list[float]) -> bool:
        return list(map(bool, numbers)) != self._truths

    def _is_state(self, data: Memory) -> bool:
        root = root_of(data)
        if is_ndarray(root):
            return id(root) in self._state_roots
        return any(np.may_share_memory(data, state) for state in self._state_roots.values())

    def _build(self, value: object, inputs: Sequence[Tensor], built: dict[View, Tensor]) -> object:
        if isinstance(value, Input):
            return inputs[value.place]
        if isinstance(value, Output):
            if value.view not in built:
                built[value.view] = tensor_of(self._outputs[value.view].copy(order="K"))
            return built[value.view]
        return map_items(lambda item: self._build(item, inputs, built), value)


class GivenNumbers(CaptureHooks):
    """What the host computes in an eager step, with the numbers that a replay has computed.

    A learning-rate schedule of the user may change with each call, so it is called once in a step.
    """

    def __init__(self, numbers: Iterable[Computed]) -> None:
        self._numbers = list(numbers)

    def host_numbers(self, compute: Callable[[], Numbers]) -> Numbers:
        """Return the numbers."""
        for computed in self._numbers:
            if computed.compute == compute:
                self._numbers.remove(computed)
                if isinstance(computed.result, Exception):
                    raise computed.result
                return computed.result
        return compute()


def layout(data: Memory) -> tuple[object, ...]:
    """Return what decides on the order in which numpy computes with an array."""
    return data.shape, data.dtype, data.strides
