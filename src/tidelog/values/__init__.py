"""The values of the language in Python: all immutable and hashable, and `<` between two of one type is its order.

    bool, int, str          themselves
    float                   in canonical form (`floats.py`)
    tuples                  tuples
    structs, unions         a class per constructor, from `Definitions` (`structs.py`)
    Vec, Set, Map, Group    the classes of those names; `SizedSet` for HashSet and Set64
    functions               `FunctionValue`
    Ref, Intern             the value inside

Text, bytes and default values depend on the type, so their functions take it, and the definitions of declared types.
"""

from tidelog.values.default import default_value
from tidelog.values.definitions import Definitions, substitute
from tidelog.values.encode import decode, decoder, encode, encoder
from tidelog.values.externs import ExternKind, ExternType
from tidelog.values.floats import NAN
from tidelog.values.function_value import FunctionCode, FunctionValue
from tidelog.values.group import Group
from tidelog.values.maps import Map
from tidelog.values.sets import Set, SizedSet
from tidelog.values.structs import Struct, field_values
from tidelog.values.text import debug_text, plain_text, record_text, record_writer
from tidelog.values.vec import Vec

__all__ = [
    "NAN",
    "Definitions",
    "ExternKind",
    "ExternType",
    "FunctionCode",
    "FunctionValue",
    "Group",
    "Map",
    "Set",
    "SizedSet",
    "Struct",
    "Vec",
    "debug_text",
    "decode",
    "decoder",
    "default_value",
    "encode",
    "encoder",
    "field_values",
    "plain_text",
    "record_text",
    "record_writer",
    "substitute",
]
