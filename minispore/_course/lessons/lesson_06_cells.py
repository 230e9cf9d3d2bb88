"""Lesson 6: a cell's attributes are the tree, and the way along them is the name."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol, cast

from hypothesis import strategies as st

from minispore._course.exercise import Build, Lesson, law, paragraphs
from minispore._course.source import Bug
from minispore._course.words import Wrong, expect
from minispore.common import Parameter, Tensor

_CELLS = "cells_and_names"
_PARAMETERS = "parameters_and_names"


@dataclass(frozen=True)
class Case:
    """Cells in one another; "c0" is the outermost, "p0" the first parameter.

    Attributes:
        cells: For each cell its attributes' names with what they are; a cell has only later ones.
        left_out: The cells that are not to be visited.
        prefix: The path to begin with.
    """

    cells: tuple[tuple[tuple[str, str], ...], ...]
    left_out: frozenset[str] = frozenset()
    prefix: str = ""

    def __str__(self) -> str:
        parts = list[str]()
        for i, attributes in enumerate(self.cells):
            inside = ", ".join(f"{name}={what}" for name, what in attributes)
            parts.append(f"{_called(f'c{i}')}({inside})")
        text = parts[0] if len(parts) == 1 else f"{parts[0]} with {', '.join(parts[1:])}"
        if self.left_out:
            text += f", without {', '.join(sorted(self.left_out))}"
        return f"{text}, with the prefix {self.prefix!r}" if self.prefix else text

    def built(self, work: ModuleType, *, named: bool = False) -> dict[str, object]:
        """The cells and parameters by their names here, the inner cells first.

        To assign a cell names its parameters, for which both walks must be right; without that, a
        mistake in one is not told of the other.
        """
        made = dict[str, object]()
        for i in reversed(range(len(self.cells))):
            cell = work.Cell()
            for name, what in self.cells[i]:
                if what not in made:
                    made[what] = Parameter(Tensor(1.0))
                if named or what[0] == "p":
                    setattr(cell, name, made[what])
                else:
                    cell.insert_child_to_cell(name, made[what])
            made[f"c{i}"] = cell
        return made

    def visited(self) -> list[tuple[str, str]]:
        """The path of each cell, with the cell, naively."""
        found = dict[str, str]()

        def visit(path: str, cell: str) -> None:
            if cell in found or cell in self.left_out:
                return
            found[cell] = path
            for name, what in self.cells[int(cell[1:])]:
                if what[0] == "c":
                    visit(_joined(path, name), what)

        visit(self.prefix, "c0")
        return [(path, cell) for cell, path in found.items()]

    def held(self) -> list[tuple[str, str]]:
        """The same of the parameters."""
        found = dict[str, str]()
        for path, cell in self.visited():
            for name, what in self.cells[int(cell[1:])]:
                if what[0] == "p":
                    found.setdefault(what, _joined(path, name))
        return [(path, parameter) for parameter, path in found.items()]


def _called(what: str) -> str:
    return "net" if what == "c0" else what


def _joined(path: str, name: str) -> str:
    return ".".join([path, name] if path else [name])


@st.composite
def cases(
    draw: st.DrawFn, *, shared: bool = False, left_out: bool = False, prefix: bool = False
) -> Case:
    """Up to six attributes, in as many cells as it takes."""
    members: list[list[str]] = [[]]
    known = list[str]()
    kinds = st.sampled_from(["p", "c", "again"] if shared else ["p", "c"])
    numbers = st.integers(0, 5)
    for kind, where, which in draw(st.lists(st.tuples(kinds, numbers, numbers), max_size=6)):
        place = where % len(members)
        what = f"p{sum(each[0] == 'p' for each in known)}"
        if kind == "again":
            fit = [each for each in known if each[0] == "p" or int(each[1:]) > place]
            if not fit:
                continue
            members[place].append(fit[which % len(fit)])
            continue
        if kind == "c":
            what = f"c{len(members)}"
            members.append([])
        members[place].append(what)
        known.append(what)
    names = draw(st.sampled_from(["abcdef", "fedcba"]))
    inner = [f"c{i}" for i in range(1, len(members))]
    out = draw(st.frozensets(st.sampled_from(inner))) if left_out and inner else frozenset[str]()
    return Case(
        tuple(tuple(zip(names, each, strict=False)) for each in members),
        out,
        draw(st.sampled_from(["net", "a.b"])) if prefix else "",
    )


def _told(what: str, found: object, made: dict[str, object]) -> list[tuple[str, str]]:
    """Pairs of a path and an object, with what the case calls the object.

    Raises:
        Wrong: They are none.
    """
    known = {id(each): _called(name) for name, each in made.items()}
    if not isinstance(found, Iterable):
        raise Wrong(f"your {what} returned {found!r}, but pairs of a path and an object were due")
    pairs = list[tuple[str, str]]()
    for item in cast("Iterable[object]", found):
        if not isinstance(item, tuple) or len(cast("tuple[object, ...]", item)) != 2:
            raise Wrong(f"your {what} gave {item!r}, but a pair of a path and an object was due")
        path, each = cast("tuple[str, object]", item)
        pairs.append((path, known.get(id(each), "something else")))
    return pairs


def _same_cells(work: ModuleType, case: Case) -> None:
    made = case.built(work)
    cells = [made[name] for name in sorted(case.left_out)]
    # As most callers do, without what they do not need.
    given = {"cells": cells} if cells else {}
    found = _net(made).cells_and_names(**given, name_prefix=case.prefix)
    wanted = [(path, _called(cell)) for path, cell in case.visited()]
    expect(f"your {_CELLS}", _told(_CELLS, found, made), wanted)


def _same_parameters(work: ModuleType, case: Case) -> None:
    made = case.built(work)
    found = _net(made).parameters_and_names(case.prefix)
    expect(f"your {_PARAMETERS}", _told(_PARAMETERS, found, made), case.held())


def _own_parameters(work: ModuleType, case: Case) -> None:
    made = case.built(work)
    alone = Case((tuple(pair for pair in case.cells[0] if pair[1][0] == "p"),), prefix=case.prefix)
    found = _net(made).parameters_and_names(case.prefix, expand=False)
    what = f"your {_PARAMETERS} with expand=False"
    expect(what, _told(_PARAMETERS, found, made), alone.held())


def _names_are_paths(work: ModuleType, case: Case) -> None:
    made = case.built(work, named=True)
    for path, what in case.held():
        parameter = made[what]
        assert isinstance(parameter, Parameter)
        if parameter.name != path:
            raise Wrong(
                f"the parameter {what} got the name {parameter.name!r}, but {path!r} was expected"
            )


class _Walkable(Protocol):
    """What is used of a learner's cell, for the type checker."""

    def cells_and_names(self, *args: object, **kwargs: object) -> Iterator[object]: ...
    def parameters_and_names(self, *args: object, **kwargs: object) -> Iterator[object]: ...


