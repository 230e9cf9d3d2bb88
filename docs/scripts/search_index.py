"""The search: an index for each language, which a page loads when its search is first used.

Of the reference an index has the titles and first sentences, below the other pages. The Chinese one
has the English pages without a translation, below the Chinese pages.
"""

import json
import re
from pathlib import Path
from typing import TypedDict

from languages import CHINESE
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority

FOLDER = "search"
PARAGRAPH = re.compile(r"<p>(.*?)</p>", flags=re.DOTALL)
SENTENCE_END = re.compile(r"(?<=[.:])\s")
BELOW = 0.5  # the boost of what comes after the other results


class _Section(TypedDict, total=False):
    """A section of a page, as the search plugin describes it."""

    location: str
    title: str
    text: str
    boost: float


# After the search plugin has written its index, and the offline plugin a copy.
@event_priority(-200)
def on_post_build(config: MkDocsConfig) -> None:
    """Replace the index by one for each language, and the copy for pages that are files."""
    folder = Path(config.site_dir, FOLDER)
    whole = json.loads((folder / "search_index.json").read_text("utf-8"))
    texts = {name: as_json(whole | {"docs": chosen(whole["docs"], name)}) for name in ("en", "zh")}
    (folder / "search_index.json").write_text(texts["en"], "utf-8")
    (folder / "search_index.zh.json").write_text(texts["zh"], "utf-8")
    choice = 'document.documentElement.lang === "zh"'
    script = f"var __index = {choice} ? {texts['zh']} : {texts['en']};\n"
    (folder / "search_index.js").write_text(script, "utf-8")


def as_json(value: object) -> str:
    """Return the JSON of a value without spaces and with its letters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def chosen(sections: list[_Section], language: str) -> list[_Section]:
    """Return the sections of the index of a language."""
    translated = {
        page(each).replace(CHINESE, ".html") for each in sections if page(each).endswith(CHINESE)
    }
    result: list[_Section] = []
    for each in sections:
        is_chinese = page(each).endswith(CHINESE)
        if is_chinese and language == "zh":
            result.append(each)
        elif not is_chinese and (language == "en" or page(each) not in translated):
            short = each | {"text": first_sentence(each["text"])} if is_reference(each) else each
            is_below = is_reference(each) or language == "zh"
            result.append(short | {"boost": BELOW} if is_below else short)
    return result


def page(section: _Section) -> str:
    """Return the page of a section."""
    return section["location"].partition("#")[0]


def is_reference(section: _Section) -> bool:
    """Return whether a section is one of the reference."""
    return section["location"].startswith("reference/")


def first_sentence(html: str) -> str:
    """Return the first sentence of the first paragraph, "" if there is none.

    >>> first_sentence("<pre>f()</pre> <p>Return 1. Or 2.</p> <p>More.</p>")
    'Return 1.'
    """
    paragraph = PARAGRAPH.search(html)
    return SENTENCE_END.split(paragraph[1], maxsplit=1)[0] if paragraph else ""
