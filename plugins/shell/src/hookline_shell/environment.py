"""The environment that commands see: the process's own, without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_SECRET_NAME = re.compile(
    r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS)\Z|\AHOOKLINE_", re.IGNORECASE
)
SHORTEST_SECRET = 8
"""Characters from which a secret's value is looked for in other variables; shorter ones (``1``,
``true``) would be found everywhere."""


def filtered(environment: Mapping[str, str], allow: Iterable[str] = ()) -> dict[str, str]:
    """``environment`` without variables that are secret by name or hold a secret's value.

    Secret names end in KEY, TOKEN, SECRET, PASSWORD, PASSWD or CREDENTIALS, in any case; the
    program's own (``HOOKLINE_…``) are left out as well. ``allow`` names what is kept all the same.
    """
    allowed = set(allow)
    secret = {n for n in environment if _SECRET_NAME.search(n) and n not in allowed}
    values = {environment[n] for n in secret if len(environment[n]) >= SHORTEST_SECRET}
    return {
        name: value
        for name, value in environment.items()
        if name not in secret and (name in allowed or not any(v in value for v in values))
    }
