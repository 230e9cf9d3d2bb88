"""Run the programs of a built site in a browser: `python docs/check_running.py site pyodide`.

The site must be built with PYODIDE_BASE=pyodide/; the second folder is a release of Pyodide. If it
contains numpy, all lessons are run completely, otherwise only the checks that need no numpy.
"""

import argparse
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from check_site import BROWSERS, FLAGS, served
from playwright.sync_api import Locator, Page, expect, sync_playwright

# In milliseconds; this includes loading Python.
TIMEOUT = 120_000
LESSON = "/learn/01-graph.html"
DRAWING = 'print(\'<svg viewBox="0 0 9 9"><title>A dot</title><circle r="9"/></svg>\')'


class Program:
    """A program on a page, with its buttons and its output.

    Args:
        page: The page.
        number: The number of the program on its page, from 1.
    """

    def __init__(self, page: Page, number: int) -> None:
        bar = page.locator(".run").nth(number - 1)
        self.output: Locator = page.locator(".output").nth(number - 1)
        self.text: Locator = page.get_by_label(f"Program {number}", exact=True)
        self.state: Locator = bar.get_by_role("status")
        self._bar = bar

    def click(self, name: str) -> None:
        """Click a button."""
        self._bar.get_by_text(name, exact=True).click()

    def write(self, code: str) -> None:
        """Replace the text of the program."""
        if self.text.is_hidden():
            self.click("Edit")
        self.text.fill(code)

    def run(self) -> None:
        """Run the program and those above it, and wait until they have ended."""
        self.click("Run")
        self.wait()

    def wait(self) -> None:
        """Wait until the program has ended."""
        run = self._bar.get_by_text("Run", exact=True)
        expect(run).to_have_attribute("aria-disabled", "false", timeout=TIMEOUT)


def check_earlier_programs_run_first(page: Page) -> None:
    """Check that running the third runs the first two, with the outputs of the build."""
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


def run_page(page: Page) -> tuple[list[str], int]:
    """Run all programs of a page; return their errors, and the number of changed outputs.

    A few outputs differ in each run: measured times and random numbers.
    """
    programs = [Program(page, number + 1) for number in range(page.locator(".run").count())]
    built = [program.output.inner_text().strip() for program in programs]
    programs[-1].run()
    errors = [f"{n}: {s}" for n, p in enumerate(programs, 1) if (s := p.state.inner_text())]
    changed = sum(p.output.inner_text().strip() != b for p, b in zip(programs, built, strict=True))
    return errors, changed


def main() -> int:
    """Check a site."""
    parser = argparse.ArgumentParser(description="Run the programs of a built site in a browser.")
    parser.add_argument("site", type=Path)
    parser.add_argument("pyodide", type=Path)
    options = parser.parse_args()
    site: Path = options.site
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("Chromium is not installed: the programs were NOT run.")
        return 0
    (site / "pyodide").unlink(missing_ok=True)
    (site / "pyodide").symlink_to(options.pyodide.resolve())
    with (
        served(site) as origin,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=browser, args=FLAGS) as chromium,
    ):
        for check in CHECKS:
            page = chromium.new_page()
            page.goto(origin + LESSON)
            check(page)
            page.close()
            print(check.__name__.replace("_", " "))
        if not list(options.pyodide.glob("numpy-*.whl")):
            print("This release of Pyodide contains no numpy: the lessons were NOT run.")
            return 0
        failed = 0
        for lesson in sorted(site.glob("learn/[0-9]*.html")):
            page = chromium.new_page()
            page.goto(f"{origin}/{lesson.relative_to(site).as_posix()}")
            errors, changed = run_page(page)
            page.close()
            failed += bool(errors)
            print(f"{lesson.stem}: {', '.join(errors) or 'runs'}, {changed} outputs differ")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
