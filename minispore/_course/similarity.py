"""Similarity of programs, whatever their names, comments and docstrings are."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import NamedTuple, TypeAlias

from minispore._course import lessons
from minispore._course.exercise import TestExercise
from minispore._course.source import lines_of
from minispore._course.workspace import exercise_file

Prints: TypeAlias = Counter[tuple[str, ...]]

SOURCE = "(minispore)"  # the name of the package's own source in a report
_LENGTH = 6  # of the sequences of tokens that are compared


class Pair(NamedTuple):
    """Two submissions for a lesson, or one and the package's source.

    Attributes:
        lesson: The number of the lesson.
        one: The name of the first.
        other: The name of the second.
        similarity: From 0 to 1.
    """

    lesson: int
    one: str
    other: str
    similarity: float


def fingerprints(text: str) -> Prints:
    """Return how often each sequence of six tokens of the syntax tree occurs.

    Imports, docstrings, comments and annotations are left out. Names that the program gives are
    replaced by one token; other names, such as those of a library, are kept.

    Raises:
        SyntaxError: It is not Python.
    """
    tree = ast.parse(text)
    tokens = list(_tokens(tree, _own_names(tree)))
    return Counter(zip(*(tokens[i:] for i in range(_LENGTH)), strict=False))


def similarity(one: Prints, other: Prints) -> float:
    r"""Return the share of fingerprints that two programs have in common; 0 without any.

    >>> def alike(one, other):
    ...     return similarity(fingerprints(one), fingerprints(other))
    >>> alike("def f(x): return x * x + 1", "def g(y):  # mine\n    return y * y + 1")
    1.0
    >>> alike("def f(x): return x * x + 1", "def f(x): return [x, x]")
    0.0
    """
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def _own_names(tree: ast.AST) -> set[str]:
    """Return the names that a program gives; those of attributes begin with a dot."""
    names = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names |= {name, f".{name}"}
            case ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(f".{name}")
            case ast.alias(asname=str(name)):
                names.add(name)
            case _:
                pass
    return names


def _tokens(node: ast.AST, defined: set[str]) -> Iterator[str]:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return  # a docstring is an expression, too
        case ast.Name(id=name):
            yield "name" if name in defined else name
        case ast.Attribute(attr=name):
            yield "name" if f".{name}" in defined else name
        case ast.Constant(value=value):
            yield repr(value) if isinstance(value, int | float) else "text"
        case ast.Load() | ast.Store():
            return
        case _:
            yield type(node).__name__
    types = (getattr(node, "annotation", None), getattr(node, "returns", None))
    for child in ast.iter_child_nodes(node):
        if child not in types:
            yield from _tokens(child, defined)


def compare(lesson: int, programs: Mapping[str, str]) -> list[Pair]:
    """Return all pairs of submissions, and each with the package's source, the most similar first.

    What the exercise file contains from the beginning does not count, nor does a submission that
    cannot be parsed.

    Args:
        lesson: The number of the lesson.
        programs: The text of each submission.
    """
    given = fingerprints(exercise_file(lesson))
    exercise = lessons.lesson(lesson).exercise
    texts = dict(programs)
    if not isinstance(exercise, TestExercise):  # whose solution is not in the package
        tops = dict.fromkeys(name.partition(".")[0] for name in exercise.tasks)
        texts[SOURCE] = "\n".join(lines_of(exercise.module, top)[1] for top in tops)
    prints = dict[str, Prints]()
    for name, text in texts.items():
        try:
            prints[name] = fingerprints(text) - given
        except (SyntaxError, ValueError, RecursionError):
            continue
    pairs = (
        Pair(lesson, one, other, similarity(prints[one], prints[other]))
        for one, other in combinations(prints, 2)
    )
    return sorted(pairs, key=lambda pair: -pair.similarity)
