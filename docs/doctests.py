"""Shows a docstring's `>>>` lines as a session, where Markdown would take them for a quotation."""

import re

import griffe

# Lines from a `>>>` at the margin to the next empty one; an `Examples:` section is indented.
SESSION = re.compile(r"^>>> .*(?:\n.+)*", flags=re.MULTILINE)


class Sessions(griffe.Extension):
    """Put each session into a fence of its own."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring and ">>>" in obj.docstring.value:
            obj.docstring.value = SESSION.sub(
                lambda match: f"```pycon\n{match[0]}\n```", obj.docstring.value
            )
