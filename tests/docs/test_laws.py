"""The page of laws: each planted bug is found, and each law holds without it."""

import re
from typing import Protocol, cast

import pytest

from tests.helpers.scripts import SCRIPTS, load_script

PAGE = (SCRIPTS.parent / "laws.md").read_text("utf-8")
# The bug of each program, without the bug, and the smallest case that breaks the law with it.
BUGS = {
    "result[index] = g": ("np.add.at(result, index, g)", "adjoint(index=[1, 1])"),
    "bytes([len(data) % 256]) + data": (
        "len(data).to_bytes(2) + data",
        "round_trip(length=256)",
    ),
    "                return\n": (
        "".join(
            f"                {line}\n" for line in ('yield "epoch_end "', 'yield "end "', "return")
        ),
        "grammar(epochs=1, steps=1, stop_in=0)",
    ),
    "range(i * size, (i + 1) * size)": ("range(i, n, k)", "cover(n=1, k=2)"),
    "sum(sum(shard) / len(shard) for shard in shards) / len(shards)": (
        "sum(map(sum, shards)) / sum(map(len, shards))",
        "one(losses=[0, 0, 1], k=2)",
    ),
    "if step <= m)": ("if step < m)", "model(lengths=[1, 1])"),
    "branch(x) for x": ("function(x)(x) for x", "eager(inputs=[0, 1])"),
    "not loss >= best": ("loss < best", "nan_never_improves(loss=nan)"),
}
READ = ("record[1 : 1 + record[0]]", "record[2 : 2 + int.from_bytes(record[:2])]")


class Pages(Protocol):
    """The functions of docs/scripts/lessons.py."""

    def filled(self, markdown: str, name: str) -> str: ...


def printed(page: str) -> list[str]:
    """Return what the programs of the page print."""
    pages = cast("Pages", load_script(SCRIPTS / "lessons.py"))
    text = pages.filled(page, "laws.md")
    return re.findall(r"^``` \{ \.text \.printed \}\n(.*)\n```$", text, re.MULTILINE)


def test_each_program_prints_the_smallest_case_that_breaks_its_law() -> None:
    found = [line for line in printed(PAGE) if line.endswith("breaks the law.")]
    assert found == [f"{case} breaks the law." for _, case in BUGS.values()]


def test_each_law_holds_without_its_bug() -> None:
    page = PAGE.replace(*READ)
    for bug, (right, _) in BUGS.items():
        assert page.count(bug) == 1
        page = page.replace(bug, right)
    assert printed(page).count("The law holds.") == len(BUGS) + 1


@pytest.mark.parametrize(
    ("page", "frequent"),
    [(PAGE, False), (PAGE.replace("random.randrange(n)", "random.randrange(i, n)"), True)],
    ids=["wrong", "right"],
)
def test_only_the_right_shuffle_has_each_order_about_as_often(page: str, frequent: bool) -> None:
    counts = [int(count) for count in re.findall(r"\): (\d+)", "".join(printed(page)))]
    assert len(counts) == 6
    assert all(abs(count - 1000) < 100 for count in counts) == frequent
