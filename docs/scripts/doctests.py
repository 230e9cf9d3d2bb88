"""Convert sessions and literal blocks in docstrings to Markdown, and label old names."""

import inspect
import pydoc
import re

import griffe

# Lines from an unindented `>>>` to the next empty line; an `Examples:` section is indented.
SESSION = re.compile(r"^>>> .*(?:\n.+)*", flags=re.MULTILINE)
# The double colon before an indented block.
LITERAL = re.compile(r"::$", flags=re.MULTILINE)


class Sessions(griffe.Extension):
    """Put each session into a fence, replace double colons, and label old names."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring:
            if any("_documented" in str(d.value) for d in getattr(obj, "decorators", ())):
                # The decorator completes the docstring when the module is imported.
                obj.docstring.value = inspect.getdoc(pydoc.locate(obj.path)) or ""
            text = LITERAL.sub(":", obj.docstring.value)
            obj.docstring.value = SESSION.sub(lambda match: f"```pycon\n{match[0]}\n```", text)
            if text.startswith("MindSpore 1.x's name of "):
                obj.labels.add("legacy")
