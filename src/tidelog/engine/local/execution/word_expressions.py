"""Plain expressions → instructions of a tail: words in registers, which `kernels.join.run_tail` evaluates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.check import typed
from tidelog.engine.local.kernels import layout as k
from tidelog.types import BitType, BoolType, SignedType, Type

Instruction = tuple[int, int, int, int, int, int]
# Which fields of an instruction are registers: those that it reads, those that it sets.
BINARY: tuple[tuple[int, ...], tuple[int, ...]] = ((2, 3), (1,))
OPERANDS: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {
    k.T_FILTER: ((2,), ()),
    k.T_ABSENT: ((), ()),
    k.T_NOT: ((2,), (1,)),
    k.T_NEG: ((2,), (1,)),
    k.T_MOVE: ((2,), (1,)),
    k.T_BOOL_NOT: ((2,), (1,)),
    k.T_SELECT: ((2, 3, 4), (1,)),
}


class ExpressionCompiler:
    """Compiles plain expressions. Variables have registers by their names; constants and results get registers."""

    def __init__(self, word: Callable[[Any, Type], int]) -> None:
        self.word = word
        self.registers: dict[object, int] = {}
        self.constants: dict[int, int] = {}

    def _add(self, instruction: Instruction) -> None:
        """Takes an instruction."""
        raise NotImplementedError

    def _register(self, key: object) -> int:
        return self.registers.setdefault(key, len(self.registers))

    def _constant(self, word: int) -> int:
        register = self._register(("constant", word))
        self.constants[register] = word
        return register

    def _filter(self, expression: typed.Expression) -> None:
        """Compiles a plain condition."""
        self._tail(k.T_FILTER, 0, self._value(expression))

    def _temporary(self) -> int:
        return self._register(("temporary", len(self.registers)))

    def _tail(self, op: int, target: int, a: int, b: int = 0, width: int = 0, signed: int = 0) -> int:
        self._add((op, target, a, b, width, signed))
        return target

    def _value(self, expression: typed.Expression) -> int:
        """Compiles a plain expression; returns the register of its value."""
        match expression:
            case typed.Var(name=name):
                return self.registers[name]
            case typed.Lit():
                return self._constant(self.word(expression.value, expression.type))
            case typed.Unary(op="not", operand=operand):
                return self._tail(k.T_BOOL_NOT, self._temporary(), self._value(operand))
            case typed.Unary(op=op, operand=operand, type=type_):
                code = k.T_NEG if op == "-" else k.T_NOT
                return self._tail(code, self._temporary(), self._value(operand), 0, *_width(type_))
            case typed.Cast(operand=operand, type=type_):
                return self._tail(k.T_MOVE, self._temporary(), self._value(operand), 0, *_width(type_))
            case typed.Units(operand=operand):
                return self._value(operand)
            case typed.IfElse(condition=condition, then=then, otherwise=otherwise):
                test, first, second = self._value(condition), self._value(then), self._value(otherwise)
                return self._tail(k.T_SELECT, self._temporary(), first, second, test)
            case typed.Binary():
                return self._binary(expression)
            case _:
                raise AssertionError("not plain")

    def _binary(self, expression: typed.Binary) -> int:
        op = expression.op
        left, right = self._value(expression.left), self._value(expression.right)
        if op in ("==", "!="):
            return self._tail(k.T_EQ if op == "==" else k.T_NE, self._temporary(), left, right)
        if op in ("<", "<=", ">", ">="):
            if op in (">", ">="):
                left, right = right, left
            code = k.T_LT if op in ("<", ">") else k.T_LE
            return self._tail(code, self._temporary(), left, right, *_width(expression.left.type))
        if op == "=>":
            negated = self._tail(k.T_BOOL_NOT, self._temporary(), left)
            return self._tail(k.T_OR, self._temporary(), negated, right)
        if op == "++":
            shift = self._constant(_width(expression.right.type)[0])
            high = self._tail(k.T_SHL, self._temporary(), left, shift, *_width(expression.type))
            return self._tail(k.T_OR, self._temporary(), high, right)
        if op in ("<<", ">>"):
            width = _width(expression.type)[0]
            mask = self._constant(max(8, 1 << (width - 1).bit_length()) - 1)
            right = self._tail(k.T_AND, self._temporary(), right, mask)
        return self._tail(_OPERATORS[op], self._temporary(), left, right, *_width(expression.type))


class WordCompiler(ExpressionCompiler):
    """Compiles conditions and assignments; the first of their registers can be chosen. `tail` has the instructions.

    `variables` are the registers that have to be filled before, `made` those that assignments fill.
    """

    def __init__(self, word: Callable[[Any, Type], int], first: int) -> None:
        super().__init__(word)
        self.registers = {("before", register): register for register in range(first)}
        self.variables: dict[str, int] = {}
        self.made: dict[str, int] = {}
        self.tail: list[Instruction] = []

    def add(self, condition: typed.Expression) -> None:
        """Compiles a plain condition."""
        self._read(condition)
        self._filter(condition)

    def assign(self, name: str, expression: typed.Expression) -> None:
        """Compiles an assignment of a plain expression to a variable."""
        self._read(expression)
        # A register of its own: the value may be a constant, or the word of another variable.
        value = self._value(expression)
        self.made[name] = self._tail(k.T_MOVE, self._register(name), value, 0, 64, 1)

    def compare(self, name: str, expression: typed.Expression) -> None:
        """Compiles the condition that a variable has the value of a plain expression."""
        self._read(expression)
        if name not in self.made:
            self.variables[name] = self._register(name)
        value = self._value(expression)
        self._tail(k.T_FILTER, 0, self._tail(k.T_EQ, self._temporary(), self.registers[name], value))

    def _read(self, expression: typed.Expression) -> None:
        for name in sorted(typed.variables(expression) - self.made.keys()):
            self.variables[name] = self._register(name)

    def _add(self, instruction: Instruction) -> None:
        self.tail.append(instruction)


_OPERATORS = {
    "+": k.T_ADD,
    "-": k.T_SUB,
    "*": k.T_MUL,
    "/": k.T_DIV,
    "%": k.T_MOD,
    "&": k.T_AND,
    "|": k.T_OR,
    "^": k.T_XOR,
    "<<": k.T_SHL,
    ">>": k.T_SHR,
    "and": k.T_AND,
    "or": k.T_OR,
}


def _width(type_: Type) -> tuple[int, int]:
    """Returns the bits of a word type, and 1 if it is signed."""
    match type_:
        case BoolType():
            return 1, 0
        case BitType(width):
            return width, 0
        case SignedType(width):
            return width, 1
        case _:
            return 64, 1
