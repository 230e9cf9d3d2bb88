"""Notebooks: add one of each lesson and each how-to page to the site, with a link on the page."""

import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from languages import below_title, is_current, say

from minispore._course.notebook import notebook
from minispore._course.pages import with_quotes

# The tests use this file without mkdocs.
if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import File, Files

DOCS = Path(__file__).parents[1]
SNIPPET = re.compile(r'^--8<-- "([\w/.]+)"$', flags=re.MULTILINE)


class Page(Protocol):
    """A page of mkdocs."""

    file: "File"


def has_notebook(name: str, text: str) -> bool:
    """Return whether a page has a notebook: a lesson or how-to page with programs."""
    return name.startswith(("learn/", "howto/")) and "\n```python\n" in text


def as_notebook(text: str) -> str:
    """Return the notebook of a page.

    Raises:
        ValueError: A quoted definition does not exist.
    """
    files = SNIPPET.sub(lambda match: (DOCS.parent / match[1]).read_text("utf-8"), text)
    return notebook(with_quotes(files))


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the notebooks to the site."""
    from mkdocs.structure.files import File

    for file in filter(is_offered, list(files.documentation_pages())):
        name = PurePosixPath(file.src_uri).with_suffix(".ipynb").as_posix()
        files.append(File.generated(config, name, content=as_notebook(file.content_string)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Add a link to the notebook below the title of a page."""
    if not is_offered(page.file):
        return markdown
    name = page.file.src_uri
    text = say("This page as a notebook", name)
    link = f"[{text}]({PurePosixPath(name).stem}.ipynb){{ .notebook download }}"
    return below_title(markdown, link)


def is_offered(file: "File") -> bool:
    """Return whether the site has a notebook of a page, which may be a translation."""
    return has_notebook(file.src_uri, file.content_string) and is_current(file)
