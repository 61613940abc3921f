"""Declarations and whole programs → documents."""

from __future__ import annotations

from tidelog.syntax import ast
from tidelog.syntax.write.edges import takes_value
from tidelog.syntax.write.expressions import hugs
from tidelog.syntax.write.layout import LINE, Doc, Group, Indent, group
from tidelog.syntax.write.rules import RuleWriter
from tidelog.syntax.write.types import (
    write_argument_type,
    write_result,
    write_type,
    write_type_in_brackets,
    write_type_parameters,
)


class ItemWriter(RuleWriter):
    """Writes items on a page."""

    def program(self, program: ast.Program) -> Doc:
        """Returns all items, and all comments, in the order of the text."""
        return self.page.items(program.items, self.item)

    def item(self, item: ast.Item) -> Doc:
        """Returns a declaration or a rule."""
        match item:
            case ast.Rule():
                return self.rule(item)
            case ast.RelationDeclaration():
                return self._relation(item)
            case ast.FunctionDeclaration():
                return self._function(item)
            case ast.TypeDeclaration():
                return self._type(item)
            case ast.Import(module, alias):
                return f"import {module.text}" + (f" as {alias.text}" if alias else "")
            case ast.IndexDeclaration(name, columns, atom):
                return (self.page.listed(f"index {name.text}(", columns, ")", self._field), " on ", self.atom(atom))
            case ast.TransformerDeclaration(name, inputs, outputs):
                taken = self.page.listed(f"extern transformer {name.text}(", inputs, ")", self._transformer_parameter)
                return (taken, " -> ", self.page.listed("(", outputs, ")", self._transformer_parameter))
            case ast.Apply(transformer, inputs, outputs):
                taken = self.page.listed(f"apply {transformer.text}(", inputs, ")", _name)
                return (taken, " -> ", self.page.listed("(", outputs, ")", _name))
            case ast.ForStatement():
                return self.statement(item)

    def _relation(self, item: ast.RelationDeclaration) -> Doc:
        head = f"{item.role} {item.kind} {'&' if item.reference else ''}{item.name.text}".lstrip()
        attributes = self.attributes(item.attributes)
        rows: Doc
        if item.type is None:
            rows = self.page.listed(f"{head}(", item.columns, ")", self._field)
        else:
            rows = f"{head}{write_type_in_brackets(item.type)}"
        if item.key is None:
            return (*attributes, rows)
        key = (f"primary key ({item.key.variable.text}) ", self._before_item(item.key.expression))
        return (*attributes, group((rows, Indent((LINE, *key)))))

    def _function(self, item: ast.FunctionDeclaration) -> Doc:
        attributes = self.attributes(item.attributes)
        head = f"{'extern ' if item.body is None else ''}function {item.name.text}("
        signature = (self.page.listed(head, item.parameters, ")", self._parameter), write_result(item.result))
        if item.body is None:
            return (*attributes, *signature)
        if not item.equals:
            block = self.expression(item.body)
            if not isinstance(block, Group):
                return (*attributes, *signature, " ", block)
            # The lines of the block are those of the whole: it breaks before the parameters do.
            return (*attributes, group((*signature, " ", block.inner), breaks=block.breaks))
        body = self._before_item(item.body)
        behind = (" = ", body) if hugs(item.body) else group((" =", Indent((LINE, body))))
        return (*attributes, *signature, behind)

    def _before_item(self, node: ast.Expression) -> Doc:
        """Returns an expression that nothing closes: the next item must not become part of it."""
        return self.in_parentheses(node) if takes_value(node) else self.expression(node)

    def _type(self, item: ast.TypeDeclaration) -> Doc:
        attributes = self.attributes(item.attributes)
        name = f"{item.name.text}{write_type_parameters(item.parameters)}"
        if item.definition is None:
            return (*attributes, f"extern type {name}")
        if not isinstance(item.definition, ast.Constructors):
            return (*attributes, f"typedef {name} = {write_type(item.definition)}")
        constructors = item.definition.constructors
        if len(constructors) == 1:
            return (*attributes, f"typedef {name} = ", self._with_fields(constructors[0]))
        parts: list[Doc] = [LINE, self.page.anchored(constructors[0], self._constructor)]
        for constructor in constructors[1:]:
            parts.append(self.page.gap(constructor))
            last = constructor is constructors[-1]
            parts.append(self.page.anchored(constructor, self._alternative, open_ended=last))
        breaks = self.page.begins_line(constructors[0]) or self.page.parts(constructors[0], constructors[1])
        return (*attributes, group((f"typedef {name} =", Indent(tuple(parts))), breaks=breaks))

    def _constructor(self, constructor: ast.Constructor) -> Doc:
        """Returns a constructor beside others."""
        if constructor.fields:
            return self._with_fields(constructor)
        return (*self._inline(constructor.attributes), constructor.name.text)

    def _alternative(self, constructor: ast.Constructor) -> Doc:
        return ("| ", self._constructor(constructor))

    def _with_fields(self, constructor: ast.Constructor) -> Doc:
        attributes = self._inline(constructor.attributes)
        name, end = constructor.name.text, constructor.span.end
        return (*attributes, self.page.listed(f"{name}{{", constructor.fields, "}", self._field, end=end))

    def _field(self, field: ast.Field | ast.Column) -> Doc:
        return (*self._inline(field.attributes), f"{field.name.text}: {write_type(field.type)}")

    def _parameter(self, parameter: ast.Parameter) -> Doc:
        text = f"{parameter.name.text}: {write_argument_type(parameter.type)}"
        return (*self._inline(parameter.attributes), text)

    def _transformer_parameter(self, parameter: ast.TransformerParameter) -> Doc:
        match parameter.type:
            case ast.RelationType(type_):
                return f"{parameter.name.text}: relation{write_type_in_brackets(type_)}"
            case ast.FunctionSignature(parameters, result):
                taken = self.page.listed(f"{parameter.name.text}: function(", parameters, ")", self._parameter)
                return (taken, write_result(result))

    def _inline(self, attributes: tuple[ast.Attribute, ...]) -> tuple[Doc, ...]:
        return tuple((self.attribute(attribute), " ") for attribute in attributes)


def _name(name: ast.Name) -> Doc:
    return name.text
