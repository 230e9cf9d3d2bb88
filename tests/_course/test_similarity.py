"""Similarity of submissions: it ignores names and comments, and separates different programs."""

import ast
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from minispore._course import lessons
from minispore._course.exercise import CodeExercise
from minispore._course.similarity import SOURCE, compare, fingerprints, similarity
from minispore._course.source import lines_of, mutated_text

CODE = [n for n in lessons.names() if isinstance(lessons.lesson(n).exercise, CodeExercise)]
numbers = st.sampled_from(CODE)


def shipped(number: int) -> str:
    exercise = lessons.lesson(number).exercise
    tops = dict.fromkeys(name.partition(".")[0] for name in exercise.tasks)
    return "\n".join(lines_of(exercise.module, top)[1] for top in tops)


class Disguise(ast.NodeTransformer):
    """Rename arguments and variables; replace docstrings."""

    def __init__(self, tree: ast.AST, suffix: str) -> None:
        nodes = list(ast.walk(tree))
        self.suffix = suffix
        self.names = {node.arg for node in nodes if isinstance(node, ast.arg)}
        self.names |= {
            node.id
            for node in nodes
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg += self.suffix
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id += self.suffix if node.id in self.names else ""
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Constant):
            return ast.Expr(ast.Constant("My own work."))
        return self.generic_visit(node)


@given(numbers, st.sampled_from(["_mine", "2", "x"]))
def test_renamed_copy_is_identical(number: int, suffix: str) -> None:
    text = shipped(number)
    tree = ast.parse(text)
    copy = "# my own work\n" + ast.unparse(Disguise(tree, suffix).visit(tree))
    assert copy != text
    assert similarity(fingerprints(text), fingerprints(copy)) == 1
    [pair] = compare(number, {"ada": f"import numpy\n\n{copy}"})
    assert (pair.one, pair.other, pair.similarity) == ("ada", SOURCE, 1)


@given(numbers, numbers, st.data())
def test_similarity_is_symmetric_and_falls_with_changes(
    number: int, other: int, data: st.DataObject
) -> None:
    one, two = fingerprints(shipped(number)), fingerprints(shipped(other))
    assert similarity(one, two) == similarity(two, one)
    assert (similarity(one, two) == 1) == (number == other)
    exercise = lessons.lesson(number).exercise
    assert isinstance(exercise, CodeExercise)
    bug = data.draw(st.sampled_from(exercise.bugs))
    changed = fingerprints(mutated_text(exercise.module, bug))
    original = fingerprints(mutated_text(exercise.module))
    assert 0.6 < similarity(original, changed) <= 1


def test_solutions_of_different_lessons_are_not_similar() -> None:
    prints = [fingerprints(shipped(number)) for number in CODE]
    assert max(similarity(one, other) for one, other in combinations(prints, 2)) < 0.3


INDEPENDENT = """
def unbroadcast(g, shape):
    while g.ndim > len(shape):
        g = namespace(g).sum(g, axis=0)
    for i, n in enumerate(shape):
        if n == 1:
            g = namespace(g).sum(g, axis=i, keepdims=True)
    return g
"""


def test_independent_solution_is_less_similar_than_a_copy() -> None:
    texts = {"ada": shipped(3), "bob": INDEPENDENT, "eve": "def unbroadcast(", "zoe": INDEPENDENT}
    pairs = {pair[1:3]: pair.similarity for pair in compare(3, texts)}
    assert pairs.keys() == set(combinations(["ada", "bob", "zoe", SOURCE], 2))
    assert pairs["ada", SOURCE] == pairs["bob", "zoe"] == 1
    assert all(
        value < 0.2
        for pair, value in pairs.items()
        if pair not in {("ada", SOURCE), ("bob", "zoe")}
    )
