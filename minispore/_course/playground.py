"""The callback playground: a small training with chosen callbacks, and what happened in it.

The page docs/playground.md runs it in the reader's browser, `minispore play` in a process.
"""

import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from importlib.resources import files
from io import StringIO
from itertools import takewhile
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Literal, TypedDict

from minispore._course.translation import translate
from minispore.common import Tensor
from minispore.drawing import draw_events
from minispore.testing import (
    INVARIANTS,
    CallbackError,
    EventTrace,
    Fault,
    Scenario,
    check_callback,
    record_events,
)
from minispore.train import Callback, RunContext, SaveReason, TrainingState, save_checkpoint
from minispore.train.protocol import EVENTS
from minispore.utils.checks import check_int, check_one_of, is_dict

# One letter an event, of the training B e s t f E, of an evaluation V x y z w W.
LETTERS = dict(zip(EVENTS, "BestfEVxyzwW", strict=True))
EVALUATION = "Vx(yz)+wW"
GRAMMAR = {
    "train": "B(e(st)+f)+E",
    "fit": f"B(e(st)+({EVALUATION})?f)+E",
    "eval": EVALUATION,
}

FaultChoice = Literal["none", "stop", "exception", "interrupt", "kill"]
FAULTS: dict[FaultChoice, str] = {
    "none": "none",
    "stop": "request_stop() in step",
    "exception": "an exception in step",
    "interrupt": "Ctrl-C in step",
    "kill": "a kill in step, then resume",
}
# Offered by the form; each line of "callbacks" is an expression.
BUILT_IN = (
    "LossMonitor()",
    "TimeMonitor()",
    "History()",
    "CSVLogger('log.csv')",
    "ModelCheckpoint('net')",
    "EarlyStopping('eval_loss', patience=0)",
    "ReduceLROnPlateau('eval_loss', patience=0)",
    "LambdaCallback(on_train_end=lambda run_context: print('the end'))",
)
MAX_EPOCHS, MAX_STEPS = 4, 8
_MAX_DRAWN = 500
_MAX_PRINTED = 20_000
_FILE = "<your code>"
_STATE = "state.ckpt"


class Choices(TypedDict):
    """What the reader has chosen.

    Attributes:
        callbacks: An expression in each line, such as ``LossMonitor()``.
        code: Classes of callbacks. It begins with the public names of `minispore.train`.
        epochs: The number of epochs, up to 4.
        steps: The number of steps in an epoch, up to 8.
        validation: Whether each epoch ends with a validation.
        fault: What happens at the end of a step, after the hooks of the callbacks.
        step: The step, counted over all epochs from 1.
    """

    callbacks: str
    code: str
    epochs: int
    steps: int
    validation: bool
    fault: FaultChoice
    step: int


DEFAULT: Choices = {
    "callbacks": "LossMonitor()\nStopAfter(4)",
    "code": """class StopAfter(Callback):
    def __init__(self, steps):
        self.steps = steps

    def on_train_step_end(self, run_context):
        self.steps -= 1
        if self.steps == 0:
            run_context.request_stop()
""",
    "epochs": 2,
    "steps": 3,
    "validation": True,
    "fault": "none",
    "step": 2,
}


@dataclass(frozen=True)
class Run:
    """A run.

    Attributes:
        trace: Its events, and the calls of the callbacks.
        params: For each of the loop's events its name and the entries of `cb_params` at its begin
            that are numbers, texts, or dicts of them.
        is_sentence: Whether the events are a sentence of the grammar.
        printed: What the callbacks printed; its beginning if it is long.
        error: The exception of a callback, with the line of the typed-in code; otherwise "".
    """

    trace: EventTrace
    params: tuple[tuple[str, dict[str, object]], ...]
    is_sentence: bool
    printed: str
    error: str

    @property
    def events(self) -> list[tuple[str, int | None, int | None]]:
        """The name, epoch and step of each of the loop's events."""
        return [(e.name, e.epoch, e.step) for e in self.trace.of("") if e.name != "run"]


