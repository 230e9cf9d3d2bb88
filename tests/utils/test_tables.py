"""Tables: every value stands in the text and in the HTML, which is well-formed."""

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from minispore.utils.tables import Table

texts = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"]), max_size=9)
rows = st.lists(st.tuples(texts, st.integers()), max_size=5)


@given(texts, rows)
def test_html_has_the_values_of_each_row(title: str, values: list[tuple[str, int]]) -> None:
    root = ET.fromstring(Table(title, ["<a>", "b"], values)._repr_html_())
    cells = ["".join(cell.itertext()) for cell in root.iter("td")]
    assert cells == [text for name, number in values for text in (name, f"{number:,}")]
    assert [head.text for head in root.iter("th")] == ["<a>", "b"]


@given(rows)
def test_text_has_a_line_for_each_row(values: list[tuple[str, int]]) -> None:
    title, head, *lines = repr(Table("title", ["a", "b"], values)).split("\n")
    assert title == "title"
    assert head.split() == ["a", "b"]
    assert [line.split() for line in lines] == [[*n.split(), f"{x:,}"] for n, x in values]
    assert all(line.startswith(name) for line, (name, _) in zip(lines, values, strict=True))
    assert all(len(line) == len(lines[0]) for line in lines)  # numbers end below each other


def test_html_aligns_numbers_to_the_right() -> None:
    root = ET.fromstring(Table("title", ["a", "b"], [("x", 1)])._repr_html_())
    sides = [cell.attrib["style"] for cell in root.iter("td")]
    assert sides == ["text-align:left", "text-align:right"]
