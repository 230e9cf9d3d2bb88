"""The callback playground: events, resumed runs, verdicts and errors of chosen callbacks."""

import html
import json
import re
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minispore._course import playground
from minispore._course.playground import BUILT_IN, DEFAULT, Choices, Run, play

NEED_VALIDATION = [call for call in BUILT_IN if "eval_loss" in call]
CUTS = {"exception", "interrupt", "kill"}


@st.composite
def choices(draw: st.DrawFn) -> Choices:
    """Return a strategy for choices of built-in callbacks."""
    validation = draw(st.booleans())
    usable = [call for call in BUILT_IN if validation or call not in NEED_VALIDATION]
    return {
        "callbacks": "\n".join(draw(st.lists(st.sampled_from(usable), max_size=4))),
        "code": "",
        "epochs": draw(st.integers(1, 3)),
        "steps": draw(st.integers(1, 3)),
        "validation": validation,
        "fault": draw(st.sampled_from(list(playground.FAULTS))),
        "step": draw(st.integers(1, 9)),
    }


def done(run: Run) -> int:
    """Return the number of the last step that has ended."""
    return max(step or 0 for name, _, step in run.events if name == "on_train_step_end")


def from_step(run: Run, number: int) -> list[tuple[str, int | None, int | None]]:
    names = [(name, step) for name, _, step in run.events]
    return run.events[names.index(("on_train_step_begin", number)) :]


