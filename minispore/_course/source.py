"""The shipped source as material: definitions by name, stubs without their bodies, seeded bugs.

Nothing here is a copy of the source. A name or a piece of text that is no longer there is an error,
so an exercise that has drifted from the package fails the tests instead of the learner.
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

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_WIDTH = 100


@dataclass(frozen=True)
class Bug:
    """A bug to seed: one change of the text of a definition.

    Attributes:
        says: What is wrong then, as a clause: "a gradient that comes twice counts once".
        where: The function, class or method, by its qualified name in its module.
        old: The text to replace; it stands in the definition exactly once.
        new: What takes its place.
    """

    says: str
    where: str
    old: str
    new: str


@cache
def text_of(module: str) -> str:
    """The source of a module, whether it lies in a folder or in an archive.

    Raises:
        ValueError: There is no such module, or no source of it.
    """
    spec = find_spec(module)
    get = getattr(spec.loader, "get_source", None) if spec else None
    text: object = get(module) if get else None
    if not isinstance(text, str):
        raise ValueError(f"There is no source of the module {module!r}.")
    return text


def lines_of(module: str, name: str) -> tuple[int, str]:
    """The text of a definition, and the number of its first line.

    Raises:
        ValueError: The module has no such definition.

    Examples:
        >>> number, text = lines_of("minispore._rules.elementwise", "exp")
        >>> text.splitlines()[0]
        'def exp(x: A) -> Unary[A]:'
    """
    first, last = _extent(_find(module, name))
    return first, "\n".join(text_of(module).splitlines()[first - 1 : last])


def stub(module: str, tasks: Mapping[str, str]) -> str:
    """The source of a file in which some bodies are still to be written.

    It has the functions and classes that are named, as they stand in the source, with the imports
    that they need. What else they use of their module is imported from there.

    Args:
        module: Where they are defined.
        tasks: For each function, or method as in "Class.method", what is to be done. Its body
            becomes its docstring, with the task below, and `raise NotImplementedError`.

    Raises:
        ValueError: The module has no such function.

    Examples:
        >>> text = stub("minispore._rules.elementwise", {"square": "Return x² and its pullback."})
        >>> text.splitlines()[0], text.splitlines()[-1]
        ('from minispore._array import A', '    raise NotImplementedError')
    """
    lines = text_of(module).splitlines()
    kept = dict.fromkeys(name.partition(".")[0] for name in tasks)
    nodes = sorted((_find(module, name) for name in kept), key=lambda node: node.lineno)
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
            part += _empty_body(blank, tasks[name])
            at = (blank.end_lineno or 0) + 1
        parts.append("\n".join([*part, *lines[at - 1 : last]]))
    imports = _imports(module, used - set(kept))
    return "\n\n\n".join([imports, *parts] if imports else parts) + "\n"


def mutated(module: str, *bugs: Bug) -> ModuleType:
    """The module anew, with bugs in it; the real one is left alone.

    Raises:
        ValueError: The text to replace is not there, or is there more than once.

    Examples:
        >>> bug = Bug("the 2 is lost", "square", "2.0 * x", "x")
        >>> _, (pullback,) = mutated("minispore._rules.elementwise", bug).square(3.0)
        >>> pullback(1.0)
        3.0
    """
    lines = text_of(module).splitlines()
    for bug in bugs:
        first, last = _extent(_find(module, bug.where))
        text = "\n".join(lines[first - 1 : last])
        if (count := text.count(bug.old)) != 1:
            raise ValueError(f"In {module}.{bug.where}, {bug.old!r} is there {count} times.")
        # On the same lines, so that the next bug is found where the source has it.
        changed = text.replace(bug.old, bug.new).splitlines()
        changed += [""] * (last - first + 1 - len(changed))
        if len(changed) > last - first + 1:
            raise ValueError(f"The bug in {bug.where} needs more lines than there were.")
        lines[first - 1 : last] = changed
    made = ModuleType(f"{module}_with_a_bug")
    # What a class asks of its module (dataclasses do) it finds here.
    sys.modules[made.__name__] = made
    exec(compile("\n".join(lines), f"<{module} with a bug>", "exec"), made.__dict__)  # noqa: S102
    return made


def _find(module: str, name: str) -> _Function | ast.ClassDef:
    body: Iterable[ast.stmt] = _tree(module).body
    found: _Function | ast.ClassDef | None = None
    for part in name.split("."):
        found = None
        for node in body:
            if isinstance(node, _Function | ast.ClassDef) and node.name == part:
                found = node  # the last one: before it may stand overloads
        if found is None:
            raise ValueError(f"The module {module!r} defines no {name!r}.")
        body = found.body
    assert found is not None
    return found


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(text_of(module))


def _extent(node: _Function | ast.ClassDef) -> tuple[int, int]:
    """The first and the last line of a definition, with its decorators."""
    return min(node.lineno, *(d.lineno for d in node.decorator_list), node.lineno), (
        node.end_lineno or node.lineno
    )


def _empty_body(node: _Function, task: str) -> list[str]:
    first = node.body[0]
    if first.lineno == node.lineno:
        raise ValueError(f"The body of {node.name!r} stands on one line with its head.")
    indent = " " * first.col_offset
    said = ast.get_docstring(node) or ""
    quotes = 'r"""' if "\\" in said + task else '"""'
    ahead = "" if said else " " * len(quotes)
    wrapped = textwrap.fill(f"To do: {task}", _WIDTH - len(indent), initial_indent=ahead)
    text = f"{said}\n\n{wrapped}" if said else wrapped.lstrip()
    docstring = textwrap.indent(f'{quotes}{text}\n"""', indent)
    return [*docstring.splitlines(), f"{indent}raise NotImplementedError"]


def _names(node: ast.AST) -> set[str]:
    """The names that a definition uses, also in annotations between quotes."""
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    for each in ast.walk(node):
        for quoted in (getattr(each, "annotation", None), getattr(each, "returns", None)):
            for part in ast.walk(quoted) if isinstance(quoted, ast.AST) else ():
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    found |= _names(ast.parse(part.value, mode="eval"))
    return found


def _imports(module: str, names: set[str]) -> str:
    """Import statements for those of the names that the module has from elsewhere or itself."""
    wanted: dict[str, set[str]] = {}
    plain = set[str]()  # one name each
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
                    wanted.setdefault(node.module or "", set()).add(alias.name)
        elif own := set(_bound(node)) & names:
            wanted.setdefault(module, set()).update(own)
    statements = [(text.split()[1], text) for text in plain]
    statements += [(origin, _import_from(origin, found)) for origin, found in wanted.items()]
    groups: dict[int, list[str]] = {}
    for origin, text in sorted(statements, key=lambda each: (each[1][:4] == "from", each[0])):
        top = origin.partition(".")[0]
        rank = 0 if top in sys.stdlib_module_names else 2 if top == "minispore" else 1
        groups.setdefault(rank, []).append(text)
    return "\n\n".join("\n".join(groups[rank]) for rank in sorted(groups))


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module defines."""
    if isinstance(node, _Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))


def _import_from(origin: str, names: set[str]) -> str:
    line = f"from {origin} import {', '.join(sorted(names))}"
    if len(line) <= _WIDTH:
        return line
    return f"from {origin} import (\n" + "".join(f"    {n},\n" for n in sorted(names)) + ")"
