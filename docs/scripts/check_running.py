"""Run the programs and exercises of a built site in Chromium and in Firefox.

`python docs/scripts/check_running.py site pyodide` needs a site that was built with
PYODIDE_BASE=pyodide/; the second folder is a release of Pyodide. If it contains numpy, the
exercises are checked and the programs of all English pages are run, otherwise only the checks that
need no numpy. The verdicts on the exercises are compared with those of the terminal. Programs of
which more than numbers differ from what the page shows are listed, for a person to look at.
"""

import argparse
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from check_site import BROWSERS, FLAGS, served
from exercises import beginning
from playwright.sync_api import Browser, Error, Locator, Page, Playwright, expect, sync_playwright

from minispore._course import commands, lessons, sandbox
from minispore._course.browser import FOLDER, initial_file
from minispore._course.exercise import CodeExercise
from minispore._course.source import mutated_text, text_of
from minispore._course.workspace import Progress, Workspace

# In milliseconds; this includes loading Python, and for the last program all those above it.
TIMEOUT = 400_000
LESSON = "/learn/01-graph.html"
BAR = ".program + textarea + .run"  # the buttons of a program
UNFOLD = """
document.querySelectorAll(".guess").forEach(each => each.replaceWith(each.lastElementChild));
document.querySelectorAll(".solution").forEach(each => { each.open = true });
"""
DRAWING = 'print(\'<svg viewBox="0 0 9 9"><title>A dot</title><circle r="9"/></svg>\')'


class Program:
    """A program on a page, with its buttons and its output.

    Args:
        page: The page.
        number: The number of the program on its page, from 1.
    """

    def __init__(self, page: Page, number: int) -> None:
        bar = page.locator(BAR).nth(number - 1)
        self.output: Locator = page.locator(f"{BAR} + .output").nth(number - 1)
        self.text: Locator = page.get_by_label(f"Program {number}", exact=True)
        self.state: Locator = bar.get_by_role("status")
        shown = page.locator(".program").nth(number - 1)
        # It needs none of the programs above it.
        self.is_law: bool = "law" in (shown.get_attribute("class") or "").split()
        self._label = "Break it" if self.is_law else "Run"
        self._bar = bar

    def click(self, name: str) -> None:
        """Click a button."""
        self.button(name).click()

    def button(self, name: str) -> Locator:
        """Return a button."""
        return self._bar.get_by_text(name, exact=True)

    def write(self, code: str) -> None:
        """Replace the text of the program."""
        if self.text.is_hidden():
            self.click("Edit")
        self.text.fill(code)

    def run(self) -> None:
        """Run the program and those above it, and wait until they have ended."""
        self.click(self._label)
        self.wait()

    def wait(self) -> None:
        """Wait until the program has ended."""
        run = self.button(self._label)
        expect(run).to_have_attribute("aria-disabled", "false", timeout=TIMEOUT)


class Exercise:
    """The exercise of a lesson's page, with its buttons and its output."""

    def __init__(self, page: Page) -> None:
        self.place: Locator = page.locator(".exercise")
        self.rest: Locator = self.place.locator(".rest")
        self.text: Locator = self.place.locator(":scope > .coloured textarea")
        self.output: Locator = self.place.locator(".output")
        self.state: Locator = self.place.get_by_role("status")
        self.progress: Locator = self.place.locator(".progress > summary")

    def button(self, name: str) -> Locator:
        """Return a button."""
        return self.place.get_by_text(name, exact=True)

    def act(self, name: str) -> None:
        """Click a button, and wait until Python has ended."""
        self.button(name).click()
        self.wait()

    def wait(self) -> None:
        """Wait until Python has ended."""
        expect(self.button("Check")).to_have_attribute("aria-disabled", "false", timeout=TIMEOUT)

    def write(self, text: str) -> None:
        """Replace the whole text."""
        if self.rest.is_visible():
            self.rest.evaluate("rest => { rest.open = true }")
            self.rest.get_by_role("textbox").fill("")
        self.text.fill(text)

    def expect_text(self, text: str) -> None:
        """Expect a whole text, of which the beginning is folded."""
        start = f"\n{text}".find(f"\n{beginning(text, lessons.lesson(1).exercise.tasks)}")
        expect(self.text).to_have_value(text[start:], timeout=TIMEOUT)
        assert self.rest.locator("textarea").input_value() == text[:start]

    def check(self, text: str) -> str:
        """Check a text; return the report."""
        self.write(text)
        self.act("Check")
        return self.output.inner_text()


