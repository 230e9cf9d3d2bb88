"""Lesson 8: the training loop emits events in an order that is given by a grammar."""

from itertools import takewhile
from types import ModuleType

from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, format_value
from minispore._course.loop_simulation import NETWORK, VALIDATION, EventFormatter, Run
from minispore.common import Tensor
from minispore.train.protocol.callback import InternalCallbackParam
from minispore.utils.checks import is_list


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
    due = f"{expected[count]} was expected" if count < len(expected) else "the end was expected"
    raise WrongResult(f"{after} {did}, but {due}")


def _order_is_correct(work: ModuleType, case: Run) -> None:
    expected = [event.name for event in case.expected_events()]
    _compare(work, case, lambda name, _: name, expected)


def _counts_are_correct(work: ModuleType, case: Run) -> None:
    def format_event(name: str, params: InternalCallbackParam) -> str:
        if name in ("on_train_begin", "on_train_end"):
            return name
        inside = "step" in name or name == NETWORK
        epoch, step = params.get("cur_epoch_num"), params.get("cur_step_num")
        return f"{name} of epoch {epoch}{f', step {step}' if inside else ''}"

    _compare(work, case, format_event, [str(event) for event in case.expected_events()])


def _params_are_correct(work: ModuleType, case: Run) -> None:
    def format_event(name: str, params: InternalCallbackParam) -> str:
        if "step" not in name:
            return name
        text = f"{name} with batch {_number(params.get('train_dataset_element'))}"
        if name == "on_train_step_end":
            text += f" and the output {_number(params.get('net_outputs'))}"
        return text

    expected = list[str]()
    for event in case.expected_events():
        text, batch = event.name, (event.step - 1) % case.batches + 1
        if "step" in text:
            text += f" with batch {batch}"
        if event.name == "on_train_step_end":
            text += f" and the output {10 * batch}"
        expected.append(text)
    _compare(work, case, format_event, expected)


def _number(value: object) -> str:
    """Format the one number in a batch or an output."""
    if is_list(value) and len(value) == 1:
        value = value[0]
    if isinstance(value, Tensor):
        return f"{float(value.asnumpy()):g}" if value.ndim == 0 else format_value(value.asnumpy())
    return format_value(value)


def _mode_is_correct(work: ModuleType, case: Run) -> None:
    def format_event(name: str, params: InternalCallbackParam) -> str:
        if name != NETWORK:
            return name
        return f"{name} in {'training' if params.network.training else 'evaluation'} mode"

    names = [event.name for event in case.expected_events()]
    expected = [f"{name} in training mode" if name == NETWORK else name for name in names]
    _compare(work, case, format_event, expected)


def _results_are_correct(work: ModuleType, case: Run) -> None:
    def format_event(name: str, params: InternalCallbackParam) -> str:
        if name == VALIDATION:
            return name
        return f"{name} with results" if {"metrics", "eval_results"} & set(params) else name

    expected = [event.name for event in case.expected_events()]
    for i, name in enumerate(expected):
        if i and expected[i - 1] == VALIDATION:
            expected[i] = f"{name} with results"
    _compare(work, case, format_event, expected)


_NEVER = st.just(False)


def cases(
    *,
    before: bool = False,
    action: str = "",
    validates: st.SearchStrategy[bool] = _NEVER,
) -> st.SearchStrategy[Run]:
    """Generate runs of up to three epochs of up to three batches."""
    few = st.integers(1, 3)
    return st.builds(
        Run,
        few,
        few,
        st.integers(0, 2) if before else st.just(0),
        validates,
        st.integers(0, 12) if action else st.just(0),
        st.just(action),
    )


_VALIDATE = "            with boundary.validation():\n                validate()\n"
_EMIT_EPOCH_END = "        callbacks.emit(Callback.on_train_epoch_end, context)\n"

