"""The cells of wide tables name their columns."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.scripts import SCRIPTS, load_script

tables = load_script(SCRIPTS / "tables.py")
LABEL = re.compile(r' data-label="([^"]*)"')
words = st.text("ab c<>&\"'", max_size=3).map(str.strip)


@st.composite
def made(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    width = draw(st.integers(1, 5))
    line = st.lists(words, min_size=width, max_size=width)
    return draw(line), draw(st.lists(line, max_size=3))


def row(cells: list[str], kind: str) -> str:
    return f"<tr>{''.join(f'<{kind}>{tables.escape(each)}</{kind}>' for each in cells)}</tr>"


@given(made())
def test_cells_name_their_columns_and_nothing_else_changes(
    content: tuple[list[str], list[list[str]]],
) -> None:
    head, rows = content
    html = "<p>x</p><table>" + row(head, "th") + "".join(row(each, "td") for each in rows)
    result = tables.on_page_content(f"{html}</table><p>y</p>")
    assert LABEL.sub("", result) == f"{html}</table><p>y</p>".replace("<th></th>", "<td></td>")
    expected = head * len(rows) if len(head) >= 3 else []
    assert [tables.unescape(label) for label in LABEL.findall(result)] == expected


@given(st.text("<>tdhr /", max_size=20))
def test_other_text_is_unchanged(text: str) -> None:
    if "<table>" not in text:
        assert tables.on_page_content(text) == text
