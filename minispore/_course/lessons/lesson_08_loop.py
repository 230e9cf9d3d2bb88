"""Lesson 8: the loop says what happens; the order of its events is a grammar."""

from types import ModuleType
from typing import cast

from hypothesis import strategies as st

from minispore._course.exercise import Build, Lesson, law, paragraphs
from minispore._course.playing import NETWORK, VALIDATION, Run
from minispore._course.source import Bug
from minispore._course.words import Wrong, shown
from minispore.common import Tensor
from minispore.train._protocol.run_context import InternalCallbackParam


def _same(found: list[str], wanted: list[str]) -> None:
    """Compare what happened with what should have.

    Raises:
        Wrong: It tells the first difference.
    """
    place = 0
    while place < min(len(found), len(wanted)) and found[place] == wanted[place]:
        place += 1
    if place == len(found) == len(wanted):
        return
    after = f"after {found[place - 1]} your loop" if place else "your loop first"
    did = f"came to {found[place]}" if place < len(found) else "did nothing more"
    due = f"{wanted[place]} was expected" if place < len(wanted) else "that should have been all"
    raise Wrong(f"{after} {did}, but {due}")


def _order(work: ModuleType, case: Run) -> None:
    found = case.played(work, lambda name, _: name)
    _same(found, [moment.name for moment in case.plan()])


def _counts(work: ModuleType, case: Run) -> None:
    def tell(name: str, params: InternalCallbackParam) -> str:
        if name in ("on_train_begin", "on_train_end"):
            return name
        inside = "step" in name or name == NETWORK
        epoch, step = params.get("cur_epoch_num"), params.get("cur_step_num")
        return f"{name} of epoch {epoch}{f', step {step}' if inside else ''}"

    _same(case.played(work, tell), [str(moment) for moment in case.plan()])


def _batches_and_outputs(work: ModuleType, case: Run) -> None:
    def tell(name: str, params: InternalCallbackParam) -> str:
        if "step" not in name:
            return name
        text = f"{name} with batch {_number(params.get('train_dataset_element'))}"
        if name == "on_train_step_end":
            text += f" and the output {_number(params.get('net_outputs'))}"
        return text

    wanted = list[str]()
    for moment in case.plan():
        text, batch = moment.name, (moment.step - 1) % case.batches + 1
        if "step" in text:
            text += f" with batch {batch}"
        if moment.name == "on_train_step_end":
            text += f" and the output {10 * batch}"
        wanted.append(text)
    _same(case.played(work, tell), wanted)


def _number(value: object) -> str:
    """The one number in a batch or an output."""
    if isinstance(value, list):
        items = cast("list[object]", value)
        value = items[0] if len(items) == 1 else items
    if isinstance(value, Tensor):
        return f"{float(value.asnumpy()):g}" if value.ndim == 0 else shown(value.asnumpy())
    return shown(value)


def _modes(work: ModuleType, case: Run) -> None:
    def tell(name: str, params: InternalCallbackParam) -> str:
        if name != NETWORK:
            return name
        return f"{name} in {'training' if params.network.training else 'evaluation'}"

    names = [moment.name for moment in case.plan()]
    _same(
        case.played(work, tell),
        [f"{name} in training" if name == NETWORK else name for name in names],
    )


def _results(work: ModuleType, case: Run) -> None:
    def tell(name: str, params: InternalCallbackParam) -> str:
        if name == VALIDATION:
            return name
        return f"{name} with results" if {"metrics", "eval_results"} & set(params) else name

    wanted = [moment.name for moment in case.plan()]
    for i, name in enumerate(wanted):
        if i and wanted[i - 1] == VALIDATION:
            wanted[i] = f"{name} with results"
    _same(case.played(work, tell), wanted)


_NEVER = st.just(False)


def cases(
    *,
    before: bool = False,
    does: str = "",
    validates: st.SearchStrategy[bool] = _NEVER,
) -> st.SearchStrategy[Run]:
    """Runs of up to three epochs of up to three batches."""
    few = st.integers(1, 3)
    return st.builds(
        Run,
        few,
        few,
        st.integers(0, 2) if before else st.just(0),
        validates,
        st.integers(0, 12) if does else st.just(0),
        st.just(does),
    )


