"""The callback playground on its page: the form, and the outcome of its first choices.

The place is `<div class="playground"></div>`. The form and its script come with the package:
`minispore play` uses them too.
"""

import json
from typing import Protocol

from languages import say

from minispore._course import playground

PLACE = '<div class="playground"></div>'


class File(Protocol):
    """The attributes of a mkdocs file that are used here."""

    src_uri: str


class Page(Protocol):
    """The attributes of a mkdocs page that are used here."""

    file: File


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Put the form into its place (mkdocs calls this hook)."""
    if PLACE not in html:
        return html
    outcome = playground.answer(json.dumps(playground.DEFAULT))
    name = page.file.src_uri
    form = playground.form(lambda text: say(text, name), outcome=outcome)
    return html.replace(PLACE, form)