def right_and_wrong(number: int) -> tuple[str, str]:
    """Return a correct and a wrong solution of a lesson."""
    exercise = lessons.lesson(number).exercise
    wrong = initial_file(number)[1]
    if isinstance(exercise, CodeExercise):
        wrong = mutated_text(exercise.module, exercise.bugs[0])
    return text_of(exercise.module), wrong


def report_of_terminal(number: int, text: str) -> str:
    """Return what the page should say about a solution."""
    with TemporaryDirectory() as temporary:
        file = Path(temporary, initial_file(number)[0])
        file.write_text(text, "utf-8")
        verdict = sandbox.check(number, file).verdict
    ending = f"Lesson {number} is solved." if verdict.passed else "Not solved yet."
    return "\n".join([*verdict.lines, ending])


def check_earlier_programs_run_first(page: Page) -> None:
    """Check that running the third runs the first two, with the outputs of the build."""
    page.evaluate(UNFOLD)
    three = [Program(page, number) for number in (1, 2, 3)]
    built = [program.output.inner_text().strip() for program in three]
    three[2].run()
    for program, text in zip(three, built, strict=True):
        expect(program.state).to_have_text("")
        assert program.output.inner_text().strip() == text


def check_only_changed_programs_run_again(page: Page) -> None:
    """Check that variables are kept until an earlier program is changed."""
    one, two = Program(page, 1), Program(page, 2)
    one.write("count = 0")
    two.write("count += 1\nprint(count)")
    for expected in ("1", "2"):
        two.run()
        expect(two.output).to_have_text(expected)
    one.write("count = 40")
    two.run()
    expect(two.output).to_have_text("41")


def check_error_is_shown_and_ends_the_run(page: Page) -> None:
    """Check that an error is shown with its line, and later programs are not run."""
    page.evaluate(UNFOLD)
    one, two = Program(page, 1), Program(page, 2)
    built = two.output.inner_text()
    one.write("print('before')\n1 / 0")
    two.run()
    expect(one.output).to_contain_text("before")
    expect(one.output).to_contain_text('File "<program 1>", line 2')
    expect(one.output).to_contain_text("ZeroDivisionError: division by zero")
    expect(two.state).to_have_text("Not run. Program 1: It ended with an error.")
    assert two.output.inner_text() == built
    one.click("Reset")
    expect(one.output).not_to_contain_text("before")


def check_endless_loop_can_be_stopped(page: Page) -> None:
    """Check that the output is limited, and that Python can be used afterwards."""
    one = Program(page, 1)
    one.write("while True:\n    print('again')")
    one.click("Run")
    expect(one.output).to_contain_text("more is not shown", timeout=TIMEOUT)
    one.click("Stop")
    one.wait()
    expect(one.state).to_contain_text("Stopped.")
    one.write("print('new')")
    one.run()
    expect(one.output).to_have_text("new")


def check_drawing_is_embedded(page: Page) -> None:
    """Check that SVG output is embedded, as at the build."""
    one = Program(page, 1)
    one.write(DRAWING)
    one.run()
    expect(one.output.locator("figure svg title")).to_have_text("A dot")


def check_keyboard_control(page: Page) -> None:
    """Check that Tab and Enter indent, Ctrl+Enter runs, and Escape leaves the text."""
    one = Program(page, 1)
    one.write("")
    for key in ("if True:", "Enter", "print('deep')"):
        page.keyboard.press(key) if key == "Enter" else page.keyboard.type(key)
    expect(one.text).to_have_value("if True:\n    print('deep')")
    page.keyboard.press("Control+Enter")
    one.wait()
    expect(one.output).to_have_text("deep")
    one.text.fill("")
    page.keyboard.press("Tab")
    expect(one.text).to_have_value("    ")
    page.keyboard.press("Escape")
    expect(one.text).not_to_be_focused()


def check_missing_python_is_reported(page: Page) -> None:
    """Check the message if Python cannot be loaded, and a second attempt."""
    page.route("**/pyodide.mjs", lambda route: route.abort())
    one = Program(page, 1)
    one.run()
    expect(one.state).to_contain_text("Python could not be loaded from http")
    page.unroute("**/pyodide.mjs")
    one.run()
    expect(one.state).to_have_text("")


