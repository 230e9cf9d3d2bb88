"""The Chinese pages: their navigation, links and words, and whether they are up to date.

The translation of `page.md` is `page.zh.md` next to it. It has the same programs and links, and
headings with the same ids; its commands may have `--language zh`, and what they print is Chinese;
`english` in its front matter is the digest of the English file. Its
links lead to translations where there are any. `words.zh.json` has the words that scripts and other
hooks add.

`python docs/scripts/languages.py` lists the translations that are missing, that are older than
the English page, or that differ from it in structure. On the site an older one says so.
"""

import json
import logging
import posixpath
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from minispore._course.translation import translate

# The tests use this file without mkdocs.
if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure import StructureItem
    from mkdocs.structure.files import File, Files
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page
    from mkdocs.utils.templates import TemplateContext

DOCS = Path(__file__).parents[1]
SUFFIX = ".zh.md"
CHINESE = ".zh.html"
# The pages that should have a translation.
CHOSEN = (
    "index.md",
    "coming-from.md",
    "glossary.md",
    "howto/callbacks.md",
    "laws.md",
    "learn/*.md",
)
# The Chinese words by the English ones: of hooks and the navigation, and of scripts.
WORDS: dict[str, dict[str, str]] = json.loads((DOCS / "words.zh.json").read_text("utf-8"))

