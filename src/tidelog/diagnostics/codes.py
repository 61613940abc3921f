"""Every error code, by name. The first digit says which stage speaks:

    E1xx  the text is not a program             `syntax`
    E2xx  names, arguments and types            `check`
    E3xx  variables and recursion of rules      `check`, `rules`

`docs/reference/errors.md` explains each; a test holds the two lists equal. A code is never given a second meaning.
"""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """A member is its code: it compares and prints as the string."""

    UNEXPECTED_TOKEN = "E101"
    UNEXPECTED_CHARACTER = "E102"
    UNTERMINATED_STRING = "E103"
    UNTERMINATED_COMMENT = "E104"
    BAD_ESCAPE = "E105"
    BAD_NUMBER = "E106"
    RESERVED_WORD = "E107"
    NOT_YET = "E108"
    NESTED_TOO_DEEPLY = "E109"
    CHAINED_COMPARISON = "E110"
    WRONG_CASE = "E111"
    BAD_WIDTH = "E112"
    PLAIN_ASSIGNMENT = "E113"

    UNKNOWN_RELATION = "E201"
    DUPLICATE_RELATION = "E202"
    DUPLICATE_COLUMN = "E203"
    UNKNOWN_TYPE = "E204"
    WRONG_ARGUMENT_COUNT = "E205"
    UNKNOWN_COLUMN = "E206"
    REPEATED_ARGUMENT = "E207"
    MISSING_COLUMN = "E208"
    MIXED_ARGUMENTS = "E209"
    TYPE_MISMATCH = "E210"
    LITERAL_OUT_OF_RANGE = "E211"
    WRONG_OPERAND = "E212"
    IMPOSSIBLE_CAST = "E213"
    BAD_SLICE = "E214"
    TOO_WIDE = "E215"

    UNBOUND_VARIABLE = "E301"
    UNBOUND_HEAD_VARIABLE = "E302"
    UNBOUND_NEGATED_VARIABLE = "E303"
    ALREADY_BOUND = "E304"
    MISPLACED_WILDCARD = "E305"
    USED_BEFORE_BOUND = "E306"
    NEGATIVE_CYCLE = "E307"
