"""Every message that the package makes an error of, read from its syntax trees: what an f-string puts in stands as {}.

A name that is put in is followed to what the function assigns to it, to the constants that callers hand in, and to the
sentences that a function of the package returns.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import rtmbs
from tests.trees import tree_of

PACKAGE = Path(rtmbs.__file__).parent
HOLE = "{}"
MOST, DEEPEST = 64, 3  # variants of one message; functions followed into one another
Function = ast.FunctionDef | ast.AsyncFunctionDef | None


class Site(NamedTuple):
    """A call that makes an error, and the function around it."""

    place: str
    call: ast.Call
    inside: Function


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax trees of the package by path."""
    return {str(path.relative_to(PACKAGE)): tree_of(path) for path in sorted(PACKAGE.rglob("*.py"))}


def last(node: ast.expr) -> str:
    """Return the last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@cache
def errors() -> frozenset[str]:
    """Return the names of RtmbsError and all classes below it."""
    classes = [node for _, node, _ in nodes() if isinstance(node, ast.ClassDef)]
    found, before = {"RtmbsError"}, 0
    while len(found) > before:
        before = len(found)
        found |= {one.name for one in classes if any(last(base) in found for base in one.bases)}
    return frozenset(found)


@cache
def functions() -> dict[str, list[ast.FunctionDef]]:
    """Return the functions of the package by name."""
    found = defaultdict(list)
    for _, node, _ in nodes():
        if isinstance(node, ast.FunctionDef):
            found[node.name].append(node)
    return found


@cache
def homes() -> dict[ast.AST, str]:
    """Return the path of the module that each function is of."""
    return {node: path for path, node, _ in nodes() if isinstance(node, ast.FunctionDef)}


@cache
def calls() -> dict[str, list[tuple[ast.Call, Function]]]:
    """Return all calls by the last part of what is called, with the functions around them."""
    found = defaultdict(list)
    for _, node, inside in nodes():
        if isinstance(node, ast.Call):
            found[last(node.func)].append((node, inside))
    return found


@cache
def nodes() -> list[tuple[str, ast.FunctionDef | ast.Call | ast.ClassDef, Function]]:
    """Return all functions, calls and classes in the order of the text, with path and the innermost function around."""
    found = []
    for path, tree in trees().items():
        waiting: list[tuple[ast.AST, Function]] = [(tree, None)]
        while waiting:
            node, inside = waiting.pop()
            if isinstance(node, ast.FunctionDef | ast.Call | ast.ClassDef):
                found.append((path, node, inside))
            if isinstance(node, ast.Name | ast.Constant):
                continue  # half of all nodes
            around = node if isinstance(node, ast.FunctionDef) else inside
            waiting += [(child, around) for child in reversed(list(ast.iter_child_nodes(node)))]
    return found


@cache
def sites() -> tuple[Site, ...]:
    """Return every call that makes an error: of a class of errors, or of ``error`` of a model file."""
    return tuple(
        Site(f"{path}:{node.lineno}", node, inside)
        for path, node, inside in nodes()
        if isinstance(node, ast.Call) and (made(node) or of_a_file(node))
    )


def made(call: ast.Call) -> bool:
    """Return whether a call makes an error of a message, or is where a class of errors makes its own."""
    if last(call.func) == "__init__":
        return id(call) in own_messages()
    return last(call.func) in errors() and last(call.func) not in worded()


@cache
def worded() -> dict[str, ast.FunctionDef]:
    """Return the classes of errors that make the message themselves, with the function that does."""
    classes = [node for _, node, _ in nodes() if isinstance(node, ast.ClassDef)]
    ours = [(one.name, node) for one in classes if one.name in errors() for node in one.body]
    return {
        name: node
        for name, node in ours
        if isinstance(node, ast.FunctionDef) and node.name == "__init__" and makes_its_own(node)
    }


def makes_its_own(function: ast.FunctionDef) -> bool:
    """Return whether a class of errors is made without a message."""
    return function.args.vararg is None and "message" not in [one.arg for one in function.args.args]


@cache
def own_messages() -> frozenset[int]:
    """Return the calls by which such classes hand the message on."""
    return frozenset(
        id(node)
        for function in worded().values()
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and last(node.func) == "__init__" and node.args
    )


def of_a_file(call: ast.Call) -> bool:
    """Return whether a call makes the error of a place in a model file."""
    return last(call.func) in ("error", "error_at") and len(call.args) > 1


def said_at(site: Site, depth: int) -> list[str]:
    """Return every form of the message of a site, names followed ``depth`` functions deep."""
    call = site.call
    said = call.args[1:2] if of_a_file(call) else call.args[:1]
    return sorted({text for one in said for text in forms(one, site.inside, depth)})


def repeats(site: Site) -> bool:
    """Return whether a message is that of another error: one that was caught, as it is or behind a name."""
    caught = dict(handlers(site.inside)) if site.inside else {}
    said = site.call.args[-1 if of_a_file(site.call) else 0]
    ours = set(caught)
    if isinstance(said, ast.JoinedStr) and isinstance(said.values[-1], ast.FormattedValue):
        said, ours = said.values[-1].value, {name for name, kinds in caught.items() if kinds & errors()}
    held = names_in(said)
    told = {name for name in held if site.inside for value in assigned(name, site.inside) if ours & names_in(value)}
    return bool(ours & held or told)


def names_in(node: ast.AST) -> set[str]:
    """Return the names that an expression reads."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def handlers(function: ast.FunctionDef) -> Iterator[tuple[str, set[str]]]:
    """Yield the names of caught errors, with the classes that are caught."""
    for node in ast.walk(function):
        if isinstance(node, ast.ExceptHandler) and node.name and node.type:
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            yield node.name, {last(one) for one in kinds}


