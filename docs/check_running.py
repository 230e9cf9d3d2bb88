"""Run the programs of a built site in a browser: `python docs/check_running.py site pyodide`.

The site is one that was built with PYODIDE_BASE=pyodide/; the second folder is a release of
Pyodide. Where numpy is in it, all lessons are run to their ends, else what needs no numpy.
"""

import argparse
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from check_site import BROWSERS, FLAGS, served
from playwright.sync_api import Locator, Page, expect, sync_playwright

# Python itself may be loaded in between.
PATIENCE = 120_000
LESSON = "/learn/01-graph.html"
DRAWING = 'print(\'<svg viewBox="0 0 9 9"><title>A dot</title><circle r="9"/></svg>\')'


class Program:
    """A program on a page, its buttons and what is below it.

    Args:
        page: The page.
        number: Of the program on its page, from 1.
    """

    def __init__(self, page: Page, number: int) -> None:
        bar = page.locator(".run").nth(number - 1)
        self.output: Locator = page.locator(".output").nth(number - 1)
        self.text: Locator = page.get_by_label(f"Program {number}", exact=True)
        self.state: Locator = bar.get_by_role("status")
        self._bar = bar

    def click(self, name: str) -> None:
        """Click on a button."""
        self._bar.get_by_text(name, exact=True).click()

    def write(self, code: str) -> None:
        """Put another program in its place."""
        if self.text.is_hidden():
            self.click("Edit")
        self.text.fill(code)

    def run(self) -> None:
        """Run it, and those above it, to the end, which is of whatever kind."""
        self.click("Run")
        self.wait()

    def wait(self) -> None:
        """Wait until it has ended."""
        run = self._bar.get_by_text("Run", exact=True)
        expect(run).to_have_attribute("aria-disabled", "false", timeout=PATIENCE)


def what_is_above_runs_first(page: Page) -> None:
    """Running the third runs the first two, and all print what they printed at the build."""
    three = [Program(page, number) for number in (1, 2, 3)]
    built = [program.output.inner_text().strip() for program in three]
    three[2].run()
    for program, text in zip(three, built, strict=True):
        expect(program.state).to_have_text("")
        assert program.output.inner_text().strip() == text


def only_what_has_changed_runs_again(page: Page) -> None:
    """A name lives on, until a program above is another."""
    one, two = Program(page, 1), Program(page, 2)
    one.write("count = 0")
    two.write("count += 1\nprint(count)")
    for expected in ("1", "2"):
        two.run()
        expect(two.output).to_have_text(expected)
    one.write("count = 40")
    two.run()
    expect(two.output).to_have_text("41")


def an_error_is_shown_and_ends_the_run(page: Page) -> None:
    """With the line where it happened; what is below it is not run."""
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


def an_endless_loop_can_be_stopped(page: Page) -> None:
    """And does not flood the page meanwhile; Python is there again afterwards."""
    one = Program(page, 1)
    one.write("while True:\n    print('again')")
    one.click("Run")
    expect(one.output).to_contain_text("more is not shown", timeout=PATIENCE)
    one.click("Stop")
    one.wait()
    expect(one.state).to_contain_text("Stopped.")
    one.write("print('new')")
    one.run()
    expect(one.output).to_have_text("new")


def a_drawing_is_shown_as_one(page: Page) -> None:
    """As at the build."""
    one = Program(page, 1)
    one.write(DRAWING)
    one.run()
    expect(one.output.locator("figure svg title")).to_have_text("A dot")


def the_keyboard_is_enough(page: Page) -> None:
    """Tab and Enter indent, Ctrl+Enter runs, Escape leaves the text."""
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


def who_finds_no_python_is_told(page: Page) -> None:
    """And can try again."""
    page.route("**/pyodide.mjs", lambda route: route.abort())
    one = Program(page, 1)
    one.run()
    expect(one.state).to_contain_text("Python could not be loaded from http")
    page.unroute("**/pyodide.mjs")
    one.run()
    expect(one.state).to_have_text("")


def who_finds_no_numpy_is_told(page: Page) -> None:
    """At the program that needs it."""
    page.route("**/numpy-*.whl", lambda route: route.abort())
    one = Program(page, 1)
    one.write("print('before')\nimport numpy")
    one.run()
    expect(one.output).to_contain_text("before")
    expect(one.state).to_contain_text("numpy could not be loaded from http")


CHECKS: tuple[Callable[[Page], None], ...] = (
    what_is_above_runs_first,
    only_what_has_changed_runs_again,
    an_error_is_shown_and_ends_the_run,
    an_endless_loop_can_be_stopped,
    a_drawing_is_shown_as_one,
    the_keyboard_is_enough,
    who_finds_no_python_is_told,
    who_finds_no_numpy_is_told,
)


def what_a_page_does(page: Page) -> tuple[list[str], int]:
    """Run a page: what the programs say that do not come to their end, and how many print else.

    A few print something else with each run: how long something took, or what chance has begun.
    """
    programs = [Program(page, number + 1) for number in range(page.locator(".run").count())]
    built = [program.output.inner_text().strip() for program in programs]
    programs[-1].run()
    ends = [f"{n}: {s}" for n, p in enumerate(programs, 1) if (s := p.state.inner_text())]
    others = sum(p.output.inner_text().strip() != b for p, b in zip(programs, built, strict=True))
    return ends, others


def main() -> int:
    """Check the site that is named."""
    parser = argparse.ArgumentParser(description="Run the programs of a built site in a browser.")
    parser.add_argument("site", type=Path)
    parser.add_argument("pyodide", type=Path)
    options = parser.parse_args()
    site: Path = options.site
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("There is no Chromium on this machine: the programs were NOT run.")
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
            print("There is no numpy beside this Pyodide: the lessons were NOT run.")
            return 0
        failed = 0
        for lesson in sorted(site.glob("learn/[0-9]*.html")):
            page = chromium.new_page()
            page.goto(f"{origin}/{lesson.relative_to(site).as_posix()}")
            ends, others = what_a_page_does(page)
            page.close()
            failed += bool(ends)
            print(f"{lesson.stem}: {', '.join(ends) or 'runs'}, {others} print something else")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
