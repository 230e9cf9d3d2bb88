"""Formulas: what a page says in TeX between dollars becomes MathML, which browsers draw themselves.

So a formula needs no script and no network. It is drawn with `assets/math.woff2`, since few
machines have a font that knows how large a sum or a bracket shall be.
"""

import html
import re

from latex2mathml.converter import convert

# What pymdownx.arithmatex makes of $…$ and $$…$$, once it has left code alone.
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', flags=re.DOTALL)
BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', flags=re.DOTALL)


def on_page_content(content: str, **_: object) -> str:
    """Draw the formulas of a page, as mkdocs asks for it."""
    content = BLOCK.sub(
        lambda match: f'<div class="formula">{as_mathml(match[1], "block")}</div>', content
    )
    return INLINE.sub(lambda match: as_mathml(match[1], "inline"), content)


def as_mathml(escaped: str, display: str) -> str:
    r"""A formula in MathML.

    Raises:
        ValueError: Something in it is not understood, such as a misspelt `\fracc{1}{2}`.
    """
    tex = html.unescape(escaped).strip()
    mathml = convert(tex, display=display)
    if "\\" in mathml or ">&<" in mathml:
        raise ValueError(f"The formula {tex!r} has something in it that is not understood.")
    return mathml