@dataclass(frozen=True)
class Verdict:
    """The verdict of `check_callback` on a callback.

    Attributes:
        callback: The expression that creates it.
        violated: The names of the invariants that it violates.
        text: The verdict.
    """

    callback: str
    violated: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Outcome:
    """What happened.

    Attributes:
        runs: The run, and the resumed run after a kill.
        verdicts: On each callback whose class is in the typed-in code.
        error: Why there is no run; otherwise "".
        resumes_exactly: Whether the resumed run has the events that the killed run would have had.
    """

    runs: tuple[Run, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    error: str = ""
    resumes_exactly: bool | None = None


def play(choices: Choices) -> Outcome:
    """Run a small network with the chosen callbacks, in an empty folder.

    Args:
        choices: The choices.

    Returns:
        What happened, also if the code of the callbacks is wrong.

    Raises:
        TypeError, ValueError: A number or the fault is not one that can be chosen.

    Examples:
        >>> outcome = play(DEFAULT)
        >>> outcome.runs[0].events[-1], outcome.runs[0].is_sentence
        (('on_train_end', 2, 4), True)
        >>> [verdict.violated for verdict in outcome.verdicts]
        [('reuse', 'resume')]
    """
    epochs = check_int(choices["epochs"], "epochs", low=1, high=MAX_EPOCHS)
    steps = check_int(choices["steps"], "steps", low=1, high=MAX_STEPS)
    kind: Literal["train", "fit"] = "fit" if choices["validation"] else "train"
    check_one_of(choices["fault"], tuple(FAULTS), "fault")
    fault = None
    if choices["fault"] != "none":
        fault = Fault("on_train_step_end", choices["step"], choices["fault"])
    scenario = Scenario(kind, epochs, steps, fault=fault)
    nowhere = _Printed()
    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        chdir(folder),
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        try:
            run = _run(scenario, choices, "run", None)
            if fault is None or not run.trace or run.trace[0].raised != "InjectedKill":
                return Outcome((run,), _verdicts(choices, kind))
            # A training state needs the same callbacks, including the one with the fault.
            without_kill = replace(scenario, fault=Fault("on_train_step_end", times=10**6))
            resumed = _run(without_kill, choices, "run", _STATE if fault.times > 1 else None)
            complete = _run(without_kill, choices, "complete", None)
            exact = _from_step(resumed, fault.times) == _from_step(complete, fault.times)
            return Outcome((run, resumed), _verdicts(choices, kind), resumes_exactly=exact)
        except _WrongCodeError as error:
            return Outcome(error=str(error))


class _WrongCodeError(Exception):
    """The typed-in code cannot be executed, or creates no callback."""


class _Printed(StringIO):
    """The beginning of what is printed."""

    def write(self, text: str, /) -> int:
        super().write(text[: max(_MAX_PRINTED - self.tell(), 0)])
        return len(text)


def _factories(choices: Choices) -> list[tuple[str, Callable[[], Callback]]]:
    """Execute the code, and return each expression with what creates its callback."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    try:
        exec("from minispore.train import *", namespace)  # noqa: S102 (the purpose)
        exec(compile(choices["code"], _FILE, "exec"), namespace)  # noqa: S102
    except BaseException as error:
        raise _WrongCodeError(_explained(error)) from error
    lines = filter(None, map(str.strip, choices["callbacks"].splitlines()))
    return [(line, partial(_made, line, namespace)) for line in lines]


def _made(line: str, namespace: dict[str, object]) -> Callback:
    """Return the callback that an expression creates."""
    try:
        made: object = eval(line, namespace)  # noqa: S307 (the purpose)
    except BaseException as error:
        raise _WrongCodeError(f"{line}\n{_explained(error)}") from error
    if not isinstance(made, Callback):
        raise _WrongCodeError(f"{line}\nThis is no object of a subclass of Callback, but {made!r}.")
    return made


def _explained(error: BaseException) -> str:
    """Return the type and message of an exception, and the line of the typed-in code it is in."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == _FILE]
    text = re.sub(' *File "<.*?>", ', "", "".join(traceback.format_exception_only(error))).strip()
    return f"line {lines[-1]} of your code: {text}" if lines else text


class _Watch(Callback):
    """Records `cb_params` at each event, and saves the training state after each step and epoch.

    Args:
        state: The file for the state; None to save nothing.
    """

    def __init__(self, state: str | None = None) -> None:
        self._state = state
        self.seen = list[tuple[str, dict[str, object]]]()
        for event in EVENTS:
            setattr(self, event, partial(self._see, event))

    def _see(self, event: str, run_context: RunContext) -> None:
        params = run_context.original_args()
        plain = {name: _plain(value) for name, value in params.items()}
        self.seen.append((event, {key: value for key, value in plain.items() if value is not None}))
        if self._state and event in {"on_train_step_end", "on_train_epoch_end"}:
            run_context.request_save(self)

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, _reason: SaveReason
    ) -> None:
        """Save the state."""
        network = run_context.original_args().train_network
        save_checkpoint(network, str(self._state), append_dict=state.entries())