LESSON = Lesson(
    title="The training loop and its callback hooks",
    exercise=CodeExercise(
        module="minispore.train.loop",
        tasks={
            "train": "With params = context.original_args(), iterate over data = "
            "EpochIterator(params.train_dataset, params.epoch_num): it yields, for each epoch, the "
            "number of epochs before it in this run, and its batches. Set params.cur_epoch_num, "
            "which continues from params.initial_epoch, emit the events, as in "
            "callbacks.emit(Callback.on_train_begin, context), and call validate if it is not "
            "None. At the end of an epoch remove 'metrics' and 'eval_results' from params. Create "
            "boundary_of(context, callbacks.callbacks, data) and pass it to _train_steps, with "
            "None as check; you need not use them otherwise.",
            "_train_steps": "For each batch, increment params.cur_step_num, set "
            "params.train_dataset_element to the batch, call params.train_network with its "
            "tensors, set params.net_outputs to the result, and emit the two events of a step. "
            "Ignore boundary and check.",
        },
        properties=(
            Property(
                "A run is on_train_begin, epochs, on_train_end; an epoch is on_train_epoch_begin, "
                "steps, on_train_epoch_end; a step is on_train_step_begin, the network, "
                "on_train_step_end.",
                cases(), _order_is_correct, examples=40,
            ),
            Property(
                "Epochs are numbered from initial_epoch + 1, steps from 1 over all epochs.",
                cases(before=True), _counts_are_correct, examples=60,
            ),
            Property(
                "The hooks of a step see its batch, and on_train_step_end sees the output.",
                cases(), _params_are_correct, examples=40,
            ),
            Property(
                "The network is in training mode in each step, whatever a callback did.",
                cases(action="evaluate"), _mode_is_correct,
            ),
            Property(
                "A requested stop ends the run after the step, and open epochs are closed.",
                cases(action="stop"), _order_is_correct,
            ),
            Property(
                "The validation follows the steps of each epoch and precedes the epoch's end.",
                cases(validates=st.just(True)), _order_is_correct, examples=40,
            ),
            Property(
                "After a requested stop, no validation starts.",
                cases(action="stop", validates=st.just(True)), _order_is_correct,
            ),
            Property(
                "The results of a validation are available until the end of its epoch.",
                cases(validates=st.booleans()), _results_are_correct, examples=40,
            ),
        ),
        bugs=(
            *bugs(
                "train",
                ("the epochs of a continued run are numbered from 1",
                 "params.initial_epoch + done + 1", "done + 1"),
                ("a stopped run has no on_train_end", "break", "return"),
                ("a run has no on_train_begin",
                 "callbacks.emit(Callback.on_train_begin, context)", "pass"),
                ("a stop ends the epoch, but the next one begins",
                 "if context.get_stop_requested():\n            break",
                 "if False:\n            break"),
                ("a stop is ignored in a run without a validation",
                 "if context.get_stop_requested():\n            break",
                 "if validate and context.get_stop_requested():\n            break"),
                ("a stopped run is validated",
                 "elif validate is not None", "if validate is not None"),
                ("the validation follows the end of its epoch",
                 "        elif validate is not None:\n" + _VALIDATE + _EMIT_EPOCH_END,
                 _EMIT_EPOCH_END
                 + "        if validate is not None and not context.get_stop_requested():\n"
                 + _VALIDATE),
                ("the results of a validation are still present in the next epoch",
                 'params.pop("metrics", None)', "pass"),
            ),
            *bugs(
                "_train_steps",
                ("the steps are not counted",
                 "params.cur_step_num += 1", "params.cur_step_num = 1"),
                ("the hooks do not see the batch",
                 "params.train_dataset_element = batch", "pass"),
                ("the hooks do not see the output",
                 "params.net_outputs = network(*batch)", "network(*batch)"),
                ("a network in evaluation mode stays in it",
                 "if not params.network.training", "if False"),
                ("a stop is checked only at the end of the epoch", "break", "pass"),
            ),
        ),
    ),
    hints="""
        Write the six events first, in two nested loops: begin; for each epoch its begin, for each
        batch the begin of the step, the network, the end of the step, then the end of the epoch;
        end. In _train_steps, params.train_network(*batch) is the step.

        Each hook must find the current values in params, so set params before emitting the event.
        done + 1 is the number of the epoch in this run; params.initial_epoch epochs precede it.

        A stop request is a flag, context.get_stop_requested(). Check it where the run may end:
        after a step, before the validation, and after an epoch. Leave the loops with break, so
        that the closing events are still emitted.

        Call params.train_network.set_train() before the network in every step: a callback may
        have set it to evaluation mode. validate() belongs between the steps and
        on_train_epoch_end, and params.pop("metrics", None) after that; the same for
        "eval_results".
        """,
)  # fmt: skip
