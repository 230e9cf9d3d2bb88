"""Formulas: convert TeX between dollar signs to MathML, which browsers render natively.

So a formula needs no script and no network. The font is `assets/math.woff2`, since few systems have
a font with a MATH table, which is needed for large operators and brackets.
"""

import html
import re

from latex2mathml.converter import convert

# The output of pymdownx.arithmatex for $…$ and $$…$$, which ignores code.
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', flags=re.DOTALL)
BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', flags=re.DOTALL)


def on_page_content(content: str, **_: object) -> str:
    """Convert the formulas of a page (mkdocs calls this hook)."""
    content = BLOCK.sub(
        lambda match: f'<div class="formula">{as_mathml(match[1], "block")}</div>', content
    )
    return INLINE.sub(lambda match: as_mathml(match[1], "inline"), content)


def as_mathml(escaped: str, display: str) -> str:
    r"""Return a formula as MathML.

    Raises:
        ValueError: The formula contains an unknown command, such as a misspelt `\fracc{1}{2}`.
    """
    tex = html.unescape(escaped).strip()
    mathml = convert(tex, display=display)
    if "\\" in mathml or ">&<" in mathml:
        raise ValueError(f"The formula {tex!r} contains an unknown command.")
    return mathml
