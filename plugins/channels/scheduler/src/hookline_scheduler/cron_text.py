"""Describes intervals and common cron expressions in words, for the reader of a page."""

from __future__ import annotations

from hookline_hookspecs.web import N_, t, tn

from .schedule_parser import DAY, HOUR, MINUTE, CronSchedule, IntervalSchedule

SUNDAY = N_("every Sunday")
DAYS = (
    *(SUNDAY, N_("every Monday"), N_("every Tuesday"), N_("every Wednesday")),
    *(N_("every Thursday"), N_("every Friday"), N_("every Saturday"), SUNDAY),
)
WEEKEND = N_("every weekend")
SETS = {"1-5": N_("every weekday"), "0,6": WEEKEND, "6,0": WEEKEND}


def describe(schedule: CronSchedule | IntervalSchedule) -> str:
    """Return when a job runs again and again."""
    if isinstance(schedule, CronSchedule):
        return describe_cron(str(schedule))
    return describe_interval(schedule.seconds)


def describe_interval(seconds: int) -> str:
    """Return ``every 6 hours`` or ``every 90 minutes``."""
    if seconds % DAY == 0:
        return tn("every day", "every {n} days", seconds // DAY)
    if seconds % HOUR == 0:
        return tn("every hour", "every {n} hours", seconds // HOUR)
    if seconds % MINUTE == 0:
        return tn("every minute", "every {n} minutes", seconds // MINUTE)
    return tn("every second", "every {n} seconds", seconds)


def describe_cron(expression: str) -> str:
    """Return ``every weekday at 9:00`` for ``0 9 * * 1-5``; the expression itself if unusual."""
    minute, hour, day, month, weekday = expression.split()
    if (day, month) == ("*", "*"):
        if minute.isdecimal() and hour.isdecimal():
            time = f"{int(hour)}:{minute:0>2}"
            if weekday == "*":
                return t("every day at {time}", time=time)
            if when := _day(weekday):
                return t("{days} at {time}", days=t(when), time=time)
        elif weekday == "*" and (found := _frequency(minute, hour)):
            return found
    if day.isdecimal() and (month, weekday) == ("*", "*") and (minute + hour).isdecimal():
        time = f"{int(hour)}:{minute:0>2}"
        return t("on day {day} of every month at {time}", day=int(day), time=time)
    return expression


def _day(weekday: str) -> str:
    if weekday in SETS:
        return SETS[weekday]
    if weekday.isdecimal() and int(weekday) < len(DAYS):
        return DAYS[int(weekday)]
    return ""


def _frequency(minute: str, hour: str) -> str:
    """Describe a step of minutes or hours that divides an hour or a day evenly; else empty."""
    if hour == "*" and minute == "*":
        return describe_interval(MINUTE)
    if hour == "*" and minute.isdecimal():
        if int(minute) == 0:
            return describe_interval(HOUR)
        return t("every hour at {minute} past", minute=int(minute))
    step = minute.removeprefix("*/")
    if (
        hour == "*"
        and step != minute
        and step.isdecimal()
        and int(step) > 1
        and 60 % int(step) == 0
    ):
        return describe_interval(int(step) * MINUTE)
    step = hour.removeprefix("*/")
    if (
        minute == "0"
        and step != hour
        and step.isdecimal()
        and int(step) > 1
        and 24 % int(step) == 0
    ):
        return describe_interval(int(step) * HOUR)
    return ""