def check_missing_numpy_is_reported(page: Page) -> None:
    """Check the message at the program that needs numpy."""
    page.route("**/numpy-*.whl", lambda route: route.abort())
    one = Program(page, 1)
    one.write("print('before')\nimport numpy")
    one.run()
    expect(one.output).to_contain_text("before")
    expect(one.state).to_contain_text("numpy could not be loaded from http")


def check_exercise_is_judged_as_in_the_terminal(page: Page) -> None:
    """Check the reports, and that minispore's source is shown to those who have solved it."""
    exercise = Exercise(page)
    right, wrong = right_and_wrong(1)
    expect(exercise.progress).to_contain_text(" 0 of ")
    for text in (wrong, initial_file(1)[1], right):
        expect(exercise.button("Solution")).to_be_hidden()
        assert exercise.check(text) == report_of_terminal(1, text)
    expect(exercise.progress).to_contain_text(" 1 of ")
    exercise.act("Solution")
    expect(exercise.output).to_contain_text("def backward_pass(")


def check_hints_text_and_progress_are_kept(page: Page) -> None:
    """Check that the next visit continues with the text and the next hint."""
    exercise = Exercise(page)
    hints = lessons.lesson(1).hint_list()
    exercise.write("x = 1")
    exercise.act("Hint")
    expect(exercise.output).to_have_text(f"Hint 1 of {len(hints)}: {hints[0]}")
    page.reload()
    expect(exercise.text).to_have_value("x = 1")
    exercise.act("Hint")
    expect(exercise.output).to_have_text(f"Hint 2 of {len(hints)}: {hints[1]}")
    exercise.act("Start over")
    exercise.expect_text(initial_file(1)[1])


def check_text_written_during_a_check_is_kept(page: Page) -> None:
    """Check that the answer of Python does not replace it."""
    exercise = Exercise(page)
    exercise.button("Check").click()
    exercise.write("y = 2")
    exercise.wait()
    expect(exercise.text).to_have_value("y = 2")


def check_progress_is_exported_and_imported(page: Page) -> None:
    """Check that the terminal can continue, and a browser that has stored nothing."""
    exercise = Exercise(page)
    text = right_and_wrong(1)[0]
    exercise.check(text)
    exercise.act("Hint")
    exercise.progress.click()
    with TemporaryDirectory() as temporary, page.expect_download() as download:
        exercise.act("Export")
        archive = Path(temporary, "export.zip")
        download.value.save_as(archive)
        ZipFile(archive).extractall(temporary)
        folder = Path(temporary, FOLDER)
        assert (folder / initial_file(1)[0]).read_text("utf-8") == text
        assert Workspace(folder).progress(1) == Progress(hints=1, checks=1, passed=True)
        assert commands.status(folder).endswith("learn start 2")

        page.evaluate("localStorage.clear()")
        page.reload()
        exercise.expect_text(initial_file(1)[1])
        exercise.progress.click()
        with page.expect_file_chooser() as chooser:
            exercise.button("Import").click()
        chooser.value.set_files(__file__)
        expect(exercise.state).to_contain_text("none of the files", timeout=TIMEOUT)
        exercise.wait()
        # Without the button, since Firefox reports only the first of its dialogs.
        exercise.place.locator("input[type=file]").set_input_files(archive)
        exercise.expect_text(text)
        expect(exercise.progress).to_contain_text(" 1 of ")


def check_own_solution_is_continued(page: Page) -> None:
    """Check that a later lesson can begin with the solution of the earlier one."""
    page.goto(page.url.replace(LESSON, "/learn/09-observe.html"))
    exercise = Exercise(page)
    solution = right_and_wrong(9)[0]
    exercise.check(solution)
    page.goto(page.url.replace("09-observe", "10-decide"))
    exercise.act("Continue your solution of lesson 9")
    continued = exercise.text.input_value()
    assert solution.strip().splitlines()[-1] in continued
    assert "Lesson9" not in continued


def check_endless_solutions_end(page: Page) -> None:
    """Check that a loop is reported with its line, and that the button ends one that is not."""
    exercise = Exercise(page)
    text = initial_file(1)[1]
    loop = text.replace("raise NotImplementedError", "while True:\n        pass")
    number = loop[: loop.index("while True:")].count("\n") + 1
    lines_of_loop = (f"(line {number}: `while True:`).", f"(line {number + 1}: `pass`).")
    report = exercise.check(loop)
    assert any(line in report for line in lines_of_loop), report
    lines = ("def spin():", "    while True: pass", "while True:", "    try: spin()")
    deaf = "\n".join([*lines, "    except BaseException: pass"])
    exercise.write(deaf)
    exercise.button("Check").click()
    expect(exercise.state).to_have_text("Working …", timeout=TIMEOUT)
    exercise.button("Stop").click()
    expect(exercise.state).to_contain_text("Stopped.")
    expect(exercise.place.get_by_text("minispore learn start 1")).to_be_hidden()
    assert "Not written yet" in exercise.check(text)


