"""The laws: a test of the suite as a program that needs nothing else of the suite.

A fence `law` names a test, as `file.py: name`, in its first line; the other lines are Python. It
becomes a program: the imports and the definitions that the test needs, the test, and these lines,
which call `break_law`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
# They are for the runs of the suite.
LEFT_OUT = ("example", "settings")


def program(fence: str) -> tuple[str, str, str]:
    """Return the program of a fence, the test's file, and its lines in the program, as "31-39".

    Raises:
        ValueError: The file has no such test, or the test needs another file of the suite.
    """
    place, _, body = fence.partition("\n")
    file, _, name = place.partition(": ")
    test = quoted(file, name)
    last = test.count("\n") + 1
    first = last - test.split("\n\n\n")[-1].count("\n")
    text = f"{test}\n\n\nfrom minispore._course.laws import break_law\n\n{body}"
    return text, file, f"{first}-{last}"


def quoted(file: str, name: str) -> str:
    """Return a test with the definitions and imports that it needs, in the order of the file.

    Raises:
        ValueError: The file has no such test, or the test needs another file of the suite.
    """
    text = (ROOT / file).read_text("utf-8")
    tree = ast.parse(text)
    definitions = {target: node for node in tree.body for target in defined(node)}
    if name not in definitions:
        raise ValueError(f"{file} has no test {name!r}.")
    needed, names = [name], {name}
    for other in needed:
        if other in definitions:
            new = used(definitions[other]) - names
            names |= new
            needed += sorted(new)
    lines = text.splitlines()
    parts: list[str] = []
    end = 0
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [alias for alias in node.names if (alias.asname or alias.name) in names]
            if not node.names:
                continue
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests"):
                raise ValueError(f"{name!r} of {file} needs {ast.unparse(node)!r}.")
            part = ast.unparse(node)
        elif names.isdisjoint(defined(node)):
            continue
        else:
            part = "\n".join(lines[i - 1] for i in kept_lines(node))
        gap = lines[end : node.lineno - 1].count("") if parts else 0
        parts.append("\n" * min(gap, 2) + part)
        end = node.end_lineno or 0
    return "\n".join(parts)


def defined(node: ast.stmt) -> list[str]:
    """Return the names that a statement of a module defines, without those that it imports."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def used(node: ast.stmt) -> set[str]:
    """Return the names in a definition."""
    left_out = {id(child) for top in left_out_decorators(node) for child in ast.walk(top)}
    return {
        child.id
        for child in ast.walk(node)
        if isinstance(child, ast.Name) and id(child) not in left_out
    }


def kept_lines(node: ast.stmt) -> Iterator[int]:
    """Yield the numbers of the lines of a definition, without the decorators that are left out."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    dropped = {
        i
        for decorator in left_out_decorators(node)
        for i in range(decorator.lineno, (decorator.end_lineno or 0) + 1)
    }
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    yield from (i for i in range(first, (node.end_lineno or 0) + 1) if i not in dropped)


def left_out_decorators(node: ast.stmt) -> list[ast.expr]:
    """Return the decorators of a definition that are for the runs of the suite."""
    if not isinstance(node, ast.FunctionDef):
        return []
    return [
        decorator
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Name)
        and decorator.func.id in LEFT_OUT
    ]
