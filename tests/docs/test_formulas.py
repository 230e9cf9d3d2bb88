"""The conversion of formulas from TeX to MathML."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.helpers.scripts import SCRIPTS, load_script

DOCS = Path(__file__).parents[2] / "docs"
FENCE = re.compile(r"^(```+)\w*.*?^\1$", flags=re.MULTILINE | re.DOTALL)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(?! )(.+?)\$", flags=re.DOTALL)


@pytest.fixture(scope="module")
def formulas() -> ModuleType:
    pytest.importorskip("latex2mathml")
    return load_script(SCRIPTS / "formulas.py")


def test_every_formula_is_converted(formulas: ModuleType) -> None:
    count = 0
    for page in DOCS.rglob("*.md"):
        for block, inline in FORMULA.findall(FENCE.sub("", page.read_text("utf-8"))):
            assert formulas.as_mathml(block or inline, "block").startswith("<math")
            count += 1
    assert count > 20


def test_formulas_replace_arithmatex_elements(formulas: ModuleType) -> None:
    page = (
        '<p>If <span class="arithmatex">\\(a &lt; b\\)</span>:</p>'
        '<div class="arithmatex">\\[\nx_1\n\\]</div><code>\\(x\\)</code>'
    )
    content = formulas.on_page_content(page)
    assert re.fullmatch(
        r'<p>If <math .*display="inline">.*</math>:</p>'
        r'<div class="formula"><math .*display="block">.*<msub>.*</math></div>'
        r"<code>\\\(x\\\)</code>",
        content,
    )


@pytest.mark.parametrize("tex", [r"\fracc{1}{2}", r"a &= b"])
def test_unknown_command_raises_value_error(formulas: ModuleType, tex: str) -> None:
    with pytest.raises(ValueError, match="unknown command"):
        formulas.as_mathml(tex, "block")
