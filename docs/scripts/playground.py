"""The callback playground on its page: the form, and the outcome of its first choices.

The place is `<div class="playground"></div>`. The form and its script come with the package, and
`minispore play` uses them too.
"""

import json
from typing import Protocol

from languages import say
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from minispore._course import playground

PLACE = '<div class="playground"></div>'
KEYS = "assets/editor.js"  # of the programs and exercises, too


class PageFile(Protocol):
    """The attributes of a mkdocs file that are used here."""

    src_uri: str


class Page(Protocol):
    """The attributes of a mkdocs page that are used here."""

    file: PageFile


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the script with the keys of the editor to the site."""
    files.append(File.generated(config, KEYS, content=playground.part("editor.js")))
    return files


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Put the form into its place (mkdocs calls this hook)."""
    if PLACE not in html:
        return html
    outcome = playground.answer(json.dumps(playground.DEFAULT))
    name = page.file.src_uri
    form = playground.form(lambda text: say(text, name), outcome=outcome)
    return html.replace(PLACE, form)