def _plain(value: object) -> object:
    """Return a number, a text or a dict of them as it was; None for other values."""
    if isinstance(value, Tensor):
        return value.item() if value.size == 1 else None
    if is_dict(value):
        return {str(name): _plain(item) for name, item in value.items()}
    return value if isinstance(value, bool | int | float | str) else None


def _run(scenario: Scenario, choices: Choices, name: str, resume: str | None) -> Run:
    """Run new callbacks in a folder; the one that records comes first, that with the fault last."""
    os.makedirs(name, exist_ok=True)
    printed, error = _Printed(), ""
    with chdir(name), redirect_stdout(printed), redirect_stderr(printed), record_events() as trace:
        # The code is executed for each run, since a kill loses global variables.
        callbacks = [make() for _, make in _factories(choices)]
        watch = _Watch() if scenario.fault is None else _Watch(os.path.join(os.pardir, _STATE))
        try:
            scenario.run([watch, *callbacks], resume and os.path.join(os.pardir, resume))
        except BaseException as raised:  # whatever a callback raises
            error = _explained(raised)
    shown = EventTrace(
        replace(event, source=event.source.replace("_FaultInjector", "the fault"))
        for event in trace
        if event.source != "_Watch"
        and (event.source != "_FaultInjector" or event.stop or event.raised)
    )
    letters = "".join(LETTERS[event.name] for event in trace.of("") if event.name != "run")
    is_sentence = bool(re.fullmatch(GRAMMAR[scenario.kind], letters))
    return Run(shown, tuple(watch.seen), is_sentence, printed.getvalue(), error)


def _from_step(run: Run, step: int) -> list[object]:
    """Return the events from the begin of a step on, each with the loss."""
    losses = [params.get("net_outputs") for _, params in run.params]
    events = [*zip(run.events, losses, strict=True)]
    begin = ("on_train_step_begin", step)
    before = [*takewhile(lambda pair: pair[0][::2] != begin, events)]
    return [*events[len(before) + 1 :]]


def _verdicts(choices: Choices, kind: Literal["train", "fit"]) -> tuple[Verdict, ...]:
    """Check the callbacks whose class is in the typed-in code, in the chosen kind of run."""
    factories = dict(_factories(choices)).items()
    typed = [(line, make) for line, make in factories if type(make()).__module__ == "__main__"]
    return tuple(_verdict(line, make, kind) for line, make in typed)


def _verdict(line: str, make: Callable[[], Callback], kind: Literal["train", "fit"]) -> Verdict:
    """Check a callback in the kind of run that was chosen."""
    try:
        tried = check_callback(make, modes=[kind])
    except CallbackError as error:
        names = dict.fromkeys(violation.invariant for violation in error.violations)
        return Verdict(line, tuple(names), str(error))
    except BaseException as error:  # whatever the code raises
        return Verdict(line, (), f"It could not be checked: {_explained(error)}")
    return Verdict(line, (), f"It satisfies the {len(INVARIANTS)} invariants in {len(tried)} runs.")


# The page.


def answer(request: str, _report: Callable[[str], object] = print) -> str:
    """Return the outcome as HTML.

    Args:
        request: `Choices` as JSON, which may also have the `language` of the outcome.
    """
    fields = json.loads(request)
    language = fields.pop("language", "en")
    choices: Choices = fields
    say = partial(translate, language="zh" if language == "zh" else "en")
    return "\n".join(_parts(play(choices), choices, say))


def form(say: Callable[[str], str] = str, *, address: str = "", outcome: str = "") -> str:
    """Return the form as HTML, with its style and script.

    Args:
        say: Translates the texts.
        address: Where the script sends the choices; "" to run Python in the page.
        outcome: The outcome to show at first, as HTML.
    """
    options = [
        f'<option value="{name}">{escape(say(text))}</option>' for name, text in FAULTS.items()
    ]
    values = {key: escape(str(value)) for key, value in DEFAULT.items()} | {
        "address": address,
        "outcome": outcome,
        "faults": "".join(options),
        "built_in": "".join(f"<option>{escape(callback)}</option>" for callback in BUILT_IN),
        "max_epochs": str(MAX_EPOCHS),
        "max_steps": str(MAX_STEPS),
    }
    # Placeholders without a value are texts.
    return re.sub(
        r"\{\{(.+?)\}\}",
        lambda match: values[match[1]] if match[1] in values else say(match[1]),
        part("playground.html"),
    )


