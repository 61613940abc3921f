"""Expressions → documents.

Parentheses stand where the priorities of the operators need them, and where few readers know those priorities: around
the operands of `&`, `^` and `|`, `and` inside `or`, arithmetic inside shifts, `not` inside comparisons, and `if` and
`for` as operands.
"""

from __future__ import annotations

from tidelog.syntax import ast
from tidelog.syntax.expressions import COMPARISON, PRIORITY
from tidelog.syntax.write.constants import escaped, write_float, write_integer, write_string, write_temporal
from tidelog.syntax.write.edges import takes_angle, takes_colon, takes_else
from tidelog.syntax.write.layout import LINE, SOFT, Doc, Indent, flat, group, joined
from tidelog.syntax.write.page import Page
from tidelog.syntax.write.types import write_argument_type, write_result, write_type

# The priorities of forms; those of the binary operators lie between CONTROL and NOT. What has the lowest one takes all
# that follows it.
ANY, ASSIGN, CONTROL, BINARY = 0, 1, 2, 3
NOT = BINARY + max(PRIORITY.values()) + 1
COMPLEMENT, MINUS, REFERENCE, ANNOTATED, POSTFIX, TERM = range(NOT + 1, NOT + 7)

_UNARY = {"not": NOT, "~": COMPLEMENT, "-": MINUS}
_LEVELS: dict[type[ast.Node], int] = {
    ast.Binding: ANY,
    ast.Return: ANY,
    ast.Assign: ASSIGN,
    ast.Conditional: CONTROL,
    ast.For: CONTROL,
    ast.Reference: REFERENCE,
    ast.Cast: ANNOTATED,
    ast.Annotation: ANNOTATED,
    ast.Slice: POSTFIX,
    ast.Try: POSTFIX,
    ast.FieldAccess: POSTFIX,
    ast.TupleField: POSTFIX,
    ast.Call: POSTFIX,
    ast.MethodCall: POSTFIX,
}
_TERMS = frozenset((ast.Binding, ast.Return, ast.Conditional, ast.For, ast.Closure))

_Member = ast.MethodCall | ast.FieldAccess | ast.TupleField
_Postfix = _Member | ast.Slice | ast.Try | ast.Call

_BITWISE = frozenset("&^|")
_SHIFTS = frozenset(("<<", ">>"))
_ARITHMETIC = frozenset("+-*/%")