def check_exercise_by_keyboard(page: Page) -> None:
    """Check that Ctrl+Enter checks, and Escape leaves the text."""
    exercise = Exercise(page)
    exercise.write("")
    exercise.text.focus()
    page.keyboard.press("Tab")
    page.keyboard.type("a")
    expect(exercise.text).to_have_value("    a")
    page.keyboard.press("Control+Enter")
    exercise.wait()
    expect(exercise.output).to_contain_text("Line 1 has a syntax error")
    page.keyboard.press("Escape")
    expect(exercise.button("Check")).to_be_focused()


def check_refused_storage_is_reported(page: Page) -> None:
    """Check that the text is kept until the page is closed, and that the page says so."""
    exercise = Exercise(page)
    exercise.progress.click()
    expect(exercise.place).to_contain_text("Only this browser has your files")
    refused = "{ get() { throw new Error('refused'); } }"
    page.evaluate(f"Object.defineProperty(window, 'localStorage', {refused})")
    exercise.write("x = 4")
    expect(exercise.place).to_contain_text("export it before you leave")
    expect(exercise.text).to_have_value("x = 4")


def check_exercise_without_python_says_what_to_do(page: Page) -> None:
    """Check the message if Python, or numpy, cannot be loaded; the text is kept."""
    exercise = Exercise(page)
    advice = exercise.place.get_by_text("minispore learn start 1")
    for file in ("pyodide.mjs", "numpy-*.whl", "hypothesis-*.whl"):
        expect(advice).to_be_hidden()
        page.route(f"**/{file}", lambda route: route.abort())
        exercise.write("x = 3")
        exercise.act("Check")
        expect(exercise.state).to_contain_text("could not be loaded")
        expect(advice).to_be_visible()
        page.unroute(f"**/{file}")
        page.reload()
        expect(exercise.text).to_have_value("x = 3")


def check_playground_runs_in_the_page(page: Page) -> None:
    """Check a run with a kill, and that the button ends an endless one."""
    page.goto(page.url.replace(LESSON, "/playground.html"))
    place = page.locator(".playground")
    run, stop = (place.locator(f"button[name={name}]") for name in ("run", "stop"))
    place.locator("[name=fault]").select_option("kill")
    run.click()
    expect(place).to_contain_text(
        "It does not continue like the run that is not killed.", timeout=TIMEOUT
    )
    expect(place).to_contain_text("The callback StopAfter violates 2 of 10 invariants.")
    place.locator("[name=code]").fill("while True: pass")
    run.click()
    expect(place.get_by_role("status")).to_have_text("Working …", timeout=TIMEOUT)
    stop.click()
    expect(place.get_by_role("status")).to_contain_text("Stopped.")
    expect(stop).to_be_hidden()


CHECKS: tuple[Callable[[Page], None], ...] = (
    check_earlier_programs_run_first,
    check_only_changed_programs_run_again,
    check_error_is_shown_and_ends_the_run,
    check_endless_loop_can_be_stopped,
    check_drawing_is_embedded,
    check_keyboard_control,
    check_missing_python_is_reported,
    check_missing_numpy_is_reported,
)
# These need numpy.
EXERCISE_CHECKS: tuple[Callable[[Page], None], ...] = (
    check_exercise_is_judged_as_in_the_terminal,
    check_hints_text_and_progress_are_kept,
    check_text_written_during_a_check_is_kept,
    check_progress_is_exported_and_imported,
    check_own_solution_is_continued,
    check_endless_solutions_end,
    check_exercise_by_keyboard,
    check_refused_storage_is_reported,
    check_exercise_without_python_says_what_to_do,
    check_playground_runs_in_the_page,
)


def check_all(
    checks: tuple[Callable[[Page], None], ...], browser: Browser, origin: str
) -> list[str]:
    """Carry out each check on a page whose browser has stored nothing; return what failed."""
    failed = list[str]()
    for check in checks:
        page = browser.new_page()
        page.goto(origin + LESSON)
        name = check.__name__.replace("_", " ")
        try:
            check(page)
        except (AssertionError, Error) as error:
            failed.append(name)
            print(f"FAILED: {name}: {str(error)[:300]}", flush=True)
        else:
            print(name, flush=True)
        page.close()
    return failed


