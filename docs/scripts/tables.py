"""Tables: a wide one is a list of cards on a phone, whose cells name their columns.

Each cell of a table with three or more columns gets its column's heading as `data-label`, which
extra.css shows on narrow screens.
"""

import re
from html import escape, unescape

FEWEST = 3
TABLE = re.compile(r"<table>.*?</table>", flags=re.DOTALL)
ROW = re.compile(r"<tr>.*?</tr>", flags=re.DOTALL)
HEADING = re.compile(r"<th[^>]*>(.*?)</th>", flags=re.DOTALL)
CELL = re.compile(r"<td(?=[ >])")
TAG = re.compile(r"<[^>]*>")
EMPTY_HEADING = re.compile(r"<th( [^>]*)?></th>")


def on_page_content(html: str, **_: object) -> str:
    """Label the cells of the tables of a page (mkdocs calls this hook)."""
    return TABLE.sub(lambda match: labelled(match[0]), html)


def labelled(table: str) -> str:
    """Return a table whose cells name their columns, and whose empty headings are cells.

    >>> head = "<tr><th>a</th><th><b>b</b></th><th></th></tr>"
    >>> labelled(f"<table>{head}<tr><td>1</td><td>2</td><td>3</td></tr></table>")[52:]
    '<tr><td data-label="a">1</td><td data-label="b">2</td><td data-label="">3</td></tr></table>'
    """
    headings = [unescape(TAG.sub("", text)).strip() for text in HEADING.findall(table)]

    def with_labels(row: re.Match[str]) -> str:
        if "<th" in row[0]:
            return row[0]
        labels = iter(headings)
        return CELL.sub(lambda _: f'<td data-label="{escape(next(labels, ""))}"', row[0])

    text = ROW.sub(with_labels, table) if len(headings) >= FEWEST else table
    return EMPTY_HEADING.sub(r"<td\1></td>", text)
