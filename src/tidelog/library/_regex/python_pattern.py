"""The tree of a regular expression → a pattern of Python's `re` with the same matches.

Both engines find the leftmost match and prefer earlier alternatives. Python's engine goes back and tries again, which
may take time exponential in the text, so it is used only for patterns in which that cannot happen.
"""

from __future__ import annotations

from tidelog.library._regex import classes
from tidelog.library._regex.tree import Chars, Choice, Look, Node, Repeat, Sequence

# Each branch may be tried once more for each of the others: this many keep the attempts at one place few.
_MOST_BRANCHES = 6

_LOOKS = {
    Look.START: r"\A",
    Look.END: r"\Z",
    Look.LINE_START: "(?m:^)",
    Look.LINE_END: "(?m:$)",
}


def python_pattern(node: Node) -> str:
    """Returns the pattern for Python's `re`."""
    match node:
        case Chars(ranges):
            return classes.python_class(ranges)
        case Look():
            return _LOOKS[node] if node in _LOOKS else _boundary(node)
        case Sequence(parts):
            return "".join(map(python_pattern, parts))
        case Choice(branches):
            return f"(?:{'|'.join(map(python_pattern, branches))})"
        case Repeat(body, least, most, lazy):
            count = f"{{{least},{'' if most is None else most}}}"
            return f"(?:{python_pattern(body)}){count}{'?' if lazy else ''}"


def is_quick_in_python(node: Node) -> bool:
    """True if Python's engine needs a bounded number of steps at each place of the text."""
    branches, waiting = 0, [node]
    while waiting:
        match waiting.pop():
            case Repeat():
                return False
            case Sequence(parts):
                waiting += parts
            case Choice(choices):
                branches += len(choices)
                waiting += choices
            case _:
                pass
    return branches <= _MOST_BRANCHES


def _boundary(look: Look) -> str:
    unicode = look in (Look.WORD, Look.NOT_WORD)
    word = classes.python_class(classes.letters_digits("w", unicode=unicode))
    inside = f"(?<={word})(?={word})|(?<!{word})(?!{word})"
    return f"(?:{inside})" if look in (Look.NOT_WORD, Look.ASCII_NOT_WORD) else f"(?!{inside})"