def check_verdicts(page: Page, number: int) -> list[str]:
    """Check a right and a wrong solution of a lesson.

    A counterexample may differ from that in the terminal: in a browser, numpy reports no overflow.

    Returns:
        The verdicts that differ from the terminal's.
    """
    exercise = Exercise(page)
    errors = list[str]()
    for text in right_and_wrong(number):
        actual, expected = exercise.check(text), report_of_terminal(number, text)
        if actual.splitlines()[-1:] != expected.splitlines()[-1:]:
            state = exercise.state.inner_text()
            errors.append(f"{actual!r} ({state}) instead of {expected!r}")
    return errors


def run_page(page: Page) -> tuple[list[str], list[int]]:
    """Run all programs of a page.

    Returns:
        The errors, and the numbers of the programs that print other words than the page shows.
        Measured times and random numbers differ in each run.
    """
    page.evaluate(UNFOLD)
    programs = [Program(page, number + 1) for number in range(page.locator(BAR).count())]
    built = [words(program) for program in programs]
    together = [program for program in programs if not program.is_law]
    for program in [*together[-1:], *(program for program in programs if program.is_law)]:
        program.run()
    errors = [
        f"{number}: {state} {program.output.inner_text().strip().splitlines()[-1:]}"
        for number, program in enumerate(programs, 1)
        if (state := program.state.inner_text())
    ]
    both = enumerate(zip(programs, built, strict=True), 1)
    return errors, [number for number, (program, text) in both if words(program) != text]


def words(program: Program) -> str:
    """Return what a program has printed, without the numbers."""
    return re.sub(r"0x[\da-f…]+|[-+]?[\d.,]+(e[-+]?\d+)?", "#", program.output.inner_text().strip())


def pages(site: Path) -> Iterator[str]:
    """Yield the names of the English pages with programs, such as "learn/01-graph"."""
    for file in sorted(site.rglob("*.html")):
        if ".zh." not in file.name and 'class="program ' in file.read_text("utf-8"):
            yield file.relative_to(site).with_suffix("").as_posix()


def browsers(playwright: Playwright) -> Iterator[tuple[str, Browser]]:
    """Yield each browser that is installed, running, with its name."""
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    firefox = shutil.which("firefox")
    if chromium is None:
        print("Chromium is not installed: the programs were NOT run in it.")
    else:
        with playwright.chromium.launch(executable_path=chromium, args=FLAGS) as browser:
            yield "Chromium", browser
    if firefox is None:
        print("Firefox is not installed: the programs were NOT run in it.")
    else:
        launch = playwright.firefox.launch
        with launch(executable_path=firefox, channel="moz-firefox") as browser:
            yield "Firefox", browser


def main() -> int:
    """Check a site."""
    parser = argparse.ArgumentParser(description="Run the programs of a built site in browsers.")
    parser.add_argument("site", type=Path)
    parser.add_argument("pyodide", type=Path)
    options = parser.parse_args()
    site: Path = options.site
    (site / "pyodide").unlink(missing_ok=True)
    (site / "pyodide").symlink_to(options.pyodide.resolve())
    has_numpy = any(options.pyodide.glob("numpy-*.whl"))
    failed = list[str]()
    with served(site) as origin, sync_playwright() as playwright:
        for kind, browser in browsers(playwright):
            print(f"{kind} {browser.version}")
            failed += check_all(CHECKS, browser, origin)
            if not has_numpy:
                print("This release of Pyodide contains no numpy: the pages were NOT run.")
                continue
            failed += check_all(EXERCISE_CHECKS, browser, origin)
            numbers = {Path(lessons.page(number)).stem: number for number in lessons.names()}
            for name in pages(site):
                page = browser.new_page()
                page.goto(f"{origin}/{name}.html")
                try:
                    errors, changed = run_page(page)
                    if (number := numbers.get(Path(name).name)) is not None:
                        errors += check_verdicts(page, number)
                except (AssertionError, Error) as error:
                    errors, changed = [str(error)[:300]], []
                page.close()
                failed += errors
                note = f", other words: {changed}" if changed else ""
                print(f"{name}: {', '.join(errors) or 'runs'}{note}", flush=True)
    return min(len(failed), 1)


if __name__ == "__main__":
    sys.exit(main())
