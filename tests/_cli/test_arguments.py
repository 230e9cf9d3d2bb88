"""The arguments of the command line: what `--help` prints and what the reference says of them.

`python -m tests.record` records the help texts.
"""

import re
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from unittest import mock

import pytest

from minispore._cli.arguments import parse

RECORDED = Path(__file__).with_name("help.txt")
IS_FORMATTED_ALIKE = sys.version_info[:2] == (3, 11)
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
COMMAND = re.compile(r"^    ([a-z-]+) {2}", flags=re.MULTILINE)
OPTION = re.compile(r"^  (?:-. \w+, )?(--[a-z-]+)(.*?)(?=^  -|\Z)", flags=re.MULTILINE | re.DOTALL)


def help_text(*command: str) -> str:
    """Return what `minispore COMMAND --help` prints."""
    with mock.patch.dict("os.environ", {"COLUMNS": "80"}), redirect_stdout(StringIO()) as printed:
        with pytest.raises(SystemExit) as exit_:
            parse([*command, "--help"])
        assert exit_.value.code == 0
    return printed.getvalue()


def help_texts(*command: str) -> dict[str, str]:
    """Return the help text of a command and those of its own commands, by what one types."""
    text = help_text(*command)
    texts = {" ".join(["minispore", *command]): text}
    for name in COMMAND.findall(text):
        texts |= help_texts(*command, name)
    return texts


def formatted(texts: dict[str, str]) -> str:
    """Return all help texts as one text."""
    return "\n".join(f"$ {command} --help\n{text}" for command, text in texts.items())


@pytest.mark.skipif(not IS_FORMATTED_ALIKE, reason="argparse of 3.11 formatted the record")
def test_help_texts_are_those_recorded() -> None:
    assert formatted(help_texts()) == RECORDED.read_text("utf-8")


def test_the_reference_names_each_option_and_its_default() -> None:
    sections = re.split(r"^## ", REFERENCE.read_text("utf-8"), flags=re.MULTILINE)
    for command, text in help_texts().items():
        for option, description in OPTION.findall(text):
            if option in {"--help", "--version"}:
                continue
            name = command.split()[1]
            (section,) = (part for part in sections if re.match(rf"minispore .*\b{name}\b", part))
            assert f"`{option}" in section, (command, option)
            # Other cells describe what happens without the option.
            row = re.search(rf"^\| `{option}\b[^|]*\| `?([\w.-]+)`? \|", section, re.MULTILINE)
            default = re.search(r"\(default: ([\w.-]+)\)", description)
            if row:
                assert default, (command, option)
                assert row[1] == default[1], (command, option)


# The arguments that commands need.
NEEDED = {
    "eval": ["x"], "predict": ["x", "y"], "info": ["x"], "download": ["mnist", "x"], "trace": ["x"],
    "grade": ["x"], "list": [], "status": [], "run": [], "train": [], "learn": [], "play": [],
}  # fmt: skip


def test_help_texts_give_the_default_of_each_option() -> None:
    for command, text in help_texts().items():
        words = command.split()[1:]
        for option, description in OPTION.findall(text):
            if default := re.search(r"\(default: ([\w.-]+)\)", description):
                arguments = parse([*words, *NEEDED.get(words[-1], ["1"])])
                value = getattr(arguments, option[2:].replace("-", "_"))
                assert str(value) == default[1], (command, option)


def test_learn_prints_the_status_by_default() -> None:
    assert parse(["learn"]).action == "status"


def test_the_form_of_grades_is_a_table_by_default() -> None:
    for options, form in (([], "table"), (["--json"], "json"), (["--csv"], "csv")):
        assert parse(["learn", "grade", "x", *options]).form == form


def record() -> None:
    """Write the help texts, if this Python formats them as the recorded ones."""
    if IS_FORMATTED_ALIKE:
        RECORDED.write_text(formatted(help_texts()), "utf-8")
