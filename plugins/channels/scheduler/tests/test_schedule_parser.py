"""Parsing of times, and the next run over every clock change, checked minute by minute."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hookline_scheduler.cron_text import describe_cron
from hookline_scheduler.errors import ScheduleError
from hookline_scheduler.schedule_parser import (
    CronSchedule,
    IntervalSchedule,
    OneTimeSchedule,
    next_due,
    parse_schedule,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.matrices import sampled

BERLIN = "Europe/Berlin"
NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC).timestamp()
"""A Sunday, 11:00 in Berlin."""


def timestamp_of(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


# What people write


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in 20 minutes", "2026-11-22T11:20+01:00"),
        ("IN 2h", "2026-11-22T13:00+01:00"),
        ("in 1 day and 2 hours", "2026-11-23T13:00+01:00"),
        ("in 1h30m", "2026-11-22T12:30+01:00"),
        ("tomorrow 9:00", "2026-11-23T09:00+01:00"),
        ("Tomorrow at 9am", "2026-11-23T09:00+01:00"),
        ("today 18:30", "2026-11-22T18:30+01:00"),
        ("today 12:15 pm", "2026-11-22T12:15+01:00"),
        ("2026-12-01 08:00", "2026-12-01T08:00+01:00"),
        ("2026-12-01T08:00", "2026-12-01T08:00+01:00"),
        ("2026-12-01T08:00Z", "2026-12-01T09:00+01:00"),
        ("2026-12-01 08:00-05:00", "2026-12-01T14:00+01:00"),
    ],
)
def test_parse_one_time_schedule(text: str, expected: str) -> None:
    found = parse_schedule(text, BERLIN, NOW)
    assert isinstance(found, OneTimeSchedule)
    assert found.at == timestamp_of(expected)
    assert found.after(NOW) == found.at
    assert found.after(found.at) is None


@pytest.mark.parametrize(
    ("text", "seconds", "shown"),
    [
        ("every 2h", 7200, "every 2h"),
        ("every 90 minutes", 5400, "every 1h 30m"),
        ("every hour", 3600, "every 1h"),
        ("every day", 86_400, "every 1d"),
        ("every minute", 60, "every 1m"),
        ("Every  1 week", 604_800, "every 7d"),
        ("every 90 seconds", 90, "every 1m 30s"),
    ],
)
def test_parse_interval_schedule(text: str, seconds: int, shown: str) -> None:
    found = parse_schedule(text, BERLIN, NOW)
    assert found == IntervalSchedule(seconds, NOW)
    assert found.after(NOW) == NOW + seconds
    assert str(found) == shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 9 * * 1-5", "2026-11-23T09:00+01:00"),
        ("@daily", "2026-11-23T00:00+01:00"),
        ("0 9 * * MON", "2026-11-23T09:00+01:00"),
        ("every day 9:00", "2026-11-23T09:00+01:00"),
        ("every day at 11:30", "2026-11-22T11:30+01:00"),
        ("every weekday 9:00", "2026-11-23T09:00+01:00"),
        ("every weekend 9:00", "2026-11-28T09:00+01:00"),
        ("every fridays at 6pm", "2026-11-27T18:00+01:00"),
        ("every sunday 9:00", "2026-11-29T09:00+01:00"),
        ("0 0 29 2 *", "2028-02-29T00:00+01:00"),
    ],
)
def test_parse_cron_schedule(text: str, expected: str) -> None:
    found = parse_schedule(text, BERLIN, NOW)
    assert isinstance(found, CronSchedule)
    assert found.after(NOW) == timestamp_of(expected)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "when should it run"),
        ("soon", "is not a time"),
        ("9:00", "is not a time"),
        ("tomorrow", "lacks a time of day"),
        ("tomorrow 9", 'write "tomorrow 9:00"'),
        ("tomorrow 25:00", "lacks a time of day"),
        ("tomorrow 13pm", "lacks a time of day"),
        ("today 9:00", "has passed; it is 2026-11-22 11:00 in Europe/Berlin now"),
        ("2026-11-22", "not a date with a time"),
        ("2026-13-22 10:00", "not a date with a time"),
        ("2020-01-01 10:00", "has passed"),
        ("2126-01-01 10:00", "more than ten years"),
        ("0001-01-01 00:00+23:00", "has passed"),
        ("0001-01-01 00:00", "has passed"),
        ("9999-12-31 23:59", "more than ten years"),
        ("9999-12-31 23:59-23:00", "more than ten years"),
        ("in 5", "is not a duration"),
        ("in 5 fortnights", "is not a duration"),
        ("in 900000000 weeks", "more than ten years"),
        ("every 30s", "the shortest interval"),
        ("every 0 minutes", "is not a duration"),
        ("every monday", 'write "every monday 9:00"'),
        ("every day 9", 'write "every day 9:00"'),
        ("* * * * * *", "a field for seconds"),
        ("61 * * * *", "not a cron expression (minute)"),
        ("0 9 * * 8", "not a cron expression (day-of-week)"),
        ("0 0 30 2 *", "not a cron expression (day-of-month)"),
        ("0 0 31 4,6 *", "not a cron expression (day-of-month)"),
        ("0 9 * *", "is not a time"),
        ("x" * 300, "when should it run"),
    ],
)
def test_parse_rejects_invalid_times(text: str, part: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        parse_schedule(text, BERLIN, NOW)
    assert part in str(refused.value)
    assert '"' in str(refused.value) or "has passed" in part or "ten years" in part


def test_tomorrow_shortly_after_midnight_is_rejected_as_ambiguous() -> None:
    with pytest.raises(ScheduleError, match=r'such as "2026-11-23 09:00"'):
        parse_schedule("tomorrow 9:00", BERLIN, timestamp_of("2026-11-22T01:30+01:00"))


@pytest.mark.parametrize(
    ("text", "zone", "part"),
    [
        ("2027-03-28 02:30", BERLIN, 'write "2027-03-28 03:30"'),
        ("2027-10-31 02:30", BERLIN, '"2027-10-31T02:30+02:00" or "2027-10-31T02:30+01:00"'),
        ("2027-03-14 02:15", "America/New_York", "does not exist"),
        ("2027-11-07 01:15", "America/New_York", "comes twice"),
        ("2027-04-04 01:45", "Australia/Lord_Howe", "comes twice"),
    ],
)
def test_skipped_or_repeated_local_time_is_rejected(text: str, zone: str, part: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        parse_schedule(text, zone, NOW)
    assert part in str(refused.value)


def test_unknown_time_zone_error_suggests_a_near_one() -> None:
    with pytest.raises(ScheduleError, match="such as Europe/Berlin"):
        parse_schedule("every day 9:00", "Europe/Berlim", NOW)
    assert parse_schedule("every day 9:00", "europe/berlin", NOW).after(NOW) is not None


@given(st.text(max_size=60))
@example("every " + "1m" * 60)
@example("in " + "9" * 5000 + "m")
@example("0 0 * * " + "9" * 5000 + "#1")
@example("tomorrow ٩:٠٠")
@example("0 0 * * ²L")
@example("2030-01-01t10:00:99")
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    for words in (text, f"every {text}", f"in {text}", f"tomorrow {text}", f"2027-01-01 {text}"):
        assert_in_the_future(words, BERLIN)


@given(st.lists(st.sampled_from([*"0123456789*,-/L#W@? ", "MON", "JAN"]), max_size=24).map("".join))
def test_any_cron_like_text_is_parsed_or_rejected(text: str) -> None:
    assert_in_the_future(text, "America/New_York")


def assert_in_the_future(text: str, zone: str) -> None:
    """A time that can be parsed is in the future; any other raises only ``ScheduleError``."""
    try:
        found = parse_schedule(text, zone, NOW)
    except ScheduleError:
        return
    due = found.after(NOW)
    assert due is not None
    assert due > NOW


# The next time, minute by minute


class Fields:
    """A cron expression as sets of numbers, with a matcher of its own."""

    def __init__(self, *parts: tuple[str, frozenset[int]]) -> None:
        self.text = " ".join(text for text, _ in parts)
        self.minutes, self.hours, self.days, self.months, self.weekdays = (s for _, s in parts)
        self.both = parts[2][0].startswith("*") or parts[4][0].startswith("*")
        self.fixed = not parts[0][0].startswith("*") and not parts[1][0].startswith("*")

    def match(self, wall: datetime) -> bool:
        day = wall.day in self.days
        weekday = wall.isoweekday() % 7 in self.weekdays
        that_day = day and weekday if self.both else day or weekday
        time = wall.minute in self.minutes and wall.hour in self.hours
        return time and that_day and wall.month in self.months

    def next(self, zone: str, moment: float) -> float:
        """The first minute after ``moment``: a fixed time once, also where clocks change."""
        where = ZoneInfo(zone)
        minute = math.floor(moment / 60) * 60
        before = datetime.fromtimestamp(minute, where)
        while True:
            minute += 60
            wall = datetime.fromtimestamp(minute, where)
            walls = [wall] if not self.fixed else [] if wall.fold else self._passed(before, wall)
            if any(map(self.match, walls)):
                return minute
            before = wall

    @staticmethod
    def _passed(before: datetime, wall: datetime) -> list[datetime]:
        """What the clocks show at ``wall``, after what they left out since ``before``."""
        shown = wall.replace(tzinfo=None)
        left = before.replace(tzinfo=None) + timedelta(minutes=1)
        passed = []
        while left < shown:
            passed.append(left)
            left += timedelta(minutes=1)
        return [*passed, shown]


def field(low: int, high: int) -> st.SearchStrategy[tuple[str, frozenset[int]]]:
    numbers = st.integers(low, high)
    every = st.just(("*", frozenset(range(low, high + 1))))
    steps = st.integers(2, 20).map(lambda n: (f"*/{n}", frozenset(range(low, high + 1, n))))
    lists = st.sets(numbers, min_size=1, max_size=4).map(
        lambda s: (",".join(map(str, sorted(s))), frozenset(s))
    )
    ranges = st.tuples(numbers, numbers).map(
        lambda p: (f"{min(p)}-{max(p)}", frozenset(range(min(p), max(p) + 1)))
    )
    return st.one_of(every, steps, lists, ranges)


def all_of(low: int, high: int) -> st.SearchStrategy[tuple[str, frozenset[int]]]:
    return st.just(("*", frozenset(range(low, high + 1))))


SOON = st.builds(
    Fields,
    field(0, 59),
    field(0, 23),
    all_of(1, 31),
    all_of(1, 12),
    st.one_of(all_of(0, 6), field(0, 6)),
)
_ALL = [("*", frozenset(range(low, high))) for low, high in ((0, 60), (1, 32), (1, 13), (0, 7))]
STAR_EVEN = Fields(_ALL[0], ("*/2", frozenset(range(0, 24, 2))), *_ALL[1:])
"""``* */2 * * *``, over half an hour that comes twice."""
CHANGES = {
    BERLIN: ("2027-03-28T01:00Z", "2027-10-31T01:00Z"),
    "America/New_York": ("2027-03-14T07:00Z", "2027-11-07T06:00Z"),
    "Australia/Lord_Howe": ("2027-10-02T15:30Z", "2027-04-03T15:00Z"),
    "America/Havana": ("2027-03-14T05:00Z", "2027-11-07T05:00Z"),
    "Asia/Beirut": ("2027-03-27T22:00Z", "2027-10-30T21:00Z"),
    "America/St_Johns": ("2027-03-14T05:30Z", "2027-11-07T04:30Z"),
    "Pacific/Apia": ("2011-12-30T10:00Z", "2011-04-02T14:00Z"),
    "Asia/Kolkata": ("2027-01-01T00:00Z", "2027-07-01T00:00Z"),
}
"""When the clocks of some zones change; Lord Howe's by half an hour, Apia's left out a day."""
MOMENTS = st.sampled_from(
    [(zone, timestamp_of(text)) for zone, texts in CHANGES.items() for text in texts]
)


@example(STAR_EVEN, ("Australia/Lord_Howe", timestamp_of("2027-04-03T15:00Z")), 0.0)
@example(STAR_EVEN, (BERLIN, timestamp_of("2027-10-31T01:00Z")), -3e-7)
@given(SOON, MOMENTS, st.floats(-93_600, 10_800))
def test_cron_next_time_is_first_matching_minute(
    fields: Fields, change: tuple[str, float], offset: float
) -> None:
    zone, moment = change[0], change[1] + offset
    found = CronSchedule(fields.text, zone).after(moment)
    assert found is not None
    assert found > moment
    assert found == fields.next(zone, moment), fields.text


@given(st.builds(Fields, field(0, 59), field(0, 23), field(1, 31), all_of(1, 12), field(0, 6)))
@settings(max_examples=25)
def test_cron_matches_days_of_month_and_week(fields: Fields) -> None:
    found = CronSchedule(fields.text, "UTC").after(NOW)
    assert found is not None
    if found - NOW < 10 * 86_400:
        assert found == fields.next("UTC", NOW), fields.text
    assert fields.match(datetime.fromtimestamp(found, UTC))


@given(st.integers(60, 10**7), st.floats(-1e9, 1e9))
def test_interval_keeps_its_phase(seconds: int, offset: float) -> None:
    every = IntervalSchedule(seconds, 1.8e9)
    due = every.after(1.8e9 + offset)
    assert 0 < due - (1.8e9 + offset) <= seconds
    assert (due - 1.8e9) % seconds == 0


@sampled("zone", CHANGES)
def test_daily_cron_runs_once_a_day_all_year(zone: str) -> None:
    """Also on the days on which its time is left out, or comes twice."""
    for time in ("0 0", "30 0", "15 1", "30 2", "0 3"):
        cron, moment = CronSchedule(f"{time} * * *", zone), timestamp_of("2027-01-01T12:00Z")
        days = []
        while moment < timestamp_of("2027-12-31T12:00Z"):
            moment = cron.after(moment) or math.inf
            days.append(datetime.fromtimestamp(moment, ZoneInfo(zone)).date())
        assert len(days) == len(set(days)) == (days[-1] - days[0]).days + 1


# A clock that was set


def test_clock_set_back_a_little_repeats_no_run() -> None:
    nine = timestamp_of("2026-11-23T09:00+01:00")
    daily = CronSchedule("0 9 * * *", BERLIN)
    assert next_due(daily, nine - 600, nine) == nine + 86_400
    assert next_due(IntervalSchedule(3600, nine), nine - 600, nine) == nine + 3600


def test_clock_wrong_by_days_is_ignored() -> None:
    nine = timestamp_of("2026-11-23T09:00+01:00")
    daily = CronSchedule("0 9 * * *", BERLIN)
    assert next_due(daily, nine - 600, nine + 40 * 86_400) == nine
    assert next_due(daily, nine - 600, None) == nine


@pytest.mark.parametrize("zone", CHANGES)
def test_rare_cron_time_is_found_over_several_clock_changes(zone: str) -> None:
    for month in (1, 4, 7, 10):
        found = CronSchedule(f"*/20 * 4 {month} *", zone).after(timestamp_of("2027-11-20T12:00Z"))
        assert found is not None
        wall = datetime.fromtimestamp(found, ZoneInfo(zone))
        assert (wall.month, wall.day, wall.hour, wall.minute) == (month, 4, 0, 0)


REFUSED = st.one_of(
    st.sampled_from(
        [
            *("tomorrow", "tomorrow 9:00", "tomorrow 2:30", "tomorrow at noon", "today"),
            *("today at noon", "today 99:00", "today 2:30", "today 0:00", "every monday"),
            *("every monday at noon or so", "every weekday at 25:00", "every day at x y", "", "x"),
            *("every fortnight", "in a while", "9:00", "2030-01-31", "every 5 seconds", "in 9999w"),
            *("0 9 * * * *", "0 0 30 2 *", "61 * * * *", "every hour at 99 past", "@reboot"),
            *("on day 40 of every month at 9:00", "on day 1 of every month at noon"),
        ]
    ),
    st.builds(
        "{} {}".format,
        st.dates(datetime(2019, 1, 1).date(), datetime(2049, 1, 1).date()),
        st.sampled_from(["02:30", "01:30", "00:15", "noon", "25:00"]),
    ),
    st.builds(
        lambda field, step: " ".join(f"*/{step}" if n == field else "0" for n in range(5)),
        st.integers(0, 4),
        st.integers(0, 999_999),
    ),
)
ZONES = st.sampled_from([*CHANGES, "UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"])


@settings(max_examples=300)
@given(REFUSED, ZONES, st.integers(0, 3 * 366 * 24 * 60))
def test_every_suggestion_is_accepted(text, zone, minute):
    now = datetime(2026, 1, 1, tzinfo=UTC).timestamp() + minute * 60
    try:
        parse_schedule(text, zone, now)
    except ScheduleError as error:
        for suggestion in re.findall(r'"([^"]+)"', str(error).replace(repr(text), "")):
            assert parse_schedule(suggestion, zone, now)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_suggestions_in_the_nights_of_clock_changes_are_accepted(zone):
    for day in ("2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01"):
        midnight = datetime.fromisoformat(f"{day}T00:00").replace(tzinfo=ZoneInfo(zone)).timestamp()
        for minute in range(-1440, 300, 15):
            for hour in ("0:30", "1:30", "2:30", "3:30"):
                for text in (f"{day} 0{hour}", f"today {hour}", f"tomorrow {hour}"):
                    test_every_suggestion_is_accepted.hypothesis.inner_test(
                        text, zone, (midnight - NEW_YEAR) // 60 + minute
                    )


NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "expression",
    ["0 9 * * *", "30 18 * * 1-5", "0 9 * * 1", "0 8 * * 0,6", "5 * * * *", "0 * * * *",
     "*/15 * * * *", "0 */6 * * *", "* * * * *", "0 9 15 * *"],
)  # fmt: skip
def test_description_of_a_job_is_accepted_as_a_time(expression):
    described = describe_cron(expression)
    assert described != expression
    assert parse_schedule(described, BERLIN, NOW)


@pytest.mark.parametrize("text", ["*/90 * * * *", "0 */24 * * *", "0 9 */31 * *"])
def test_step_longer_than_its_field_is_refused(text):
    with pytest.raises(ScheduleError, match="is longer than the"):
        parse_schedule(text, "UTC", 0.0)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("daily", "@daily"),
        ("Hourly", "@hourly"),
        ("daily at 9am", "every day 9:00"),
        ("weekdays at 8:30", "every weekday 8:30"),
        ("on mondays 9:00", "every monday 9:00"),
        ("every day at noon", "every day 12:00"),
        ("every friday at midnight", "every friday 0:00"),
        ("every other day", "every 2 days"),
        ("every half an hour", "every 30 minutes"),
        ("in an hour", "in 1 hour"),
        ("in half an hour", "in 30 minutes"),
    ],
)
def test_other_words_mean_the_same(text, plain):
    assert parse_schedule(text, "UTC", NOW) == parse_schedule(plain, "UTC", NOW)
