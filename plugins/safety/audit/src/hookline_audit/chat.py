"""``/audit``: the newest rows, for those who may read them, in a private chat."""

from __future__ import annotations

from hookline_hookspecs import Context, Host
from hookline_hookspecs.people import RolePermissions

from .cli import line_of
from .search import Wanted, rows
from .service import Service

SHOWN = 20
NOT_YOURS = (
    "The audit is for the operator, admins and auditors, in a private chat. Nothing was shown."
)


async def answer(host: Host, service: Service, ctx: Context, words: str) -> str:
    """Return the newest rows, with words only those that hold them."""
    permissions = host.services.get(RolePermissions)
    may = ctx.operator
    if not may and permissions is not None:
        may = await permissions.may_read(ctx.turn.inbound, "audit")
    if not may:
        return NOT_YOURS
    reader = await service.reader()
    if words:
        found = [entry async for entry in rows(reader, Wanted(find=words))][-SHOWN:]
    else:
        found = list(reversed(await reader.newest(SHOWN)))
    if not found:
        return "No row of the audit is like this."
    return "\n".join(line_of(entry, json=False) for entry in found)
