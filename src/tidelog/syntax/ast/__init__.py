"""The tree of a program's text, as written: nothing is resolved, renamed, reordered or desugared yet.

Every node has a span. Spans do not take part in `==`: two trees are equal when they say the same, wherever they stand.
Parentheses leave no node; `show` puts them back where the priorities of the operators need them. Comments are not in
the tree either: `comments` finds them, `format` gives them back. Where things are said in an unusual way:

- **Scoped names** are one text with `::` in it and no blanks: `Name("net::Host")`, `NamedType("net::Addr", …)`,
  `FunctionName("net::f")`. `Name.module` and `Name.last` split it. A function without a module is a `Variable`: only
  `check` can tell the two apart.
- **Patterns** are expressions: `Wildcard`, `Variable`, `VariableDeclaration`, constants, `Tuple`, `Struct`,
  `Annotation`, and in rules and indexes also `Reference` (`&p`) and `Binding` (`x@p`). A plain `Variable` declares in
  the pattern of a `match` or `for`, and binds or compares in an atom; on the left of a `=` only a
  `VariableDeclaration` declares.
- **`var x`** is a `VariableDeclaration`, `var x: T = e` in an expression is
  `Assign(Annotation(VariableDeclaration, T), e)`. As a literal of a rule it is an `Assignment`; any other pattern on
  the left makes a `Destructuring`, or a `FlatMap`.
- **`group_by`** is a call: `Call(Variable("group_by"), (e, k))` or `MethodCall(e, Name("group_by"), (k,))`.
- **`by`** behind a value on the right of a `=` makes a `RowAggregates`, whatever the value is: `check` knows what may
  stand there. Elsewhere `by`, `sum`, `count` and the like are names as all others.
- **Blocks** `{a; b}` are `Block` expressions, also around a single expression; the body of a function in braces is one.
- **Statements** are of imperative rules only (`ForStatement` is an item); inside functions everything is an expression.
- **Flags** (`bare`, `bars`, `equals`) only tell two spellings of one meaning apart; the `spelling` of a literal, which
  also tells `[|raw|]` from `"quoted"`, does not even take part in `==`.
"""

# ruff: noqa: F403 (the names of all these files are those of the tree)
from __future__ import annotations

from tidelog.syntax.ast.expressions import *
from tidelog.syntax.ast.items import *
from tidelog.syntax.ast.nodes import *
from tidelog.syntax.ast.rules import *
from tidelog.syntax.ast.types import *
from tidelog.syntax.ast.walk import *
