"""Access to the shipped source: definitions by name, stubs without bodies, mutants.

Nothing here is a copy of the source. A name or text that is no longer in the source is an error, so
an exercise that does not fit the package fails the tests.
"""

import ast
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import TypeAlias

from minispore._course.translation import fill

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
WIDTH = 92  # of a line that is written into a file; the pages' editor shows so much


@dataclass(frozen=True)
class Bug:
    """A seeded bug: one replacement in the text of a definition.

    Attributes:
        description: The resulting bug, as a clause: "repeated gradients are counted once".
        where: The function, class or method, by its qualified name in its module.
        old: The text to replace; it occurs exactly once in the definition.
        new: The replacement.
    """

    description: str
    where: str
    old: str
    new: str


@cache
def text_of(module: str) -> str:
    """Return the source of a module, from a folder or an archive.

    Raises:
        ValueError: There is no such module, or its source is missing.
    """
    spec = find_spec(module)
    get = getattr(spec.loader, "get_source", None) if spec else None
    text: object = get(module) if get else None
    if not isinstance(text, str):
        raise ValueError(f"There is no source of the module {module!r}.")
    return text


def lines_of(module: str, name: str) -> tuple[int, str]:
    """Return the number of a definition's first line, and its text.

    Raises:
        ValueError: The module has no such definition.

    Examples:
        >>> number, text = lines_of("minispore.engine.rules.elementwise", "exp")
        >>> text.splitlines()[0]
        'def exp(x: A) -> Unary[A]:'
    """
    first, last = _extent(_find(module, name))
    return first, "\n".join(text_of(module).splitlines()[first - 1 : last])


def stub(
    module: str, tasks: Mapping[str, str], to_do: str = "To do: ", given: Iterable[str] = ()
) -> str:
    """Return the source of an exercise file, in which some bodies are missing.

    It contains the named functions and classes of the source and the imports that they need; other
    names of their module are imported from it.

    Args:
        module: The module that defines them.
        tasks: The task for each function, or method as in "Class.method". The body becomes the
            docstring, followed by the task, and `raise NotImplementedError`.
        to_do: What precedes the task.
        given: Other functions and classes that it contains, complete.

    Raises:
        ValueError: The module has no such function.

    Examples:
        >>> text = stub("minispore.engine.rules.elementwise", {"square": "Write it."})
        >>> text.splitlines()[0], text.splitlines()[-1]
        ('from minispore.engine.array import A', '    raise NotImplementedError')
    """
    lines = text_of(module).splitlines()
    tops = dict.fromkeys([*given, *(name.partition(".")[0] for name in tasks)])
    nodes = sorted((_find(module, name) for name in tops), key=lambda node: node.lineno)
    blanks = {name: _find(module, name) for name in tasks}
    used = set[str]()
    parts = list[str]()
    for node in nodes:
        used |= _names(node)
        first, last = _extent(node)
        part, at = list[str](), first
        inside = [(b, n) for n, b in blanks.items() if n.partition(".")[0] == node.name]
        for blank, name in sorted(inside, key=lambda pair: pair[0].lineno):
            if not isinstance(blank, _Function):
                raise ValueError(f"A stub needs the names of methods, but {name!r} is a class.")
            part += lines[at - 1 : blank.body[0].lineno - 1]
            part += _empty_body(blank, tasks[name], to_do)
            at = (blank.end_lineno or 0) + 1
        parts.append("\n".join([*part, *lines[at - 1 : last]]))
    imports = _imports(module, used - set(tops))
    return "\n\n\n".join([imports, *parts] if imports else parts) + "\n"


def load_mutant(module: str, *bugs: Bug) -> ModuleType:
    """Return a copy of the module with bugs; the module itself is not changed.

    Raises:
        ValueError: The text to replace does not occur exactly once.

    Examples:
        >>> bug = Bug("the 2 is lost", "square", "2.0 * x", "x")
        >>> _, (pullback,) = load_mutant("minispore.engine.rules.elementwise", bug).square(3.0)
        >>> pullback(1.0)
        3.0
    """
    text = mutated_text(module, *bugs)
    made = ModuleType(f"{module}_with_a_bug")
    # Dataclasses look up their module here.
    sys.modules[made.__name__] = made
    exec(compile(text, f"<{module} with a bug>", "exec"), made.__dict__)  # noqa: S102
    return made


