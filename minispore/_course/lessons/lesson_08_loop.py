"""Lesson 8: the training loop emits events in an order that is given by a grammar."""

from itertools import takewhile
from types import ModuleType, SimpleNamespace

from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, expect_text, format_value
from minispore._course.loop_simulation import NETWORK, VALIDATION, EventFormatter, Run

_EPOCH_BEGIN = "on_train_epoch_begin"


def _compare(
    work: ModuleType, case: Run, format_event: EventFormatter, expected: list[str]
) -> None:
    """Compare observed and expected events.

    Raises:
        WrongResult: They differ; the message names the first difference.
        Exception: The learner's loop has raised it after the expected events.
    """
    actual, error = case.observe(work, format_event)
    # An event too many explains what has failed after it.
    if error is not None and actual == expected[: len(actual)]:
        raise error
    if actual == expected:
        return
    # The number of equal events at the start.
    pairs = zip(actual, expected, strict=False)
    count = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    after = f"after {actual[count - 1]} your loop" if count else "your loop"
    did = "ended" if count == len(actual) else f"{'' if count else 'first '}emitted {actual[count]}"
    did += "" if actual else " without an event"
    if count < len(actual) and actual[count] == _EPOCH_BEGIN and _EPOCH_BEGIN in actual[:count]:
        did = f"began epoch {actual[: count + 1].count(_EPOCH_BEGIN)}"
    due = f"{expected[count]} was expected" if count < len(expected) else "the end was expected"
    raise WrongResult(f"{after} {did}, but {due}")


def _order_is_correct(work: ModuleType, case: Run) -> None:
    expected = [event.name for event in case.expected_events()]
    _compare(work, case, lambda name, _: name, expected)


def _counts_are_correct(work: ModuleType, case: Run) -> None:
    def format_event(name: str, state: object) -> str:
        if name in ("on_train_begin", "on_train_end"):
            return name
        inside = "step" in name or name == NETWORK
        epoch, step = _field(state, "epoch"), _field(state, "step")
        return f"{name} of epoch {epoch}{f', step {step}' if inside else ''}"

    _compare(work, case, format_event, [str(event) for event in case.expected_events()])


def _field(state: object, name: str) -> str:
    """Format an attribute of the learner's state."""
    return format_value(getattr(state, name, None))


def _losses_are_correct(work: ModuleType, case: Run) -> None:
    def format_event(name: str, state: object) -> str:
        end = name == "on_train_step_end"
        return f"{name} with the loss {_field(state, 'loss')}" if end else name

    expected = list[str]()
    for event in case.expected_events():
        loss = 10 * event.step
        end = event.name == "on_train_step_end"
        expected.append(f"{event.name} with the loss {loss}" if end else event.name)
    _compare(work, case, format_event, expected)


def _results_are_correct(work: ModuleType, case: Run) -> None:
    def format_event(name: str, state: object) -> str:
        if name == VALIDATION:
            return name
        return f"{name} with results" if getattr(state, "results", None) is not None else name

    expected = [event.name for event in case.expected_events()]
    for i, name in enumerate(expected):
        if i and expected[i - 1] == VALIDATION:
            expected[i] = f"{name} with results"
    _compare(work, case, format_event, expected)


def _hooks_are_called(work: ModuleType, case: tuple[bool, ...]) -> None:
    state, called = object(), list[str]()

    def callback(name: str, *, has_hook: bool) -> SimpleNamespace:
        def hook(received: object) -> None:
            if received is not state:
                value = format_value(received)
                raise WrongResult(
                    f"your emit passed {value} to the hook, but the state was expected"
                )
            called.append(name)

        return SimpleNamespace(**{"on_train_end" if has_hook else "on_train_begin": hook})

    callbacks = [callback(name, has_hook=it) for name, it in zip("abc", case, strict=False)]
    work.emit(callbacks, "on_train_end", state)
    due = str(_names(case)[1])
    expect_text("your emit called the hooks of", str(called), due)


def _names(case: tuple[bool, ...]) -> tuple[list[str], list[str]]:
    """Return the names of the callbacks, and of those that have the hook."""
    names = list("abc"[: len(case)])
    return names, [name for name, has_hook in zip(names, case, strict=True) if has_hook]


def _show_callbacks(case: tuple[bool, ...]) -> str:
    names, with_hook = _names(case)
    return f"the callbacks {names}, of which {with_hook} have the hook"


_NEVER = st.just(False)


