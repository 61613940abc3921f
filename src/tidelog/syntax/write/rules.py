"""Rules and the statements of imperative rules → documents."""

from __future__ import annotations

from tidelog.syntax import ast
from tidelog.syntax.write.edges import looks_like_atom
from tidelog.syntax.write.expressions import BINARY, CONTROL, ExpressionWriter
from tidelog.syntax.write.layout import HARD, LINE, Doc, Indent, group
from tidelog.syntax.write.types import write_type


class RuleWriter(ExpressionWriter):
    """Writes rules on a page."""

    def rule(self, rule: ast.Rule) -> Doc:
        """Returns a rule: on one line if it fits, else each literal on a line of its own."""
        heads: list[Doc] = []
        for place, head in enumerate(rule.heads, start=1):
            if heads:
                heads += [",", LINE]
            # What follows the last head is already the body, or the end of the rule.
            heads.append(self.page.anchored(head, self.atom, open_ended=place == len(rule.heads)))
        if not rule.body:
            return (*self.attributes(rule.attributes), group((*heads, ".")))
        body: list[Doc] = []
        for literal in rule.body:
            body += [",", self.page.gap(literal)] if body else [LINE]
            body.append(self.page.anchored(literal, self.literal))
        breaks = self.page.begins_line(rule.body[0])
        written = group((*heads, " :-", Indent(tuple(body)), "."), breaks=breaks)
        return (*self.attributes(rule.attributes), written)

    def atom(self, atom: ast.Atom) -> Doc:
        """Returns an atom, of a head or a body."""
        name = "".join(
            (
                f"{atom.binding.text} in " if atom.binding else "",
                "&" if atom.reference else "",
                atom.relation.text,
                f"-{atom.delay}" if atom.delay else "",
                "'" if atom.prime else "",
            )
        )
        end = atom.span.end if atom.location is None else None
        written: Doc
        if atom.bare:
            written = name
        elif atom.value is not None:
            # `[|` would begin a raw string.
            lowest = CONTROL if isinstance(atom.value, ast.Closure) else 0
            written = (f"{name}[", self.expression(atom.value, lowest), "]")
        else:
            written = self.arguments(f"{name}(", atom.arguments, ")", end)
        return written if atom.location is None else (written, " @ ", self.expression(atom.location, BINARY))

    def literal(self, literal: ast.Literal) -> Doc:
        """Returns a literal of a body."""
        match literal:
            case ast.Positive(atom):
                return self.atom(atom)
            case ast.Negative(atom):
                return ("not ", self.atom(atom))
            case ast.Condition(expression):
                hidden = isinstance(expression, ast.Assign) or looks_like_atom(expression)
                return self.in_parentheses(expression) if hidden else self.expression(expression)
            case ast.Assignment(variable, annotation, value):
                type_ = f": {write_type(annotation)}" if annotation else ""
                return (f"var {variable.text}{type_}", self.after("=", value))
            case ast.Destructuring(pattern, value):
                return (self._pattern(pattern), self.after("=", value))
            case ast.FlatMap(pattern, value):
                return (self._pattern(pattern), " = FlatMap", self.in_parentheses(value))
            case ast.Aggregate(variable, keys, function, value):
                listed = ", ".join(key.name for key in keys)
                call = (f"{function.text}", self.in_parentheses(value))
                return (f"var {variable.text} = Aggregate(({listed}), ", *call, ")")
            case ast.RowAggregates(pattern, value, keys):
                listed_keys = self.page.listed("(", keys, ")", self.expression, end=literal.span.end)
                return (self._pattern(pattern), " = ", self.expression(value, BINARY), " by ", listed_keys)
            case ast.Inspect(expression):
                return ("Inspect ", self.expression(expression))

    def attributes(self, attributes: tuple[ast.Attribute, ...]) -> tuple[Doc, ...]:
        """Returns the attributes of an item, each on a line of its own."""
        return tuple((self.attribute(attribute), HARD) for attribute in attributes)

    def attribute(self, attribute: ast.Attribute) -> Doc:
        """`#[name = value]`"""
        if attribute.value is None:
            return f"#[{attribute.name.text}]"
        return (f"#[{attribute.name.text} = ", self.expression(attribute.value), "]")

    def _pattern(self, pattern: ast.Expression) -> Doc:
        return self.in_parentheses(pattern) if looks_like_atom(pattern) else self.expression(pattern, BINARY)

    # Imperative rules

    def statement(self, statement: ast.Statement) -> Doc:
        """Returns a statement of an imperative rule."""
        match statement:
            case ast.ForStatement(atom, condition, body):
                filtered = () if condition is None else (" if ", self.expression(condition))
                return group(("for (", self.atom(atom), filtered, ")", self._body(body)))
            case ast.IfStatement():
                return self._if(statement)
            case ast.MatchStatement(subject, arms):
                head = ("match ", self.in_parentheses(subject), " ")
                return (
                    *head,
                    self.page.listed("{", arms, "}", self._statement_arm, end=statement.span.end, padding=LINE),
                )
            case ast.AssignStatement(assignment, body):
                written = (self.expression(assignment), " in", LINE, self.statement(body))
                return group(written, breaks=self.page.begins_line(body))
            case ast.InsertStatement(atom):
                return self.atom(atom)
            case ast.BlockStatement(statements):
                end = statement.span.end
                return self.page.listed("{", statements, "}", self.statement, end=end, separator=";", padding=LINE)
            case ast.SkipStatement():
                return "skip"

    def _body(self, body: ast.Statement) -> Doc:
        """Returns a statement behind the head of another one, with the blank or line break before it."""
        written = self.statement(body)
        return (" ", written) if _stays(body) else Indent((LINE, written))

    def _if(self, statement: ast.IfStatement) -> Doc:
        parts: list[Doc] = ["if ", self.in_parentheses(statement.condition), self._body(statement.then)]
        if statement.otherwise is not None:
            parts += [" else" if _stays(statement.then) else (LINE, "else"), self._body(statement.otherwise)]
        return group(tuple(parts))

    def _statement_arm(self, arm: ast.StatementArm) -> Doc:
        return group((self.expression(arm.pattern), " ->", self._body(arm.body)))


def _stays(statement: ast.Statement) -> bool:
    """True for a statement that begins on the line of the one around it."""
    return isinstance(statement, ast.BlockStatement | ast.MatchStatement | ast.IfStatement | ast.ForStatement)
