"""Primary keys, indexes and applications of transformers → their typed forms."""

from __future__ import annotations

from tidelog.check import program, typed
from tidelog.check.functions.elaborate import Elaborator
from tidelog.check.functions.free_variables import name_of, pattern_variables
from tidelog.check.inference import Inference
from tidelog.check.inference.calls import function_value
from tidelog.check.inference.drafts import BROKEN, Draft, Unknown, describe, instantiate, short_name
from tidelog.check.inference.values import REF
from tidelog.check.names.resolve_name import Names
from tidelog.check.names.resolve_type import TypeResolver
from tidelog.check.names.scope import Environment, Module, RelationEntry, TransformerEntry
from tidelog.check.rule.atoms import read_body_atom, row_draft, typed_atom
from tidelog.check.rule.binders import Matching
from tidelog.check.rule.state import RuleState
from tidelog.diagnostics.codes import Code
from tidelog.diagnostics.report import Diagnostic, diagnostic
from tidelog.diagnostics.wording import counted
from tidelog.syntax import ast
from tidelog.types import NamedType, Type


def check_relation(
    entry: RelationEntry, environment: Environment, diagnostics: list[Diagnostic]
) -> program.Relation | None:
    """Returns the typed relation with its key, or None when something is wrong with it, which is reported."""
    declaration = entry.declaration
    key = None
    if declaration.key is not None:
        key = _check_key(entry, declaration.key, environment, diagnostics)
    columns = [
        program.Column(column.name, column.type, column.span) for column in entry.columns if column.type is not None
    ]
    if len(columns) < len(entry.columns) or entry.value is None or (declaration.key and key is None):
        return None
    return program.Relation(
        entry.name,
        declaration.role,
        tuple(columns),
        entry.span,
        declaration.kind,
        entry.value,
        entry.is_explicit,
        declaration.reference,
        key,
        entry.attributes,
    )


def _check_key(
    entry: RelationEntry, syntax: ast.PrimaryKey, environment: Environment, diagnostics: list[Diagnostic]
) -> program.PrimaryKey | None:
    at = Inference(environment, entry.module, diagnostics)
    at.types.where = "in a key"
    row = row_draft(entry)
    local = at.declare(syntax.variable.text, row, syntax.variable.span, "rule")
    at.infer(syntax.expression)
    at.finish()
    if at.errors or row is BROKEN:
        return None
    make = Elaborator(at)

    def key() -> program.PrimaryKey:
        variable = typed.Var(local.unique, type=at.solved(row, syntax.variable.span), span=syntax.variable.span)
        return program.PrimaryKey(variable, make.expression(syntax.expression))

    return make.complete(key)


def check_index(
    item: ast.IndexDeclaration, module: Module, environment: Environment, diagnostics: list[Diagnostic]
) -> program.Index | None:
    """Returns the typed index, or None when something is wrong with it, which is reported."""
    resolver = TypeResolver(Names(module, diagnostics), diagnostics)
    resolver.where = "in an index"
    types = {column.name.text: resolver.resolve(column.type) for column in item.columns}
    literal = ast.Positive(item.atom, span=item.atom.span)
    state = RuleState(ast.Rule((), (literal,), span=item.span), module, environment, diagnostics)
    at = state.at
    at.types.where = "in an index"
    read = read_body_atom(state, item.atom, Matching(state, literal))
    for column in item.columns:
        local = state.scope.get(column.name.text)
        if local is None:
            message = f"the pattern of the index does not mention `{column.name.text}`"
            at.report(Code.BAD_INDEX, message, column.name.span, "a column of the index")
        elif not at.solver.unify(local.draft, types[column.name.text] or BROKEN):
            found, wanted = describe(local.draft), describe(types[column.name.text] or BROKEN)
            message = f"`{column.name.text}` is {wanted} in the index and {found} in the relation"
            at.report(Code.BAD_INDEX, message, column.span, f"here {wanted}", related=[(local.span, f"here {found}")])
    _report_others(at, item, types)
    if read.entry is not None and (item.atom.delay or item.atom.prime or read.entry.is_stream):
        message = "an index is on the current rows of a relation"
        label = "a delayed one" if item.atom.delay else "a stream"
        at.report(Code.BAD_INDEX, message, item.atom.span, label)
    at.finish()
    if at.errors or any(type_ is None for type_ in types.values()):
        return None
    make = Elaborator(at)
    columns = tuple(
        program.Column(column.name.text, type_, column.span)
        for column in item.columns
        if (type_ := types[column.name.text]) is not None
    )
    atom = make.complete(lambda: typed_atom(read, item.atom, make, []))
    return None if atom is None else program.Index(module.qualified(item.name.text), columns, atom, item.span)


