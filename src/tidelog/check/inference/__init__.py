"""Type inference of expressions, from both sides: from their parts, and from the type that their place expects.

`state` holds the drafts and everything that waits; each kind of expression has its rule in one of the other files.
"""

from __future__ import annotations

from tidelog.check.inference import calls, control, literals, operators, values
from tidelog.check.inference.state import Frame, Inference, Local, Reason, Reasons
from tidelog.syntax import ast

Inference.rules.update(
    {
        ast.Variable: literals.variable,
        ast.FunctionName: literals.function_name,
        ast.VariableDeclaration: literals.misplaced_declaration,
        ast.Wildcard: literals.wildcard,
        ast.Boolean: literals.boolean,
        ast.Integer: literals.integer,
        ast.Float: literals.floating,
        ast.String: literals.string,
        ast.Temporal: literals.temporal,
        ast.Interpolation: literals.interpolation,
        ast.Interned: literals.interned,
        ast.Unary: operators.unary,
        ast.Binary: operators.binary,
        ast.Reference: values.reference,
        ast.Cast: operators.cast,
        ast.Annotation: operators.annotation,
        ast.Slice: operators.slice_,
        ast.Try: control.try_,
        ast.FieldAccess: values.field_access,
        ast.TupleField: values.tuple_field,
        ast.Call: calls.call,
        ast.MethodCall: calls.method_call,
        ast.Tuple: values.tuple_,
        ast.Struct: values.struct,
        ast.Vector: values.vector,
        ast.MapLiteral: values.map_literal,
        ast.Closure: values.closure,
        ast.Binding: control.misplaced_binding,
        ast.Assign: control.assign,
        ast.Block: control.block,
        ast.Conditional: control.conditional,
        ast.Match: control.match,
        ast.For: control.for_,
        ast.Break: control.break_,
        ast.Continue: control.break_,
        ast.Return: control.return_,
    }
)

__all__ = ["Frame", "Inference", "Local", "Reason", "Reasons"]
