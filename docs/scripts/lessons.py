"""Executable pages: insert quotes of the shipped source, and the output of programs.

A fence `source` names a definition of minispore, and optionally texts in the first and last line to
show; it is replaced by the code. A fence `python` is run, in the order of the page, and its output
is inserted after it; SVG and HTML output is embedded. A fence `law` (laws.py) becomes a program
that is run alone. Programs are marked for the script that lets readers run them again. The pages of
the course are run, and pages with `run: true` in their front matter. A translation shows the
outputs of its English page.

The outputs of the first lessons are folded, with the question what the program prints, and so are
the solutions of exercises, up to the next heading.

The size of a lesson, which is computed, is added below its title, with the lessons that it needs by
the map in `learn/index.md`, and to each row that links to it
of the tables of the pages `learn/index.md` and `learn/teaching.md`.
"""

import os
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Protocol

import laws
import shrinks
from hypothesis import settings
from languages import DOCS, SUFFIX, below_title, english, say

from minispore._course.effort import effort
from minispore._course.pages import empty_folder, printed_by, source

PRINTED_PAGE = "The printed page"
GUESS = "Guess first: what does it print?"
GUESSED = range(5)  # the lessons whose readers are asked
SOLUTION = re.compile(
    r"<p>([^<]*(?:try the exercise first\.|请先做练习。))</p>\n(.*?)"
    r'(?=<h[23]|<div class="admonition)',
    flags=re.DOTALL,
)
TABLE = re.compile(r"^\|.*\n\|[-|: ]+\n(?:\|.*\n)+", flags=re.MULTILINE)
LESSON = re.compile(r"\((\d\d)-[\w-]+\.md\)")
LESSON_PAGE = re.compile(r"learn/(\d\d)-")
TABLES_OF_LESSONS = ("learn/index.md", "learn/teaching.md")
# A row of the map: the number of a lesson, its file, and the numbers of those that it needs.
MAP_ROW = re.compile(r"^\| (\d+) \| \*?\[.*?\]\((.*?)\)\*? \| ([\d, ]*\d) \|", flags=re.MULTILINE)
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
BAR = re.compile(r"\s*[^\r\n|]*\d%\|[^|\n]*\|[^\r\n]*?(?:it/s|s/it)\]\n*")
PROCESSES = re.compile(r"python_multiprocessing=True|SendStat\(")
FENCE = re.compile(
    r"^```(source|law|python)\n(.*?)^```$(?:\n\n```printed\n(.*?)^```$)?",
    flags=re.MULTILINE | re.DOTALL,
)


# What was made of each fence of an English page, by the name of the page and the fence.
_made: dict[str, dict[str, str]] = {}


class File(Protocol):
    """The attributes of a mkdocs file that are used here."""

    src_uri: str


class Page(Protocol):
    """The attributes of a mkdocs page that are used here."""

    file: File
    meta: Mapping[str, object]


def on_config(_: object) -> None:
    """Make hypothesis deterministic and independent of the speed of the machine."""
    settings.load_profile("ci")


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Fill in an executable page (mkdocs calls this hook)."""
    if not is_run(page.file.src_uri, page.meta):
        return markdown
    name = page.file.src_uri
    if english(name) in TABLES_OF_LESSONS:
        markdown = TABLE.sub(lambda match: with_sizes(match[0], name), markdown)
    text = filled(markdown, name) if english(name) == name else translated(markdown, name)
    if (number := LESSON_PAGE.match(name)) is not None:
        sentence = effort(int(number[1])).sentence("zh" if name.endswith(SUFFIX) else "en")
        text = below_title(text, f"*{sentence}{prerequisites(int(number[1]), name)}*{{ .effort }}")
    return text


@cache
def map_of_lessons() -> dict[int, tuple[str, list[int]]]:
    """Return the file of each lesson, and the lessons that it needs, as the map says."""
    rows = MAP_ROW.findall((DOCS / TABLES_OF_LESSONS[0]).read_text("utf-8"))
    return {int(number): (file, [*map(int, needs.split(", "))]) for number, file, needs in rows}


def prerequisites(number: int, page: str) -> str:
    """Return the end of the line below the title: links to the lessons that a lesson needs."""
    known = map_of_lessons()
    files = {0: "00-thirty-lines.md", **{each: file for each, (file, _) in known.items()}}
    needs = known[number][1] if number in known else []
    links = ", ".join(f"[{each}]({files[each]})" for each in needs)
    return f" · {say('needs {lessons}', page, lessons=links)}" if needs else ""


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Fold the solution of a lesson's exercise (mkdocs calls this hook)."""
    if not LESSON_PAGE.match(page.file.src_uri):
        return html
    folded = r'<details class="solution">\n<summary>\1</summary>\n\2</details>\n'
    return SOLUTION.sub(folded, html)