def _report_others(at: Inference, item: ast.IndexDeclaration, types: dict[str, Type | None]) -> None:
    atom = item.atom
    patterns = [argument.value for argument in atom.arguments] + ([atom.value] if atom.value is not None else [])
    for node in (node for pattern in patterns for node in pattern_variables(pattern)):
        if name_of(node) not in types:
            message = f"`{name_of(node)}` is not a column of the index"
            at.report(Code.BAD_INDEX, message, node.span, "not a column", help="`_` stands for any value")


# Transformers


def _application(transformer: TransformerEntry) -> str:
    """Returns an example of `apply` for a transformer, with the names of its parameters."""
    inputs, outputs = (", ".join(name for name, _, _ in each) for each in (transformer.inputs, transformer.outputs))
    return f"apply {short_name(transformer.name)}({inputs}) -> ({outputs})"


def check_application(
    item: ast.Apply, module: Module, environment: Environment, diagnostics: list[Diagnostic]
) -> program.Apply | None:
    """Returns the typed application of a transformer, or None when something is wrong with it, which is reported."""
    at = Inference(environment, module, diagnostics)
    transformer = at.names.transformer(item.transformer.text, item.transformer.span)
    if transformer is None:
        return None
    for given, wanted, what in (
        (item.inputs, transformer.inputs, "input"),
        (item.outputs, transformer.outputs, "output"),
    ):
        if len(given) != len(wanted):
            message = (
                f"transformer `{short_name(transformer.name)}` has {counted(len(wanted), what)}, {len(given)} given"
            )
            label = f"expected {len(wanted)}, found {len(given)}"
            help = f"it is applied as `{_application(transformer)}`"
            diagnostics.append(diagnostic(Code.BAD_APPLICATION, message, item.span, label, help=help))
            return None
    meaning: dict[str, Draft] = {name: Unknown() for name in transformer.type_parameters}
    inputs: list[ast.Name | ast.Expression] = []
    for given_name, (_, type_, is_relation) in zip(item.inputs, transformer.inputs):
        draft = BROKEN if type_ is None else instantiate(type_, meaning)
        if is_relation:
            _hold_relation(at, given_name, draft)
            inputs.append(given_name)
        else:
            function = ast.Variable(given_name.text, span=given_name.span)
            found = function_value(at, function, given_name.text, draft)
            at.drafts[id(function)] = found
            at.agree(function, found, draft)
            inputs.append(function)
    for output, (_, type_, _) in zip(item.outputs, transformer.outputs):
        _hold_relation(at, output, BROKEN if type_ is None else instantiate(type_, meaning))
    at.finish()
    if at.errors:
        return None
    make = Elaborator(at)

    def application() -> program.Apply:
        typed_inputs = tuple(
            _relation_name(module, each) if isinstance(each, ast.Name) else make.expression(each) for each in inputs
        )
        outputs = tuple(_relation_name(module, name) for name in item.outputs)
        return program.Apply(transformer.name, typed_inputs, outputs, item.span)

    return make.complete(application)


def _hold_relation(at: Inference, name: ast.Name, wanted: Draft) -> None:
    entry = at.names.relation(name.text, name.span)
    if entry is None:
        return
    found: Draft = BROKEN if entry.value is None else entry.value
    if entry.declaration.reference and entry.value is not None:
        found = NamedType(REF, (entry.value,))
    if not at.solver.unify(found, wanted):
        message = f"expected rows of {describe(wanted)}, found {describe(found)}"
        at.report(Code.TYPE_MISMATCH, message, name.span, f"rows of {describe(found)}")


def _relation_name(module: Module, name: ast.Name) -> str:
    return module.find_relations(name.text)[0].name
