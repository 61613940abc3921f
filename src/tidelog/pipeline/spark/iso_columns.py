"""Columns of timestamps, durations and decimals → text as the local engine writes it, for files of text.

Spark's own writers cut timestamps to milliseconds, write durations in SQL, and write decimals into JSON as numbers.
Only integers are computed, so neither the zone nor the settings of a session have an effect.
"""

from __future__ import annotations

from typing import Any

_DAY = 86_400_000_000
_HOUR, _MINUTE, _SECOND = 3_600_000_000, 60_000_000, 1_000_000


def with_iso_columns(frame: Any, *, is_json: bool) -> Any:
    """Returns the frame with such columns as text; decimals only for JSON."""
    from pyspark.sql import functions as f
    from pyspark.sql import types as t

    columns = []
    for field in frame.schema.fields:
        column = frame["`" + field.name.replace("`", "``") + "`"]
        match field.dataType:
            case t.TimestampType():
                column = _timestamp(f.unix_micros(column))
            case t.DayTimeIntervalType():
                column = _duration(f.unix_micros(f.timestamp_micros(f.lit(0)) + column))
            case t.DecimalType(scale=scale) if is_json and scale:
                column = column.cast("string")
            case _:
                pass
        columns.append(column.alias(field.name))
    return frame.select(*columns)


def _timestamp(micros: Any) -> Any:
    """Returns `2024-01-31T13:45:00Z`, with six digits of a fraction if there is one."""
    from pyspark.sql import functions as f

    time = f.pmod(micros, f.lit(_DAY))
    day = f.date_from_unix_date(_quotient(micros - time, _DAY).cast("int")).cast("string")
    fraction = time % _SECOND
    return f.concat(
        *(day, f.lit("T"), _digits(_quotient(time, _HOUR), 2)),
        *(f.lit(":"), _digits(_quotient(time % _HOUR, _MINUTE), 2)),
        *(f.lit(":"), _digits(_quotient(time % _MINUTE, _SECOND), 2)),
        f.when(fraction > 0, f.concat(f.lit("."), _digits(fraction, 6))).otherwise(""),
        f.lit("Z"),
    )


def _duration(micros: Any) -> Any:
    """Returns `PT5M`, `-P1DT2.5S`, `PT0S`."""
    from pyspark.sql import functions as f

    size = f.abs(micros)
    time, seconds = size % _DAY, size % _MINUTE
    fraction = f.regexp_replace(f.concat(f.lit("."), _digits(seconds % _SECOND, 6)), r"\.?0+$", "")
    parts = f.concat(
        f.when(size >= _DAY, f.concat(_quotient(size, _DAY).cast("string"), f.lit("D"))).otherwise(""),
        f.when(time > 0, "T").otherwise(""),
        _part(_quotient(time, _HOUR), "H"),
        _part(_quotient(time % _HOUR, _MINUTE), "M"),
        f.when(seconds > 0, f.concat(_quotient(seconds, _SECOND).cast("string"), fraction, f.lit("S"))).otherwise(""),
    )
    sign = f.when(micros < 0, "-").otherwise("")
    return f.when(micros == 0, "PT0S").otherwise(f.concat(sign, f.lit("P"), parts))


def _part(number: Any, letter: str) -> Any:
    from pyspark.sql import functions as f

    return f.when(number > 0, f.concat(number.cast("string"), f.lit(letter))).otherwise("")


def _quotient(number: Any, by: int) -> Any:
    from pyspark.sql import functions as f

    return f.call_function("div", number, f.lit(by))


def _digits(number: Any, count: int) -> Any:
    from pyspark.sql import functions as f

    return f.lpad(number.cast("string"), count, "0")
