"""Lesson 19: a capstone, a callback system for a loop that is no training."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, counted, expect, expect_text


@dataclass(frozen=True)
class Case:
    """A search with two observers.

    Attributes:
        steps: The argument `steps`.
        x: The initial point.
        at: The number of the call of a hook, over both observers, that acts.
        action: "stop", or the kind of exception that the hook raises; "" for none.
    """

    steps: int
    x: float = 1.0
    at: int = 0
    action: str = ""

    def __str__(self) -> str:
        text = f"a search of {counted(self.steps, 'step')} with two observers, 1 and 2"
        calls = self.expected_calls()
        if not self.action or self.at >= len(calls):
            return text
        does = "requests a stop" if self.action == "stop" else f"raises {self.action}"
        return f"{text}, of which one {does} in {calls[self.at]}"

    def expected_calls(self) -> list[str]:
        """Return the calls of hooks without an action."""
        events = ["on_begin", *(f"on_step (step {i})" for i in range(1, self.steps + 1)), "on_end"]
        return [f"{event} of {name}" for event in events for name in (1, 2)]

    def run(
        self, work: ModuleType, *, on_error: Callable[[int], None] | None = None
    ) -> tuple[list[str], float | BaseException]:
        """Run the learner's loop; return the calls and the result or the exception."""
        calls, states = list[str](), list[object]()

        def record(event: str, name: int, state: Any) -> None:  # noqa: ANN401
            calls.append(f"{event} of {name}{if_another(state)}")
            if len(calls) - 1 == self.at and self.action == "stop":
                state.request_stop()
            elif len(calls) - 1 == self.at and self.action:
                raise _ERRORS[self.action]("of a hook")

        def fail(name: int, state: object, error: object) -> None:
            wrong = "" if isinstance(error, _ERRORS[self.action]) else " without the exception"
            calls.append(f"on_error of {name}{if_another(state)}{wrong}")
            if on_error is not None:
                on_error(name)

        def if_another(state: object) -> str:
            states.append(state)
            return "" if state is states[0] else " with another object"

        observers = [_observer(work, name, record, fail) for name in (1, 2)]
        try:
            return calls, work.minimize(_derivative, self.x, 0.25, self.steps, observers)
        except (ValueError, KeyboardInterrupt, OSError) as error:
            return calls, error


def _derivative(x: float) -> float:
    """Return the derivative; a step of the rate 1/4 divides x by 4, and no wrong step does."""
    return 3 * x


def _observer(
    work: ModuleType,
    name: int,
    record: Callable[[str, int, Any], None],
    fail: Callable[[int, object, object], None],
) -> object:
    class Recorder(work.Observer):  # type: ignore[name-defined, misc]
        def on_begin(self, state: Any) -> None:  # noqa: ANN401
            record("on_begin", name, state)

        def on_step(self, state: Any) -> None:  # noqa: ANN401
            record(f"on_step (step {state.step})", name, state)

        def on_end(self, state: Any) -> None:  # noqa: ANN401
            record("on_end", name, state)

        def on_error(self, state: Any, error: BaseException) -> None:  # noqa: ANN401
            fail(name, state, error)

    return Recorder()


_ERRORS: dict[str, type[BaseException]] = {
    "ValueError": ValueError,
    "KeyboardInterrupt": KeyboardInterrupt,
}


def _expect_calls(actual: list[str], expected: list[str]) -> None:
    expect_text("the hooks were called in the order", str(actual), str(expected))


def _order_is_correct(work: ModuleType, case: Case) -> None:
    _expect_calls(case.run(work)[0], case.expected_calls())


def _result_is_correct(work: ModuleType, case: Case) -> None:
    expected = case.x * 0.25**case.steps
    expect(
        "the result without observers",
        work.minimize(_derivative, case.x, 0.25, case.steps),
        expected,
    )


