"""Time zones by IANA name, and the system's time zone."""

from __future__ import annotations

import difflib
from zoneinfo import ZoneInfo, available_timezones

from .errors import ScheduleError


def find_zone(name: str) -> ZoneInfo:
    """Return the zone ``name``, such as ``Europe/Berlin``; letter case does not matter.

    Raises:
        ScheduleError: there is no such zone.
    """
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        # Also for a path outside the folder, a folder, and a name that is too long.
        known = {zone.casefold(): zone for zone in available_timezones()}
    if found := known.get(name.casefold()):
        return ZoneInfo(found)
    near = difflib.get_close_matches(name.casefold()[:64], known, 1)
    hint = known[near[0]] if near else "Europe/Berlin"
    raise ScheduleError(f"unknown time zone {name[:64]!r}; write an IANA name such as {hint}")


def system_zone() -> str:
    """Return the IANA name of the system's zone; ``UTC`` if it is unknown."""
    import tzlocal

    try:
        name = tzlocal.get_localzone_name()
        return find_zone(name).key if name else "UTC"
    except Exception:
        # TZ may hold anything. A new job shows its zone, and the setting `timezone` overrides it.
        return "UTC"
