"""Mutants of a program: each is one small change of its syntax tree, as a mistake would be."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import cast

from minispore.utils.checks import is_list

_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
# What these calls return is a copy: without them the argument itself is used.
_COPIES = ("list", "dict", "tuple", "sorted", "reversed", "copy", "float", "int")
_NOT_MUTATED = ("annotation", "returns", "decorator_list", "ctx", "bases", "type_comment")


def mutants(source: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield a description and the source of each mutant, in the order of the source.

    Args:
        source: The program.
        names: The functions, methods ("Class.method") and classes in which it is changed.
    """
    tree = ast.parse(source)
    original = ast.unparse(tree)
    seen = {original}
    counts = Counter[str]()
    for name in names:
        top = _definition(tree, name)
        for function in [node for node in ast.walk(top) if isinstance(node, ast.FunctionDef)]:
            local = sorted({n.id for n in ast.walk(function) if isinstance(n, ast.Name)
                            and isinstance(n.ctx, ast.Store)}
                           | {a.arg for a in function.args.args if a.arg != "self"})  # fmt: skip
            for statement, field, position in _places(function):
                old = _get(statement, field, position)
                for new in _replacements(old, local):
                    _set(statement, field, position, new)
                    text = ast.unparse(tree)
                    _set(statement, field, position, old)
                    if text not in seen:
                        seen.add(text)
                        change = f"{function.name}: {_short(old)} → {_short(new)}"
                        counts[change] += 1
                        again = f" ({counts[change]})" if counts[change] > 1 else ""
                        yield change + again, text


def _short(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def _definition(tree: ast.Module, name: str) -> ast.AST:
    node: ast.AST = tree
    for part in name.split("."):
        node = next(
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.FunctionDef | ast.ClassDef) and child.name == part
        )
    return node


def _places(function: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    # Annotations, and types such as `list[tuple[str, int]]()`.
    roots = [
        part
        for node in ast.walk(function)
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None), node)
        if isinstance(part, ast.expr) and (part is not node or _is_generic(node))
    ]
    types = {id(part) for root in roots for part in ast.walk(root)}
    for node in ast.walk(function):
        for field, value in ast.iter_fields(node):
            if field in _NOT_MUTATED or isinstance(node, ast.JoinedStr | ast.arguments):
                continue
            if id(node) in types:
                continue
            if is_list(value):
                for i, item in enumerate(value):
                    if isinstance(item, ast.expr | ast.stmt):
                        yield node, field, i
            elif isinstance(value, ast.expr):
                yield node, field, None


def _is_generic(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and ast.unparse(node.value) in {"list", "dict", "set"}


def _get(node: ast.AST, field: str, position: int | None) -> ast.AST:
    value: object = getattr(node, field)
    item = cast("list[object]", value)[position] if position is not None else value
    assert isinstance(item, ast.AST)
    return item


def _set(node: ast.AST, field: str, position: int | None, new: ast.AST) -> None:
    if position is None:
        setattr(node, field, new)
    else:
        getattr(node, field)[position] = new


def _replacements(node: ast.AST, local: Sequence[str]) -> Iterator[ast.AST]:
    yield from _of_statement(node)
    yield from _of_operator(node)
    yield from _of_value(node, local)
    if isinstance(node, ast.Call):
        yield from _of_call(node)


def _of_statement(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Expr() | ast.Break() | ast.Continue() | ast.Assign() | ast.Raise() | ast.Delete():
            yield ast.Pass()
        case ast.Return(value=ast.expr() as value):
            yield ast.Expr(value)
        case ast.AugAssign(target=target, op=op, value=value):
            yield ast.Pass()
            if type(op) in _BINARY:
                yield ast.AugAssign(target, _BINARY[type(op)](), value)
            yield ast.Assign([target], value, lineno=1)
        case ast.If(test=test, body=body, orelse=orelse):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
            yield ast.If(ast.Constant(True), body, orelse)
            yield ast.If(ast.Constant(False), body, orelse)
        case _:
            pass


def _of_operator(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) in _BINARY:
                yield ast.BinOp(left, _BINARY[type(op)](), right)
            if not isinstance(op, ast.Add | ast.Mult | ast.BitOr):
                yield ast.BinOp(right, op, left)
            yield left
            yield right
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield ast.Compare(left, [_COMPARE[type(op)]()], [right])
            if isinstance(op, ast.IsNot):
                yield left
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            yield values[0]
            yield values[-1]
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield operand
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield body
            yield orelse
            yield ast.IfExp(test, orelse, body)
        case _:
            pass


def _of_value(node: ast.AST, local: Sequence[str]) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.Name(id=name, ctx=ast.Load()) if name in local:
            others = [other for other in local if other != name]
            if others:
                yield ast.Name(others[(local.index(name) + len(name)) % len(others)], ast.Load())
        case ast.Yield(value=ast.expr() as value):
            yield value
        case ast.Slice(lower=lower, upper=upper, step=step):
            yield ast.Slice(None, upper, step)
            yield ast.Slice(lower, None, step)
            yield ast.Slice(lower, upper, None)
        case ast.List(elts=elts) | ast.Tuple(elts=elts) if len(elts) > 1:
            if isinstance(getattr(node, "ctx", None), ast.Load):
                yield type(node)([*elts[1:], elts[0]], ast.Load())
        case _:
            pass


def _of_call(node: ast.Call) -> Iterator[ast.AST]:
    func, args, keywords = node.func, node.args, node.keywords
    called = func.id if isinstance(func, ast.Name) else ""
    if isinstance(func, ast.Attribute):
        called = func.attr
    if called not in ("max", "min"):
        for i in range(len(args) - 1):
            swapped = [*args[:i], args[i + 1], args[i], *args[i + 2 :]]
            yield ast.Call(func, swapped, keywords)
    for i in range(len(keywords)):
        yield ast.Call(func, args, keywords[:i] + keywords[i + 1 :])
    if called in _COPIES:
        if args:
            yield args[0]
        elif isinstance(func, ast.Attribute):
            yield func.value