class ExpressionWriter:
    """Writes expressions on a page."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def expression(self, node: ast.Expression, lowest: int = ANY) -> Doc:
        """Returns the document of a node in a place that takes priorities from `lowest` up without parentheses."""
        written = self._write(node)
        return written if _level(node) >= lowest else _parenthesized(written)

    def block(self, node: ast.Block) -> Doc:
        """`{a; b}`"""
        return self.page.listed(
            "{",
            node.expressions,
            "}",
            self.expression,
            end=node.span.end,
            separator=";",
            padding=LINE,
            last=";" if node.ends_open else "",
        )

    def arguments(self, open: str, arguments: tuple[ast.Argument, ...], close: str, end: int | None) -> Doc:
        """Returns the arguments of a struct or an atom."""
        return self.page.listed(open, arguments, close, self._argument, end=end)

    def after(self, sign: str, node: ast.Expression) -> Doc:
        """Returns the document behind a `=` or `->`: on the same line if it fits, else indented on the next."""
        written = _parenthesized(self._write(node)) if isinstance(node, ast.Assign) else self._write(node)
        return (f" {sign} ", written) if hugs(node) else group((f" {sign}", Indent((LINE, written))))

    def in_parentheses(self, node: ast.Expression) -> Doc:
        """`(node)`, whatever it is."""
        return _parenthesized(self._write(node))

    def branch(self, node: ast.Expression, *, before_else: bool = False) -> Doc:
        """Returns a branch of `if` or a body of `for`, with the blank or line break before it."""
        closed = _level(node) == TERM or type(node) in _TERMS
        written = self._write(node)
        if not closed or (before_else and takes_else(node)):
            written = _parenthesized(written)
        return (" ", written) if isinstance(node, ast.Block) else Indent((LINE, written))

    # Kinds of expressions

    def _write(self, node: ast.Expression) -> Doc:
        match node:
            case ast.Variable(name) | ast.FunctionName(name):
                return name
            case ast.VariableDeclaration(declared):
                return f"var {declared.text}"
            case ast.Wildcard():
                return "_"
            case ast.Boolean(value):
                return "true" if value else "false"
            case ast.Integer() | ast.Float() | ast.String() | ast.Interpolation():
                return self._literal(node)
            case ast.Temporal(family):
                return (family, self._literal(node))
            case ast.Interned(text):
                return ("i", self._literal(text))
            case ast.Unary(op, operand):
                return (f"{op} " if op == "not" else op, self.expression(operand, _UNARY[op]))
            case ast.Reference(operand):
                return ("&", self.expression(operand, REFERENCE))
            case ast.Binary():
                return self._binary(node)
            case ast.Cast(operand, type_):
                return (self._annotated(operand), f" as {write_type(type_)}")
            case ast.Annotation(operand, type_):
                return (self._annotated(operand), f": {write_type(type_)}")
            case ast.Slice() | ast.Try() | ast.FieldAccess() | ast.TupleField() | ast.Call() | ast.MethodCall():
                return self._postfix(node)
            case ast.Tuple() | ast.Struct() | ast.Vector() | ast.MapLiteral() | ast.Closure():
                return self._compound(node)
            case _:
                return self._control(node)

    def _literal(self, node: ast.Integer | ast.Float | ast.String | ast.Temporal | ast.Interpolation) -> Doc:
        if self.page.keeps and node.spelling:
            return group(Indent(joined(LINE, list(node.spelling)))) if len(node.spelling) > 1 else node.spelling[0]
        match node:
            case ast.Integer():
                return write_integer(node)
            case ast.Float():
                return write_float(node)
            case ast.String(value):
                return write_string(value)
            case ast.Temporal():
                return write_temporal(node)
            case ast.Interpolation(parts):
                inner = ExpressionWriter(Page())
                texts = (part if isinstance(part, str) else f"${{{flat(inner.expression(part))}}}" for part in parts)
                return f'"{"".join(escaped(text) for text in texts)}"'

    def _binary(self, node: ast.Binary) -> Doc:
        """Returns a chain of operators of one level, which share their line breaks."""
        level = PRIORITY[node.op]
        links = [node]
        left = node.left
        while isinstance(left, ast.Binary) and PRIORITY[left.op] == level and _chains(left.op, links[-1].op):
            links.append(left)
            left = left.left
        first = links[-1]
        if first.op == "<" and takes_angle(left):
            written = self.in_parentheses(left)
        else:
            written = self._operand(first.op, left)
        rest: list[Doc] = []
        for link in reversed(links):
            rest += [LINE, f"{link.op} ", self._operand(link.op, link.right)]
        return group((written, Indent(tuple(rest))))

    def _operand(self, op: str, node: ast.Expression) -> Doc:
        return self.expression(node, TERM if _misleads(op, node) else BINARY + PRIORITY[op] + 1)

    def _annotated(self, operand: ast.Expression) -> Doc:
        return self.expression(operand, TERM if takes_colon(operand) else ANNOTATED)

    def _postfix(self, node: _Postfix) -> Doc:
        """Returns a chain of what stands behind an operand; three calls of methods or more share their line breaks."""
        links = [node]
        base = _operand_of(node)
        while isinstance(base, _Postfix) and not _is_stored_function(base, links[-1]):
            links.append(base)
            base = _operand_of(base)
        links.reverse()
        written = self.in_parentheses(base) if _is_ambiguous(base, links[0]) else self.expression(base, POSTFIX)
        breaks = sum(isinstance(link, ast.MethodCall) for link in links) > 2
        rest: list[Doc] = []
        for link in links:
            if breaks and isinstance(link, ast.MethodCall):
                rest.append(SOFT)
            rest.append(self._link(link))
            if link is not node:
                rest.append(self.page.behind(link.span))
        return group((written, Indent(tuple(rest)))) if breaks else (written, *rest)

    def _link(self, node: _Postfix) -> Doc:
        match node:
            case ast.FieldAccess(_, field):
                return f".{field.text}"
            case ast.TupleField(_, index):
                return f".{index}"
            case ast.Slice(_, high, low):
                return f"[{high}:{low}]"
            case ast.Try():
                return "?"
            case ast.Call(_, arguments):
                return self._call("(", arguments, node)
            case ast.MethodCall(_, function, arguments):
                return self._call(f".{function.text}(", arguments, node)

    def _call(self, open: str, arguments: tuple[ast.Expression, ...], node: ast.Call | ast.MethodCall) -> Doc:
        if len(arguments) == 1 and hugs(arguments[0]) and not self.page.has_comments(node.span):
            return (open, self.expression(arguments[0]), ")")
        return self.page.listed(open, arguments, ")", self.expression, end=node.span.end)

    def _compound(self, node: ast.Tuple | ast.Struct | ast.Vector | ast.MapLiteral | ast.Closure) -> Doc:
        end = node.span.end
        match node:
            case ast.Tuple(items):
                return self.page.listed("(", items, ")", self.expression, end=end)
            case ast.Struct(constructor, arguments, bare):
                return constructor.text if bare else self.arguments(f"{constructor.text}{{", arguments, "}", end)
            case ast.Vector(items):
                return self.page.listed("[", items, "]", self._element, end=end)
            case ast.MapLiteral(entries):
                return self.page.listed("[", entries, "]", self._entry, end=end)
            case ast.Closure(parameters, result, body, bars):
                open, close = ("|", "|") if bars else ("function(", ")")
                head = self.page.listed(open, parameters, close, _closure_parameter)
                return (head, f"{write_result(result)} ", self.expression(body))

    def _element(self, node: ast.Expression) -> Doc:
        """Returns an element of a vector; `[|` would begin a raw string."""
        return self.expression(node, CONTROL if isinstance(node, ast.Closure) else ANY)

    def _entry(self, node: ast.MapEntry) -> Doc:
        return (self._element(node.key), self.after("->", node.value))

    def _argument(self, node: ast.Argument) -> Doc:
        if node.name is None:
            return self.expression(node.value)
        return (f".{node.name.text}", self.after("=", node.value))

    def _control(self, node: ast.Expression) -> Doc:
        match node:
            case ast.Block():
                return self.block(node)
            case ast.Assign(target, value):
                return (self.expression(target, BINARY), self.after("=", value))
            case ast.Binding(name, pattern):
                return (f"{name.text}@", self.expression(pattern))
            case ast.Conditional():
                return self._conditional(node)
            case ast.Match(subject, arms):
                head = ("match ", self.in_parentheses(subject), " ")
                return (*head, self.page.listed("{", arms, "}", self._arm, end=node.span.end, padding=LINE))
            case ast.For(pattern, iterable, body):
                each = ("for (", self.expression(pattern), " in ", self.expression(iterable), ")")
                written = (*each, self.branch(body))
                return written if isinstance(body, ast.Block) else group(written)
            case ast.Return(value):
                return "return" if value is None else ("return ", self.expression(value))
            case ast.Continue():
                return "continue"
            case _:
                return "break"

    def _conditional(self, node: ast.Conditional) -> Doc:
        condition = self.in_parentheses(node.condition)
        then = self.branch(node.then, before_else=node.otherwise is not None)
        parts: list[Doc] = ["if ", condition, then]
        blocks = isinstance(node.then, ast.Block)
        if node.otherwise is not None:
            parts.append(" else" if blocks else (LINE, "else"))
            if isinstance(node.otherwise, ast.Conditional):
                parts += [" ", self._conditional(node.otherwise)]
            else:
                parts.append(self.branch(node.otherwise))
                blocks = blocks and isinstance(node.otherwise, ast.Block)
        return tuple(parts) if blocks else group(tuple(parts))

    def _arm(self, node: ast.MatchArm) -> Doc:
        return (self.expression(node.pattern), self.after("->", node.value))


def hugs(node: ast.Expression) -> bool:
    """True if the node has brackets of its own to break in, so that it may stay on the line that it is named on."""
    match node:
        case ast.Block() | ast.Match() | ast.For() | ast.Conditional() | ast.Call() | ast.MethodCall():
            return True
        case ast.Tuple(items) | ast.Vector(items) | ast.MapLiteral(items) | ast.Struct(_, items):
            return bool(items)
        case ast.Closure(body=body):
            return hugs(body)
        case _:
            return False


def _parenthesized(written: Doc) -> Doc:
    return group(("(", Indent((SOFT, written)), SOFT, ")"))


def _level(node: ast.Expression) -> int:
    match node:
        case ast.Binary(op):
            return BINARY + PRIORITY[op]
        case ast.Unary(op):
            return _UNARY[op]
        case ast.Closure(bars=True):
            return ANY
        case _:
            return _LEVELS.get(type(node), TERM)


def _chains(first: str, second: str) -> bool:
    """True if the two operators can make a chain; of the comparisons only `==` and `!=` do."""
    return PRIORITY[first] != COMPARISON or {first, second} <= {"==", "!="}


def _misleads(op: str, operand: ast.Expression) -> bool:
    """True if many would read the operand without parentheses in another way."""
    if isinstance(operand, ast.Unary):
        return operand.op == "not" and PRIORITY[op] >= COMPARISON
    if not isinstance(operand, ast.Binary) or operand.op == op:
        return False
    inner = operand.op
    if op in _BITWISE or inner in _BITWISE:
        return True
    return (
        (op == "or" and inner == "and") or (op in _SHIFTS and inner in _ARITHMETIC) or (op == "++" and inner in _SHIFTS)
    )


def _is_stored_function(node: ast.Expression, link: _Postfix) -> bool:
    """True for `(x.f)(y)`: without its parentheses it calls a method."""
    return isinstance(link, ast.Call) and isinstance(node, ast.FieldAccess)


def _is_ambiguous(base: ast.Expression, link: _Postfix) -> bool:
    """True if the base of a chain needs parentheses before this link, whatever its priority."""
    if isinstance(base, ast.Integer | ast.Float):
        return isinstance(link, ast.TupleField)
    if isinstance(base, ast.Struct):
        return base.bare and isinstance(link, ast.Call | ast.Slice)
    return _is_stored_function(base, link)


def _operand_of(node: _Postfix) -> ast.Expression:
    match node:
        case ast.Call(function):
            return function
        case ast.MethodCall(receiver):
            return receiver
        case _:
            return node.operand


def _closure_parameter(node: ast.ClosureParameter) -> Doc:
    return node.name.text + (f": {write_argument_type(node.type)}" if node.type else "")
