"""Days of the Gregorian calendar, in both directions and without limits.

Python's own dates begin with the year 1. Day 0 is 1 January 1970. A date is (year, month, day); the year before 1 is 0,
the one before that -1.
"""

from __future__ import annotations

# Years beyond are refused, as in the reference implementation.
FIRST_YEAR, LAST_YEAR = -262144, 262143

_DAYS_IN_400_YEARS = 146097


def days_of(year: int, month: int, day: int) -> int:
    """Returns the number of a day."""
    # Years are counted from March, so that the day that leap years have more is the last.
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _DAYS_IN_400_YEARS + day_of_era - 719468


def date_of(days: int) -> tuple[int, int, int]:
    """Returns the date of a day by its number."""
    era, day_of_era = divmod(days + 719468, _DAYS_IN_400_YEARS)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return era * 400 + year_of_era + (month <= 2), month, day


def is_date(year: int, month: int, day: int) -> bool:
    in_range = FIRST_YEAR <= year <= LAST_YEAR and 1 <= month <= 12 and 1 <= day <= 31
    return in_range and date_of(days_of(year, month, day)) == (year, month, day)


def ordinal_of(days: int) -> int:
    """Returns the day of the year, from 1."""
    return days - days_of(date_of(days)[0], 1, 1) + 1


def weekday_of(days: int) -> int:
    """Returns the day of the week; Monday is 0."""
    return (days + 3) % 7


def iso_week_of(days: int) -> tuple[int, int]:
    """Returns the ISO year and week: a week belongs to the year of its Thursday."""
    thursday = days - weekday_of(days) + 3
    return date_of(thursday)[0], (ordinal_of(thursday) - 1) // 7 + 1


def from_iso_week(year: int, week: int, weekday: int) -> int | None:
    """Returns the number of the day, or None if the year has no such week."""
    fourth = days_of(year, 1, 4)
    days = fourth - weekday_of(fourth) + 7 * (week - 1) + weekday
    return days if week >= 1 and iso_week_of(days) == (year, week) else None