LESSON = Lesson(
    title="The loop and its holes",
    idea="The loop says what happens, in an order that is a grammar; others decide what to do "
    "about it.",
    minutes=35,
    explains=(
        "minispore.dataset.NumpySlicesDataset",
        "minispore.testing.record_events",
        "minispore.train.Callback",
        "minispore.train.Model",
        "minispore.train.RunContext",
        "minispore.train._boundary.Boundary",
        "minispore.train._dataset.Epochs",
        "minispore.train._protocol.manager.CallbackManager",
    ),
    exercise=Build(
        module="minispore.train._loop",
        tasks={
            "train": "With params = context.original_args(), go through data = "
            "Epochs(params.train_dataset, params.epoch_num): it gives, for each epoch, how many "
            "were before it in this run, and its batches. Set params.cur_epoch_num, which goes on "
            "from params.initial_epoch, emit the events, as in "
            "callbacks.emit(Callback.on_train_begin, context), and call validate if it is not "
            "None. At an epoch's end take 'metrics' and 'eval_results' out of params. Make "
            "Boundary(context, callbacks.callbacks, data) and hand it to _train_steps; no more is "
            "asked of it here.",
            "_train_steps": "For each batch, count params.cur_step_num, put the batch into "
            "params.train_dataset_element, call params.train_network with its tensors, put what "
            "that returns into params.net_outputs, and emit the two events of a step. Leave "
            "boundary alone.",
        },
        laws=(
            law(
                "A run is on_train_begin, epochs, on_train_end; an epoch is on_train_epoch_begin, "
                "steps, on_train_epoch_end; a step is on_train_step_begin, the network, "
                "on_train_step_end.",
                cases(),
                _order,
                show=str,
                examples=40,
            ),
            law(
                "Epochs are counted from the one after initial_epoch, steps from 1 and over all "
                "epochs.",
                cases(before=True),
                _counts,
                show=str,
                examples=60,
            ),
            law(
                "The hooks of a step find its batch and, in the end, what the network made of it.",
                cases(),
                _batches_and_outputs,
                show=str,
                examples=40,
            ),
            law(
                "In each step the network is in training, whatever a callback did with it.",
                cases(does="evaluate"),
                _modes,
                show=str,
            ),
            law(
                "A requested stop ends the run after the step, and what is open is closed.",
                cases(does="stop"),
                _order,
                show=str,
            ),
            law(
                "The validation comes after the steps of each epoch, and before its end.",
                cases(validates=st.just(True)),
                _order,
                show=str,
                examples=40,
            ),
            law(
                "When a stop was requested, no validation begins.",
                cases(does="stop", validates=st.just(True)),
                _order,
                show=str,
            ),
            law(
                "The results of a validation are there until the end of its epoch.",
                cases(validates=st.booleans()),
                _results,
                show=str,
                examples=40,
            ),
        ),
        bugs=(
            Bug(
                "the epochs of a run that goes on are counted from 1",
                "train", "params.initial_epoch + done + 1", "done + 1",
            ),
            Bug(
                "a stopped run has no on_train_end",
                "train", "break", "return",
            ),
            Bug(
                "a stop ends an epoch, and the next one begins",
                "train", "if context.get_stop_requested():\n            break",
                "if False:\n            break",
            ),
            Bug(
                "a stopped run is validated",
                "train", "elif validate is not None", "if validate is not None",
            ),
            Bug(
                "the validation comes when its epoch is closed",
                "train",
                "        elif validate is not None:\n"
                "            with boundary.validation():\n"
                "                validate()\n"
                "        callbacks.emit(Callback.on_train_epoch_end, context)\n",
                "        callbacks.emit(Callback.on_train_epoch_end, context)\n"
                "        if validate is not None and not context.get_stop_requested():\n"
                "            with boundary.validation():\n"
                "                validate()\n",
            ),
            Bug(
                "the results of a validation are still there in the next epoch",
                "train", 'params.pop("metrics", None)', "pass",
            ),
            Bug(
                "the steps are not counted",
                "_train_steps", "params.cur_step_num += 1", "params.cur_step_num = 1",
            ),
            Bug(
                "the hooks are not told the batch",
                "_train_steps", "params.train_dataset_element = batch", "pass",
            ),
            Bug(
                "the hooks are not told the output",
                "_train_steps", "params.net_outputs = network(*batch)", "network(*batch)",
            ),
            Bug(
                "a network that a callback has evaluated stays in evaluation",
                "_train_steps", "if not params.network.training", "if False",
            ),
            Bug(
                "a stop is looked at when the epoch is over",
                "_train_steps", "break", "pass",
            ),
        ),
    ),
    hints=paragraphs(
        """
        Write the six events first, with a loop in a loop: begin; for each epoch its begin, for
        each batch the step's begin, the network, the step's end, then the epoch's end; end. In
        _train_steps, params.train_network(*batch) is the step.

        Each hook must find in params what it is about, so params come first and the event
        after. done + 1 is the number of the epoch in this run; params.initial_epoch were before.

        A stop is a latch, context.get_stop_requested(), which is looked at where the run can
        end in order: after a step, before the validation, and after an epoch. Leave the loops
        with break, so that what closes them is still reached.

        params.train_network.set_train() belongs before the network is called, in every step: a
        callback may have evaluated the network since. validate() comes between the steps and
        on_train_epoch_end, and params.pop("metrics", None) behind that; "eval_results" goes
        likewise.
        """
    ),
)  # fmt: skip
