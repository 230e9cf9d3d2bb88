"""Tables that are text in a terminal and HTML in a notebook."""

from collections.abc import Sequence
from html import escape


class Table:
    """A title and rows of texts and numbers.

    Args:
        title: What the rows are.
        columns: The names of the columns.
        rows: The rows, each with one value for each column.

    Examples:
        >>> Table("Two layers", ["layer", "parameters"], [("Dense", 6), ("ReLU", 0)])
        Two layers
        layer  parameters
        Dense           6
        ReLU            0
    """

    def __init__(
        self, title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]
    ) -> None:
        self.title: str = title
        self.columns: list[str] = list(columns)
        self.rows: list[tuple[object, ...]] = [tuple(row) for row in rows]

    def __repr__(self) -> str:
        texts = [self.columns, *([_text(value) for value in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        right = [
            all(isinstance(row[i], int) for row in self.rows) for i in range(len(self.columns))
        ]
        lines = [
            "  ".join(
                text.rjust(width) if numeric else text.ljust(width)
                for text, width, numeric in zip(row, widths, right, strict=True)
            ).rstrip()
            for row in texts
        ]
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in self.rows)
        return (
            f"<table><caption>{escape(self.title)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        )


def _cell(value: object) -> str:
    side = "right" if isinstance(value, int) else "left"
    return f'<td style="text-align:{side}">{escape(_text(value))}</td>'


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