def page(address: str) -> str:
    """Return the form as a page of its own, which sends the choices to an address."""
    parts = {"form": form(address=address), "editor": part("editor.js")}
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], part("page.html"))


def part(name: str) -> str:
    """Return the text of a file in the folder `playground_page`."""
    return files("minispore._course").joinpath("playground_page", name).read_text("utf-8")


def _parts(outcome: Outcome, choices: Choices, say: Callable[[str], str]) -> Iterator[str]:
    """Yield the HTML of each part of the outcome, with its texts translated."""
    if outcome.error:
        yield f"<h2>{say('Not run')}</h2>{_pre(say(outcome.error))}"
    for number, run in enumerate(outcome.runs):
        yield f"<h2>{say('Resumed' if number else 'Events')}</h2>"
        if number:
            yield f"<p>{say(_resumption(outcome, choices))}</p>"
        yield f"<p>{say(_description(run))}</p>"
        if run.error:
            yield _pre(say(run.error))
        if run.trace:
            yield f'<figure class="printed">{draw_events(run.trace[:_MAX_DRAWN])}</figure>'
            if len(run.trace) > _MAX_DRAWN:
                text = "The rest is not drawn: choose fewer epochs, steps or callbacks."
                yield f"<p>{say(text)}</p>"
            yield _table(run, say)
        if run.printed:
            yield f"<h2>{say('Printed')}</h2>{_pre(run.printed.rstrip())}"
    for verdict in outcome.verdicts:
        yield f"<h2><code>check_callback</code>: <code>{escape(verdict.callback)}</code></h2>"
        yield _pre(say(verdict.text))


def _pre(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"


def _resumption(outcome: Outcome, choices: Choices) -> str:
    """Return sentences about a resumed run."""
    step = choices["step"]
    begin = f"It resumes from the training state after step {step - 1}"
    if step == 1:
        begin = "There is no training state before the end of step 1, so it begins again"
    text = f"{begin}, with new objects of the callbacks."
    if outcome.resumes_exactly:
        return f"{text}\nIt <strong>continues</strong> like the run that is not killed."
    return f"{text}\nIt <strong>does not continue</strong> like the run that is not killed."


def _description(run: Run) -> str:
    """Return a sentence about the events of a run."""
    count = f"{len(run.events)} event{'s' * (len(run.events) != 1)}"
    if run.is_sentence:
        return f"{count}, <strong>a sentence</strong> of the grammar of events."
    raised = run.trace[0].raised if run.trace else ""
    if raised:
        return (
            f"{count}, until {escape(raised)} <strong>cut the sentence off</strong>: what has "
            "begun has no end."
        )
    return f"{count}, <strong>no sentence</strong> of the grammar of events."


def _table(run: Run, say: Callable[[str], str]) -> str:
    """Return the table of the entries of `cb_params` that are not the same at all events."""
    first = ("cur_epoch_num", "cur_step_num", "net_outputs")
    names = dict.fromkeys([*first, *(name for _, params in run.params for name in params)])
    changing = [
        name for name in names if len({str(params.get(name)) for _, params in run.params}) > 1
    ]
    head = "".join(f"<th>{escape(name)}</th>" for name in changing)
    rows = (
        f"<tr><td>{event}</td>"
        + "".join(f"<td>{escape(_cell(params.get(name)))}</td>" for name in changing)
        for event, params in run.params
    )
    return (
        f"<details><summary>{say('What changes in cb_params, at each event')}</summary>"
        f'<div class="wide"><table><thead><tr><th>{say("event")}</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></details>"
    )


def _cell(value: object) -> str:
    """Return the text of a value in the table."""
    if is_dict(value):
        return ", ".join(f"{name} {_cell(item)}" for name, item in value.items())
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Read choices from the first line of the standard input, and write the outcome."""
    request = sys.stdin.readline()
    # The input ends when the process that wrote it ends.
    Thread(target=lambda: (sys.stdin.read(), os._exit(1)), daemon=True).start()
    # What the code prints by other ways than `print` is not part of the outcome.
    with open(os.dup(1), "w", encoding="utf-8") as results:
        os.dup2(2, 1)
        results.write(answer(request))


if __name__ == "__main__":
    main()
