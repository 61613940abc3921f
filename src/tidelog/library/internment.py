"""The extern functions of `internment`: an interned value is the value itself."""

from __future__ import annotations

from tidelog.library._runtime.extern import Externs
from tidelog.library.ddlog_std_strings import string_join
from tidelog.values.externs import itself

EXTERNS: Externs = {"intern": itself, "ival": itself, "istring_join": string_join}
