"""Operators of mutation: those of cosmic-ray that change numbers and decisions, and five of numerical code.

Replacements of cosmic-ray that end in a TypeError at once (``a >> b`` of floats) are left out: any test finds them.
"""

from collections.abc import Iterator
from itertools import pairwise

import parso
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.operators.provider import OperatorProvider
from parso.tree import NodeOrLeaf

Span = tuple[tuple[int, int], tuple[int, int]]  # (line, column) of start and end; lines count from 1

TAKEN = (
    "ReplaceBinaryOperator_Add_Sub",
    "ReplaceBinaryOperator_Sub_Add",
    "ReplaceBinaryOperator_Mul_Div",
    "ReplaceBinaryOperator_Div_Mul",
    "ReplaceBinaryOperator_Pow_Mul",
    "ReplaceBinaryOperator_FloorDiv_Mul",
    "ReplaceBinaryOperator_Mod_FloorDiv",
    "ReplaceBinaryOperator_BitOr_BitAnd",
    "ReplaceBinaryOperator_BitAnd_BitOr",
    "ReplaceComparisonOperator_Eq_NotEq",
    "ReplaceComparisonOperator_NotEq_Eq",
    "ReplaceComparisonOperator_Lt_LtE",
    "ReplaceComparisonOperator_LtE_Lt",
    "ReplaceComparisonOperator_Gt_GtE",
    "ReplaceComparisonOperator_GtE_Gt",
    "ReplaceComparisonOperator_Lt_Gt",
    "ReplaceComparisonOperator_LtE_GtE",
    "ReplaceComparisonOperator_Gt_Lt",
    "ReplaceComparisonOperator_GtE_LtE",
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceComparisonOperator_IsNot_Is",
    "ReplaceUnaryOperator_Delete_USub",
    "ReplaceUnaryOperator_Delete_Not",
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ZeroIterationForLoop",
)
COUNTS = 100  # whole numbers below may be indices or sizes, for which one more is a fault; others are bounds


def is_number(node: NodeOrLeaf) -> bool:
    return bool(node.type == "number")


def number_of(node: NodeOrLeaf) -> int | float | complex:
    value: int | float | complex = eval(node.value, {"__builtins__": {}})
    return value


class Numbers(Operator):
    """A whole number below ``COUNTS`` becomes its neighbour; others are doubled or halved; 0.0 becomes 1.0 or -1.0."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Span]:
        if is_number(node):
            yield from [(node.start_pos, node.end_pos)] * 2

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        value = number_of(node)
        if value == 0 or (isinstance(value, int) and value < COUNTS):
            changed = value + (1, -1)[index]
        elif isinstance(value, int):
            changed = (value * 2, value // 2)[index]
        else:
            changed = value * (2.0, 0.5)[index]
        text = f"({changed!r})" if isinstance(changed, float | int) and changed < 0 else repr(changed)
        node.value = text
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (
            Example("x = 1", "x = 2"),
            Example("x = a[1:]", "x = a[0:]", occurrence=1),
            Example("x = 0.5", "x = 1.0"),
            Example("x = 1e-9", "x = 5e-10", occurrence=1),
            Example("x = 0", "x = (-1)", occurrence=1),
            Example("x = 400", "x = 800"),
        )


class DropStatement(Operator):
    """A call, an assignment to an element or attribute, an update in place, or a raise becomes ``pass``.

    Assignments to names stay: without them the next line ends in a NameError.
    """

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Span]:
        if node.type == "simple_stmt" and len(node.children) == 2 and has_effect(node.children[0]):
            yield (node.children[0].start_pos, node.children[0].end_pos)

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        statement = node.children[0]
        node.children[0] = parso.python.tree.Keyword("pass", statement.start_pos, statement.get_first_leaf().prefix)
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (
            Example("f(x)\n", "pass\n"),
            Example("a[0] = 1\n", "pass\n"),
            Example("a += 1\n", "pass\n"),
            Example("raise ValueError(a)\n", "pass\n"),
        )


def has_effect(statement: NodeOrLeaf) -> bool:
    """Return whether a statement acts on something other than a name."""
    if statement.type == "raise_stmt":
        return True
    if statement.type == "atom_expr":
        last = statement.children[-1]
        return bool(last.type == "trailer" and last.children[0] == "(")
    if statement.type != "expr_stmt":
        return False
    target, sign = statement.children[:2]
    if sign.type == "annassign":
        return False
    return bool(target.type == "atom_expr" or (sign.type == "operator" and sign.value not in ("=", ":=")))


class SwapArguments(Operator):
    """Two neighbours among the positional arguments of a call change places."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Span]:
        for left, right in swappable(node):
            yield (left.start_pos, right.end_pos)

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        arguments = node.children[1]
        left, right = swappable(node)[index]
        at, there = (next(i for i, child in enumerate(arguments.children) if child is one) for one in (left, right))
        first, second = left.get_first_leaf(), right.get_first_leaf()
        first.prefix, second.prefix = second.prefix, first.prefix
        arguments.children[at], arguments.children[there] = right, left
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (
            Example("f(a, b)\n", "f(b, a)\n"),
            Example("f(a, g(b), c=1)\n", "f(g(b), a, c=1)\n"),
            Example("f(a, b, c)\n", "f(a, c, b)\n", occurrence=1),
        )


def swappable(node: NodeOrLeaf) -> list[tuple[NodeOrLeaf, NodeOrLeaf]]:
    """Return neighbours among the positional arguments of a call; none for other nodes."""
    if node.type != "trailer" or node.children[0] != "(" or node.children[1].type != "arglist":
        return []
    plain = [child for child in node.children[1].children if child != "," and child.type != "argument"]
    return [(a, b) for a, b in pairwise(plain) if a.get_code().strip() != b.get_code().strip()]


class DropTranspose(Operator):
    """``A.T`` becomes ``A``."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Span]:
        if is_transpose(node):
            yield (node.start_pos, node.end_pos)

    def mutate(self, node: NodeOrLeaf, index: int) -> None:
        return None

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("x = A.T @ b\n", "x = A @ b\n"),)


def is_transpose(node: NodeOrLeaf) -> bool:
    return bool(node.type == "trailer" and node.children[0] == "." and node.children[1].value == "T")


OPPOSITE = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


class MinMax(Operator):
    """``min`` becomes ``max`` and the reverse; also ``minimum`` and ``maximum``."""

    def mutation_positions(self, node: NodeOrLeaf) -> Iterator[Span]:
        if node.type == "name" and node.value in OPPOSITE:
            following = node.get_next_leaf()
            if following is not None and following.value == "(":
                yield (node.start_pos, node.end_pos)

    def mutate(self, node: NodeOrLeaf, index: int) -> NodeOrLeaf:
        node.value = OPPOSITE[node.value]
        return node

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        return (Example("x = max(a, b)\n", "x = min(a, b)\n"), Example("np.minimum(a, b)\n", "np.maximum(a, b)\n"))


# Mutations of a line are drawn with these weights; a swap mostly ends in a TypeError, and every second line has one.
WEIGHTS = {"SwapArguments": 0.2}
OWN = (Numbers, DropStatement, SwapArguments, DropTranspose, MinMax)


def operators() -> dict[str, type[Operator]]:
    """Return every operator of the campaign by its name."""
    provider = OperatorProvider()
    return {name: provider[name] for name in TAKEN} | {own.__name__: own for own in OWN}
