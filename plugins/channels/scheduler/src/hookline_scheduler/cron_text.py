"""Describes common cron expressions in words."""

from __future__ import annotations

DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SETS = {"*": "every day", "1-5": "every weekday", "0,6": "every weekend", "6,0": "every weekend"}


def describe_cron(expression: str) -> str:
    """Return ``every weekday at 9:00`` for ``0 9 * * 1-5``; the expression itself if unusual."""
    minute, hour, day, month, weekday = expression.split()
    if (day, month) == ("*", "*"):
        when = _day(weekday)
        if when and minute.isdecimal() and hour.isdecimal():
            return f"{when} at {int(hour)}:{minute:0>2}"
        if when == SETS["*"] and (found := _frequency(minute, hour)):
            return found
    if day.isdecimal() and (month, weekday) == ("*", "*") and (minute + hour).isdecimal():
        return f"on day {int(day)} of every month at {int(hour)}:{minute:0>2}"
    return expression


def _day(weekday: str) -> str:
    if weekday in SETS:
        return SETS[weekday]
    if weekday.isdecimal() and int(weekday) < len(DAYS):
        return f"every {DAYS[int(weekday)]}"
    return ""


def _frequency(minute: str, hour: str) -> str:
    """Describe a step of minutes or hours that divides an hour or a day evenly; else empty."""
    if hour == "*" and minute == "*":
        return "every minute"
    if hour == "*" and minute.isdecimal():
        return "every hour" if int(minute) == 0 else f"every hour at {int(minute)} past"
    step = minute.removeprefix("*/")
    if (
        hour == "*"
        and step != minute
        and step.isdecimal()
        and int(step) > 1
        and 60 % int(step) == 0
    ):
        return f"every {int(step)} minutes"
    step = hour.removeprefix("*/")
    if (
        minute == "0"
        and step != hour
        and step.isdecimal()
        and int(step) > 1
        and 24 % int(step) == 0
    ):
        return f"every {int(step)} hours"
    return ""
