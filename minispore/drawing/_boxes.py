"""The boxes of a computation graph and the edges between them.

A box is an operation, an operand that no operation computed, or one call of a cell.
"""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from minispore.drawing._names import Names
from minispore.drawing._value_labels import counted
from minispore.engine.array import Array
from minispore.engine.graph import Node
from minispore.nn._graph_recorder import Call, GraphRecord, operation, static_arguments
from minispore.nn._multi_output_vjp import is_joint
from minispore.ops.tensors import Tensor


@dataclass(frozen=True)
class Box:
    """An element of the drawing.

    Attributes:
        kind: "input", "parameter", "constant", "operation" or "cell".
        name: The name.
        note: Further text, or "".
        number: The number of its last node; 0 for a constant, which has none.
        value: The value.
    """

    kind: str
    name: str
    note: str
    number: int
    value: Array


Use: TypeAlias = tuple[int, int]


class Edge(NamedTuple):
    """The use of one box's value by a later box.

    Attributes:
        start: The index of the first box.
        end: The index of the later box.
        uses: Pairs of the number of a node that uses the value and the index of the operand.
        operand: The number of the operand of an operation, from 1; 0 for a cell.
    """

    start: int
    end: int
    uses: tuple[Use, ...]
    operand: int = 0


class Boxes:
    """The boxes of a recorded graph, operands first, and the edges between them.

    Args:
        record: The recorded graph.
        inputs: The tensors among the inputs, with their names.
        names: The names of other tensors and cells.
        calls: The calls of cells that are drawn as one box, in order.
    """

    def __init__(
        self,
        record: GraphRecord,
        inputs: Sequence[tuple[str, Tensor]],
        names: Names,
        calls: Sequence[Call],
    ) -> None:
        self.boxes: list[Box] = []
        self.edges: list[Edge] = []
        self._record = record
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
        """Return the operations of each box, by a unique number of the box."""
        groups = dict[int, list[Node]]()
        key_of = dict[int, int]()
        for node in self._record.operations:
            first = node.parents[0]
            if is_joint(node) and first is not None and first.number in key_of:
                key = key_of[first.number]
            else:
                key = self._call_around(node.number) or node.number
            key_of[node.number] = key
            groups.setdefault(key, []).append(node)
        return groups

    def _call_around(self, number: int) -> int | None:
        index = bisect(self._starts, number) - 1
        if index < 0 or number > self._calls[self._starts[index]].stop:
            return None
        return self._starts[index]

    def _kept_inside(self) -> dict[int, int]:
        """Return the identities of arrays that only one call of a cell uses, with the call."""
        made = {node.number for node in self._record.operations}
        users = dict[int, set[int]]()
        for key, nodes in self._groups.items():
            for node in nodes:
                for parent, array in zip(node.parents, node.operands, strict=False):
                    if parent is None or parent.number not in made:
                        users.setdefault(id(array), set()).add(key)
        owners = {array: keys.pop() for array, keys in users.items() if len(keys) == 1}
        return {array: key for array, key in owners.items() if key in self._calls}

    def _add_group(self, key: int, nodes: Sequence[Node]) -> None:
        numbers = {node.number for node in nodes}
        arrays = {id(self._record.values[number]) for number in numbers}
        uses = list[tuple[int, Use]]()
        for node in nodes:
            for i, (parent, array) in enumerate(zip(node.parents, node.operands, strict=False)):
                inside = parent.number in numbers if parent else id(array) in arrays
                # The first operand of a multi-output VJP node is not a value.
                if inside or (i == 0 and is_joint(node)):
                    continue
                start = self._operand(key, parent, array)
                if start is not None:
                    uses.append((start, (node.number, i)))
            extras = [self._by_array.get(id(part)) for part in static_arguments(node)]
            drawn = [start for start in extras if start is not None]
            uses += [(start, (node.number, i)) for i, start in enumerate(drawn, len(node.operands))]
        end = self._add(self._box(key, nodes))
        for node in nodes:
            self._by_number[node.number] = end
            self._by_array.setdefault(id(self._record.values[node.number]), end)
        if key not in self._calls:
            self.edges += [Edge(start, end, (use,), i) for i, (start, use) in enumerate(uses, 1)]
            return
        # Several uses of a value within a cell are one edge.
        uses_by_start = dict[int, tuple[Use, ...]]()
        for start, use in uses:
            uses_by_start[start] = (*uses_by_start.get(start, ()), use)
        self.edges += [Edge(start, end, all_uses) for start, all_uses in uses_by_start.items()]

    def _box(self, key: int, nodes: Sequence[Node]) -> Box:
        number = nodes[-1].number
        value = self._record.values[number]
        if key not in self._calls:
            return Box("operation", operation(nodes[-1]), "", number, value)
        name, cell = self._names.cells[id(self._calls[key].cell)]
        sizes = [p.size for p in cell.get_parameters() if self._inside.get(id(p._data)) == key]
        count = f", {counted(sum(sizes), 'parameter')}" if sizes else ""
        return Box("cell", name, f"{type(cell).__name__}{count}", number, value)

    def _operand(self, key: int, parent: Node | None, array: Array) -> int | None:
        """Return the index of the box of an operand, after adding it if needed, or None."""
        index = self._by_number.get(parent.number) if parent else self._by_array.get(id(array))
        if index is not None:
            return index
        if self._inside.get(id(array)) == key:
            return None
        if parent is None:
            return self._add(Box("constant", self._names.arrays.get(id(array), ""), "", 0, array))
        name = self._names.parameters.get(parent.number, "")
        return self._add(Box("parameter", name, "", parent.number, array))

    def _add(self, box: Box) -> int:
        index = len(self.boxes)
        self.boxes.append(box)
        if box.number:
            self._by_number[box.number] = index
        self._by_array.setdefault(id(box.value), index)
        return index
