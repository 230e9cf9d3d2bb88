"""The boxes of a computation, and what leads from one to another.

A box is an operation or one of its operands, or all that happens in one call of a cell.
"""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from minispore._array import Array
from minispore._autograd import Node
from minispore.common.tensor import Tensor
from minispore.drawing._names import Names
from minispore.drawing._words import counted
from minispore.nn._joint import is_joint
from minispore.nn._recorded import Call, Recorded, given_beside, operation


@dataclass(frozen=True)
class Box:
    """What is drawn as one.

    Attributes:
        kind: "input", "parameter", "constant", "operation" or "cell".
        name: What it is called.
        note: What there is to say beside, or nothing.
        number: That of its node, or of the last of them; 0 for a constant, which has none.
        value: Its value.
    """

    kind: str
    name: str
    note: str
    number: int
    value: Array


Use: TypeAlias = tuple[int, int]


class Edge(NamedTuple):
    """From which box to which later one a value goes.

    Attributes:
        start: The one's place in the list.
        end: The other's.
        uses: The numbers of the nodes that use the value, each with as which of its operands.
    """

    start: int
    end: int
    uses: tuple[Use, ...]


class Boxes:
    """The boxes of what was recorded, operands first, and the edges between them.

    Args:
        what: What was recorded.
        inputs: The tensors among the inputs, with their names.
        names: What else has a name.
        calls: The calls that are one box each, one after the other.
    """

    def __init__(
        self,
        what: Recorded,
        inputs: Sequence[tuple[str, Tensor]],
        names: Names,
        calls: Sequence[Call],
    ) -> None:
        self.boxes: list[Box] = []
        self.edges: list[Edge] = []
        self._what = what
        self._names = names
        self._calls = {call.start: call for call in calls}
        self._starts = list(self._calls)
        # Boxes are found by the numbers of their nodes, and by the identity of their arrays: a
        # value through which no gradient flows has no node.
        self._by_number: dict[int, int] = {}
        self._by_array: dict[int, int] = {}
        for name, x in inputs:
            number = x._node.number if x._node else 0
            self._add(Box("input", name, "", number, x._data))
        self._groups = self._grouped()
        self._inside = self._kept_inside()
        for key, nodes in self._groups.items():
            self._add_group(key, nodes)

    def _grouped(self) -> dict[int, list[Node]]:
        """The operations that are in one box each, by a number that no other box has."""
        groups = dict[int, list[Node]]()
        key_of = dict[int, int]()
        for node in self._what.operations:
            first = node.parents[0]
            if is_joint(node) and first is not None and first.number in key_of:
                key = key_of[first.number]
            else:
                key = self._call_around(node.number) or node.number
            key_of[node.number] = key
            groups.setdefault(key, []).append(node)
        return groups

    def _call_around(self, number: int) -> int | None:
        place = bisect(self._starts, number) - 1
        if place < 0 or number > self._calls[self._starts[place]].stop:
            return None
        return self._starts[place]

    def _kept_inside(self) -> dict[int, int]:
        """The identities of arrays that only one cell's call uses, each with that call."""
        made = {node.number for node in self._what.operations}
        users = dict[int, set[int]]()
        for key, nodes in self._groups.items():
            for node in nodes:
                for parent, array in zip(node.parents, node.operands, strict=False):
                    if parent is None or parent.number not in made:
                        users.setdefault(id(array), set()).add(key)
        kept = {array: keys.pop() for array, keys in users.items() if len(keys) == 1}
        return {array: key for array, key in kept.items() if key in self._calls}

    def _add_group(self, key: int, nodes: Sequence[Node]) -> None:
        own = {node.number for node in nodes}
        arrays = {id(self._what.values[number]) for number in own}
        uses = list[tuple[int, Use]]()
        for node in nodes:
            for i, (parent, array) in enumerate(zip(node.parents, node.operands, strict=False)):
                inside = parent.number in own if parent else id(array) in arrays
                # The first operand of a joint answer is none of the values.
                if inside or (i == 0 and is_joint(node)):
                    continue
                start = self._operand(key, parent, array)
                if start is not None:
                    uses.append((start, (node.number, i)))
            extras = [self._by_array.get(id(part)) for part in given_beside(node)]
            drawn = [start for start in extras if start is not None]
            uses += [(start, (node.number, i)) for i, start in enumerate(drawn, len(node.operands))]
        end = self._add(self._box(key, nodes))
        for node in nodes:
            self._by_number[node.number] = end
            self._by_array.setdefault(id(self._what.values[node.number]), end)
        if key not in self._calls:
            self.edges += [Edge(start, end, (use,)) for start, use in uses]
            return
        # What a cell does with a value is not to be seen, nor is how often.
        together = dict[int, tuple[Use, ...]]()
        for start, use in uses:
            together[start] = (*together.get(start, ()), use)
        self.edges += [Edge(start, end, all_of_it) for start, all_of_it in together.items()]

    def _box(self, key: int, nodes: Sequence[Node]) -> Box:
        number = nodes[-1].number
        value = self._what.values[number]
        if key not in self._calls:
            return Box("operation", operation(nodes[-1]), "", number, value)
        name, cell = self._names.cells[id(self._calls[key].cell)]
        sizes = [p.size for p in cell.get_parameters() if self._inside.get(id(p._data)) == key]
        count = f", {counted(sum(sizes), 'parameter')}" if sizes else ""
        return Box("cell", name, f"{type(cell).__name__}{count}", number, value)

    def _operand(self, key: int, parent: Node | None, array: Array) -> int | None:
        """The box of an operand, which is made if it is not there; None if none is to be."""
        found = self._by_number.get(parent.number) if parent else self._by_array.get(id(array))
        if found is not None:
            return found
        if self._inside.get(id(array)) == key:
            return None
        if parent is None:
            return self._add(Box("constant", self._names.arrays.get(id(array), ""), "", 0, array))
        name = self._names.parameters.get(parent.number, "")
        return self._add(Box("parameter", name, "", parent.number, array))

    def _add(self, box: Box) -> int:
        place = len(self.boxes)
        self.boxes.append(box)
        if box.number:
            self._by_number[box.number] = place
        self._by_array.setdefault(id(box.value), place)
        return place
