"""Every code, by name. E is an error, W a warning: the program runs, and perhaps not as was meant. The first digit
says which stage speaks:

    E1xx  the text is not a program             ProgramError, from `syntax`
    E2xx  names, arguments and types            ProgramError, from `check`
    E3xx  variables and recursion of rules      ProgramError, from `check` and `rules`
    E4xx  writes that cannot be                 TransactionError
    E5xx  rows and files that do not fit        DataError
    E6xx  a rule failed while it ran            EvaluationError
    E7xx  what an engine needs                  UsageError, MissingDependencyError, EvaluationError
    E8xx  calls and options that cannot be      UsageError, MissingDependencyError
    E85x  databases on disk                     UsageError, DataError, TransactionError
    E86x  pipelines                             ProgramError for the file, DataError for feeds, UsageError
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
    UNKNOWN_MODULE = "E216"
    AMBIGUOUS_MODULE = "E217"
    IMPORTED_MAIN = "E218"
    AMBIGUOUS_NAME = "E219"
    DUPLICATE_TYPE = "E220"
    DUPLICATE_CONSTRUCTOR = "E221"
    REPEATED_NAME = "E222"
    CLASHING_FIELDS = "E223"
    UNUSED_TYPE_PARAMETER = "E224"
    RECURSIVE_ALIAS = "E225"
    WRONG_TYPE_ARGUMENTS = "E226"
    UNKNOWN_TYPE_VARIABLE = "E227"
    BAD_ATTRIBUTE = "E228"
    UNKNOWN_FUNCTION = "E229"
    DUPLICATE_FUNCTION = "E230"
    NO_OVERLOAD = "E231"
    AMBIGUOUS_CALL = "E232"
    UNKNOWN_CONSTRUCTOR = "E233"
    UNKNOWN_FIELD = "E234"
    GUARDED_FIELD = "E235"
    UNKNOWN_TYPE_HERE = "E236"
    NO_TEXT = "E237"
    NOT_ITERABLE = "E238"
    BAD_TRY = "E239"
    NOT_A_PLACE = "E240"
    MISPLACED_CONTROL = "E241"
    NOT_A_PATTERN = "E242"
    NOT_EXHAUSTIVE = "E243"
    UNREACHABLE_ARM = "E244"
    REFUTABLE_PATTERN = "E245"
    UNKNOWN_VARIABLE = "E246"
    BAD_KEY = "E247"
    BAD_INDEX = "E248"
    UNKNOWN_TRANSFORMER = "E249"
    BAD_APPLICATION = "E250"
    INFINITE_TYPE = "E251"
    RELATION_IN_EXPRESSION = "E252"

    UNBOUND_VARIABLE = "E301"
    UNBOUND_HEAD_VARIABLE = "E302"
    UNBOUND_NEGATED_VARIABLE = "E303"
    ALREADY_BOUND = "E304"
    MISPLACED_WILDCARD = "E305"
    USED_BEFORE_BOUND = "E306"
    NEGATIVE_CYCLE = "E307"
    BAD_GROUP = "E308"
    STREAM_IN_RULE = "E309"
    STREAM_IN_CYCLE = "E310"

    WRITE_TO_DERIVED_RELATION = "E401"
    WRITE_TO_UNKNOWN_RELATION = "E402"
    TRANSACTION_OVER = "E403"
    TRANSACTION_OPEN = "E404"
    NOT_COMMITTED = "E405"
    DUPLICATE_KEY = "E406"
    KEY_NOT_FOUND = "E407"
    DIFFERENT_ROW = "E408"
    NO_PRIMARY_KEY = "E409"
    STREAM_WRITE = "E410"
    NO_TRANSACTION = "E411"

    NOT_ROWS = "E501"
    WRONG_VALUE_COUNT = "E502"
    WRONG_COLUMNS = "E503"
    WRONG_VALUE = "E504"
    NULL_VALUE = "E505"
    WRONG_COLUMN_TYPE = "E506"
    UNREADABLE_FILE = "E507"
    TWO_FILES = "E508"
    BAD_COMMAND = "E509"

    DIVISION_BY_ZERO = "E601"
    RECURSION_TOO_DEEP = "E602"
    EXTERN_FAILED = "E603"
    NO_FIXPOINT = "E604"
    TOO_MANY_ROUNDS = "E605"
    TOO_MANY_ROWS = "E606"
    DEADLINE_PASSED = "E607"
    CANCELLED = "E608"
    TWO_VALUES = "E609"
    WEIGHT_TOO_LARGE = "E610"
    CYCLE_IN_DATA = "E611"
    OVERFLOW = "E612"

    NO_PYSPARK = "E701"
    NO_JAVA = "E702"
    FOREIGN_ROWS = "E703"
    SPARK_JOB_FAILED = "E704"
    IMPOSSIBLE_PLAN = "E705"
    UNUSABLE_DIRECTORY = "E706"
    NO_RDFLIB = "E709"

    UNKNOWN_ENGINE = "E801"
    CLOSED_DATABASE = "E802"
    SPARK_FOR_LOCAL_ENGINE = "E803"
    UNKNOWN_RELATION_NAME = "E804"
    NO_CHANGES = "E805"
    RESERVED_COLUMN = "E806"
    NO_PANDAS = "E807"
    UNREADABLE_PROGRAM = "E808"
    UNWRITABLE_OUTPUT = "E809"
    MISSING_EXTERN = "E810"
    UNKNOWN_INDEX = "E811"
    NO_TABLE_OF_FUNCTIONS = "E812"
    BAD_EXTERNS = "E813"
    BAD_LIMIT = "E814"
    UNKNOWN_BENCHMARK = "E816"
    NO_BENCHMARK_DATA = "E817"
    UNKNOWN_PEER = "E818"
    NO_SUCH_ROW = "E830"
    BAD_QUERY = "E831"
    TOO_LARGE_TO_ASK = "E832"
    NO_SUCH_RULE = "E840"
    NOT_A_RULE_CHANGE = "E841"

    DATABASE_IN_USE = "E851"
    NOT_A_DATABASE = "E852"
    DAMAGED_DATABASE = "E853"
    COMMIT_NOT_WRITTEN = "E854"
    DIFFERENT_PROGRAM = "E855"
    READ_ONLY_DATABASE = "E856"
    OTHER_FORMAT = "E857"
    NOT_STORABLE = "E858"
    FOREIGN_PROCESS = "E859"

    UNREADABLE_PIPELINE = "E861"
    UNKNOWN_SETTING = "E862"
    MISSING_SETTING = "E863"
    BAD_SETTING = "E864"
    WRONG_RELATION = "E865"
    BAD_OPERATION = "E866"
    CONFLICTING_ROWS = "E867"
    OTHER_FEEDS = "E868"
    SOURCE_FAILED = "E869"

    WRONG_COUNTS = "E901"
    CHANGED_BY_FORMATTING = "E902"
    WRONG_BENCHMARK_RESULT = "E903"

    GROUP_IN_CYCLE = "W301"

    @property
    def is_warning(self) -> bool:
        return self.value.startswith("W")