@settings(max_examples=settings().max_examples * 2 // 5)
@given(choices())
@example({**DEFAULT, "callbacks": "ModelCheckpoint('net')\nHistory()", "fault": "kill", "step": 1})
@example(
    {**DEFAULT, "callbacks": "EarlyStopping('eval_loss', patience=0)", "fault": "kill", "step": 4}
)
def test_events_are_a_sentence_unless_a_fault_cuts_them_off(chosen: Choices) -> None:
    fault, step = chosen["fault"], chosen["step"]
    (complete,) = play({**chosen, "fault": "none"}).runs
    outcome = play(chosen)
    run, cut = outcome.runs[0], fault in CUTS and step <= done(complete)
    assert complete.is_sentence
    assert run.is_sentence == (not cut)
    assert not any(played.error for played in outcome.runs)
    if cut or fault == "stop":
        assert done(run) == min(step, done(complete))
    if cut:
        assert complete.events[: len(run.events)] == run.events
    # The run that resumes ends like the one that nothing has killed.
    assert len(outcome.runs) == 1 + (fault == "kill" and cut)
    for resumed in outcome.runs[1:]:
        assert from_step(resumed, step) == from_step(complete, step)
        assert (resumed.is_sentence, outcome.resumes_exactly) == (True, True)


def test_callback_that_loses_its_attribute_does_not_resume_exactly() -> None:
    outcome = play({**DEFAULT, "fault": "kill"})
    assert [done(run) for run in outcome.runs] == [2, 5]
    assert outcome.resumes_exactly is False


PRINTS = """
class Prints(Callback):
    def on_train_step_end(self, run_context):
        params = run_context.original_args()
        params.seen = params.cur_step_num
        print(params.cur_epoch_num, params.cur_step_num, params.net_outputs.item())
"""


@given(choices())
def test_parameters_are_those_that_a_callback_sees(chosen: Choices) -> None:
    with patch.object(playground, "check_callback", return_value=()):
        run = play({**chosen, "callbacks": "Prints()", "code": PRINTS}).runs[0]
    names = "cur_epoch_num", "cur_step_num", "net_outputs"
    ends = [params for event, params in run.params if event == "on_train_step_end"]
    shown = "".join(f"{' '.join(str(params[name]) for name in names)}\n" for params in ends)
    assert run.printed == shown
    # What a callback adds is there from the next event on.
    assert [params.get("seen") for params in ends] == [None, *range(1, len(ends))]


def with_hook(body: str, hook: str = "on_train_step_end(self, run_context)") -> Choices:
    """Return choices with a class whose hook has this body."""
    code = f"class Own(Callback):\n    def {hook}:\n        {body}\n"
    return {**DEFAULT, "callbacks": "Own()", "code": code, "validation": False}


@pytest.mark.parametrize(
    ("chosen", "violated"),
    [
        (with_hook("print(1, end='')"), {"output"}),
        (with_hook("run_context.original_args().cur_step_num = 1"), {"bookkeeping"}),
        (with_hook("__import__('numpy').random.rand()"), {"random"}),
        (with_hook("pass"), set[str]()),
        (DEFAULT, {"reuse", "resume"}),
    ],
)
def test_broken_invariants_are_reported(chosen: Choices, violated: set[str]) -> None:
    (verdict,) = play(chosen).verdicts
    assert violated <= set(verdict.violated)
    assert bool(violated) == bool(verdict.violated)
    assert ("It satisfies the 10 invariants in" in verdict.text) == (not violated)
    for name in violated:
        assert f"\n{name}: " in verdict.text


# Errors.


@given(st.integers(0, 9), st.sampled_from(["ValueError('no')", "SystemExit", "KeyboardInterrupt"]))
def test_error_in_the_code_names_its_line(lines: int, error: str) -> None:
    outcome = play({**DEFAULT, "code": "\n" * lines + f"raise {error}"})
    assert outcome.runs == ()
    message = error.replace("('", ": ").replace("')", "")
    assert outcome.error == f"line {lines + 1} of your code: {message}"


@pytest.mark.parametrize(
    ("callbacks", "code", "begin", "end"),
    [
        ("Nothing()", "", "Nothing()\nNameError", "name 'Nothing' is not defined"),
        ("Own(", "", "Own(\nline 1\n    Own(\n", "SyntaxError: '(' was never closed"),
        ("3", "", "3\nThis is no object", " of a subclass of Callback, but 3."),
        ("", "x = 1\nx = (", "line 2\n    x = (\n", "SyntaxError: '(' was never closed"),
        ("", "\nx = y", "line 2 of your code: NameError", "name 'y' is not defined"),
    ],
)
def test_wrong_code_is_reported_without_a_traceback(
    callbacks: str, code: str, begin: str, end: str
) -> None:
    outcome = play({**DEFAULT, "callbacks": callbacks, "code": code})
    assert outcome.runs == ()
    assert outcome.error.startswith(begin)
    assert outcome.error.endswith(end)
    assert outcome.error in html.unescape(
        answered({**DEFAULT, "callbacks": callbacks, "code": code})
    )


def test_error_in_a_hook_ends_the_run_and_is_reported() -> None:
    outcome = play(with_hook("1 / 0"))
    (run,) = outcome.runs
    assert run.error.startswith("line 3 of your code: ZeroDivisionError: division by zero\n")
    assert (run.is_sentence, run.trace[0].raised) == (False, "ZeroDivisionError")
    assert outcome.verdicts[0].violated == ("errors",)


def test_run_that_does_not_begin_is_reported() -> None:
    """`Model.fit` rejects hooks of MindSpore 1.x."""
    chosen: Choices = {**with_hook("pass", hook="step_end(self, run_context)"), "validation": True}
    (run,) = play(chosen).runs
    assert (run.events, run.is_sentence) == ([], False)
    text = answered(chosen)
    assert "<p>0 events, <strong>no sentence</strong> of" in text
    assert html.escape(run.error) in text
    assert "step_end" in run.error
    assert "<svg" not in text


def test_interrupt_that_a_hook_raises_is_reported() -> None:
    outcome = play(with_hook("raise KeyboardInterrupt"))
    assert outcome.runs[0].error.startswith("line 3 of your code: KeyboardInterrupt")
    assert outcome.verdicts[0].text.startswith("It could not be checked: line 3 of your code: Key")


def test_callback_that_rejects_the_run_is_reported() -> None:
    outcome = play({**DEFAULT, "callbacks": NEED_VALIDATION[0], "validation": False})
    (run,) = outcome.runs
    assert "must be one of what this run measures" in run.error
    assert not run.is_sentence


@given(
    st.sampled_from(["epochs", "steps", "step"]),
    st.one_of(st.integers(max_value=0), st.booleans(), st.none()),
)
def test_other_numbers_are_refused(name: str, value: int | None) -> None:
    chosen = {**DEFAULT, "fault": "stop", name: value}
    with pytest.raises((TypeError, ValueError)):
        playground.answer(json.dumps(chosen))


def test_files_are_written_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    play({**DEFAULT, "callbacks": "CSVLogger('log.csv')\nModelCheckpoint('net')", "fault": "kill"})
    assert list(tmp_path.iterdir()) == []


# The page.


def answered(chosen: Choices) -> str:
    return playground.answer(json.dumps(chosen), print)


def test_outcome_says_whether_the_events_are_a_sentence() -> None:
    chosen: Choices = {**DEFAULT, "callbacks": "", "steps": 2, "validation": False}
    assert "<p>14 events, <strong>a sentence</strong> of" in answered(chosen)
    text = answered({**chosen, "fault": "exception"})
    assert "<p>6 events, until InjectedError <strong>cut the sentence off</strong>" in text
    caught = with_hook("return kind is not None", hook="__exit__(self, kind, *_)")
    with patch.object(playground, "check_callback", return_value=()):
        text = answered({**caught, "fault": "exception"})
    assert "<p>6 events, <strong>no sentence</strong> of" in text


@pytest.mark.parametrize(
    ("step", "begin"),
    [
        (1, "There is no training state before the end of step 1, so it begins again"),
        (2, "It resumes from the training state after step 1"),
    ],
)
def test_outcome_says_how_the_run_resumes(step: int, begin: str) -> None:
    text = answered({**DEFAULT, "callbacks": "", "fault": "kill", "step": step})
    assert f"<p>{begin}, with new objects of the callbacks.\nIt <strong>continues</strong>" in text


CHINESE: list[tuple[dict[str, object], str]] = [
    ({}, "违反了 10 个不变量中的 2 个"),
    ({"fault": "kill"}, "它从第 1 步之后的训练状态续训"),
    ({"callbacks": "3"}, "这不是 Callback 子类的对象"),
    ({"code": "raise ValueError"}, "你的代码第 1 行"),
]


@pytest.mark.parametrize(("changed", "expected"), CHINESE)
def test_outcome_is_in_the_language_of_the_page(changed: dict[str, object], expected: str) -> None:
    request = {**DEFAULT, **changed, "language": "zh"}
    text = re.sub(r"<svg.*?</svg>|<tbody>.*?</tbody>", "", playground.answer(json.dumps(request)))
    assert expected in text
    for heading in re.findall(r"<(?:h2|p|summary)>(.*?)</", text):
        assert re.search(r"[\u4e00-\u9fff]", heading) or heading.startswith("<code>")
    assert expected not in playground.answer(json.dumps({**request, "language": "en"}))


def test_only_the_beginning_of_a_long_run_is_drawn() -> None:
    long: Choices = {**DEFAULT, "callbacks": "LossMonitor()\n" * 15, "epochs": 4, "steps": 8}
    for epochs, is_drawn in ((1, True), (4, False)):
        text = answered({**long, "epochs": epochs})
        assert ("The rest is not drawn" in text) == (not is_drawn)
        assert ("on_train_end</text>" in text) == is_drawn


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_printed_is_escaped(text: str) -> None:
    with patch.object(playground, "check_callback", return_value=()):
        page = answered(with_hook(f"print({f'<script>{text}</script>'!r})"))
    assert "<script>" not in page
    assert "<script>" not in answered({**DEFAULT, "code": "raise ValueError('<script>')"})


def test_only_the_beginning_of_a_long_output_is_kept() -> None:
    (run,) = play({**DEFAULT, "callbacks": "", "code": "print('ab' * 50_000)"}).runs
    assert run.printed == "ab" * 10_000


def test_form_has_the_choices_and_no_placeholders() -> None:
    page = playground.page("run")
    assert "{{" not in page
    assert 'data-address="run"' in page
    translated = playground.form(str.upper, outcome="<p>an outcome</p>")
    assert "YOUR CLASSES" in translated
    assert "<p>an outcome</p>" in translated
    for text in (*BUILT_IN, DEFAULT["callbacks"]):
        assert text.replace("'", "&#x27;") in translated