def cases(
    *, stops: bool = False, validates: st.SearchStrategy[bool] = _NEVER
) -> st.SearchStrategy[Run]:
    """Generate runs of up to three epochs of up to three batches."""
    few = st.integers(1, 3)
    return st.builds(Run, few, few, validates, st.integers(0, 12) if stops else st.none())


_VALIDATE = """\
        if validate is not None and not state.stop:
            state.results = validate()
"""
_EMIT_EPOCH_END = '        emit(callbacks, "on_train_epoch_end", state)\n'

LESSON = Lesson(
    title="The training loop and its callback hooks",
    exercise=CodeExercise(
        module="minispore._course.solutions.loop",
        given=("State",),
        tasks={
            "emit": "As on the page.",
            "fit": "Create a state, and emit the events in the order of the grammar. Set "
            "state.epoch and state.step, which count from 1, the steps again in each epoch, and "
            "state.loss = step(*batch), the training step. After the steps of an epoch, set "
            "state.results to what validate() returns, unless there is none or a stop is "
            "requested; at the end of the epoch set them to None. Once a hook has set state.stop, "
            "end after the current step, or after the epoch, with all closing events.",
        },
        properties=(
            Property(
                "The hook of an event is called for each callback that has it, in the order of the "
                "list, with the state.",
                st.lists(st.booleans(), max_size=3).map(tuple), _hooks_are_called,
                show=_show_callbacks, examples=40,
            ),
            Property(
                "A run is on_train_begin, epochs, on_train_end; an epoch is on_train_epoch_begin, "
                "steps, on_train_epoch_end; a step is on_train_step_begin, the network, "
                "on_train_step_end.",
                cases(), _order_is_correct, examples=40,
            ),
            Property(
                "Epochs are numbered from 1, and so are the steps of each epoch.",
                cases(), _counts_are_correct, examples=40,
            ),
            Property(
                "on_train_step_end sees the loss of its batch.",
                cases(), _losses_are_correct, examples=40,
            ),
            Property(
                "A requested stop ends the run after the step, and open epochs are closed.",
                cases(stops=True), _order_is_correct,
            ),
            Property(
                "The validation follows the steps of each epoch and precedes the epoch's end.",
                cases(validates=st.just(True)), _order_is_correct, examples=40,
            ),
            Property(
                "After a requested stop, no validation starts.",
                cases(stops=True, validates=st.just(True)), _order_is_correct,
            ),
            Property(
                "The results of a validation are available until the end of its epoch.",
                cases(validates=st.booleans()), _results_are_correct, examples=40,
            ),
        ),
        bugs=(
            *bugs(
                "emit",
                ("a callback needs all hooks", "if hook is not None", "if True"),
                ("only the first callback with the hook is called",
                 "hook(state)", "return hook(state)"),
            ),
            *bugs(
                "fit",
                ("the epochs are numbered from 0", "range(1, epochs + 1)", "range(epochs)"),
                ("the steps are numbered from 0", "enumerate(batches, 1)", "enumerate(batches)"),
                ("the hooks do not see the loss", "state.loss = step", "step"),
                ("a run has no on_train_begin",
                 'emit(callbacks, "on_train_begin", state)', "pass"),
                ("a stop is checked only at the end of the epoch",
                 "if state.stop:\n                break", "pass"),
                ("a stop ends the epoch, but the next one begins",
                 "if state.stop:\n            break", "pass"),
                ("a stopped run has no on_train_end",
                 "if state.stop:\n            break", "if state.stop:\n            return"),
                ("a stop is ignored in a run without a validation",
                 "if state.stop:\n            break",
                 "if validate and state.stop:\n            break"),
                ("a stopped run is validated", " and not state.stop", ""),
                ("the validation follows the end of its epoch",
                 _VALIDATE + _EMIT_EPOCH_END, _EMIT_EPOCH_END + _VALIDATE),
                ("the results of a validation are still present in the next epoch",
                 "state.results = None", "pass"),
            ),
        ),
    ),
    hints="""
        Start with the page's fit, and add the two events that are missing: the begin of an epoch
        and the begin of a step.

        Each hook must find the current values in the state, so set them before emitting the event.

        A stop request is a flag, state.stop. Check it where the run may end: after a step, before
        the validation, and after an epoch. Leave the loops with break, so that the closing events
        are still emitted. A break leaves only the inner loop.

        validate() belongs between the steps and on_train_epoch_end, and state.results = None
        after that.
        """,
)  # fmt: skip
