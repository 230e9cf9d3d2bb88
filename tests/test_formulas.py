"""The formulas of the pages: each is understood, and becomes one that a browser can draw."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FENCE = re.compile(r"^(```+)\w*.*?^\1$", flags=re.MULTILINE | re.DOTALL)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(?! )(.+?)\$", flags=re.DOTALL)


@pytest.fixture(scope="module")
def formulas() -> ModuleType:
    pytest.importorskip("latex2mathml")
    spec = spec_from_file_location("formulas", DOCS / "formulas.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_formula_is_understood(formulas: ModuleType) -> None:
    count = 0
    for page in DOCS.rglob("*.md"):
        for block, inline in FORMULA.findall(FENCE.sub("", page.read_text("utf-8"))):
            assert formulas.as_mathml(block or inline, "block").startswith("<math")
            count += 1
    assert count > 20


def test_formulas_are_put_into_the_page(formulas: ModuleType) -> None:
    page = (
        '<p>If <span class="arithmatex">\\(a &lt; b\\)</span>:</p>'
        '<div class="arithmatex">\\[\nx_1\n\\]</div><code>\\(x\\)</code>'
    )
    drawn = formulas.on_page_content(page)
    assert re.fullmatch(
        r'<p>If <math .*display="inline">.*</math>:</p>'
        r'<div class="formula"><math .*display="block">.*<msub>.*</math></div>'
        r"<code>\\\(x\\\)</code>",
        drawn,
    )


@pytest.mark.parametrize("tex", [r"\fracc{1}{2}", r"a &= b"])
def test_what_is_not_understood_is_refused(formulas: ModuleType, tex: str) -> None:
    with pytest.raises(ValueError, match="not understood"):
        formulas.as_mathml(tex, "block")