def _net(made: dict[str, object]) -> _Walkable:
    return cast("_Walkable", made["c0"])


def _is_deep(work: ModuleType, depth: int) -> None:
    net = work.Cell()
    net.weight = Parameter(Tensor(1.0))
    for _ in range(depth - 1):
        inner, net = net, work.Cell()
        net.insert_child_to_cell("a", inner)  # this renames nothing
    path = "a." * (depth - 1) + "weight"
    found = [name for name, _ in net.parameters_and_names()]
    if found != [path]:
        raise Wrong(f"your {_PARAMETERS} did not find the one parameter at the bottom")


LESSON = Lesson(
    title="A network is a tree of cells",
    idea="A cell's attributes are the only list of its parts, and the way along them is a "
    "parameter's name.",
    minutes=30,
    explains=(
        "minispore.Parameter",
        "minispore.nn.Cell",
        "minispore.nn.Dense",
        "minispore.nn.ReLU",
        "minispore.nn.SequentialCell",
        "minispore.nn.CellList",
        "minispore.drawing.draw_cell",
    ),
    exercise=Build(
        module="minispore.nn.cell",
        tasks={
            "Cell.parameters_and_names": "Yield, cell by cell in the order of cells_and_names, the "
            "path of each parameter and the parameter. cell._own_parameters() has those of one "
            "cell, with their attributes' names.",
            "Cell.cells_and_names": "Yield the path of each cell and the cell: this one, then all "
            "that is in its first child, then all that is in its second, and so on. "
            "cell._children() has the children of one cell, with their attributes' names.",
        },
        laws=(
            law(
                "A cell comes before the cells in it, and these in the order of the attributes.",
                cases(),
                _same_cells,
                show=str,
                examples=60,
            ),
            law(
                "Parameters come cell by cell, each with the names on the way to it.",
                cases(),
                _same_parameters,
                show=str,
                examples=60,
            ),
            law(
                "A cell that is in two places comes once, where the walk meets it first.",
                cases(shared=True),
                _same_cells,
                show=str,
            ),
            law(
                "A parameter that is in two places comes once, where the walk meets it first.",
                cases(shared=True),
                _same_parameters,
                show=str,
            ),
            law(
                "A parameter's name becomes its path when its cells are put together.",
                cases(),
                _names_are_paths,
                show=str,
                examples=60,
            ),
            law(
                "The paths begin with the prefix, if there is one.",
                cases(prefix=True),
                _same_parameters,
                show=str,
                examples=60,
            ),
            law(
                "Without `expand` only the cell's own parameters come.",
                cases(prefix=True),
                _own_parameters,
                show=str,
                examples=60,
            ),
            law(
                "The cells that are to be left out do not come, nor what is only in them.",
                cases(shared=True, left_out=True),
                _same_cells,
                show=str,
            ),
            law(
                "A network may be deeper than Python's stack.",
                st.just(3000),
                _is_deep,
                show=lambda depth: f"{depth} cells, each in the next",
                examples=1,
            ),
        ),
        bugs=(
            Bug(
                "a parameter with two paths comes twice",
                "Cell.parameters_and_names", "if id(parameter) not in seen", "if True",
            ),
            Bug(
                "a path has only the last name",
                "Cell.parameters_and_names", 'f"{prefix}.{name}" if prefix else name', "name",
            ),
            Bug(
                "parameters of the outermost cell begin with a dot",
                "Cell.parameters_and_names",
                'f"{prefix}.{name}" if prefix else name', 'f"{prefix}.{name}"',
            ),
            Bug(
                "without `expand`, the prefix is forgotten",
                "Cell.parameters_and_names", "[(name_prefix, self)]", '[("", self)]',
            ),
            Bug(
                "`expand` is ignored",
                "Cell.parameters_and_names", " if expand else [(name_prefix, self)]", "",
            ),
            Bug(
                "a cell with two paths comes twice",
                "Cell.cells_and_names", "if id(cell) in seen", "if id(cell) in ()",
            ),
            Bug(
                "the last child is visited first",
                "Cell.cells_and_names", "reversed(children)", "children",
            ),
            Bug(
                "the children of all cells come before the grandchildren",
                "Cell.cells_and_names", "todo.pop()", "todo.pop(0)",
            ),
            Bug(
                "a cell's path has lost its beginning",
                "Cell.cells_and_names", 'f"{path}.{name}" if path else name', "name",
            ),
            Bug(
                "no cell is left out",
                "Cell.cells_and_names", "for cell in cells or ()", "for cell in ()",
            ),
        ),
    ),
    hints=paragraphs(
        """
        Begin with cells_and_names, by recursion: yield the path and this cell, then, for each
        name and child of self._children(), yield what the child's cells_and_names yields with
        the longer path. This is right as long as nothing is in two places.

        A path is the one before, a dot and the name; but where the one before is empty, there
        is no dot. With cells_and_names written, parameters_and_names is two loops, one in the
        other.

        Remember what you have seen by id(…): whether two parameters are the same object is the
        question, and == compares their elements.

        A recursion ends at Python's limit. Keep a list of (path, cell) that are still to be
        visited, and take from its end; put a cell's children there in the reverse of their
        order, so that the first is taken first. Ask whether you have seen a cell when you take
        it, not when you put it there.
        """
    ),
)  # fmt: skip
