"""Time zones by their IANA name, and the name of the system's own."""

from __future__ import annotations

import difflib
from zoneinfo import ZoneInfo, available_timezones

from .complaint import Complaint


def find_zone(name: str) -> ZoneInfo:
    """The zone ``name``, such as ``Europe/Berlin``; letter case does not matter.

    Raises:
        Complaint: there is none of that name.
    """
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        # Besides an unknown key: a path that leaves the folder, a folder, a name too long.
        known = {one.casefold(): one for one in available_timezones()}
    if found := known.get(name.casefold()):
        return ZoneInfo(found)
    near = difflib.get_close_matches(name.casefold()[:64], known, 1)
    hint = known[near[0]] if near else "Europe/Berlin"
    raise Complaint(f"{name[:64]!r} is no time zone; write an IANA name such as {hint}")


def system_zone() -> str:
    """The IANA name of the system's zone; ``UTC`` where the system does not say."""
    import tzlocal

    try:
        name = tzlocal.get_localzone_name()
        return find_zone(name).key if name else "UTC"
    except Exception:
        # TZ may hold anything; a job made then shows its zone, and `timezone` sets another.
        return "UTC"
