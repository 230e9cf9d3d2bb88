"""The ribbon of the short path: where one is, and what is left."""

import re
from types import ModuleType

import pytest

from tests.helpers.pages import DOCS
from tests.helpers.scripts import SCRIPTS, load_script


@pytest.fixture(scope="module")
def short_path() -> ModuleType:
    pytest.importorskip("mkdocs")
    return load_script(SCRIPTS / "short_path.py")


def test_ribbon_of_each_page_leads_to_all_and_counts_down(short_path: ModuleType) -> None:
    left: list[int] = []
    for number, stop in enumerate(short_path.PATH, 1):
        assert (DOCS / stop.page).is_file()
        ribbon = short_path.ribbon(stop.page, stop.page.replace(".md", ".html"))
        folder = (DOCS / stop.page).parent
        links = re.findall(r'href="([^"]*)"', ribbon)
        assert [(folder / link).resolve().with_suffix(".md") for link in links] == [
            (DOCS / each.page).resolve() for each in short_path.PATH if each != stop
        ]
        assert f'aria-current="page">{stop.label}<' in ribbon
        assert ribbon.count('class="done"') == number - 1
        words = re.search(r"page (\d) of 5, (\d+) minutes left", ribbon)
        assert words is not None
        assert int(words[1]) == number
        left.append(int(words[2]))
    assert left == sorted(left, reverse=True)
    assert left[-1] == short_path.PATH[-1].minutes


def test_chinese_ribbon_is_chinese(short_path: ModuleType) -> None:
    ribbon = short_path.ribbon("learn/08-loop.zh.md", "learn/08-loop.zh.html")
    assert "第 2 页，共 5 页" in ribbon
    assert "循环" in ribbon
