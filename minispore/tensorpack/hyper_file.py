"""A file with hyper-parameters, which a person edits while a training goes on."""

import math
from collections.abc import Iterator
from typing import Final

_TOLD: Final = 20  # lines, and
_SHOWN: Final = 60  # characters of them: the file may be any other


class HyperFile:
    r"""Lines `name: number`, with spaces as one likes; empty lines and those after `#` are nothing.

    A last line without its end may be half written: it counts once the file has not changed from
    one reading to the next. Nothing in the file is ever evaluated.

    Args:
        path: The file, which need not be there.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = HyperFile(os.path.join(folder.name, "hyper.txt"))
        >>> with open(file.path, "w") as written:
        ...     _ = written.write("learning_rate : 1e-3\nmomentum 0.9\nweight_decay: 0.0")
        >>> file.read()
        ({'learning_rate': 0.001}, ["line 2 is no 'name: number': 'momentum 0.9'"])
        >>> file.read()
        ({'learning_rate': 0.001, 'weight_decay': 0.0}, [])
        >>> folder.cleanup()
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._before = ""
        self._told: set[str] = set()

    def read(self) -> tuple[dict[str, float], list[str]]:
        """Return the numbers by name, the last of each counting, and what is newly wrong."""
        try:
            with open(self.path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except FileNotFoundError:
            text = ""
        except OSError as error:
            return {}, self._news([f"it cannot be read: {error.strerror}"])
        values: dict[str, float] = {}
        wrong: list[str] = []
        for number, line in self._lines(text):
            name, colon, value = line.partition(":")
            parsed = _number(value)
            if colon and name.strip() and parsed is not None:
                values[name.strip()] = parsed
            else:
                wrong.append(f"line {number} is no 'name: number': {line.strip()[:_SHOWN]!r}")
        self._before = text
        return values, self._news(wrong[:_TOLD])

    def _lines(self, text: str) -> Iterator[tuple[int, str]]:
        for number, line in enumerate(text.splitlines(keepends=True), start=1):
            content = line.partition("#")[0]
            if content.strip() and (line.endswith("\n") or text == self._before):
                yield number, content

    def _news(self, wrong: list[str]) -> list[str]:
        new = [each for each in wrong if each not in self._told]
        self._told = set(wrong)
        return new


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
