"""Typed expressions: what `check` makes of the expressions of functions and rules, and what `functions` compiles.

Every node carries its type and its span. Names, overloads, literal widths, implicit conversions and implicit `Ref`s are
resolved here, so that a compiler of expressions only reads. What it may rely on:

- **Variables.** Inside one function or one rule every name is declared once: by a parameter, a `Declare`, a pattern of
  a `Match` or `For`, or a parameter of a `Closure`. What shadows something is renamed (`x#1`), so blocks need no
  scopes. A closure reads the variables around it and never sets them.
- **Calls** name one function of `TypedProgram.functions`. `type_arguments` are the types of the callee's type variables
  in the order of its `type_parameters`; inside a generic function they may be type variables of that function.
- **Mutation.** An argument for a `mut` parameter is a place: a `Var`, or `Field`s and `TupleItem`s around one (`place`
  reads it). After the call the place holds the parameter's new value. Where a variable of a `match` arm stands for a
  part of a mutable value, `check` writes the `SetPlace` that carries a change back.
- **`Ref` and `Intern`** hold exactly one value and are it: `Deref` and `MakeRef` only change the type.
- **Control.** `Break`, `Continue` and `Return` may stand anywhere inside an expression, also in arguments; their type
  is whatever their place wants. `Return` and `Try` leave the innermost closure, or the function.
"""

# ruff: noqa: F403 (the names of all these files are those of typed expressions)
from __future__ import annotations

from tidelog.check.typed.nodes import *
from tidelog.check.typed.patterns import *
from tidelog.check.typed.walk import *
