"""What a lesson is made of: its idea, its exercise, its hints."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TypeVar

from hypothesis.strategies import SearchStrategy

from minispore._course.searching import smallest
from minispore._course.source import Bug, mutated
from minispore._course.words import shown

C = TypeVar("C")


@dataclass(frozen=True)
class Law:
    """Something that holds for each right solution.

    Attributes:
        says: The law as a sentence.
        broken: Gets a solution and a share, as in `judge`; tells of a case that breaks the law.
    """

    says: str
    broken: Callable[[ModuleType, int], str | None]


def law(
    says: str,
    cases: SearchStrategy[C],
    holds: Callable[[ModuleType, C], None],
    *,
    show: Callable[[C], str] = shown,
    examples: int = 100,
) -> Law:
    """A law that is checked with random cases.

    Args:
        says: The law as a sentence.
        cases: Where the cases come from.
        holds: Gets the module with the solution and a case; raises `words.Wrong`, usually by
            `words.expect`, where the solution is wrong.
        show: A case in words, for the sentence "For <case>, …".
        examples: How many cases to try.

    Returns:
        The law.
    """

    def broken(work: ModuleType, share: int) -> str | None:
        return smallest(
            cases, lambda case: holds(work, case), show=show, examples=examples, share=share
        )

    return Law(says, broken)


@dataclass(frozen=True)
class Build:
    """An exercise in which a piece of minispore is written anew.

    Attributes:
        module: The shipped module that it is cut out of.
        tasks: For each function or method whose body is to be written, what is to be done.
        laws: What must hold for it, the most helpful first.
        bugs: Changes of the shipped source that each break a law.
    """

    module: str
    tasks: Mapping[str, str]
    laws: tuple[Law, ...]
    bugs: tuple[Bug, ...]


@dataclass(frozen=True)
class Implementation:
    """What a learner's property is given to judge.

    Attributes:
        says: What it is or, of a wrong one, what is wrong with it.
        make: Makes it.
    """

    says: str
    make: Callable[[], object]


def _itself(found: Callable[..., object]) -> object:
    return found


def followed_by(*more: object) -> Callable[[Callable[..., object]], object]:
    """What makes a function of x alone of one that wants further arguments.

    >>> from operator import pow
    >>> cube = followed_by(3)(pow)
    >>> cube(2) if callable(cube) else None
    8
    """

    def adapted(found: Callable[..., object]) -> object:
        def of_one(x: object) -> object:
            return found(x, *more)

        return of_one

    return adapted


def shipped(
    module: str, name: str, adapted: Callable[[Callable[..., object]], object] = _itself
) -> Implementation:
    """A function or class of minispore, as it is.

    Args:
        module: Where it is defined.
        name: Its name.
        adapted: Makes of it what the learner's property is called with.

    Returns:
        The implementation.

    Examples:
        >>> shipped("minispore._rules.elementwise", "relu").make().__name__
        'relu'
    """
    return Implementation(name, lambda: adapted(getattr(import_module(module), name)))


def seeded(
    module: str,
    name: str,
    says: str,
    old: str,
    new: str,
    adapted: Callable[[Callable[..., object]], object] = _itself,
) -> Implementation:
    """A function or class of minispore with a bug in it.

    Args:
        module: Where it is defined.
        name: Its name; of a method, "Class.method", and the class is what is made.
        says: What is wrong with it, as in `Bug`.
        old: The text to replace.
        new: What takes its place.
        adapted: As in `shipped`.

    Returns:
        The implementation.

    Examples:
        >>> wrong = seeded("minispore._rules.elementwise", "square", "no 2", "2.0 * x", "x")
        >>> wrong.make()(3.0)[1][0](1.0)
        3.0
    """
    bug = Bug(says, name, old, new)
    top = name.partition(".")[0]
    return Implementation(says, lambda: adapted(getattr(mutated(module, bug), top)))


@dataclass(frozen=True)
class Property:
    """An exercise in which a check is written: it tells right implementations from wrong ones.

    Attributes:
        module: The shipped module that it is cut out of; usually the lesson's own.
        name: The function to write. It is called with one implementation, and raises
            AssertionError if that is wrong.
        task: What is to be done.
        right: What it must accept.
        wrong: What it must reject.
    """

    module: str
    name: str
    task: str
    right: tuple[Implementation, ...]
    wrong: tuple[Implementation, ...]

    @property
    def tasks(self) -> Mapping[str, str]:
        """The task by the name of the function."""
        return {self.name: self.task}


def paragraphs(text: str) -> tuple[str, ...]:
    r"""A text's paragraphs, each on one line.

    >>> paragraphs("First think,\n  then write.\n\n  Then read.")
    ('First think, then write.', 'Then read.')
    """
    return tuple(" ".join(part.split()) for part in text.split("\n\n") if part.strip())


@dataclass(frozen=True)
class Lesson:
    """One idea, with what there is to do about it.

    Attributes:
        title: The title of its page.
        idea: The idea in one sentence.
        minutes: How long it takes.
        explains: The public and private names of minispore that it explains, each as it is
            imported: "minispore.Tensor". Pages and exercises use only what they or earlier lessons
            explain.
        hints: One after the other, each giving away a little more.
        exercise: What there is to do.
    """

    title: str
    idea: str
    minutes: int
    explains: tuple[str, ...]
    hints: tuple[str, ...]
    exercise: Build | Property
