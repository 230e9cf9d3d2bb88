"""Texts of the course in Chinese: the code has English ones, and `zh.json` a translation of each.

An entry of this catalogue may have holes, written `{}`; what fills them is translated in turn. The
translation may number them, as in `{1}`, to have them in another order.
"""

import json
import re
import textwrap
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from pkgutil import get_data
from typing import Literal, TypeAlias, cast

Language: TypeAlias = Literal["en", "zh"]

_HOLE = "{}"
_NUMBERED = re.compile(r"\{(\d?)\}")
# What an exception says is in the language of the code that raised it.
_EXCEPTION = re.compile(
    r"(\w*(?:Error|Exception|Warning|Interrupt|Exit)): (.*?)( \(line \d+: `.*`\))?"
)
# Code, in which letters are no words, and texts that end before their closing quote or bracket.
_CODE = re.compile(
    rf"`[^`]*`|'[^']*'|\"[^\"]*\"|[\[({{'\"][^…]*…[])}}]*|{_EXCEPTION.pattern}$"
    r"|\w*[A-Z_0-9(]\w*|\w+(?=[.(=]\S)"
)
_OPAQUE = re.compile(r"`[^`]*`|(?<=\w)'(?:ll|s|t)\b|'[^']*'|\"[^\"]*\"|[\[({'\"][^…]*…[])}]*")
_WORD = re.compile(r"(?<![\w.])[a-z]{2,}(?!\w)")
_LEAST = 12  # characters of an entry that begins with a hole, to be a line
_MOST_ATTEMPTS = 10_000  # to read a line; the longest needs 1,400
_SPACE = re.compile(r"(?<=[\u2e80-\uffff]) (?=[\u2e80-\uffff])")  # between wide characters
# A wide character or a word, with the punctuation that stays next to it.
_PIECE = re.compile(
    r"[“（]*(?:[^\W\u0000-\u2e7f]|[^\s\u2e80-\uffff]+)[，。：；、）”？！]*\s*|\S\s*"
)


@cache
def catalogue() -> dict[str, str]:
    """Return the Chinese texts by the English ones."""
    data = get_data("minispore._course", "zh.json")
    assert data is not None
    return cast("dict[str, str]", json.loads(data))


def translate(text: str, language: Language) -> str:
    """Return a text in a language, line by line; what the catalogue lacks stays English.

    Examples:
        >>> translate("For n = 2, your double gave 3, but 4 was expected.", "zh")
        '对于 n = 2，你的 double 得到 3，但应为 4。'
    """
    if language == "en":
        return text
    return re.sub(r"\S(?:.*\S)?", lambda match: _line(match[0]), text)


@lru_cache(maxsize=2**10)
def _line(text: str) -> str:
    try:
        return _Reader().read(text, is_line=True)
    except _TooManyWays:
        return text


class _TooManyWays(Exception):  # noqa: N818 (it is no failure)
    """There are too many ways to read a line."""


class _Reader:
    """Reads one line as entries of the catalogue in the holes of others."""

    def __init__(self) -> None:
        self._known = dict[str, str]()
        self._attempts = 0

    def read(self, text: str, *, is_line: bool = False) -> str:
        """Return a text in Chinese: of all ways to read it, the one that leaves least English.

        Args:
            text: The text.
            is_line: Whether it fills no hole; then it is not of the form "{} and {}", which
                sentences by others have as well.

        Raises:
            _TooManyWays: It would take too long.
        """
        if text not in self._known:
            self._known[text] = self._read(text, _LEAST if is_line else 0)
        return self._known[text]

    def _read(self, text: str, least_length: int) -> str:
        if text in catalogue():
            return catalogue()[text]
        if f"{text}." in catalogue():  # inside of a sentence
            return catalogue()[f"{text}."].removesuffix("。")
        if match := _EXCEPTION.fullmatch(text):
            line = self.read(match[3]) if match[3] else ""
            return f"{match[1]}: {catalogue().get(match[2], match[2])}{line}"
        best, least = text, _english(text)
        for pieces, chinese in _templates():
            if not pieces[0] and sum(map(len, pieces)) < least_length:
                continue
            for parts in self._fillings(text, pieces) if least or best is text else ():
                made = fill_holes(chinese, [self.read(part) for part in parts])
                english = _english(made)
                if english < least or best is text:
                    best, least = made, english
                if not english:
                    return best
        return best

    def _fillings(self, text: str, pieces: list[str]) -> Iterator[list[str]]:
        """Yield what can be in the holes between the pieces."""
        first, *others = pieces
        if text.startswith(first) and text.endswith(others[-1]):
            yield from self._split(text[len(first) :], others)

    def _split(self, text: str, pieces: list[str]) -> Iterator[list[str]]:
        first, *others = pieces
        if not others:
            part = text.removesuffix(first)
            if text.endswith(first) and _is_balanced(part):
                yield [part]
            return
        # The longest text for a hole first: the result of a case follows the case.
        at = text.rfind(first)
        while at >= 0:
            self._attempts += 1
            if self._attempts > _MOST_ATTEMPTS:
                raise _TooManyWays
            if _is_balanced(text[:at]):
                for parts in self._split(text[at + len(first) :], others):
                    yield [text[:at], *parts]
            at = text.rfind(first, 0, at + len(first) - 1)


@cache
def _templates() -> list[tuple[list[str], str]]:
    """Return the texts between the holes of each entry, the longest first, and its translation."""
    found = [(en.split(_HOLE), zh) for en, zh in catalogue().items() if _HOLE in en]
    return sorted(found, key=lambda entry: -sum(map(len, entry[0])))


def fill_holes(text: str, parts: list[str]) -> str:
    """Return a translation with its holes filled, in their order or by their numbers."""
    numbers = iter(range(len(parts)))
    filled = _NUMBERED.sub(lambda match: parts[int(match[1] or next(numbers))], text)
    return _SPACE.sub("", filled)


def _is_balanced(text: str) -> bool:
    """Return whether a text ends in no quotes or brackets."""
    plain = _OPAQUE.sub("", text)
    pairs = all(plain.count(left) == plain.count(right) for left, right in ("()", "[]", "{}"))
    return pairs and not any(quote in plain for quote in "`'\"")


def _english(text: str) -> int:
    """Return the number of characters of a text that seem to be English words."""
    return sum(map(len, _WORD.findall(_CODE.sub("~", text))))


def columns(text: str) -> int:
    """Return the width of a text in a terminal, where a Chinese character has two columns."""
    return sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in text)


def fill(text: str, width: int, indent: str = "") -> str:
    """Return a paragraph in lines of at most this width; only the first one is indented.

    Chinese has no spaces at which `textwrap` could break it.
    """
    if columns(text) == len(text):
        return textwrap.fill(text, width, initial_indent=indent)
    lines = [indent]
    for piece in _PIECE.findall(text):
        if columns(lines[-1] + piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(map(str.rstrip, lines))