def forms(node: ast.expr, inside: Function, depth: int) -> list[str]:
    """Return what an expression may say."""
    match node:
        case ast.Constant():
            return [str(node.value)]
        case ast.JoinedStr():
            parts = [
                forms(one.value if isinstance(one, ast.FormattedValue) else one, inside, depth) for one in node.values
            ]
            return ["".join(choice) for choice, _ in zip(product(*parts), range(MOST), strict=False)]
        case ast.BinOp(op=ast.Add()):
            return [a + b for a in forms(node.left, inside, depth) for b in forms(node.right, inside, depth)][:MOST]
        case ast.IfExp():
            return forms(node.body, inside, depth) + forms(node.orelse, inside, depth)
        case ast.BoolOp():
            return [text for one in node.values for text in forms(one, inside, depth)]
        case ast.Name() if depth and inside is not None:
            return named(node.id, inside, depth - 1) or [HOLE]
        case ast.Call(func=ast.Attribute(attr="format")):
            return forms(node.func.value, inside, depth)
        case ast.Call() if last(node.func) in errors() and node.args:
            return forms(node.args[0], inside, depth)
        case ast.Call() if depth and last(node.func) in functions():
            return returned(node.func, inside, depth - 1) or [HOLE]
    return [HOLE]


def assigned(name: str, inside: ast.FunctionDef) -> list[ast.expr]:
    """Return what a function assigns to a name."""
    found = []
    for node in ast.walk(inside):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.NamedExpr) else []
        )
        if any(isinstance(to, ast.Name) and to.id == name for to in targets):
            found.append(node.value)
    return found


def named(name: str, inside: ast.FunctionDef, depth: int) -> list[str]:
    """Return what a name may say: what is assigned to it, or handed in, or a constant of a module."""
    values = assigned(name, inside)
    if values:
        return [text for value in values for text in forms(value, inside, depth)]
    parameters = [one.arg for one in (*inside.args.posonlyargs, *inside.args.args)]
    if name in parameters and name != "self":
        return handed_in(inside.name, parameters, name, depth)
    return [text for value in constants().get(name, []) for text in forms(value, None, 0)]


@cache
def constants() -> dict[str, list[ast.expr]]:
    """Return what modules assign to names of capital letters."""
    found = defaultdict(list)
    for tree in trees().values():
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
                found[node.targets[0].id].append(node.value)
    return found


def handed_in(function: str, parameters: list[str], name: str, depth: int) -> list[str]:
    """Return what callers hand in for a parameter, as far as they hand in words."""
    place = [one for one in parameters if one != "self"].index(name)
    found = []
    for call, inside in calls()[function]:
        given = [one.value for one in call.keywords if one.arg == name] or call.args[place : place + 1]
        found += [text for one in given for text in forms(one, inside, depth)]
    return sorted(set(found))[:MOST]


def returned(called: ast.expr, inside: Function, depth: int) -> list[str]:
    """Return the sentences that the functions return which a call may mean: those of this module before others."""
    known = [
        one for one in functions()[last(called)] if one.returns and re.search("str|Error", ast.unparse(one.returns))
    ]
    module = called.value.id if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) else ""
    near = [one for one in known if inside is not None and homes()[one] == homes()[inside]]
    near = near or [one for one in known if module and homes()[one].endswith(f"/{module}.py")]
    return [
        text
        for one in near or known
        for node in ast.walk(one)
        if isinstance(node, ast.Return) and node.value is not None
        for text in forms(node.value, one, depth)
    ]