def mutated_text(module: str, *bugs: Bug) -> str:
    """Return the source of the module with bugs, which has as many lines.

    Raises:
        ValueError: The text to replace does not occur exactly once.
    """
    lines = text_of(module).splitlines()
    for bug in bugs:
        first, last = _extent(_find(module, bug.where))
        text = "\n".join(lines[first - 1 : last])
        if (count := text.count(bug.old)) != 1:
            raise ValueError(f"In {module}.{bug.where}, {bug.old!r} occurs {count} times.")
        # Keep the number of lines, so that the positions in the source stay valid for the next bug.
        changed = text.replace(bug.old, bug.new).splitlines()
        changed += [""] * (last - first + 1 - len(changed))
        if len(changed) > last - first + 1:
            raise ValueError(f"The bug in {bug.where} needs more lines than the source has.")
        lines[first - 1 : last] = changed
    return "\n".join(lines)


def _find(module: str, name: str) -> _Function | ast.ClassDef:
    body: Iterable[ast.stmt] = _tree(module).body
    found: _Function | ast.ClassDef | None = None
    for part in name.split("."):
        found = None
        for node in body:
            if isinstance(node, _Function | ast.ClassDef) and node.name == part:
                found = node  # the last one: overloads may precede it
        if found is None:
            raise ValueError(f"The module {module!r} defines no {name!r}.")
        body = found.body
    assert found is not None
    return found


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(text_of(module))


def _extent(node: _Function | ast.ClassDef) -> tuple[int, int]:
    """Return the first and the last line of a definition, decorators included."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first, node.end_lineno or node.lineno


def _empty_body(node: _Function, task: str, to_do: str) -> list[str]:
    first = node.body[0]
    if first.lineno == node.lineno:
        raise ValueError(f"The body of {node.name!r} is on the same line as its header.")
    indent = " " * first.col_offset
    docstring = ast.get_docstring(node) or ""
    quotes = 'r"""' if "\\" in docstring + task else '"""'
    ahead = "" if docstring else " " * len(quotes)
    wrapped = fill(to_do + task, WIDTH - len(indent), ahead)
    text = f"{docstring}\n\n{wrapped}" if docstring else wrapped.lstrip()
    lines = textwrap.indent(f'{quotes}{text}\n"""', indent)
    return [*lines.splitlines(), f"{indent}raise NotImplementedError"]


def _names(node: ast.AST) -> set[str]:
    """Return the names that a definition uses, also in quoted annotations."""
    found = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
    for child in ast.walk(node):
        for quoted in (getattr(child, "annotation", None), getattr(child, "returns", None)):
            for part in ast.walk(quoted) if isinstance(quoted, ast.AST) else ():
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    found |= _names(ast.parse(part.value, mode="eval"))
    return found


def _imports(module: str, names: set[str]) -> str:
    """Return import statements for the names that the module imports or defines."""
    names_from: dict[str, set[str]] = {}
    plain = set[str]()  # statements with one name each
    for node in _tree(module).body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if (alias.asname or alias.name.partition(".")[0]) in names:
                    plain.add(ast.unparse(ast.Import([alias])))
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.asname in names:
                    plain.add(ast.unparse(ast.ImportFrom(node.module, [alias], 0)))
                elif alias.asname is None and alias.name in names:
                    names_from.setdefault(node.module or "", set()).add(alias.name)
        elif defined := set(_defined_names(node)) & names:
            names_from.setdefault(module, set()).update(defined)
    statements = [(text.split()[1], text) for text in plain]
    statements += [(origin, _import_from(origin, used)) for origin, used in names_from.items()]
    groups: dict[int, list[str]] = {}
    for origin, text in sorted(statements, key=lambda pair: (pair[1][:4] == "from", pair[0])):
        top = origin.partition(".")[0]
        rank = 0 if top in sys.stdlib_module_names else 2 if top == "minispore" else 1
        groups.setdefault(rank, []).append(text)
    return "\n\n".join("\n".join(groups[rank]) for rank in sorted(groups))


def _defined_names(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module defines."""
    if isinstance(node, _Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from (child.id for child in ast.walk(target) if isinstance(child, ast.Name))


def _import_from(origin: str, names: set[str]) -> str:
    line = f"from {origin} import {', '.join(sorted(names))}"
    if len(line) <= WIDTH:
        return line
    return f"from {origin} import (\n" + "".join(f"    {n},\n" for n in sorted(names)) + ")"