def with_sizes(table: str, page: str) -> str:
    """Return a table with the sizes of the lessons to which its rows link, next to the links.

    A table without such links is not changed.
    """
    lines = [line.split("|") for line in table.splitlines()]
    places = {i for line in lines for i, cell in enumerate(line) if LESSON.search(cell)}
    if not places:
        return table
    place = min(places) + 1
    for number, line in enumerate(lines):
        sizes = [effort(int(match[1])) for cell in line for match in LESSON.finditer(cell)]
        cells = [", ".join(size.minutes for size in sizes)]
        cells.append(", ".join(size.difficulty for size in sizes))
        if number < 2:
            cells = ["---", "---"] if number else [say("minutes", page), say("difficulty", page)]
        line[place:place] = [f" {cell} " for cell in cells]
    return "\n".join("|".join(line) for line in lines) + "\n"


def is_run(name: str, meta: Mapping[str, object]) -> bool:
    """Return whether the programs of a page are run."""
    return name.startswith("learn/") or meta.get("run") is True


def filled(markdown: str, name: str) -> str:
    """Return the text of a page with quoted code and outputs.

    Raises:
        ValueError: A quoted definition is not in the source, or a program prints something else
            than the page says.
        Exception: A program of the page raised it.
    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    count = 0
    made = _made[name] = {}
    number = LESSON_PAGE.match(name)
    asks = number is not None and int(number[1]) in GUESSED

    def fill(match: re.Match[str]) -> str:
        made[match[0]] = text = shown(match)
        return text

    def shown(match: re.Match[str]) -> str:
        nonlocal count
        if match[1] == "source":
            return source(match[2])
        count += 1
        # A reader's browser has no other libraries than numpy, and no processes.
        is_portable = match[3] is None and not PROCESSES.search(match[2])
        attributes = ".python .program" if is_portable else ".python"
        program, space = match[2], namespace
        if match[1] == "law":
            program, file, lines = laws.program(match[2])
            space = dict[str, object](__name__="__main__")
            attributes += f' .law title="{file}" hl_lines="{lines}"'
        with shrinks.recorded() as searches:
            printed = output(program, f"{name}, program {count}", space, match[3])
        # The second search of a law is the one with its bug.
        figure = shrinks.figure(searches[1]) if match[1] == "law" else ""
        return f"``` {{ {attributes} }}\n{program}```{format_output(printed, asks=asks)}{figure}"

    def output(program: str, title: str, space: dict[str, object], recorded: str | None) -> str:
        try:
            printed = without_chance(printed_by(program, title, space))
        except ModuleNotFoundError:
            if recorded is None:
                raise
            return recorded
        if recorded is not None and printed.rstrip() != recorded.rstrip():
            raise ValueError(f"{title} printed {printed!r}, but the page says {recorded!r}.")
        return printed

    with empty_folder():
        return FENCE.sub(fill, markdown)


def without_chance(printed: str) -> str:
    """Return a text without what differs in each build: addresses, its folder, progress bars."""
    text = printed.replace(f"{Path.cwd()}{os.sep}", "")
    return ADDRESS.sub(" at 0x…", BAR.sub("\n", text)).lstrip("\n")


def translated(markdown: str, name: str) -> str:
    """Return the text of a translation with what was made of the fences of its English page.

    A fence that the English page does not have is neither filled in nor run.
    """
    made = _made.get(english(name), {})
    text = FENCE.sub(lambda match: made.get(match[0], match[0]), markdown)
    text = text.replace(f"<summary>{GUESS}", f"<summary>{say(GUESS, name)}")
    return text.replace(f'title="{PRINTED_PAGE}"', f'title="{say(PRINTED_PAGE, name)}"')


def format_output(printed: str, *, asks: bool = False) -> str:
    """Return the Markdown for the output of a program: a drawing, an HTML page or text.

    Args:
        printed: The output.
        asks: Whether a text is folded, for readers who guess it first.
    """
    if not printed.strip():
        return ""
    if printed.startswith("<svg"):
        return f'\n\n<figure class="printed">\n{printed.rstrip()}\n</figure>'
    if printed.startswith("<!doctype html>"):
        # On one line, since an empty line would end the HTML block in Markdown.
        page = escape(printed).replace("\n", "&#10;")
        return f'\n\n<iframe class="printed" title="{PRINTED_PAGE}" srcdoc="{page}"></iframe>'
    text = f"``` {{ .text .printed }}\n{printed.rstrip()}\n```"
    if not asks:
        return f"\n\n{text}"
    summary = f"<summary>{GUESS}</summary>"
    return f'\n\n<details class="guess" markdown="1">\n{summary}\n\n{text}\n\n</details>'
