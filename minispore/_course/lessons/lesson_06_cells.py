"""Lesson 6: a network is a tree of cells; the path through it is a parameter's name."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Protocol, cast

from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, expect
from minispore.common import Parameter, Tensor
from minispore.utils.checks import is_iterable, is_tuple

_CELLS = "cells_and_names"
_PARAMETERS = "parameters_and_names"


@dataclass(frozen=True)
class Case:
    """A tree of cells; "c0" is the root, "p0" the first parameter.

    Attributes:
        cells: The attributes of each cell, as names and values; a cell contains only later cells.
        prefix: The prefix of all paths.
    """

    cells: tuple[tuple[tuple[str, str], ...], ...]
    prefix: str = ""

    def __str__(self) -> str:
        parts = list[str]()
        for i, attributes in enumerate(self.cells):
            inside = ", ".join(f"{name}={child}" for name, child in attributes)
            parts.append(f"{_display_name(f'c{i}')}({inside})")
        text = parts[0] if len(parts) == 1 else f"{parts[0]} with {', '.join(parts[1:])}"
        return f"{text}, with the prefix {self.prefix!r}" if self.prefix else text

    def build(self, work: ModuleType) -> dict[str, object]:
        """Return the cells and parameters by their names in this case."""
        objects = dict[str, object]()
        for i in reversed(range(len(self.cells))):
            cell = work.Cell()
            for name, child in self.cells[i]:
                if child not in objects:
                    objects[child] = Parameter(Tensor(1.0))
                setattr(cell, name, objects[child])
            objects[f"c{i}"] = cell
        return objects

    def cell_paths(self) -> list[tuple[str, str]]:
        """Return the path of each cell, with the cell, computed by recursion."""
        paths = dict[str, str]()

        def visit(path: str, cell: str) -> None:
            if cell in paths:
                return
            paths[cell] = path
            for name, child in self.cells[int(cell[1:])]:
                if child[0] == "c":
                    visit(_joined(path, name), child)

        visit(self.prefix, "c0")
        return [(path, cell) for cell, path in paths.items()]

    def parameter_paths(self) -> list[tuple[str, str]]:
        """Return the path of each parameter, with the parameter."""
        paths = dict[str, str]()
        for path, cell in self.cell_paths():
            for name, child in self.cells[int(cell[1:])]:
                if child[0] == "p":
                    paths.setdefault(child, _joined(path, name))
        return [(path, parameter) for parameter, path in paths.items()]


def _display_name(name: str) -> str:
    return "net" if name == "c0" else name


def _joined(path: str, name: str) -> str:
    return ".".join([path, name] if path else [name])


@st.composite
def cases(draw: st.DrawFn, *, shared: bool = False, prefix: bool = False) -> Case:
    """Generate trees with up to six attributes."""
    members: list[list[str]] = [[]]
    known = list[str]()
    kinds = st.sampled_from(["p", "c", "again"] if shared else ["p", "c"])
    numbers = st.integers(0, 5)
    for kind, where, which in draw(st.lists(st.tuples(kinds, numbers, numbers), max_size=6)):
        parent = where % len(members)
        child = f"p{sum(name[0] == 'p' for name in known)}"
        if kind == "again":
            candidates = [name for name in known if name[0] == "p" or int(name[1:]) > parent]
            if not candidates:
                continue
            members[parent].append(candidates[which % len(candidates)])
            continue
        if kind == "c":
            child = f"c{len(members)}"
            members.append([])
        members[parent].append(child)
        known.append(child)
    names = draw(st.sampled_from(["abcdef", "fedcba"]))
    return Case(
        tuple(tuple(zip(names, children, strict=False)) for children in members),
        draw(st.sampled_from(["net", "a.b"])) if prefix else "",
    )


def _as_pairs(method: str, result: object, objects: dict[str, object]) -> list[tuple[object, str]]:
    """Return the learner's pairs of a path and an object, with the object's name in the case.

    Raises:
        WrongResult: The result is not an iterable of pairs.
    """
    known = {id(value): _display_name(name) for name, value in objects.items()}
    if not is_iterable(result):
        raise WrongResult(
            f"your {method} returned {result!r}, but pairs of a path and an object were expected"
        )
    pairs = list[tuple[object, str]]()
    for item in result:
        if not is_tuple(item) or len(item) != 2:
            raise WrongResult(
                f"your {method} gave {item!r}, but a pair of a path and an object was expected"
            )
        path, value = item
        pairs.append((path, known.get(id(value), "another object")))
    return pairs


def _cells_are_correct(work: ModuleType, case: Case) -> None:
    objects = case.build(work)
    expected = [(path, _display_name(cell)) for path, cell in case.cell_paths()]
    for subject in (f"your {_CELLS}", f"the second call of your {_CELLS}"):
        result = _root(objects).cells_and_names(*_arguments(case))
        expect(subject, _as_pairs(_CELLS, result, objects), expected)


def _parameters_are_correct(work: ModuleType, case: Case) -> None:
    objects = case.build(work)
    result = _root(objects).parameters_and_names(*_arguments(case))
    expect(f"your {_PARAMETERS}", _as_pairs(_PARAMETERS, result, objects), case.parameter_paths())


def _arguments(case: Case) -> tuple[str, ...]:
    # Like most callers, without an argument that is not needed.
    return (case.prefix,) if case.prefix else ()


class _Traversable(Protocol):
    """The methods of a learner's cell, for the type checker."""

    def cells_and_names(self, *args: object, **kwargs: object) -> Iterator[object]: ...
    def parameters_and_names(self, *args: object, **kwargs: object) -> Iterator[object]: ...


