"""The Python function under way: its lines, its names, and the ways to put a value somewhere.

Expressions of the language contain statements, Python's do not. So an expression is written as lines that go before,
and a text that gives its value once those have run:

    f({x.push(1); x}, y)          t0, v0 = f3(v0, 1)
                                  f7(v0, v1)

What is evaluated first must stay first. A text is *stable* if it gives the same at any later moment and cannot fail or
do anything; whatever is not stable is put into a temporary variable before other lines are written.

Python limits how deep lines are indented, loops are nested and parentheses stand in one another. Where a limit comes
near, texts go into temporaries, and blocks into local functions (*pieces*) that share the variables of the function
around them and say by a number how they were left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

DEEPEST_TEXT = 40
DEEPEST_BLOCK = 60
DEEPEST_LOOP = 12

_RETURN, _BREAK, _CONTINUE = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Value:
    """A Python expression that needs no parentheses around it, and how deep its own are nested."""

    text: str
    depth: int = 0
    stable: bool = False


UNIT = Value("()", 0, stable=True)
NOTHING = Value("None", 0, stable=True)


@dataclass(slots=True)
class Piece:
    """A stretch of lines that becomes one Python function: the function itself, or a piece of it."""

    name: str
    lines: list[tuple[int, str]]
    indent: int
    loops: int
    assigned: set[str]
    signals: set[int]
    dead: bool = False


class Body:
    """Lines are written to the piece under way. Nothing is written behind a statement that leaves for good."""

    def __init__(self, returned: tuple[str, ...] = (), indent: int = 1) -> None:
        """`returned` are the variables that are returned behind the result: the `mut` parameters."""
        self._returned = returned
        self._main = self._piece = Piece("", [], indent, 0, set(), set())
        self._pieces: list[Piece] = []
        self._count = 0

    # Lines

    @property
    def dead(self) -> bool:
        """True behind a statement that leaves: what would come next is never reached."""
        return self._piece.dead

    def write(self, line: str) -> None:
        if not self._piece.dead:
            self._piece.lines.append((self._piece.indent, line))

    def block(self, head: str, fill: Callable[[], None], *, loop: bool = False) -> bool:
        """Writes `head` and the block below it. True if the end of the block is never reached."""
        piece = self._piece
        if piece.dead:
            return True
        self.write(head)
        piece.indent += 1
        piece.loops += loop
        start = len(piece.lines)
        if piece.indent > DEEPEST_BLOCK or piece.loops > DEEPEST_LOOP:
            self._outline(fill)
        else:
            fill()
        if len(piece.lines) == start:
            self.write("pass")
        ended, piece.dead = piece.dead, False
        piece.indent -= 1
        piece.loops -= loop
        return ended

    def otherwise(self, fill: Callable[[], None]) -> bool:
        """Returns an `else` block, or nothing if it would be empty."""
        lines = self._piece.lines
        start = len(lines)
        left = self.block("else:", fill)
        if len(lines) == start + 2 and lines[-1][1] == "pass":
            del lines[start:]
        return left

    def set_dead(self, dead: bool) -> None:
        self._piece.dead = dead

    def mark(self) -> int:
        """Returns a place in the lines; see `pin`."""
        return len(self._piece.lines)

    def pin(self, values: list[Value], mark: int) -> list[Value]:
        """Returns the values as they are at the mark, if lines were written behind it that could make a difference."""
        lines = self._piece.lines
        if len(lines) == mark:
            return values
        pinned = []
        for value in values:
            if not value.stable:
                name = self.temporary()
                lines.insert(mark, (self._piece.indent, f"{name} = {value.text}"))
                mark += 1
                self._piece.assigned.add(name)
                value = Value(name, 0, stable=True)
            pinned.append(value)
        return pinned

    def apart(self, write: Callable[[], Value]) -> tuple[list[tuple[int, str]], Value]:
        """Returns a value, and the lines that have to go before it, not written but indented for a block that
        follows."""
        piece = self._piece
        lines, piece.lines = piece.lines, []
        piece.indent += 1
        value = write()
        apart, piece.lines = piece.lines, lines
        piece.indent -= 1
        return apart, value

    def block_of(self, head: str, lines: list[tuple[int, str]], name: str, value: Value) -> None:
        """Writes `head` and below it the lines that were written `apart`, and the assignment of their value."""
        self.write(head)
        self._piece.lines += lines
        self._piece.lines.append((self._piece.indent + 1, f"{name} = {value.text}"))
        self._piece.assigned.add(name)

    @property
    def can_nest(self) -> bool:
        """True where one more block can stand inline."""
        return self._piece.indent < DEEPEST_BLOCK

    # Names and values

    def temporary(self) -> str:
        self._count += 1
        return f"t{self._count - 1}"

    def assign(self, name: str, text: str) -> None:
        if name != text:
            self.write(f"{name} = {text}")
            self._piece.assigned.add(name)

    def unpack(self, names: Iterable[str], text: str) -> None:
        names = tuple(names)
        self.write(f"{', '.join(names)} = {text}")
        self._piece.assigned.update(names)

    def targets(self, names: Iterable[str]) -> None:
        """Says that the names are assigned by a line that was written, or will be, in other ways."""
        self._piece.assigned.update(names)

    def spill(self, value: Value) -> Value:
        """Returns the value in a temporary, evaluated now."""
        name = self.temporary()
        self.assign(name, value.text)
        return Value(name, 0, stable=True)

    def atom(self, value: Value) -> Value:
        """Returns the value as a name that can be mentioned more than once."""
        return value if value.text.isidentifier() else self.spill(value)

    def made(self, text: str, *parts: Value, stable: bool = True, deeper: int = 3) -> Value:
        """Returns a value from the values that its text mentions."""
        value = Value(
            text,
            max((part.depth for part in parts), default=0) + deeper,
            stable and all(part.stable for part in parts),
        )
        return value if value.depth < DEEPEST_TEXT else self.spill(value)

    # Leaving

    def leave_with(self, text: str) -> None:
        """Returns from the function."""
        result = f"({', '.join((text, *self._returned))})" if self._returned else text
        if self._piece is self._main:
            self.write(f"return {result}")
        else:
            self.assign("r0", result)
            self._signal(_RETURN)
        self._piece.dead = True

    def leave_loop(self, *, again: bool) -> None:
        """Goes to the next round of the innermost loop, or ends the loop."""
        if self._piece.loops:
            self.write("continue" if again else "break")
        else:
            self._signal(_CONTINUE if again else _BREAK)
        self._piece.dead = True

    def _signal(self, signal: int) -> None:
        self.write(f"return {signal}")
        self._piece.signals.add(signal)

    # Pieces

    def _outline(self, fill: Callable[[], None]) -> None:
        """Writes the block as a piece, and here what calls it."""
        outer = self._piece
        self._piece = piece = Piece(f"p{len(self._pieces)}", [], 2, 0, set(), set())
        self._pieces.append(piece)
        fill()
        self._piece = outer
        if not piece.signals:
            self.write(f"{piece.name}()")
            return
        self.assign("s0", f"{piece.name}()")
        for signal in sorted(piece.signals):
            self.write(f"if s0 == {signal}: {self._passed_on(signal)}")
        self._piece.dead = piece.dead

    def _passed_on(self, signal: int) -> str:
        """Returns the statement that leaves as a piece was left."""
        if signal == _RETURN and self._piece is self._main:
            return "return r0"
        if signal != _RETURN and self._piece.loops:
            return "break" if signal == _BREAK else "continue"
        self._piece.signals.add(signal)
        return f"return {signal}"

    def finish(self, parameters: Iterable[str], before: Iterable[str] = (), after: Iterable[str] = ()) -> list[str]:
        """Returns the lines of the function, indented, between the given ones; its pieces come first of all."""
        lines: list[tuple[int, str]] = []
        if self._pieces:
            shared = {name for piece in self._pieces for name in piece.assigned} - set(parameters)
            lines += [(1, f"{name} = None") for name in sorted(shared)]
        for piece in self._pieces:
            lines.append((1, f"def {piece.name}():"))
            if piece.assigned:
                lines.append((2, f"nonlocal {', '.join(sorted(piece.assigned))}"))
            lines += piece.lines or [(2, "pass")]
        lines += ((1, line) for line in before)
        lines += self._main.lines
        lines += ((1, line) for line in after)
        return [f"{'    ' * indent}{line}" for indent, line in lines]
