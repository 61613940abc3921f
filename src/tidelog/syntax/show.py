"""`ast.Program` → text that parses to the same tree.

One declaration or rule per line, one blank between words, parentheses only where the priorities need them.
"""

from __future__ import annotations

from tidelog.syntax import ast
from tidelog.syntax.expressions import COMPARISON, POSTFIX, PRIORITY, UNARY

_ATOMIC = POSTFIX + 1
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def show(program: ast.Program) -> str:
    """The program's text, each item on its line."""
    return "".join(_item(item) + "\n" for item in program.items)


def show_rule(rule: ast.Rule) -> str:
    """The text of a rule, on one line."""
    heads = ", ".join(show_atom(head) for head in rule.heads)
    if not rule.body:
        return f"{heads}."
    return f"{heads} :- {', '.join(_literal(literal) for literal in rule.body)}."


def show_atom(atom: ast.Atom) -> str:
    """The text of an atom."""
    return f"{atom.relation.text}({', '.join(_argument(argument) for argument in atom.arguments)})"


def show_expression(expression: ast.Expression) -> str:
    """The text of an expression, on one line."""
    return _expression(expression, 0)


def _item(item: ast.Item) -> str:
    if isinstance(item, ast.Rule):
        return show_rule(item)
    columns = ", ".join(f"{column.name.text}: {show_type(column.type)}" for column in item.columns)
    return f"{item.role} relation {item.name.text}({columns})".lstrip()


def show_type(type_: ast.Type) -> str:
    return type_.name if isinstance(type_, ast.NamedType) else f"{type_.family}<{type_.width}>"


def _argument(argument: ast.Argument) -> str:
    value = show_expression(argument.value)
    return f".{argument.name.text} = {value}" if argument.name else value


def _literal(literal: ast.Literal) -> str:
    match literal:
        case ast.Positive(atom):
            return show_atom(atom)
        case ast.Negative(atom):
            return f"not {show_atom(atom)}"
        case ast.Condition(expression):
            return show_expression(expression)
        case ast.Assignment(variable, annotation, value):
            type_ = f": {show_type(annotation)}" if annotation else ""
            return f"var {variable.text}{type_} = {show_expression(value)}"


def _expression(node: ast.Expression, lowest: int) -> str:
    """The text of a node in a place that takes priorities from `lowest` up without parentheses."""
    text, level = _shown(node)
    return text if level >= lowest else f"({text})"


def _shown(node: ast.Expression) -> tuple[str, int]:
    """The text of a node and its priority."""
    match node:
        case ast.Variable(name):
            return name, _ATOMIC
        case ast.Wildcard():
            return "_", _ATOMIC
        case ast.Boolean(value):
            return ("true" if value else "false"), _ATOMIC
        case ast.Integer():
            return _integer(node), _ATOMIC
        case ast.String(value):
            return (f"[|{value}|]" if "${" in value else f'"{escaped(value)}"'), _ATOMIC
        case ast.Interpolation(parts):
            shown = (escaped(part if isinstance(part, str) else f"${{{_expression(part, 0)}}}") for part in parts)
            return f'"{"".join(shown)}"', _ATOMIC
        case ast.Unary(op, operand):
            return f"{op}{' ' if op == 'not' else ''}{_expression(operand, UNARY)}", UNARY
        case ast.Binary(op, left, right):
            level = PRIORITY[op]
            # Of the comparisons only `==` and `!=` make chains.
            chains = level != COMPARISON or (op in ("==", "!=") and _is_equality(left))
            shown_left = _expression(left, level if chains else level + 1)
            return f"{shown_left} {op} {_expression(right, level + 1)}", level
        case ast.Cast(operand, type_):
            return f"{_expression(operand, POSTFIX)} as {show_type(type_)}", POSTFIX
        case ast.Annotation(operand, type_):
            return f"{_expression(operand, POSTFIX)}: {show_type(type_)}", POSTFIX
        case ast.Slice(operand, high, low):
            return f"{_expression(operand, POSTFIX)}[{high}:{low}]", POSTFIX
        case ast.Conditional(condition, then, otherwise):
            shown_then, shown_otherwise = _expression(then, _ATOMIC), _expression(otherwise, _ATOMIC)
            return f"if ({_expression(condition, 0)}) {shown_then} else {shown_otherwise}", _ATOMIC


def _is_equality(node: ast.Expression) -> bool:
    return not isinstance(node, ast.Binary) or PRIORITY[node.op] != COMPARISON or node.op in ("==", "!=")


def _integer(node: ast.Integer) -> str:
    value = node.value % (1 << node.width) if node.width is not None else node.value
    if node.width is None and node.base == "d" and not node.signed:
        return str(value)
    digits = format(value, {"b": "b", "o": "o", "d": "d", "h": "x"}[node.base])
    return f"{node.width or ''}'{'s' if node.signed else ''}{node.base}{digits}"


def escaped(text: str) -> str:
    """The text as it stands between the quotes of a string."""
    return "".join(_ESCAPES.get(char) or (char if char >= " " else f"\\u{{{ord(char):x}}}") for char in text)
