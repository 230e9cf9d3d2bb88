"""Laws of the package, and bugs that violate them: the programs of the page "Laws"."""

import inspect
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from io import StringIO
from operator import attrgetter
from types import CodeType, FunctionType

from hypothesis import Verbosity, settings

from minispore._course.counterexamples import SETTINGS
from minispore._course.source import Bug, mutated_text


def break_law(
    law: Callable[[], object],
    where: str,
    old: str,
    new: str,
    *,
    others: Sequence[tuple[str, str]] = (),
    examples: int = 100,
) -> None:
    """Print the smallest counterexample to a law, without a bug and with it, and a score.

    The score is the number of bugs that the law finds, of this one and the others.

    Args:
        law: A property, decorated with `given`.
        where: A function of the package, as "module:Class.method".
        old: The text to replace in it, which occurs once.
        new: The replacement.
        others: Other bugs of the function, as pairs of a text and its replacement.
        examples: The number of examples.

    Raises:
        ValueError: There is no such function, or a text does not occur exactly once.

    Examples:
        >>> from hypothesis import given
        >>> from hypothesis.strategies import integers
        >>> from minispore.train.checkpoint.protobuf import varint
        >>> @given(value=integers(0, 2**63))
        ... def varint_has_a_byte_for_each_7_bits(value):
        ...     assert len(varint(value)) == max(1, -(-value.bit_length() // 7))
        >>> name = "minispore.train.checkpoint.protobuf:varint"
        >>> break_law(varint_has_a_byte_for_each_7_bits, name, "bits >>= 7", "bits >>= 6")
        Without the bug:
        no counterexample in 100 examples
        <BLANKLINE>
        With the bug:
        ... varint_has_a_byte_for_each_7_bits(
            value=...,
        )
        AssertionError
    """
    settings(SETTINGS, verbosity=Verbosity.normal, max_examples=examples)(law)
    none = f"no counterexample in {examples} examples"
    print("Without the bug:", counterexample(law) or none, sep="\n")
    with planted(where, old, new):
        found = counterexample(law)
    print("\nWith the bug:", found or none, sep="\n")
    if others:
        finds = {(old, new): bool(found)} | {bug: _finds(law, where, *bug) for bug in others}
        missed = [f"  {old} → {new}" for (old, new), is_found in finds.items() if not is_found]
        score = f"\nOf {len(finds)} bugs the law finds {len(finds) - len(missed)}"
        print(score + (", and not" if missed else "."), *missed, sep="\n")


def _finds(law: Callable[[], object], where: str, old: str, new: str) -> bool:
    with planted(where, old, new):
        return bool(counterexample(law))


def counterexample(law: Callable[[], object]) -> str:
    """Return the call for which a law fails and its error, or "" if none is found."""
    with warnings.catch_warnings(), redirect_stdout(StringIO()):
        warnings.simplefilter("ignore")
        try:
            law()
        except Exception as error:
            notes: list[str] = getattr(error, "__notes__", [])
            return "\n".join([*notes, f"{type(error).__name__}: {error}".removesuffix(": ")])
    return ""


@contextmanager
def planted(where: str, old: str, new: str) -> Generator[None]:
    """Change the code of a function, for all that have imported it, during the block.

    Args:
        where: The function, as "module:Class.method".
        old: The text to replace in it.
        new: The replacement.

    Raises:
        ValueError: There is no such function, or the text does not occur exactly once.
    """
    module, _, name = where.partition(":")
    text = mutated_text(module, Bug("", name, old, new))
    function = inspect.unwrap(attrgetter(name)(import_module(module)))
    if not isinstance(function, FunctionType):
        raise ValueError(f"{where} is no function.")
    before = function.__code__
    *_, function.__code__ = _codes(compile(text, f"<{module}>", "exec"), name)
    try:
        yield
    finally:
        function.__code__ = before


def _codes(code: CodeType, name: str) -> Iterator[CodeType]:
    """Yield the code of each definition of this name; overloads precede the last one."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_qualname == name:
                yield constant
            yield from _codes(constant, name)
