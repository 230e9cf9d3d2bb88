"""The parts of a lesson: properties, exercises, implementations to judge, hints."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import TypeAlias, TypeVar

from hypothesis.strategies import SearchStrategy

from minispore._course.counterexamples import minimal_counterexample
from minispore._course.source import Bug, load_mutant

C = TypeVar("C")
Adapter: TypeAlias = Callable[[Callable[..., object]], object]


class Property:
    """A statement that holds for each correct solution, and is checked on random cases.

    Args:
        description: The statement, as a sentence.
        cases: The strategy that generates the cases.
        check: Takes the solution's module and a case; raises `feedback.WrongResult`, usually
            through `feedback.expect`, if the solution is wrong.
        show: Formats a case for the sentence "For <case>, …".
        examples: The number of cases to try.

    Attributes:
        description: The statement.
        find_counterexample: Takes a solution and the speedup (see `minimal_counterexample`);
            returns a sentence about a case in which the property is violated, or None.
    """

    def __init__(
        self,
        description: str,
        cases: SearchStrategy[C],
        check: Callable[[ModuleType, C], None],
        *,
        show: Callable[[C], str] = str,
        examples: int = 100,
    ) -> None:
        def find_counterexample(work: ModuleType, speedup: int) -> str | None:
            return minimal_counterexample(
                cases, lambda case: check(work, case), show=show, examples=examples, speedup=speedup
            )

        self.description = description
        self.find_counterexample = find_counterexample


@dataclass(frozen=True)
class Contract:
    """Another contract of an exercise, for a variant.

    Attributes:
        task: The function or method of which it is the contract.
        text: What differs from the task of the page, as a sentence.
        changes: Changes of the shipped source that make it a solution.
        properties: The properties of a correct solution.
    """

    task: str
    text: str
    changes: tuple[Bug, ...]
    properties: tuple[Property, ...]


@dataclass(frozen=True)
class CodeExercise:
    """An exercise in which a part of minispore is rewritten.

    Attributes:
        module: The shipped module from which the exercise is cut.
        tasks: The task for each function or method whose body is to be written.
        properties: The properties of a correct solution, the most helpful first.
        bugs: Changes of the shipped source that each violate a property.
        from_empty: Whether the learner writes the classes named in `tasks` from an empty file;
            otherwise the file has the shipped source without the bodies.
        continues: The lesson whose file the learner continues.
        given: Other functions and classes that the file contains, complete.
        contracts: Other contracts, for the variants.
        names: In a variant, its name for each name of the page.
    """

    module: str
    tasks: Mapping[str, str]
    properties: tuple[Property, ...]
    bugs: tuple[Bug, ...]
    from_empty: bool = False
    continues: int | None = None
    given: tuple[str, ...] = ()
    contracts: tuple[Contract, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict[str, str])


def bugs(where: str, *changes: tuple[str, str, str]) -> tuple[Bug, ...]:
    """Return several bugs of one definition, each from its description, old text and new text."""
    return tuple(Bug(description, where, old, new) for description, old, new in changes)


@dataclass(frozen=True)
class Implementation:
    """An implementation that a learner's check must accept or reject.

    Attributes:
        description: Its name, or what is wrong with it.
        make: Returns the implementation.
    """

    description: str
    make: Callable[[], object]


def _unchanged(function: Callable[..., object]) -> object:
    return function


def with_arguments(*more: object) -> Adapter:
    """Return an adapter that fixes all arguments of a function except the first.

    >>> from operator import pow
    >>> cube = with_arguments(3)(pow)
    >>> cube(2) if callable(cube) else None
    8
    """

    def adapt(function: Callable[..., object]) -> object:
        def of_first(x: object) -> object:
            return function(x, *more)

        return of_first

    return adapt


def reference(module: str, name: str, adapt: Adapter = _unchanged) -> Implementation:
    """Return a function or class of minispore as an implementation.

    Args:
        module: The module that defines it.
        name: Its name.
        adapt: Turns it into the object that the learner's check takes.

    Examples:
        >>> reference("minispore.engine.rules.elementwise", "relu").make().__name__
        'relu'
    """
    return Implementation(name, lambda: adapt(getattr(import_module(module), name)))


def mutant(
    module: str, name: str, description: str, old: str, new: str, adapt: Adapter = _unchanged
) -> Implementation:
    """Return a function or class of minispore with a seeded bug.

    Args:
        module: The module that defines it.
        name: Its name; for a method, "Class.method", and the class is returned.
        description: What is wrong with it, as in `Bug`.
        old: The text to replace.
        new: The replacement.
        adapt: As in `reference`.

    Examples:
        >>> wrong = mutant("minispore.engine.rules.elementwise", "square", "no 2", "2.0 * x", "x")
        >>> wrong.make()(3.0)[1][0](1.0)
        3.0
    """
    bug = Bug(description, name, old, new)
    top = name.partition(".")[0]
    return Implementation(description, lambda: adapt(getattr(load_mutant(module, bug), top)))


@dataclass(frozen=True)
class TestExercise:
    """An exercise in which a check is written that separates correct from wrong implementations.

    Attributes:
        module: The module from which the exercise is cut; usually the lesson's own.
        name: The function to write. It takes one implementation and raises AssertionError if
            that is wrong.
        task: The task.
        correct: The implementations that it must accept.
        wrong: The implementations that it must reject.
        names: In a variant, its name for each name of the page.
    """

    __test__ = False  # not a test class, whatever its name looks like to pytest

    module: str
    name: str
    task: str
    correct: tuple[Implementation, ...]
    wrong: tuple[Implementation, ...]
    names: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def tasks(self) -> Mapping[str, str]:
        """The task by the name of the function."""
        return {self.name: self.task}


@dataclass(frozen=True)
class Lesson:
    """A lesson: its title, and an exercise with hints.

    Attributes:
        title: The title of its page.
        exercise: The exercise.
        hints: The hints as paragraphs, each more specific than the one before.
    """

    title: str
    exercise: CodeExercise | TestExercise
    hints: str

    def hint_list(self) -> list[str]:
        """Return each hint on one line."""
        return [" ".join(part.split()) for part in self.hints.split("\n\n")]
