"""Parses schedules: a cron expression, an interval or one time.

:func:`parse_schedule` understands, in a time zone:

- cron: five fields (``0 9 * * 1-5``), or ``@hourly @daily @weekly @monthly @yearly``;
- intervals: ``every 2h``, ``every 1h30m``, ``every 15 minutes``, ``every day``;
- a time on certain days: ``every day 9:00``, ``every weekday at 18:30``, ``every monday 9am``;
- one time: ``in 20 minutes``, ``today 18:00``, ``tomorrow 9:00``, ``2026-11-30 18:00``, with an
  optional offset or ``Z``.

Cron expressions with a fixed time follow Debian's cron when the clocks change: a skipped time runs
right after the change, a repeated one runs the first time.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias
from zoneinfo import ZoneInfo

from .errors import ScheduleError
from .time_zones import find_zone

MINUTE, HOUR, DAY = 60, 3600, 86_400
MIN_INTERVAL = MINUTE
MAX_DISTANCE = 3660 * DAY
"""Ten years; a later time or a longer interval is refused as a mistake."""
MAX_TEXT_CHARS = 200
MAX_SET_BACK = 3 * HOUR
"""If the clock is set back by less, a time that has run already is not repeated. Debian's cron uses
the same three hours."""
FIRST_EXAMPLE_TIME = (9, 0)
"""From this hour and minute on, the examples of errors name tomorrow."""
_FIELD_RANGES = (60, 24, 31, 12, 7)
"""The values of the five fields of a cron expression."""
EXAMPLES = (
    'write a cron expression ("0 9 * * 1-5"), an interval ("every 2h"), or one time '
    '("in 20 minutes", "{day} 9:00", "{year}-01-31 18:00")'
)
AMBIGUOUS_HOURS = 4
"""Hours of a day in which "tomorrow" may mean today."""

_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), MINUTE),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), HOUR),
    **dict.fromkeys(("d", "day", "days"), DAY),
    **dict.fromkeys(("w", "week", "weeks"), 7 * DAY),
}
_SPELLINGS = (
    (re.compile(r"\A(hourly|daily|weekly|monthly|yearly)\Z"), r"@\1"),
    (re.compile(r"\Adaily (?=at |\d)"), "every day "),
    (re.compile(r"\A(?:on )?(weekday|weekend|\w+day)s (?=at |\d)"), r"every \1 "),
    (re.compile(r"\bhalf an hour\Z"), "30 minutes"),
    (re.compile(r"\A(in|every) an? "), r"\1 1 "),
    (re.compile(r"\Aevery other "), "every 2 "),
    (re.compile(r" noon\Z"), " 12:00"),
    (re.compile(r" midnight\Z"), " 0:00"),
)
"""Other words for what is understood."""
_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_DAYS = {
    "day": "*", "weekday": "1-5", "weekend": "0,6", "sunday": "0", "monday": "1",
    "tuesday": "2", "wednesday": "3", "thursday": "4", "friday": "5", "saturday": "6",
}  # fmt: skip
_AMOUNT = re.compile(r"([0-9]{1,9}) ?([a-z]+)(?:,? (?:and )?|$|(?=[0-9]))")
_TIME = re.compile(r"([0-9]{1,2})(?::([0-9]{2}))? ?(am|pm)?")
_PAST = re.compile(r"hour at ([0-9]{1,2}) past")
_MONTHLY = re.compile(r"on day ([0-9]{1,2}) of every month at (.+)")
"""As the list of jobs says it."""
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([t ].*)?")


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """The minutes that match five fields, in local time of a zone."""

    expression: str
    zone: str

    def after(self, moment: float) -> float | None:
        """Return the first time after ``moment``, in Unix seconds; None if none in 50 years."""
        minute, hour, *_ = self.expression.split()
        fixed = not minute.startswith("*") and not hour.startswith("*")
        return self._next_fixed(moment) if fixed else self._next_running(moment)

    def _next_fixed(self, moment: float) -> float | None:
        """Return the next time of an expression with fixed minute and hour."""
        from cronsim import CronSim

        # Rounded down: `fromtimestamp` rounds to the nearest microsecond, which may be a minute on.
        start = datetime.fromtimestamp(math.floor(moment), find_zone(self.zone))
        # In the hour that comes twice, the first matches may be in its first half, before `moment`.
        found = (time.timestamp() for time in CronSim(self.expression, start))
        return next((at for at in found if at > moment), None)

    def _next_running(self, moment: float) -> float | None:
        """Return the next time of an expression that repeats by the minute or hour.

        The library is used on one period of unchanged offset after the other: it steps by whole
        hours over a clock change, and misses matches after a change of half an hour.
        """
        from cronsim import CronSim

        where = find_zone(self.zone)
        offset = _offset(where, moment)
        while True:
            wall = datetime.fromtimestamp(math.floor(moment), UTC).replace(tzinfo=None) + offset
            found = next(CronSim(self.expression, wall), None)
            if found is None:
                return None
            at = (found - offset).replace(tzinfo=UTC).timestamp()
            if _offset(where, at) == offset:
                return at
            change = _offset_change(where, offset, moment, at)
            moment, offset = change - 1, _offset(where, change)

    def __str__(self) -> str:
        return self.expression


@dataclass(frozen=True, slots=True)
class IntervalSchedule:
    """An interval in seconds from ``anchor`` on, independent of clock changes."""

    seconds: int
    anchor: float

    def after(self, moment: float) -> float:
        """Return the first time after ``moment``."""
        times = math.floor((moment - self.anchor) / self.seconds) + 1
        return self.anchor + times * self.seconds

    def __str__(self) -> str:
        left, parts = self.seconds, []
        for unit, name in ((DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (1, "s")):
            count, left = divmod(left, unit)
            parts += [f"{count}{name}"] if count else []
        return f"every {' '.join(parts)}"


@dataclass(frozen=True, slots=True)
class OneTimeSchedule:
    """One time."""

    at: float

    def after(self, moment: float) -> float | None:
        """Return the time if it is after ``moment``."""
        return self.at if self.at > moment else None

    def __str__(self) -> str:
        return "once"


Schedule: TypeAlias = CronSchedule | IntervalSchedule | OneTimeSchedule


def _offset(where: ZoneInfo, moment: float) -> timedelta:
    """Return the offset of a zone from UTC."""
    return datetime.fromtimestamp(moment, where).utcoffset() or timedelta()


def _offset_change(where: ZoneInfo, offset: timedelta, start: float, end: float) -> float:
    """Return the first second between ``start`` and ``end`` with another offset."""
    low, high = math.floor(start), math.floor(end)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(where, middle) == offset else (low, middle)
    return float(high)


def parse_schedule(text: str, zone: str, now: float) -> Schedule:
    """Parse ``text`` in local time of ``zone``.

    Raises:
        ScheduleError: the text is not a time, or the time has passed, never comes or is ambiguous.
    """
    words = " ".join(text.split())
    if not words or len(words) > MAX_TEXT_CHARS:
        raise ScheduleError(f"when should it run? Please {_examples(zone, now)}")
    lower = words.casefold()
    for pattern, plain in _SPELLINGS:
        lower = pattern.sub(plain, lower)
    if lower.startswith("every "):
        return _every(lower.removeprefix("every "), words, zone, now)
    if lower.startswith("in "):
        return OneTimeSchedule(now + _within(_seconds(lower.removeprefix("in "), words), words))
    if lower.partition(" ")[0] in ("today", "tomorrow"):
        return _near(lower, words, zone, now)
    if _ISO.fullmatch(lower):
        return _dated(lower, words, zone, now)
    if monthly := _MONTHLY.fullmatch(lower):
        hour, minute = _clock(monthly[2], words, f"on day {monthly[1]} of every month")
        return _cron(f"{minute} {hour} {monthly[1]} * *", zone, now)
    return _cron(_MACROS.get(lower, words), zone, now)


def _examples(zone: str, now: float) -> str:
    """Return what a person may write, valid at this time."""
    here = datetime.fromtimestamp(now, find_zone(zone))
    day = "today" if here.hour < AMBIGUOUS_HOURS else "tomorrow"
    return EXAMPLES.format(day=day, year=here.year + 1)


def next_due(schedule: Schedule, now: float, last: float | None) -> float | None:
    """Return when ``schedule`` is due next, after it was due at ``last``.

    If the clock was set back by up to :data:`MAX_SET_BACK` since, times before ``last`` are not
    repeated.
    """
    if last is not None and now < last <= now + MAX_SET_BACK:
        return schedule.after(last)
    return schedule.after(now)


# Intervals


def _every(rest: str, words: str, zone: str, now: float) -> Schedule:
    day, _, time = rest.partition(" ")
    time = time.removeprefix("at ")
    if fields := _DAYS.get(day.removesuffix("s")):
        if time:
            hour, minute = _clock(time, words, f"every {day}")
            return _cron(f"{minute} {hour} * * {fields}", zone, now)
        if day != "day":
            raise ScheduleError(f'{words!r} lacks a time; write "every {day} 9:00"')
    if past := _PAST.fullmatch(rest):
        return _cron(f"{past[1]} * * * *", zone, now)
    seconds = _seconds(f"1 {rest}" if rest in _UNITS else rest, words)
    if seconds < MIN_INTERVAL:
        raise ScheduleError(f'{words!r} is too often; the shortest interval is "every 1 minute"')
    return IntervalSchedule(_within(seconds, words), float(math.floor(now)))


def _seconds(text: str, words: str) -> int:
    """Return the seconds of ``1h30m``, ``2 days`` or ``1 hour and 5 minutes``."""
    place, total = 0, 0
    while match := _AMOUNT.match(text, place):
        if match[2] not in _UNITS:
            break
        total += int(match[1]) * _UNITS[match[2]]
        place = match.end()
    if not total or place < len(text):
        raise ScheduleError(f'{words!r} is not a duration; write "every 2h" or "in 20 minutes"')
    return total


def _within(seconds: int, words: str) -> int:
    if seconds > MAX_DISTANCE:
        raise ScheduleError(f"{words!r} is more than ten years away")
    return seconds


# One time


def _near(lower: str, words: str, zone: str, now: float) -> OneTimeSchedule:
    """Parse ``today 18:00`` and ``tomorrow 9:00``."""
    day, _, time = lower.partition(" ")
    here = datetime.fromtimestamp(now, find_zone(zone))
    late = (here.hour, here.minute) >= FIRST_EXAMPLE_TIME or (
        day == "tomorrow" and here.hour >= AMBIGUOUS_HOURS
    )
    hour, minute = _clock(time.removeprefix("at "), words, "tomorrow" if late else "today")
    that_day = here.date() + timedelta(days=day == "tomorrow")
    found = _once(datetime.combine(that_day, datetime.min.time()), hour, minute, words, zone, now)
    if day == "tomorrow" and here.hour < AMBIGUOUS_HOURS:
        raise ScheduleError(
            f"it is {here:%H:%M}, so tomorrow may mean today; write the date, such as "
            f'"{that_day} {hour:02}:{minute:02}"'
        )
    return found


def _dated(lower: str, words: str, zone: str, now: float) -> OneTimeSchedule:
    """Parse ``2026-11-30 18:00`` and other ISO forms of a date with a time."""
    try:
        found = datetime.fromisoformat(lower.upper())
    except ValueError:
        found = None
    if found is None or len(lower) == len("2030-01-31"):
        year = datetime.fromtimestamp(now, find_zone(zone)).year + 1
        raise ScheduleError(f'{words!r} is not a date with a time; write "{year}-01-31 18:00"')
    if found.tzinfo is None:
        return _once(found, found.hour, found.minute, words, zone, now)
    return _ahead(found.timestamp(), words, zone, now)


def _once(
    day: datetime, hour: int, minute: int, words: str, zone: str, now: float
) -> OneTimeSchedule:
    """Return a local time of ``zone``, which must occur exactly once."""
    where = find_zone(zone)
    shown = day.replace(hour=hour, minute=minute)
    first, second = (shown.replace(tzinfo=where, fold=fold) for fold in (0, 1))
    if first.utcoffset() != second.utcoffset():
        _ahead(max(first.timestamp(), second.timestamp()), words, zone, now)
        raise ScheduleError(_changing(first, second, words, zone, now))
    return _ahead(first.timestamp(), words, zone, now)


def _changing(first: datetime, second: datetime, words: str, zone: str, now: float) -> str:
    if first.astimezone(UTC).astimezone(first.tzinfo).replace(fold=0) != first:
        instead = first.astimezone(UTC).astimezone(first.tzinfo)
        return (
            f"{words!r} does not exist in {zone}, where the clocks go forward then; write "
            f'"{instead:%Y-%m-%d %H:%M}"'
        )
    times = (time.isoformat(timespec="minutes") for time in (first, second) if _is_ahead(time, now))
    return f"{words!r} comes twice in {zone}, where the clocks go back then; write " + " or ".join(
        f'"{time}"' for time in times
    )


def _is_ahead(time: datetime, now: float) -> bool:
    return now < time.timestamp() <= now + MAX_DISTANCE


def _ahead(at: float, words: str, zone: str, now: float) -> OneTimeSchedule:
    if at <= now:
        here = datetime.fromtimestamp(now, find_zone(zone))
        raise ScheduleError(f"{words!r} has passed; it is {here:%Y-%m-%d %H:%M} in {zone} now")
    _within(math.ceil(at - now), words)
    return OneTimeSchedule(at)


def _clock(time: str, words: str, day: str) -> tuple[int, int]:
    """Return hour and minute of ``9:00``, ``18:30``, ``9am`` or ``9:30 pm``.

    ``day`` stands before the time in the example of an error.
    """
    match = _TIME.fullmatch(time)
    if match and (match[2] or match[3]):
        hour, minute = int(match[1]), int(match[2] or 0)
        if match[3] and 1 <= hour <= 12:
            hour = hour % 12 + 12 * (match[3] == "pm")
        elif match[3]:
            hour = 24
        if hour < 24 and minute < 60:
            return hour, minute
    raise ScheduleError(f'{words!r} lacks a time of day; write "{day} 9:00" or "{day} 18:30"')


# Cron


def _cron(expression: str, zone: str, now: float) -> CronSchedule:
    from cronsim import CronSim, CronSimError

    fields = expression.split()
    if len(fields) == 6 and all(re.fullmatch(r"[\d*/,-]+", one) for one in fields[:3]):
        raise ScheduleError(
            f'{expression!r} has a field for seconds; write five fields, such as "0 9 * * 1-5"'
        )
    if len(fields) != 5:
        raise ScheduleError(f"{expression!r} is not a time; {_examples(zone, now)}")
    _check_steps(fields, expression, _examples(zone, now))
    try:
        CronSim(expression, datetime.fromtimestamp(now, find_zone(zone)))
    except (CronSimError, AssertionError, ValueError) as error:
        part = str(error).removeprefix("Bad ").lower() or "a field"
        raise ScheduleError(
            f"{expression!r} is not a cron expression ({part}); {_examples(zone, now)}"
        ) from None
    found = CronSchedule(expression, zone)
    if found.after(now) is None:
        raise ScheduleError(f"{expression!r} never comes; {_examples(zone, now)}")
    return found


def _check_steps(fields: list[str], expression: str, examples: str) -> None:
    """Refuse ``*/90``, which cron takes for the first value only."""
    for number, (field, size) in enumerate(zip(fields, _FIELD_RANGES, strict=True)):
        for step in re.findall(r"/([0-9]{1,6})", field):
            if int(step) < size:
                continue
            unit = ("minutes", "hours", "days", "months", "weekdays")[number]
            seconds = int(step) * _UNITS.get(unit, 0)
            fits = MIN_INTERVAL <= seconds <= MAX_DISTANCE
            example = f'write "every {int(step)} {unit}"' if fits else examples
            raise ScheduleError(
                f"{expression!r}: /{step} is longer than the {size} {unit} of its field, so it "
                f"would run once in that time; {example}"
            )


def format_time(at: float, zone: str) -> str:
    """Return a time for people: ``2026-11-22 09:00 CET``."""
    return f"{datetime.fromtimestamp(at, find_zone(zone)):%Y-%m-%d %H:%M %Z}"


def iso_time(at: float | None, zone: str) -> str | None:
    """Return a time in ISO 8601 with its offset."""
    if at is None:
        return None
    return datetime.fromtimestamp(at, find_zone(zone)).isoformat(timespec="seconds")
