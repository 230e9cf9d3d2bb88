"""What docstrings say in a way that Markdown does not know: sessions and literal blocks."""

import re

import griffe

# Lines from a `>>>` at the margin to the next empty one; an `Examples:` section is indented.
SESSION = re.compile(r"^>>> .*(?:\n.+)*", flags=re.MULTILINE)
# The colon of an indented block that follows.
LITERAL = re.compile(r"::$", flags=re.MULTILINE)


class Sessions(griffe.Extension):
    """Put each session into a fence of its own, and take one of two colons away."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring:
            text = LITERAL.sub(":", obj.docstring.value)
            obj.docstring.value = SESSION.sub(lambda match: f"```pycon\n{match[0]}\n```", text)
