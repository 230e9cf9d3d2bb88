"""What shrinks: a picture of the failing cases of a law, from the first to the smallest."""

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from pictures import box

from minispore._course import laws
from minispore.drawing import _svg as svg

SIZE = 12.0
WIDTH, HEIGHT = 600, 60
MOST_BARS = 50
MOST_LETTERS = 80


@contextmanager
def recorded() -> Generator[list[list[str]]]:
    """Record the failing cases of each search for a counterexample in a block, as texts."""
    searches: list[list[str]] = []
    search = laws.counterexample

    def recording(law: Callable[[], object]) -> str:
        cases: list[str] = []
        searches.append(cases)
        handle: Any = getattr(law, "hypothesis")  # noqa: B009 (of what `given` returns)
        test: Callable[..., object] = handle.inner_test

        @wraps(test)
        def noted(*args: object, **kwargs: object) -> object:
            case = ", ".join(" ".join(repr(value).split()) for value in kwargs.values())
            try:
                return test(*args, **kwargs)
            except Exception:
                cases.append(case)
                raise

        handle.inner_test = noted
        try:
            return search(law)
        finally:
            handle.inner_test = test

    laws.counterexample = recording
    try:
        yield searches
    finally:
        laws.counterexample = search


def figure(cases: list[str]) -> str:
    """Return the Markdown of the picture of failing cases."""
    return f'\n\n<figure class="shrinks">\n{picture(cases)}\n</figure>'


def picture(cases: list[str]) -> str:
    """Return the drawing of failing cases: the lengths of their texts, and the first and last."""
    last = len(cases) - 1
    count = min(MOST_BARS, len(cases))
    chosen = sorted({round(i * last / max(1, count - 1)) for i in range(count)})
    longest = math.log(1 + max(map(len, cases)))
    step = WIDTH / MOST_BARS
    parts: list[str] = []
    for place, i in enumerate(chosen):
        height = HEIGHT * math.log(1 + len(cases[i])) / longest
        kind = "gradient" if i == last else ""
        corner = round(step * place, 1), round(16 + HEIGHT - height, 1)
        parts.append(box(*corner, round(step - 2, 1), round(height, 1), kind, strong=True))
    first, smallest = shortened(cases[0]), shortened(cases[last])
    parts.insert(0, svg.write(0, 12, first, SIZE, text_anchor="start"))
    below = svg.write(0, HEIGHT + 32, smallest, SIZE, "gradient", text_anchor="start")
    name = f"{len(cases)} failing cases, from {first} to {smallest}"
    return svg.picture(WIDTH, HEIGHT + 38, "What shrinks", name, [*parts, below])


def shortened(case: str) -> str:
    """Return the beginning of a long text."""
    return case if len(case) <= MOST_LETTERS else f"{case[:MOST_LETTERS]}…"