def _root(objects: dict[str, object]) -> _Traversable:
    return cast("_Traversable", objects["c0"])


def _supports_depth(work: ModuleType, depth: int) -> None:
    # While the list holds them, none is freed by the next one: WebAssembly's stack is too small for
    # freeing 3000 nested cells at once.
    cells = [work.Cell() for _ in range(depth)]
    cells[0].weight = Parameter(Tensor(1.0))
    for inner, outer in pairwise(cells):
        outer.a = inner
    path = "a." * (depth - 1) + "weight"
    result = [name for name, _ in cells[-1].parameters_and_names()]
    if result != [path]:
        raise WrongResult(
            f"your {_PARAMETERS} did not find the one parameter, in the innermost cell"
        )


LESSON = Lesson(
    title="Modules and parameters",
    exercise=CodeExercise(
        module="minispore._course.solutions.cell",
        tasks={
            "Cell.cells_and_names": "This cell first, then all cells of its first child, then all "
            "cells of its second child, and so on, each once. This cell's path is name_prefix.",
            "Cell.parameters_and_names": "The cells have the order of cells_and_names. Each "
            "parameter is yielded once.",
        },
        properties=(
            Property(
                "A cell precedes the cells in it, which follow in the order of the attributes.",
                cases(), _cells_are_correct, examples=60,
            ),
            Property(
                "Parameters follow cell by cell, each with the attribute names on its path.",
                cases(), _parameters_are_correct, examples=60,
            ),
            Property(
                "A shared cell is yielded once, with the path that the traversal reaches first.",
                cases(shared=True), _cells_are_correct,
            ),
            Property(
                "A shared parameter is yielded once, with the path that the traversal reaches "
                "first.",
                cases(shared=True), _parameters_are_correct,
            ),
            Property(
                "The paths start with the prefix, if there is one.",
                cases(prefix=True), _parameters_are_correct, examples=60,
            ),
            Property(
                "A network may be deeper than Python's recursion limit.",
                st.just(3000), _supports_depth, examples=1,
                show=lambda depth: f"{depth} nested cells",
            ),
        ),
        bugs=(
            *bugs(
                "Cell.parameters_and_names",
                ("a parameter with two paths is yielded twice",
                 "if id(parameter) not in seen", "if True"),
                ("a path consists of the last name only",
                 'f"{path}.{name}" if path else name', "name"),
                ("the paths of the root's parameters start with a dot",
                 'f"{path}.{name}" if path else name', 'f"{path}.{name}"'),
                ("the prefix is ignored",
                 "self.cells_and_names(name_prefix)", "self.cells_and_names()"),
            ),
            *bugs(
                "Cell.cells_and_names",
                ("a cell with two paths is yielded twice",
                 "if id(cell) in seen", "if id(cell) in ()"),
                ("the last child is visited first", "reversed(children)", "children"),
                ("the traversal is breadth first", "todo.pop()", "todo.pop(0)"),
                ("the beginning of a path is lost", 'f"{path}.{name}" if path else name', "name"),
                ("the traversal is recursive",
                 """\
            seen.add(id(cell))
            yield path, cell
            children = [(f"{path}.{name}" if path else name, c) for name, c in cell._children()]
            todo.extend(reversed(children))""",
                 """\
            yield path, cell
            for name, c in cell._children():
                pairs = c.cells_and_names(f"{path}.{name}" if path else name)
                yield from (p for p in pairs if not (id(p[1]) in seen or seen.add(id(p[1]))))"""),
            ),
        ),
    ),
    hints="""
        Start with a recursive cells_and_names: yield the path and this cell; then, for each name
        and child of self._children(), yield all that the child's cells_and_names yields for the
        longer path. This is correct unless a cell is shared.

        A path consists of its parent's path, a dot and the name; without a parent's path there is
        no dot. With cells_and_names written, parameters_and_names is two nested loops.

        Remember the visited objects by id(…): what matters is whether two parameters are the same
        object, and == compares their elements.

        Recursion is limited by Python's stack. Use a list of (path, cell) as a stack of cells to
        visit; push the children in reverse order, so that the first child is popped first. Check
        whether a cell was visited when it is popped, not when it is pushed.
        """,
)  # fmt: skip