FRONT_MATTER = re.compile(r"\A---\n(.*?)^---\n", flags=re.MULTILINE | re.DOTALL)
ENGLISH = re.compile(r"^english: *(\w+)\n", flags=re.MULTILINE)
FENCE = re.compile(r"^( *)(`{3,})[^\n]*\n.*?^\1\2$", flags=re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#+) +(.*?)(?: +\{ *#([\w-]+) *\})?$", flags=re.MULTILINE)
TITLE = re.compile(r"^# .*\n", flags=re.MULTILINE)
PARTS = {
    "link": re.compile(r"\]\(([^)\s]+)|\]\[([\w.]+)\]"),
    "anchor": re.compile(r'<a id="([^"]+)"'),
    "box": re.compile(r"^ *([!?]{3}\+? \w+)", flags=re.MULTILINE),
    "snippet": re.compile(r'^--8<-- "(.*)"$', flags=re.MULTILINE),
    "table row": re.compile(r"^ *(\|)", flags=re.MULTILINE),
}
LINK = re.compile(r'(<a\b[^>]*?\bhref=")([^":?#]+)([?#][^"]*)?"')
REFERENCE = '<a class="autorefs autorefs-internal"'
ALTERNATE = re.compile(r'<link rel="alternate" (href="[^"]*" hreflang="[^"]*">)')


def english(name: str) -> str:
    """Return the name of the English page of a page, such as a.md of a.zh.md and of a.md."""
    return f"{name.removesuffix(SUFFIX)}.md" if name.endswith(SUFFIX) else name


def translation(name: str) -> str:
    """Return the name of the translation of an English page."""
    return name.removesuffix(".md") + SUFFIX


def say(text: str, page: str, /, **values: object) -> str:
    """Return a text in the language of a page, with its values filled in.

    Raises:
        KeyError: The page is Chinese, and the text has no translation.
    """
    if page.endswith(SUFFIX):
        text = (WORDS["site"] | WORDS["scripts"])[text]
    return text.format(**values)


def digest(page: Path) -> str:
    """Return the first 12 hexadecimal digits of the SHA-256 of a page."""
    return sha256(page.read_bytes().replace(b"\r\n", b"\n")).hexdigest()[:12]


def is_behind(page: Path) -> bool:
    """Return whether the English page of a translation is not the one that was translated."""
    made_of = ENGLISH.search(page.read_text("utf-8"))
    original = page.with_name(english(page.name))
    return made_of is None or not original.is_file() or made_of[1] != digest(original)


def is_current(file: "File") -> bool:
    """Return whether a page is English, or a translation that is up to date."""
    path = file.abs_src_path
    return path is None or not path.endswith(SUFFIX) or not is_behind(Path(path))


# The site.


def on_config(_: object) -> None:
    """Let the search's Chinese words be separated silently."""
    logging.getLogger("jieba").setLevel(logging.WARNING)


def on_nav(nav: "Navigation", config: "MkDocsConfig", files: "Files") -> None:
    """Make the navigation of the Chinese pages."""
    config.extra["chinese_navigation"] = chinese_navigation(nav, files)


def chinese_navigation(nav: "Navigation", files: "Files") -> "Navigation":
    """Return the navigation with Chinese words and the translated pages.

    It gives these pages their titles, sections and neighbours.
    """
    from mkdocs.structure.nav import Navigation, Section
    from mkdocs.structure.pages import Page

    words = WORDS["site"]

    def find(page: Page) -> Page:
        file = files.get_file_from_path(translation(page.file.src_uri))
        return page if file is None or file.page is None else file.page

    def replaced(item: "StructureItem") -> "StructureItem":
        if isinstance(item, Section):
            section = Section(
                words.get(item.title, item.title), [replaced(child) for child in item.children]
            )
            for before, after in zip(item.children, section.children, strict=True):
                # An English page stays in its English section.
                if after is not before:
                    after.parent = section
            return section
        return find(item) if isinstance(item, Page) else item

    for page in nav.pages:
        if (chinese := find(page)) is not page:
            chinese.title = words.get(page.title or "") or numbered_title(page, chinese)
            chinese.file.name = page.file.name
            chinese.previous_page = page.previous_page and find(page.previous_page)
            chinese.next_page = page.next_page and find(page.next_page)
    made = Navigation([replaced(item) for item in nav.items], [find(page) for page in nav.pages])
    made.homepage = nav.homepage and find(nav.homepage)
    return made


def numbered_title(page: "Page", chinese: "Page") -> str:
    """Return the heading of a translation with the number that the navigation gives its page."""
    number = re.match(r"\d+\. |", page.title or "")
    heading = HEADING.search(FENCE.sub("", chinese.file.content_string))
    assert number
    assert heading, f"{chinese.file.src_uri} has no heading"
    return number[0] + heading[2]


def on_page_markdown(markdown: str, page: "Page", **_: object) -> str:
    """Add a note to a translation that is not up to date."""
    if is_current(page.file):
        return markdown
    name = page.file.src_uri
    heading = say("The English page has changed", name)
    text = say(
        "The [English page]({page}) has changed since it was translated.",
        name,
        page=posixpath.basename(english(name)),
    )
    note = f'!!! warning "{heading}"\n\n    {text}'
    return below_title(markdown, note)


def below_title(markdown: str, text: str) -> str:
    """Return a page with a text below its title."""
    return TITLE.sub(lambda match: f"{match[0]}\n{text}\n", markdown, count=1)


def on_page_content(html: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    """Let the links of a translation lead to translations, and add the words for the scripts."""
    if not page.file.src_uri.endswith(SUFFIX):
        return html
    page.meta.setdefault("description", say(config.site_description or "", page.file.src_uri))
    urls = {
        original.url: file.url
        for file in files.documentation_pages()
        if file.src_uri.endswith(SUFFIX)
        and (original := files.get_file_from_path(english(file.src_uri)))
    }
    folder = posixpath.dirname(page.url)
    english_urls = {file.url for file in files.documentation_pages()} - urls.keys()

    def redirected(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        url = urls.get(target)
        if target in english_urls and not target.endswith(CHINESE):
            return match[0].replace("<a", '<a hreflang="en"', 1)
        # Only the note leads to the page's own English page.
        if url is None or url == page.url:
            return match[0]
        return f'{match[1]}{posixpath.relpath(url, folder or ".")}{match[3] or ""}"'

    words = json.dumps(WORDS["scripts"], ensure_ascii=False)
    script = f'<script id="words" type="application/json">{words}</script>'
    return f"{LINK.sub(redirected, html)}\n{script}"


def on_page_context(
    context: "TemplateContext", page: "Page", config: "MkDocsConfig", **_: object
) -> "TemplateContext":
    """Set the language of the theme, and the page that it offers in the other language."""
    name = page.file.src_uri
    urls = {file.src_uri: file.url for file in context["pages"]}
    chinese = urls.get(translation(english(name)), urls.get(translation("index.md")))
    if chinese is not None:
        config.extra["alternate"] = [
            {"name": "English", "link": urls[english(name)], "lang": "en"},
            {"name": "中文", "link": chinese, "lang": "zh"},
        ]
    config.theme["language"] = "en"
    if name.endswith(SUFFIX):
        config.theme["language"] = "zh"
        context["nav"] = config.extra["chinese_navigation"]
    return context


def on_post_page(output: str, page: "Page", **_: object) -> str:
    """Correct the links to the other language in the head, and translate more of its words."""
    name = page.file.src_uri
    if name.endswith(SUFFIX):
        for word in ("Dark", "Light", "Permanent link"):
            output = output.replace(f'="{word}"', f'="{say(word, name)}"')
        # The links to the reference, which is English, have been made only now.
        output = output.replace(REFERENCE, f'{REFERENCE} hreflang="en"')
    if not (DOCS / translation(english(name))).is_file():
        return ALTERNATE.sub("", output)
    # With a space: the theme's script would look for a sitemap next to each of these pages.
    return ALTERNATE.sub(r'<link rel="alternate " \1', output)


# The check.


def problems(docs: Path) -> Iterator[str]:
    """Yield a line for each problem of the translations in a folder."""
    pages = {path for pattern in CHOSEN for path in docs.glob(pattern)}
    translations = set(docs.rglob(f"*{SUFFIX}"))
    for page in sorted(pages - translations):
        if page.with_name(translation(page.name)) not in translations:
            yield f"{page}: missing: there is no {translation(page.name)}"
    for chinese in sorted(translations):
        page = chinese.with_name(english(chinese.name))
        if not page.is_file():
            yield f"{chinese}: there is no {page.name}"
        elif is_behind(chinese):
            yield f"{chinese}: behind {page.name}, which has the digest {digest(page)}"
        else:
            texts = page.read_text("utf-8"), chinese.read_text("utf-8")
            yield from (f"{chinese}: {problem}" for problem in differences(*texts))


def differences(page: str, chinese: str) -> Iterator[str]:
    """Yield what a translation lacks of the structure of its page, or has in addition."""
    before, after = structure(page), structure(chinese)
    for kind, parts in before.items():
        for part in (Counter(parts) - Counter(after[kind])).elements():
            yield f"lacks the {kind} {part!r}"
        for part in (Counter(after[kind]) - Counter(parts)).elements():
            yield f"adds the {kind} {part!r}"
    for kind in ("heading", "fence"):
        if before[kind] != after[kind]:
            yield f"has not the same {kind}s in the same order"


def structure(text: str) -> dict[str, list[str]]:
    """Return the parts of a page that a translation repeats, by their kind."""
    front = FRONT_MATTER.search(text)
    body = FRONT_MATTER.sub("", text)
    prose = FENCE.sub("", body)
    found = {
        "front matter": ENGLISH.sub("", front[1] if front else "").splitlines(),
        "fence": [in_chinese(match[0]) for match in FENCE.finditer(body)],
        "heading": list(headings(prose)),
    }
    for kind, part in PARTS.items():
        found[kind] = ["".join(filter(None, match.groups())) for match in part.finditer(prose)]
    return found


def in_chinese(fence: str) -> str:
    """Return a fence with its commands and their texts in Chinese, if there are any.

    Of a figure only the name and the number of captions are kept, which are translated.
    """
    if fence.startswith("```frames "):
        head, *captions, _ = fence.splitlines()
        return f"{head}, {len(captions)} captions"
    if fence.startswith("```text\n"):
        return translate(fence, "zh")
    return fence.replace(" --language zh", "") if fence.startswith("```sh\n") else fence


def headings(prose: str) -> Iterator[str]:
    """Yield each heading's level and id, as `## the-id`."""
    seen = Counter[str]()
    for level, text, given in HEADING.findall(prose):
        name = given or slug(text)
        seen[name] += 1
        yield f"{level} {name}" if seen[name] == 1 else f"{level} {name}_{seen[name] - 1}"


def slug(heading: str) -> str:
    """Return the id that Markdown gives to a heading."""
    text = re.sub(r"[`*]|\]\([^)]*\)|<[^>]*>", "", heading)
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", letters).strip().lower())


def main() -> int:
    """Print the problems; return 1 if there are any."""
    lines = [line.removeprefix(f"{DOCS.parent}/") for line in problems(DOCS)]
    print("\n".join(lines) or "All translations are up to date.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
