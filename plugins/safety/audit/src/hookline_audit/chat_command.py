"""The slash command ``/audit``."""

from __future__ import annotations

from hookline_hookspecs import Context, Host
from hookline_hookspecs.people import RolePermissions

from .cli import format_entry
from .search import EntryFilter, search_entries
from .service import AuditService

MAX_ROWS = 20
FORBIDDEN = "Only the operator, admins and auditors can use /audit, and only in a private chat."


async def audit_reply(host: Host, service: AuditService, ctx: Context, words: str) -> str:
    """Return the newest rows, or the newest that contain ``words``, if the person may read them."""
    permissions = host.services.get(RolePermissions)
    is_allowed = ctx.operator
    if not is_allowed and permissions is not None:
        is_allowed = await permissions.may_read(ctx.turn.inbound, "audit")
    if not is_allowed:
        return FORBIDDEN
    reader = await service.reader()
    if words:
        found = [entry async for entry in search_entries(reader, EntryFilter(find=words))][
            -MAX_ROWS:
        ]
    else:
        found = list(reversed(await reader.newest(MAX_ROWS)))
    if not found:
        return "No matching rows."
    return "\n".join(format_entry(entry, json=False) for entry in found)
