"""The cells of lesson 6: a small `nn.Cell`."""

from collections.abc import Iterator

from minispore.common import Parameter


class Cell:
    """A part of a network: its attributes may be parameters and other cells."""

    def _children(self) -> Iterator[tuple[str, "Cell"]]:
        return ((name, cell) for name, cell in vars(self).items() if isinstance(cell, Cell))

    def _own_parameters(self) -> Iterator[tuple[str, Parameter]]:
        return ((name, p) for name, p in vars(self).items() if isinstance(p, Parameter))

    def cells_and_names(self, name_prefix: str = "") -> Iterator[tuple[str, "Cell"]]:
        """Yield the path of each cell and the cell, depth first."""
        seen = set[int]()
        # A stack instead of recursion, since a network may be deeper than Python's call stack.
        todo: list[tuple[str, Cell]] = [(name_prefix, self)]
        while todo:
            path, cell = todo.pop()
            if id(cell) in seen:
                continue
            seen.add(id(cell))
            yield path, cell
            children = [(f"{path}.{name}" if path else name, c) for name, c in cell._children()]
            todo.extend(reversed(children))

    def parameters_and_names(self, name_prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """Yield the path of each parameter and the parameter, cell by cell."""
        seen = set[int]()
        for path, cell in self.cells_and_names(name_prefix):
            for name, parameter in cell._own_parameters():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield (f"{path}.{name}" if path else name), parameter
