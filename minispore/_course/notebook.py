"""Jupyter notebooks of the pages: each program is a code cell, the text between is Markdown."""

import json
import re
from collections.abc import Iterator
from textwrap import dedent

_PROGRAM = re.compile(r"^```python\n(.*?)^```$\n?", flags=re.MULTILINE | re.DOTALL)
# In a notebook `print` would show a drawing as text.
_PRINTED_DRAWING = re.compile(r"\bprint\((?=(?:drawing\.)?(?:draw_\w+|digit_pad)\()")
# The last cell of a lesson's notebook.
_EXERCISE = "minispore learn check"
_TRAIN = """
## Your framework

After the check has passed, train a network on digits with the functions that you have written:

```python
!minispore learn run
```
"""
_FENCE = re.compile(r"^``` ?(?:\{ )?\.?(\w+)[^\n]*$", flags=re.MULTILINE)
_NOTE = re.compile(r'^(?:!!!|\?\?\?) \w+ "(.*)"\n\n((?:    .*\n|\n)+)', flags=re.MULTILINE)
# Pages of the site and files of the repository, which are not in the folder of a notebook.
_LOCAL_LINK = re.compile(r"(?<!!)\[([^][]*(?:\[[^][]*\][^][]*)*)\]\((?!https?:)[^)]*\)")


def notebook(page: str) -> str:
    r"""Return a notebook of a page, without outputs.

    Args:
        page: The Markdown text of the page, with its quotes filled in.

    Returns:
        The text of an .ipynb file. Its programs use one namespace, as on the page. Links to other
        pages become text. The notebook of a lesson ends with `minispore learn run`.

    Examples:
        >>> cells = json.loads(notebook("# Sums\n\n```python\nprint(1 + 1)\n```\n"))["cells"]
        >>> [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
        [('markdown', '# Sums'), ('code', 'print(1 + 1)')]
    """
    if _EXERCISE in page:
        page += _TRAIN
    content = {
        "cells": [_cell(i, kind, text) for i, (kind, text) in enumerate(_parts(page), 1)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _parts(page: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each cell."""
    # With one group, the texts between programs and the programs alternate.
    for i, text in enumerate(_PROGRAM.split(page)):
        if i % 2:
            yield "code", _PRINTED_DRAWING.sub("display(", text)
        elif text.strip():
            yield "markdown", plain_markdown(text)


def plain_markdown(text: str) -> str:
    """Return a text without the site's extensions of Markdown."""
    text = _NOTE.sub(lambda match: f"**{match[1]}**\n\n{dedent(match[2])}", text)
    return _LOCAL_LINK.sub(r"\1", _FENCE.sub(r"```\1", text))


def _cell(number: int, kind: str, text: str) -> dict[str, object]:
    source = text.strip("\n").splitlines(keepends=True)
    cell: dict[str, object] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell | {"source": source}