def _hooks_see_the_state(work: ModuleType, case: Case) -> None:
    points = list[float]()

    class Points(work.Observer):  # type: ignore[name-defined, misc]
        def on_step(self, state: Any) -> None:  # noqa: ANN401
            points.append(state.x)

    work.minimize(_derivative, case.x, 0.25, case.steps, [Points()])
    expected = [case.x * 0.25**i for i in range(1, case.steps + 1)]
    expect("`state.x` in the calls of on_step", points, expected)


def _stop_ends_the_search(work: ModuleType, case: Case) -> None:
    calls, result = case.run(work)
    expected = case.expected_calls()
    # Both observers handle the event, and then only the end follows.
    expected = [*expected[: case.at - case.at % 2 + 2], *expected[-2:]]
    _expect_calls(calls, expected)
    if isinstance(result, BaseException):
        raise WrongResult(f"the search raised {result!r}")
    done = sum(call.startswith("on_step") for call in expected) // 2
    expect("the result of the stopped search", result, case.x * 0.25**done)


def _error_calls_on_error(work: ModuleType, case: Case) -> None:
    calls, _ = case.run(work)
    expected = [*case.expected_calls()[: case.at + 1], "on_error of 1", "on_error of 2"]
    _expect_calls(calls, expected)


def _error_reaches_the_caller(work: ModuleType, case: Case) -> None:
    result = case.run(work)[1]
    expect("the exception that the caller gets", type(result), _ERRORS[case.action])


def _second_error_does_not_hide_the_first(work: ModuleType, case: Case) -> None:
    def fail(_: int) -> None:
        raise OSError("of on_error")

    calls, result = case.run(work, on_error=fail)
    expect("the exception that the caller gets", type(result), _ERRORS[case.action])
    expect("the last calls", calls[-2:], ["on_error of 1", "on_error of 2"])


def _misspelt_hook_is_an_error(work: ModuleType, name: str) -> None:
    try:
        type("Misspelt", (work.Observer,), {name: print})
    except TypeError as error:
        if name not in str(error):
            raise WrongResult(f"the message of the TypeError does not name {name}") from None
    else:
        raise WrongResult("the class was defined, but a TypeError was expected")
    other = name.replace("_", "")
    try:
        type("Other", (work.Observer,), {other: print})
    except TypeError:
        raise WrongResult(
            f"a subclass with the method {other}, which is no on_…, raised TypeError"
        ) from None


_STEPS = st.integers(0, 4)
_CASES = st.builds(Case, _STEPS, st.integers(-4, 4).map(float))


def _acting(*actions: str) -> st.SearchStrategy[Case]:
    return st.builds(
        Case, _STEPS, st.just(1.0), st.integers(0, 9), st.sampled_from(actions)
    ).filter(lambda case: case.at < 2 + 2 * case.steps)


