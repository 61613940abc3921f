"""Random trees, as the parser could have made them."""

from __future__ import annotations

from hypothesis import strategies as st

from tidelog.diagnostics.spans import Source, Span
from tidelog.syntax import ast
from tidelog.syntax.expressions import PRIORITY

SPAN = Span(Source("<tree>", ""), 0, 0)

lower = st.sampled_from(["x", "y", "_z", "name", "index", "i", "f2", "group_by"])
upper = st.sampled_from(["R", "Edge", "I_1", "Tab0"])
texts = st.text(max_size=8).filter(lambda text: "${" not in text and not text.endswith("$"))


def named(words: st.SearchStrategy[str]) -> st.SearchStrategy[ast.Name]:
    return words.map(lambda word: ast.Name(word, span=SPAN))


types: st.SearchStrategy[ast.Type] = st.one_of(
    st.sampled_from(["bool", "string", "u8", "s64", "usize"]).map(lambda name: ast.NamedType(name, span=SPAN)),
    st.builds(ast.SizedType, st.sampled_from(["bit", "signed"]), st.integers(1, 300), span=st.just(SPAN)),
)


@st.composite
def integers(draw: st.DrawFn) -> ast.Integer:
    width = draw(st.none() | st.integers(1, 70))
    signed = draw(st.booleans())
    value = draw(st.integers(0, 2**64)) if width is None else draw(st.integers(0, 2**width - 1))
    if width is not None and signed and value >> (width - 1):
        value -= 1 << width
    return ast.Integer(value, width, signed, draw(st.sampled_from("bodh")), span=SPAN)


@st.composite
def interpolations(draw: st.DrawFn, inner: st.SearchStrategy[ast.Expression]) -> ast.Interpolation:
    parts: list[str | ast.Expression] = []
    for expression in draw(st.lists(inner, min_size=1, max_size=3)):
        text = draw(texts)
        parts += [text, expression] if text else [expression]
    text = draw(texts)
    return ast.Interpolation((*parts, text) if text else tuple(parts), span=SPAN)


def _deeper(inner: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    span = st.just(SPAN)
    return st.one_of(
        st.builds(ast.Unary, st.sampled_from(["-", "~", "not"]), inner, span=span),
        st.builds(ast.Binary, st.sampled_from(sorted(PRIORITY)), inner, inner, span=span),
        st.builds(ast.Cast, inner, types, span=span),
        st.builds(ast.Annotation, inner, types, span=span),
        st.builds(ast.Slice, inner, st.integers(0, 99), st.integers(0, 99), span=span),
        st.builds(ast.Conditional, inner, inner, inner, span=span),
        interpolations(inner),
    )


leaves: st.SearchStrategy[ast.Expression] = st.one_of(
    st.builds(ast.Variable, lower, span=st.just(SPAN)),
    st.builds(ast.Wildcard, span=st.just(SPAN)),
    st.builds(ast.Boolean, st.booleans(), span=st.just(SPAN)),
    st.builds(ast.String, st.text(max_size=8).filter(lambda text: "|]" not in text), span=st.just(SPAN)),
    integers(),
)
expressions = st.recursive(leaves, _deeper, max_leaves=8)


@st.composite
def atoms(draw: st.DrawFn) -> ast.Atom:
    by_name = draw(st.booleans())
    arguments = draw(
        st.lists(
            st.builds(ast.Argument, named(lower) if by_name else st.none(), expressions, span=st.just(SPAN)), max_size=3
        )
    )
    return ast.Atom(draw(named(upper)), tuple(arguments), span=SPAN)


literals: st.SearchStrategy[ast.Literal] = st.one_of(
    st.builds(ast.Positive, atoms(), span=st.just(SPAN)),
    st.builds(ast.Negative, atoms(), span=st.just(SPAN)),
    st.builds(ast.Condition, expressions, span=st.just(SPAN)),
    st.builds(ast.Assignment, named(lower), st.none() | types, expressions, span=st.just(SPAN)),
)
rules: st.SearchStrategy[ast.Item] = st.builds(
    ast.Rule,
    st.lists(atoms(), min_size=1, max_size=2).map(tuple),
    st.lists(literals, max_size=4).map(tuple),
    span=st.just(SPAN),
)
declarations: st.SearchStrategy[ast.Item] = st.builds(
    ast.RelationDeclaration,
    st.sampled_from(["input", "output", ""]),
    named(upper),
    st.lists(st.builds(ast.Column, named(lower), types, span=st.just(SPAN)), max_size=4).map(tuple),
    span=st.just(SPAN),
)
programs = st.builds(ast.Program, st.lists(rules | declarations, max_size=4).map(tuple), span=st.just(SPAN))
