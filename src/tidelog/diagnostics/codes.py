"""Every error code, by name. The first digit says which stage speaks:

    E1xx  the text is not a program             ProgramError, from `syntax`
    E2xx  names, arguments and types            ProgramError, from `check`
    E3xx  variables and recursion of rules      ProgramError, from `check` and `rules`
    E4xx  writes that cannot be                 TransactionError
    E5xx  rows and files that do not fit        DataError
    E6xx  a rule failed while it ran            EvaluationError
    E7xx  what an engine needs                  UsageError, MissingDependencyError, EvaluationError
    E8xx  calls and options that cannot be      UsageError, MissingDependencyError
    E9xx  our bug                               InternalError

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

    WRITE_TO_DERIVED_RELATION = "E401"
    WRITE_TO_UNKNOWN_RELATION = "E402"
    TRANSACTION_OVER = "E403"
    TRANSACTION_OPEN = "E404"
    NOT_COMMITTED = "E405"

    NOT_ROWS = "E501"
    WRONG_VALUE_COUNT = "E502"
    WRONG_COLUMNS = "E503"
    WRONG_VALUE = "E504"
    NULL_VALUE = "E505"
    WRONG_COLUMN_TYPE = "E506"
    UNREADABLE_FILE = "E507"
    TWO_FILES = "E508"

    DIVISION_BY_ZERO = "E601"

    NO_PYSPARK = "E701"
    NO_JAVA = "E702"
    FOREIGN_ROWS = "E703"
    SPARK_JOB_FAILED = "E704"
    IMPOSSIBLE_PLAN = "E705"
    UNUSABLE_DIRECTORY = "E706"

    UNKNOWN_ENGINE = "E801"
    CLOSED_DATABASE = "E802"
    SPARK_FOR_LOCAL_ENGINE = "E803"
    UNKNOWN_RELATION_NAME = "E804"
    NO_CHANGES = "E805"
    RESERVED_COLUMN = "E806"
    NO_PANDAS = "E807"
    UNREADABLE_PROGRAM = "E808"
    UNWRITABLE_OUTPUT = "E809"

    WRONG_COUNTS = "E901"