LESSON = Lesson(
    title="Capstone: a callback system for another loop",
    exercise=CodeExercise(
        module="minispore._course.solutions.other_loop",
        from_empty=True,
        tasks={
            "minimize": "minimize(derivative, x, rate, steps, observers=()) returns the point "
            "after `steps` steps x = x − rate · derivative(x), and calls the hooks of its "
            "observers. All hooks receive one object, which you design: state.x is the current "
            "point, state.step the number of steps done, and state.request_stop() requests that "
            "the search ends after this event.",
            "Observer": "The base class of observers, whose hooks do nothing: on_begin(state), "
            "on_step(state) after each step, and on_end(state), also after a requested stop. If an "
            "exception or interrupt ends the search, on_error(state, error) of each observer is "
            "called instead, and the exception reaches the caller, also if on_error itself raises "
            "an exception. A subclass with a method on_… that is no hook raises TypeError with "
            "the method's name when it is defined.",
        },
        properties=(
            Property(
                "The hooks are called in the order on_begin, on_step after each step, on_end, each "
                "of all observers in their order.",
                _CASES, _order_is_correct, examples=20,
            ),
            Property(
                "Without observers, the result is that of gradient descent.",
                _CASES, _result_is_correct, examples=20,
            ),
            Property(
                "on_step sees the point after the step.", _CASES, _hooks_see_the_state, examples=20,
            ),
            Property(
                "After a requested stop, all observers handle the event, and then on_end.",
                _acting("stop"), _stop_ends_the_search, examples=60,
            ),
            Property(
                "If a hook raises an exception or interrupt, on_error of all observers is called, "
                "and no further hook.",
                _acting("ValueError", "KeyboardInterrupt"), _error_calls_on_error, examples=60,
            ),
            Property(
                "The exception reaches the caller.",
                _acting("ValueError", "KeyboardInterrupt"), _error_reaches_the_caller, examples=60,
            ),
            Property(
                "An exception in on_error neither hides the first one nor keeps other observers "
                "from being called.",
                _acting("ValueError"), _second_error_does_not_hide_the_first, examples=60,
            ),
            Property(
                "A method on_… that is no hook raises TypeError when the class is defined.",
                st.sampled_from(["on_stop", "on_steps", "on_finish"]), _misspelt_hook_is_an_error,
                show=lambda name: f"a subclass of Observer with the method {name}", examples=5,
            ),
        ),
        bugs=(
            *bugs(
                "minimize",
                ("the observers are asked before the step is counted",
                 ("            state.step += 1\n            for observer in observers:\n"
                 "                observer.on_step(state)"),
                 ("            for observer in observers:\n"
                 "                observer.on_step(state)\n            state.step += 1")),
                ("without observers, one step is missing",
                 "while state.step < steps",
                 "while state.step < steps - (not observers)"),
                ("on_step sees the point before the step",
                 ("state.x -= rate * derivative(state.x)\n            state.step += 1\n"
                 "            for observer in observers:\n                observer.on_step(state)"),
                 ("x = state.x - rate * derivative(state.x); state.step += 1\n"
                 "            for observer in observers:\n                observer.on_step(state)\n"
                 "            state.x = x")),
                ("a stop is ignored", " and not state.stop_requested", ""),
                ("the observer after the one that requests a stop is not called",
                 "            for observer in observers:\n                observer.on_step(state)",
                 ("            for observer in observers:\n                "
                 "state.stop_requested or observer.on_step(state)")),
                ("on_error is not called for an interrupt",
                 "            try:\n                observer.on_error(state, error)",
                 ("            try:\n                "
                 "isinstance(error, Exception) and observer.on_error(state, error)")),
                ("an interrupt ends the search as a stop does",
                 "        raise\n", "        if isinstance(error, Exception): raise\n"),
                ("on_end is called only after a requested stop",
                 "        for observer in observers:\n            observer.on_end(state)",
                 ("        for observer in state.stop_requested * observers:\n"
                 "            observer.on_end(state)")),
                ("an exception in on_error ends the calls",
                 "error.add_note(f\"on_error itself raised {other!r}\")", "break"),
            ),
            *bugs(
                "Observer.__init_subclass__",
                ("a misspelt hook is ignored", "raise TypeError(", "print if True else print("),
            ),
        ),
    ),
    hints="""
        Begin with a class for the state, with the attributes x, step and stop_requested, and the
        method request_stop. Write minimize without errors and stops first: three loops over the
        observers.

        Test state.stop_requested in the condition of the loop over the steps. All observers then
        handle the event in which it was requested, and on_end follows as usual.

        Put everything into try, and call on_error in `except BaseException as error:`, since
        KeyboardInterrupt is no Exception. End that block with `raise`, which raises the same
        exception again.

        Each call of on_error needs a try of its own. For misspelt hooks, define
        __init_subclass__(cls) in Observer: it is called for each subclass, and vars(cls) contains
        the methods. hasattr(Observer, name) distinguishes hooks from other names.
        """,
)  # fmt: skip
